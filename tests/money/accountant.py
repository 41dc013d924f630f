"""The brute-force accountant: the rules of docs/money.md in plain Python, line by line, to hold against SQL."""

from collections import defaultdict
from dataclasses import dataclass, field

from quartermaster.parts import GPU_PARTS
from quartermaster.remainder import share
from quartermaster.team import glob_matches

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
GPU_HOUR = GPU_PARTS * HOUR_MS
KINDS = ("unallocated", "unavailable", "unobserved")

Key = tuple[int, str, str, str, int, str, str]  # segment, kind, account, team, workload, detail, measure
Holder = tuple[str, str, int]


@dataclass(frozen=True)
class Row:
    """A row of usage, of the hour from 0: held by a team's workload, or by nobody. Times in part-milliseconds."""

    segment: int
    team: str = ""
    workload: int = 0
    allocation: int = 0
    held: int = 0
    faulted: int = 0
    borrowed: int = 0
    idle: int = 0  # all of it confirmed
    computing: int = 0
    unallocated: int = 0
    unavailable: int = 0
    unobserved: int = 0
    energy_j: int = 0

    @property
    def capacity(self) -> int:
        return self.held + self.unallocated + self.unavailable + self.unobserved


@dataclass(frozen=True)
class Promise:
    """What a team was guaranteed in a pool in the hour from 0, and what of it others held."""

    pool: str
    team: str
    guaranteed: int
    lent: int = 0


@dataclass(frozen=True)
class Asked:
    """What an allocation asks for beside GPUs, and how long of the hour from 0."""

    cpu_milli: int
    memory_mib: int
    ms: int


@dataclass(frozen=True)
class World:
    """A business day (all of it in its first hour), a card, and what else is known."""

    segments: tuple[tuple[str, str], ...]  # pool and model of each
    prices: tuple[dict[str, int], ...]  # of each segment, in 10⁻⁹, by measure
    rows: tuple[Row, ...]
    ways: dict[str, str]
    promises: tuple[Promise, ...] = ()
    bill_faulted: bool = False
    lost_permille: int = 0
    idle_coverage_permille: int = 900
    weights: dict[str, int] = field(default_factory=dict[str, int])
    discounts: tuple[tuple[str, int], ...] = ()
    commitments: dict[tuple[str, str], tuple[int, int]] = field(
        default_factory=dict[tuple[str, str], tuple[int, int]]
    )  # (pool, team): parts, and the day's sum in millionths
    preemptible: frozenset[int] = frozenset()
    lost: frozenset[int] = frozenset()
    system: frozenset[int] = frozenset()
    asked: dict[int, Asked] = field(default_factory=dict[int, Asked])
    kwh_nano: int | None = None
    pue_permille: int = 1000


def rounded(numerator: int, denominator: int) -> int:
    """Half up."""
    return (2 * numerator + denominator) // (2 * denominator)


def account(world: World) -> dict[Key, int]:
    """Every line of the day, in millionths."""
    books = defaultdict[Key, int](int)
    left = dict[tuple[int, str, int], int]()
    for segment in range(len(world.segments)):
        for (kind, team, workload), cost in costs(world, segment).items():
            books[segment, kind, "own" if kind in KINDS else "team", team, workload, "", "gpu_hour"] += cost
            if kind == "base":
                left[segment, team, workload] = adjust(world, books, (segment, team, workload), cost)
    beside(world, books, left)
    promised(world, books)
    electricity(world, books)
    committed(world, books)
    for segment in range(len(world.segments)):
        for kind in KINDS:
            hand_out(world, books, segment, kind, books.get((segment, kind, "own", "", 0, "", "gpu_hour"), 0))
        pots = {key: micros for key, micros in left.items() if key[0] == segment and key[2] in world.system}
        if pots and hand_out(world, books, segment, "system", sum(pots.values())):
            for (_, team, workload), micros in pots.items():
                books[segment, "adjustment", "team", team, workload, "system", "gpu_hour"] -= micros
    return clear(books)


def clear(books: dict[Key, int]) -> dict[Key, int]:
    """With a counter-line for all that is neither base nor nobody's."""
    found = defaultdict[Key, int](int, books)
    for (segment, kind, _, _, _, detail, measure), micros in books.items():
        if kind in ("adjustment", "shared"):
            found[segment, "clearing", "clearing", "", 0, detail, measure] -= micros
    return dict(found)


def costs(world: World, segment: int) -> dict[Holder, int]:
    """The segment's cost, shared out by time."""
    weights = defaultdict[str, int](int)
    names = dict[str, Holder]()
    for row in world.rows:
        if row.segment != segment:
            continue
        parts: dict[Holder, int] = {(kind, "", 0): getattr(row, kind) for kind in KINDS}
        parts["base", row.team, row.workload] = row.held
        for holder, pms in parts.items():
            if pms:
                name = " ".join(map(str, holder))
                names[name], weights[name] = holder, weights[name] + pms
    whole = sum(weights.values())
    micros = rounded(whole * world.prices[segment]["gpu_hour"], GPU_HOUR * 1000)
    return {names[name]: cost for name, cost in share(micros, weights).items()} if whole else {}


def times(world: World, segment: int, row: Row) -> dict[str, int]:
    """What of a row's time each adjustment touches."""
    prices, system = world.prices[segment], row.workload in world.system
    faulted = 0 if world.bill_faulted else row.faulted
    rest = row.held - faulted
    lost = rest if world.lost_permille and row.allocation in world.lost and not system else 0
    rest -= lost
    idle = row.idle if (row.computing + row.idle) * 1000 >= row.held * world.idle_coverage_permille else 0
    found = {
        "faulted": faulted,
        "lost": lost,
        "idle": min(idle, rest) if "idle" in prices and not system else 0,
    }
    found["preemptible"] = (
        rest if "preemptible" in prices and row.allocation in world.preemptible and not system else 0
    )
    rest -= found["preemptible"]
    found["borrowed"] = min(row.borrowed, rest) if "borrowed" in prices and not system else 0
    return found


def adjust(world: World, books: dict[Key, int], line: tuple[int, str, int], cost: int) -> int:
    """Put down what is taken off and added to a base line; give what is left of it."""
    segment, team, workload = line
    rows = [r for r in world.rows if (r.segment, r.team, r.workload) == (segment, team, workload) and r.held]
    held = sum(row.held for row in rows)
    touched = defaultdict[str, int](int)
    for row in rows:
        for name, pms in times(world, segment, row).items():
            touched[name] += pms
    prices = world.prices[segment]
    base = prices["gpu_hour"]
    left = cost

    def take(detail: str, micros: int) -> None:
        nonlocal left
        if micros or touched[detail]:
            books[segment, "adjustment", "team", team, workload, detail, "gpu_hour"] -= micros
        left -= micros

    take("faulted", cost * touched["faulted"] // held)
    take("lost", cost * touched["lost"] // held * world.lost_permille // 1000)
    for detail in ("preemptible", "borrowed"):
        off = base - prices.get(detail, base)
        if off >= 0:
            take(detail, min(off * touched[detail] // (GPU_HOUR * 1000), left))
        elif touched[detail]:
            books[segment, "adjustment", "team", team, workload, detail, "gpu_hour"] += rounded(
                -off * touched[detail], GPU_HOUR * 1000
            )
    if workload not in world.system:
        take("commitment", _covered(world, books, line, held, left))
        off = next((off for glob, off in world.discounts if glob_matches(glob, team)), 0)
        take("discount", left * off // 1000)
    if touched["idle"]:
        books[segment, "adjustment", "team", team, workload, "idle", "gpu_hour"] += rounded(
            prices["idle"] * touched["idle"], GPU_HOUR * 1000
        )
    return left


def _covered(world: World, books: dict[Key, int], line: tuple[int, str, int], held: int, left: int) -> int:
    """What the team's commitment covers of what is left of the line."""
    segment, team, workload = line
    pool = world.segments[segment][0]
    if (pool, team) not in world.commitments:
        return 0
    mine = sum(
        row.held
        for row in world.rows
        if world.segments[row.segment][0] == pool and row.team == team and row.workload not in world.system
    )
    covered = min(mine, world.commitments[pool, team][0] * DAY_MS)
    if held * covered // mine:
        books[segment, "adjustment", "team", team, workload, "commitment", "gpu_hour"] += 0
    return left * covered // mine


def beside(world: World, books: dict[Key, int], left: dict[tuple[int, str, int], int]) -> None:
    """CPU and memory, of each allocation once; what system namespaces ask for is in what is left of theirs."""
    first = dict[int, Row]()
    for row in sorted(world.rows, key=lambda row: row.segment):
        prices = world.prices[row.segment]
        if row.held and {"cpu_hour", "memory_gib_hour"} & prices.keys():
            first.setdefault(row.allocation, row)
    sums = defaultdict[Key, int](int)
    for allocation, row in first.items():
        if allocation in world.asked:
            asked = world.asked[allocation]
            for measure, one in (("cpu_hour", asked.cpu_milli), ("memory_gib_hour", asked.memory_mib)):
                sums[row.segment, "base", "team", row.team, row.workload, "", measure] += one * asked.ms
    for key, total in sums.items():
        price = world.prices[key[0]].get(key[-1])
        if price is None or not total:
            continue
        unit = HOUR_MS * (1000 if key[-1] == "cpu_hour" else 1024)
        books[key] += rounded(total * price, unit * 1000)
        if key[4] in world.system:
            left[key[0], key[3], key[4]] += books[key]


def promised(world: World, books: dict[Key, int]) -> None:
    """Standing charges and credits, spread over a pool's segments by their capacity."""
    capacities = [
        sum(row.capacity for row in world.rows if row.segment == n) for n in range(len(world.segments))
    ]
    sizes = {str(n).rjust(9): max(1, one * 1000 // DAY_MS) for n, one in enumerate(capacities) if one}
    sums = defaultdict[tuple[int, str, str], int](int)
    for promise in world.promises:
        here = {n: size for n, size in sizes.items() if world.segments[int(n)][0] == promise.pool}
        if not here or not promise.guaranteed:
            continue
        for name, total in (("reserved", promise.guaranteed), ("lent", promise.lent)):
            for n, part in share(total, here).items():
                sums[int(n), promise.team, name] += part
    for (segment, team, name), pms in sums.items():
        price = world.prices[segment].get(name)
        if price is not None and pms:
            micros = (
                rounded(price * pms, GPU_HOUR * 1000)
                if name == "reserved"
                else -(price * pms // (GPU_HOUR * 1000))
            )
            books[segment, "adjustment", "team", team, 0, name, "gpu_hour"] += micros


def electricity(world: World, books: dict[Key, int]) -> None:
    """What the counters told, × PUE × price."""
    if world.kwh_nano is None:
        return
    sums = defaultdict[tuple[int, str, int], int](int)
    for row in world.rows:
        if row.held:
            sums[row.segment, row.team, row.workload] += row.energy_j
    for (segment, team, workload), joules in sums.items():
        if joules:
            micros = rounded(joules * world.pue_permille * world.kwh_nano, 3_600_000 * 1_000_000)
            books[segment, "adjustment", "team", team, workload, "energy", "kwh"] += micros


def committed(world: World, books: dict[Key, int]) -> None:
    """The day's part of each commitment, whatever was used."""
    pools = sorted({pool for pool, _ in world.commitments})
    for (pool, team), (_, micros) in world.commitments.items():
        segment = len(world.segments) + pools.index(pool)
        books[segment, "adjustment", "team", team, 0, "commitment", "commitment"] += micros


def hand_out(world: World, books: dict[Key, int], segment: int, detail: str, micros: int) -> bool:
    """Share a cost as the card says; False where it stays where it is."""
    way = world.ways[detail]
    pool = world.segments[segment][0]
    there = any(row.segment == segment and (detail == "system" or getattr(row, detail)) for row in world.rows)
    if way == "none" and there:
        if detail != "system":
            books[segment, "adjustment", "own", "", 0, detail, "gpu_hour"] -= micros
        return True
    takers = receivers(world, way, pool)
    if not takers or not there:
        return False
    for team, part in share(micros, takers).items():
        books[segment, "shared", "team", team, 0, detail, "gpu_hour"] += part
    return True


def receivers(world: World, way: str, pool: str) -> dict[str, int]:
    """The weights of the teams that share, empty where none does."""
    held = defaultdict[str, int](int)
    for row in world.rows:
        if row.held and world.segments[row.segment][0] == pool and row.workload not in world.system:
            held[row.team] += row.held
    guaranteed = defaultdict[str, int](int)
    for promise in world.promises:
        if promise.pool == pool and promise.guaranteed:
            guaranteed[promise.team] += promise.guaranteed
    everybody = {*held, *guaranteed}
    ways = {
        "even": dict.fromkeys(everybody, 1),
        "held": dict(held),
        "guarantee": dict(guaranteed),
        "weighted": {team: world.weights.get(team, 1) for team in everybody},
    }
    return {team: weight for team, weight in ways.get(way, {}).items() if weight}

"""The fleet's hour as figures and tables: by pool, what would still fit, how MIG has cut, what is amiss."""

from collections import Counter, defaultdict

from analytics.reports.figures import Amount
from analytics.reports.summary import Card, hours, share
from analytics.reports.tables import Column, Kind, Table, in_hours, in_text
from analytics.reports.theme import STATE
from analytics.views.fleet import STATE_NAMES, Fleet, Gpu, Node, Pool, sums
from analytics.views.instants import minute
from quartermaster.clock import MINUTE_MS
from quartermaster.errors import InputError

_HELD = ("computing", "idle", "unknown")
_SIZES = (1, 2, 4, 8)


def cards(fleet: Fleet) -> tuple[Card, ...]:
    """The hour in four figures: computing, idle, free, known."""
    held, capacity = sum(fleet.pms[name] for name in _HELD), sum(fleet.pms.values())
    of_all = f"of {hours(Amount(capacity))} GPU-hours {'of capacity' if fleet.whole else 'held'}"
    known = Card("Coverage", share(held - fleet.pms["unknown"], held), "of held time, telemetry tells")
    computing = Card("Computing", share(fleet.pms["computing"], capacity), of_all)
    idle = Card(
        "Idle while held",
        share(fleet.pms["idle"], capacity),
        f"{hours(Amount(fleet.pms['idle']))} GPU-hours in this hour",
        alarming=fleet.pms["idle"] * 10 > capacity,
    )
    if not fleet.whole:
        return computing, idle, known
    free = Card(
        "Unallocated",
        share(fleet.pms["unallocated"], capacity),
        f"{hours(Amount(fleet.pms['unallocated']))} GPU-hours that nobody held",
    )
    return computing, idle, free, known


def by_pool(fleet: Fleet) -> Table:
    """What each pool's hour went into."""
    states = STATE_NAMES if fleet.whole else _HELD
    told = [(pool, sums(pool.devices)) for pool in fleet.pools]
    return Table(
        "pools",
        "GPU-hours by pool and state",
        "",
        (
            *in_text("Pool", "GPU model"),
            Column("GPUs", Kind.COUNT),
            *in_hours(*(STATE[name].label for name in states)),
        ),
        tuple(
            (f"{pool.title} · {pool.cluster}", pool.model, _count(pool), *(pms[name] for name in states))
            for pool, pms in told
        ),
        ("All", None, fleet.gpus, *(fleet.pms[name] for name in states)),
    )


def _count(pool: Pool) -> int:
    return sum(len(node.gpus) for node in pool.nodes)


def fragmentation(fleet: Fleet) -> Table:
    """What would still fit: free whole GPUs by pool, on how many nodes, and how many jobs that need one node."""
    return Table(
        "fragmentation",
        "Free whole GPUs, and what fits on one node",
        "",
        (
            *in_text("Pool", "GPU model"),
            Column("Free GPUs", Kind.COUNT),
            Column("On nodes", Kind.COUNT),
            Column("Most on one node", Kind.COUNT),
            *(Column(f"Jobs of {size}", Kind.COUNT) for size in _SIZES[1:]),
        ),
        tuple(_fits(pool) for pool in fleet.pools if any(_free(node) for node in pool.nodes)),
        empty="No whole GPU was free for most of this hour.",
    )


def _fits(pool: Pool) -> tuple[str | int, ...]:
    free = [_free(node) for node in pool.nodes]
    fits = (sum(count // size for count in free) for size in _SIZES[1:])
    return (
        f"{pool.title} · {pool.cluster}",
        pool.model,
        sum(free),
        sum(1 for count in free if count),
        max(free),
        *fits,
    )


def _free(node: Node) -> int:
    return sum(1 for gpu in node.gpus if not gpu.is_cut and gpu.devices[0].state == "unallocated")


def mig(fleet: Fleet) -> Table:
    """How MIG has cut the GPUs: instances by profile, and what they were doing."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    gpus: dict[tuple[str, str], set[tuple[str, str, int | None]]] = defaultdict(set)
    for pool in fleet.pools:
        for gpu in (gpu for node in pool.nodes for gpu in node.gpus if gpu.is_cut):
            for device in gpu.devices:
                key = (f"{pool.title} · {pool.cluster}", device.profile or "not cut")
                counts[key][device.state] += 1
                gpus[key].add((pool.cluster, gpu.node, gpu.index))
    states = STATE_NAMES if fleet.whole else _HELD
    return Table(
        "mig",
        "MIG instances by profile and state",
        "",
        (
            *in_text("Pool", "Profile"),
            Column("On GPUs", Kind.COUNT),
            Column("Instances", Kind.COUNT),
            *(Column(STATE[name].label, Kind.COUNT) for name in states),
        ),
        tuple(
            (*key, len(gpus[key]), found.total(), *(found[name] for name in states))
            for key, found in sorted(counts.items())
        ),
        empty="No GPU was cut by MIG in this hour.",
    )


def troubles(fleet: Fleet, time_zone: str) -> Table:
    """Devices that were not healthy, and nodes that took nothing."""
    return Table(
        "troubles",
        "Not healthy, not ready or cordoned",
        "",
        tuple(in_text("Node", "What", "Trouble", "Since")),
        tuple(
            (f"{each.node} · {each.cluster}", each.what, each.trouble, minute(each.since_ms, time_zone))
            for each in fleet.troubles
        ),
        empty="Every device was healthy and every node took work.",
    )


def silences(fleet: Fleet, time_zone: str) -> Table:
    """Exporters that were not heard in the hour."""
    return Table(
        "silences",
        "Exporters that were not heard",
        "",
        (
            *in_text("Node", "Source", "Why", "Since"),
            Column("Silent", Kind.COUNT, "min"),
            *in_text("It"),
        ),
        tuple(
            (
                f"{each.node or 'all nodes'} · {each.cluster}",
                each.source,
                each.reason,
                minute(each.since_ms, time_zone),
                -(-each.silent_ms // MINUTE_MS),
                "lasts" if each.lasts else "is over",
            )
            for each in fleet.silences
        ),
        empty="Every exporter was heard all the hour.",
    )


def of_node(fleet: Fleet, name: str) -> Table:
    """A node's devices: what each did in the hour, and who held it. Raises InputError for a node that is not there."""
    gpus = [
        (node.name, gpu)
        for pool in fleet.pools
        for node in pool.nodes
        if node.name == name
        for gpu in node.gpus
    ]
    if not gpus:
        raise InputError(f"there is no node {name!r} in this hour", "choose one from the list")
    return Table(
        "node",
        f"GPUs of {name}",
        "",
        (
            *in_text("GPU", "State", "Team", "Workload"),
            *(Column(STATE[state].label, Kind.SHARE) for state in _HELD),
        ),
        tuple(row for _, gpu in gpus for row in _of_gpu(gpu)),
    )


def _of_gpu(gpu: Gpu) -> list[tuple[str | tuple[int, int], ...]]:
    found: list[tuple[str | tuple[int, int], ...]] = []
    for device in gpu.devices:
        place = "?" if gpu.index is None else str(gpu.index)
        whole, others = sum(device.pms), device.teams - 1
        also = f" and {others} other{'s' if others > 1 else ''}" if others > 0 else ""
        held = ((device.pms[STATE_NAMES.index(state)], whole) for state in _HELD)
        found.append(
            (
                f"{place} · {device.profile}" if gpu.is_cut and device.profile else place,
                STATE[device.state].label,
                f"{device.team}{also}" if device.team else "–",
                device.workload or "–",
                *held,
            )
        )
    return found

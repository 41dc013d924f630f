"""The fleet in one hour: every GPU, what most of the hour went into, and what is amiss with whom."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import attrgetter

from analytics.business import business_day, zone
from analytics.reports.theme import STATES
from analytics.scope import Scope
from analytics.views.rows import Row, rows
from quartermaster.clock import HOUR_MS, to_datetime
from quartermaster.errors import InputError
from sql.ledger import Ledger

STATE_NAMES = tuple(state.name for state in STATES)


@dataclass(frozen=True, slots=True)
class Hour:
    """An hour of which there is usage: its first instant (epoch ms), and `14:00` in the business's time zone."""

    start_ms: int
    label: str


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU, a MIG instance or what MIG left uncarved, in one hour. `pms` is its time by state, in STATES' order;
    `team` and the workload are of who held most of it ("": nobody), `teams` counts all who held of it."""

    cluster: str
    pool: str
    model: str
    node: str
    index: int | None
    gpu: str
    kind: str
    profile: str
    parts: int
    team: str
    teams: int
    workload: str
    pms: tuple[int, ...]

    @property
    def state(self) -> str:
        """What most of the hour went into."""
        return STATE_NAMES[self.pms.index(max(self.pms))]


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU as one cell of the map: one device, or what MIG cut it into."""

    node: str
    index: int | None
    devices: tuple[Device, ...]

    @property
    def is_cut(self) -> bool:
        """Whether MIG has cut it."""
        return any(device.kind != "gpu" for device in self.devices)


@dataclass(frozen=True, slots=True)
class Node:
    """A node and its GPUs, in order."""

    name: str
    gpus: tuple[Gpu, ...]


@dataclass(frozen=True, slots=True)
class Pool:
    """The nodes of one pool and GPU model of a cluster."""

    cluster: str
    name: str
    model: str
    nodes: tuple[Node, ...]

    @property
    def title(self) -> str:
        """`training`."""
        return self.name or "no pool"

    @property
    def devices(self) -> Iterable[Device]:
        """All devices of all nodes."""
        return (device for node in self.nodes for gpu in node.gpus for device in gpu.devices)


@dataclass(frozen=True, slots=True)
class Trouble:
    """What was not healthy, or took nothing, and since when (epoch ms)."""

    cluster: str
    node: str
    what: str
    trouble: str
    since_ms: int


@dataclass(frozen=True, slots=True)
class Silence:
    """An exporter that was not heard: for how much of the hour, why, since when, and whether it lasts."""

    cluster: str
    source: str
    node: str
    reason: str
    since_ms: int
    lasts: bool
    silent_ms: int


@dataclass(frozen=True)
class Fleet:
    """What a reader may see of the fleet in [start_ms, end_ms): with teams of their own, the devices these held, and
    neither free GPUs nor anybody's troubles."""

    start_ms: int
    end_ms: int
    whole: bool
    pools: tuple[Pool, ...]
    troubles: tuple[Trouble, ...]
    silences: tuple[Silence, ...]

    @cached_property
    def pms(self) -> dict[str, int]:
        """The time of all by state, in part-milliseconds."""
        return sums(device for pool in self.pools for device in pool.devices)

    @cached_property
    def gpus(self) -> int:
        """How many GPUs the map has."""
        return sum(len(node.gpus) for pool in self.pools for node in pool.nodes)


def sums(devices: Iterable[Device]) -> dict[str, int]:
    """The devices' time by state, in part-milliseconds."""
    total = [0] * len(STATE_NAMES)
    for device in devices:
        for place, pms in enumerate(device.pms):
            total[place] += pms
    return dict(zip(STATE_NAMES, total, strict=True))


def days(ledger: Ledger, scope: Scope) -> tuple[str, ...]:
    """The business days of which there is usage, newest first. Raises LedgerError."""
    with ledger.reading() as cursor:
        return tuple(row["day"] for row in rows(cursor, "fleet", "days", teams=scope.bound))


def hours(ledger: Ledger, scope: Scope, day: str, time_zone: str) -> tuple[Hour, ...]:
    """The hours of a business day of which there is usage, in order; an hour that comes twice has its offset beside it.

    Raises InputError for text that is no day, LedgerError.
    """
    span = business_day(day, time_zone)
    with ledger.reading() as cursor:
        found = rows(cursor, "fleet", "hours", teams=scope.bound, from_ms=span.start_ms, until_ms=span.end_ms)
    return labelled([row["start_ms"] for row in found], time_zone)


def labelled(starts_ms: Iterable[int], time_zone: str) -> tuple[Hour, ...]:
    """The hours that begin at these instants (epoch ms), in order, as people call them there."""
    where, told = zone(time_zone), list[Hour]()
    for start_ms in starts_ms:
        moment = to_datetime(start_ms).astimezone(where)
        label = f"{moment:%H:%M}"
        twice = any(each.label == label for each in told)
        told.append(Hour(start_ms, f"{label} (UTC{moment:%z})" if twice else label))
    return tuple(told)


def fleet(ledger: Ledger, scope: Scope, start_ms: int) -> Fleet:
    """The fleet in the hour that begins at `start_ms` (epoch ms).

    Raises InputError for an hour of which the reader has no usage, LedgerError.
    """
    until_ms = start_ms + HOUR_MS
    given = {"teams": scope.bound, "from_ms": start_ms, "until_ms": until_ms}
    with ledger.reading() as cursor:
        devices = [_device(row) for row in rows(cursor, "fleet", "devices", **given)]
        troubles = rows(cursor, "fleet", "troubles", **given) if scope.whole else []
        silences = rows(cursor, "fleet", "silences", **given) if scope.whole else []
    if not devices:
        raise InputError("there is no usage of that hour", "choose another day or hour")
    return Fleet(
        start_ms,
        until_ms,
        scope.whole,
        tuple(_pools(devices)),
        tuple(Trouble(**row) for row in troubles),
        tuple(Silence(**row) for row in silences),
    )


def _device(row: Row) -> Device:
    return Device(
        row["cluster"],
        row["pool"],
        row["model"],
        row["node"],
        row["device_index"],
        row["gpu_uuid"],
        row["kind"],
        row["profile"],
        row["parts"],
        row["team"],
        row["teams"],
        f"{row['workload_kind']} {row['namespace']}/{row['name']}" if row["name"] else "",
        tuple(row[f"{name}_pms"] for name in STATE_NAMES),
    )


def _pools(devices: Iterable[Device]) -> Iterable[Pool]:
    for key, of_pool in groupby(devices, key=attrgetter("cluster", "pool", "model")):
        nodes = tuple(
            Node(node, tuple(_gpus(node, of_node)))
            for node, of_node in groupby(of_pool, key=attrgetter("node"))
        )
        yield Pool(*key, nodes=nodes)


def _gpus(node: str, devices: Iterable[Device]) -> Iterable[Gpu]:
    for (index, _), of_gpu in groupby(devices, key=attrgetter("index", "gpu")):
        yield Gpu(node, index, tuple(of_gpu))

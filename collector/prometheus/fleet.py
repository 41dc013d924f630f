"""Nodes and devices of a span of history, as its samples name them, and the pages on which holders change; pure.

What a page says is what it says when it is collected live: collector.presence and collector.attribution. The span
stands for itself: whatever is open at its end ends there, or where what is collected live begins.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from collector import presence
from collector.attribution import Change, Holder
from collector.presence import LIFE_AFTER_LAST_PAGE_MS, Sighting
from quartermaster.ids import device_id
from quartermaster.records import Device, Node


@dataclass(frozen=True, slots=True)
class Run:
    """A series that names one pod, or none, from the page at `at_ms` to that at `last_ms`; the page before, if any."""

    node: str
    gpu_uuid: str
    gi_id: str
    vgpu: str
    profile: str
    model: str
    device_index: int
    label_ref: int | None
    at_ms: int
    before_ms: int | None
    last_ms: int


@dataclass(slots=True)
class Life:
    """A node from its first page to its end: what changed on its pages, its devices' parts."""

    changes: list[Change] = field(default_factory=list[Change])
    parts: dict[int, int] = field(default_factory=dict[int, int])
    ended_ms: int | None = None


class _Version(Protocol):
    @property
    def start_at(self) -> int: ...
    @property
    def end_at(self) -> int | None: ...


Record = TypeVar("Record", bound=_Version)


class FleetHistory:
    """The fleet of one cluster while runs are read, span by span."""

    def __init__(
        self, cluster: str, pool_of_model: Callable[[str], str], holders: Mapping[int, Holder]
    ) -> None:
        """`holders` are those that label sets name."""
        self._cluster, self._pool_of_model, self._holders = cluster, pool_of_model, holders
        self._nodes: dict[tuple[str, int], Node] = {}
        self._devices: dict[tuple[int, int], Device] = {}
        self._open: dict[str, presence.Fleet] = {}
        self._last_ms: dict[str, int] = {}
        self._pages: dict[int, int] = {}  # device → its last page
        self.lives: dict[str, list[Life]] = {}

    def read(self, runs: Iterable[Run], until_ms: int, shared: Mapping[str, Sequence[Change]]) -> None:
        """The runs of the next span, which ends at `until_ms`; `shared` are the changes of devices that several
        series speak of, by node."""
        by_node: dict[str, list[Run]] = {}
        for run in runs:
            by_node.setdefault(run.node, []).append(run)
        for node in sorted(self._open.keys() - by_node.keys()):
            self._end(node, until_ms)
        for node, theirs in sorted(by_node.items()):
            self._see(node, _without_whole(theirs), shared.get(node, ()))

    def _end(self, node: str, until_ms: int) -> None:
        ended = presence.ended(self._open[node], self._last_ms[node], until_ms)
        if ended.ended_ms is not None:
            self._tell(node, ended)
            self.lives[node][-1].ended_ms = ended.ended_ms
            del self._open[node]

    def _see(self, node: str, runs: Sequence[Run], shared: Sequence[Change]) -> None:
        first_ms = min(run.at_ms for run in runs)
        if node in self._open and first_ms - self._last_ms[node] > LIFE_AFTER_LAST_PAGE_MS:
            self._end(node, first_ms)
        known = self._open.get(node)
        if known is None:
            self.lives.setdefault(node, []).append(Life())
        self._tell(
            node,
            presence.presence(
                self._cluster, node, _sightings(runs), known or presence.Fleet(), self._pool_of_model
            ),
        )
        life = self.lives[node][-1]
        life.parts |= {device.device_id: device.parts for device in self._open[node].devices}
        life.changes += [*self._changes(runs), *shared]
        self._last_ms[node] = max(run.last_ms for run in runs)

    def _changes(self, runs: Sequence[Run]) -> list[Change]:
        """Of the devices that one series speaks of: whom each run names."""
        found: list[Change] = []
        shared = shared_devices(self._cluster, runs)
        for run in runs:
            device = device_id(self._cluster, run.gpu_uuid, run.gi_id)
            before_ms = run.before_ms if run.before_ms is not None else self._pages.get(device, run.at_ms)
            self._pages[device] = run.last_ms
            if device not in shared:
                holder = self._holders.get(run.label_ref) if run.label_ref is not None else None
                found.append(Change(device, run.at_ms, before_ms, frozenset((holder,) if holder else ())))
        return found

    def _tell(self, node: str, fleet: presence.Fleet) -> None:
        was = self._open.get(node, presence.Fleet())
        nodes = {each.start_at: each for each in (*was.nodes, *fleet.nodes)}
        devices = {(each.device_id, each.start_at): each for each in (*was.devices, *fleet.devices)}
        self._nodes |= {(each.node, each.start_at): each for each in fleet.nodes}
        self._devices |= {(each.device_id, each.start_at): each for each in fleet.devices}
        self._open[node] = presence.Fleet(
            tuple(each for each in nodes.values() if each.end_at is None),
            tuple(each for each in devices.values() if each.end_at is None),
        )

    def sightings(self) -> Iterator[tuple[str, int, Holder, int]]:
        """Each page that begins to name somebody on a device: node, device, whom, when."""
        for node, lives in self.lives.items():
            for life in lives:
                for change in life.changes:
                    for holder in change.holders:
                        yield node, change.device_id, holder, change.at_ms

    def records(self, end_of: Callable[[str], int]) -> tuple[list[Node], list[Device]]:
        """All nodes and devices; what is open ends where `end_of` its node says."""
        nodes = [_ended(each, end_of(each.node)) for each in self._nodes.values()]
        devices = [_ended(each, end_of(each.node)) for each in self._devices.values()]
        return nodes, devices


def shared_devices(cluster: str, runs: Iterable[Run]) -> set[int]:
    """The devices of which several series speak: who holds them is not one series' to say."""
    return {device_id(cluster, run.gpu_uuid, run.gi_id) for run in runs if run.vgpu}


def _ended(record: Record, at_ms: int) -> Record:
    """The record, told once, with an end."""
    end_ms = record.end_at if record.end_at is not None else max(at_ms, record.start_at)
    return replace(record, end_at=end_ms, revision=0)  # pyright: ignore[reportArgumentType, reportUnknownVariableType]


def _without_whole(runs: Sequence[Run]) -> list[Run]:
    """Without the rows of whole GPUs beside those of their instances: they are no devices then."""
    carved: dict[str, list[Run]] = {}
    for run in runs:
        if run.gi_id:
            carved.setdefault(run.gpu_uuid, []).append(run)
    return [
        run
        for run in runs
        if run.gi_id
        or not any(
            other.at_ms <= run.last_ms and run.at_ms <= other.last_ms
            for other in carved.get(run.gpu_uuid, ())
        )
    ]


def _sightings(runs: Sequence[Run]) -> list[Sighting]:
    """Each device as it is called, from its first page to its last."""
    found: dict[tuple[str, str, str, str, int], Sighting] = {}
    for run in runs:
        key = (run.gpu_uuid, run.gi_id, run.profile, run.model, run.device_index)
        seen = found.get(key)
        found[key] = Sighting(
            *key,
            shared=bool(run.vgpu) or (seen is not None and seen.shared),
            first_ms=min(run.at_ms, seen.first_ms) if seen else run.at_ms,
            last_ms=max(run.last_ms, seen.last_ms) if seen else run.last_ms,
        )
    return list(found.values())

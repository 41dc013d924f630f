"""Who held which device, read from pod labels over time; pure. For where no other authority is.

Labels tell no more than the pages that carry them: an interval begins at the first page that names a pod and
ends at the first page of the device that does not. A label that comes back within VANISH_MS, nobody else
having come in between, never went (dcgm-exporter #216, #272, #342, #428). Who share one have equal parts.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from quartermaster.clock import MINUTE_MS
from quartermaster.ids import content_id
from quartermaster.records import Allocation, Holding, Workload

SOURCE = "labels"
# For so long a label may be missing before its pod is taken to have ended where it went missing.
VANISH_MS = 30 * MINUTE_MS
GONE, REPLACED, NODE_GONE = "label gone", "label replaced", "node gone"


@dataclass(frozen=True, slots=True, order=True)
class Holder:
    """Who a label names: a pod, or a job of a cluster without pods."""

    namespace: str
    pod: str
    pod_uid: str = ""
    hpc_job: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """From `at_ms` on, a device's pages name `holders`; the device's page before that was at `before_ms`."""

    device_id: int
    at_ms: int
    before_ms: int
    holders: frozenset[Holder]


@dataclass(frozen=True, slots=True)
class Known:
    """What the ledger has of a node, as far as it is open or ended not longer than VANISH_MS ago.

    `spent` are the revisions of holdings that were told, by key, withdrawn ones included.
    """

    allocations: Sequence[tuple[Holder, Allocation]] = ()
    holdings: Sequence[Holding] = ()
    spent: Mapping[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])


@dataclass(frozen=True, slots=True)
class Attributed:
    """Records to append."""

    workloads: tuple[Workload, ...]
    allocations: tuple[Allocation, ...]
    holdings: tuple[Holding, ...]


@dataclass(slots=True)
class _Presence:
    """A holder on a device, without interruption."""

    allocation_id: int
    device_id: int
    start_ms: int
    end_ms: int | None


def attribute(
    cluster: str,
    node: str,
    parts: Mapping[int, int],
    changes: Iterable[Change],
    known: Known,
    *,
    ended_ms: int | None = None,
) -> Attributed:
    """What the changes on one node's devices say beyond what is known.

    `parts` are the devices' parts by id; `ended_ms` is when the node ended, if it did. Applying changes in
    several
    steps, each upon what the step before gave, says the same in the end as applying them at once.
    """
    book = _Book(cluster, node, parts, known)
    for change in sorted(changes, key=lambda change: (change.at_ms, change.device_id)):
        book.apply(change)
    if ended_ms is not None:
        book.end_all(ended_ms)
    return book.records()


class _Book:
    """One node's holders while changes are applied."""

    def __init__(self, cluster: str, node: str, parts: Mapping[int, int], known: Known) -> None:
        self._cluster, self._node, self._parts, self._known = cluster, node, parts, known
        self._allocations = {allocation.allocation_id: allocation for _, allocation in known.allocations}
        self._holder = {allocation.allocation_id: holder for holder, allocation in known.allocations}
        self._on_device: dict[int, list[_Presence]] = {}
        self._of_allocation: dict[int, list[_Presence]] = {}
        self._of_holder: dict[Holder, dict[int, None]] = {}
        for presence in _presences(known.holdings):
            self._add(presence)
        self._touched_from: dict[int, int] = {}
        self._begun: set[int] = set()
        self._ends: dict[int, tuple[str, int]] = {}

    def _add(self, presence: _Presence) -> None:
        self._on_device.setdefault(presence.device_id, []).append(presence)
        self._of_allocation.setdefault(presence.allocation_id, []).append(presence)
        self._of_holder.setdefault(self._holder[presence.allocation_id], {})[presence.allocation_id] = None

    def apply(self, change: Change) -> None:
        on_device = list(self._on_device.get(change.device_id, ()))
        now = {
            self._holder[presence.allocation_id]: presence
            for presence in on_device
            if presence.end_ms is None
        }
        for holder in sorted(now.keys() - change.holders):
            now[holder].end_ms = change.at_ms
            why = REPLACED if change.holders - now.keys() else GONE
            self._ends[now[holder].allocation_id] = (why, change.before_ms)
            self._touch(change.device_id, change.at_ms)
        for holder in sorted(change.holders - now.keys()):
            self._begin(holder, change, on_device)

    def _begin(self, holder: Holder, change: Change, on_device: Sequence[_Presence]) -> None:
        last = max(
            (presence for presence in on_device if self._holder[presence.allocation_id] == holder),
            key=lambda presence: presence.start_ms,
            default=None,
        )
        if last is not None and last.end_ms is not None and change.at_ms - last.end_ms <= VANISH_MS:
            others = (presence for presence in on_device if presence is not last)
            if all(presence.start_ms < last.end_ms for presence in others):
                self._touch(change.device_id, last.end_ms)
                last.end_ms = None
                return
        allocation_id = self._allocation_of(holder, change.at_ms)
        self._add(_Presence(allocation_id, change.device_id, change.at_ms, None))
        self._touch(change.device_id, change.at_ms)

    def _allocation_of(self, holder: Holder, at_ms: int) -> int:
        """The holder's allocation that goes on, or goes on again, at that instant; else a new one."""
        for allocation_id in self._of_holder.get(holder, ()):
            ends = [presence.end_ms for presence in self._of_allocation[allocation_id]]
            if any(end_ms is None or at_ms - end_ms <= VANISH_MS for end_ms in ends):
                return allocation_id
        name = (holder.namespace, holder.pod, holder.pod_uid, holder.hpc_job)
        allocation_id = content_id("allocation", self._cluster, SOURCE, self._node, *name, at_ms)
        self._holder[allocation_id] = holder
        self._allocations[allocation_id] = self._new_allocation(allocation_id, holder, at_ms)
        self._begun.add(allocation_id)
        return allocation_id

    def _new_allocation(self, allocation_id: int, holder: Holder, at_ms: int) -> Allocation:
        return Allocation(
            cluster=self._cluster,
            allocation_id=allocation_id,
            start_at=at_ms,
            started_at=at_ms,
            end_at=None,
            source=SOURCE,
            workload_id=workload_id(self._cluster, holder),
            node=self._node,
            namespace=holder.namespace,
            pod=holder.pod or holder.hpc_job,
            pod_uid=holder.pod_uid,
        )

    def end_all(self, at_ms: int) -> None:
        """The node has ended: nothing is held there any more."""
        for presence in itertools.chain.from_iterable(self._on_device.values()):
            if presence.end_ms is None:
                presence.end_ms = max(at_ms, presence.start_ms)
                self._ends[presence.allocation_id] = (NODE_GONE, at_ms)
                self._touch(presence.device_id, presence.end_ms)

    def _touch(self, device_id: int, at_ms: int) -> None:
        self._touched_from[device_id] = min(at_ms, self._touched_from.get(device_id, at_ms))

    def records(self) -> Attributed:
        rows = self._rows()
        holdings = self._changed_holdings(rows)
        allocations = self._changed_allocations(rows)
        begun = {
            self._holder[allocation.allocation_id]: allocation.start_at
            for allocation in allocations
            if allocation.allocation_id in self._begun
        }
        workloads = tuple(_workload(self._cluster, holder, begun[holder]) for holder in sorted(begun))
        return Attributed(workloads, tuple(allocations), tuple(holdings))

    def _rows(self) -> dict[tuple[int, int], Holding]:
        """The holdings as they should be, by (holding_id, start_at); devices that no change touched keep
        theirs."""
        rows = {(holding.holding_id, holding.start_at): holding for holding in self._known.holdings}
        for device_id, from_ms in self._touched_from.items():
            there = self._on_device.get(device_id, [])
            rows = {
                key: row for key, row in rows.items() if row.device_id != device_id or row.start_at < from_ms
            }
            before = {
                row.allocation_id: row
                for row in sorted(rows.values(), key=lambda row: row.start_at)
                if row.device_id == device_id
            }
            for row in _segments(self._cluster, device_id, self._parts.get(device_id, 0), there, from_ms):
                earlier = before.get(row.allocation_id)
                goes_on = (
                    earlier is not None and row.start_at == from_ms and _reaches(earlier, from_ms, there)
                )
                if earlier is not None and goes_on and earlier.parts == row.parts:
                    rows[earlier.holding_id, earlier.start_at] = replace(earlier, end_at=row.end_at)
                    continue
                rows[row.holding_id, row.start_at] = row
                if earlier is not None and goes_on:
                    rows[earlier.holding_id, earlier.start_at] = replace(earlier, end_at=from_ms)
            for earlier in before.values():
                key = (earlier.holding_id, earlier.start_at)
                if rows[key].end_at is None and not _goes_on(earlier, from_ms, there):
                    rows[key] = replace(earlier, end_at=from_ms)
        return rows

    def _changed_holdings(self, rows: Mapping[tuple[int, int], Holding]) -> list[Holding]:
        known = {(holding.holding_id, holding.start_at): holding for holding in self._known.holdings}
        changed: list[Holding] = []
        for key in sorted(rows.keys() | known.keys()):
            row, was = rows.get(key), known.get(key)
            wanted = row if row is not None else replace(known[key], end_at=known[key].start_at)
            if was is not None and (wanted.end_at, wanted.parts) == (was.end_at, was.parts):
                continue
            spent = self._known.spent.get(key, was.revision if was is not None else -1)
            changed.append(replace(wanted, revision=spent + 1))
        return changed

    def _changed_allocations(self, rows: Mapping[tuple[int, int], Holding]) -> list[Allocation]:
        newest: dict[tuple[int, int], Holding] = {}
        for row in sorted(rows.values(), key=lambda row: row.start_at):
            newest[row.allocation_id, row.device_id] = row
        parts: dict[int, int] = {}
        for (allocation_id, _), row in newest.items():
            parts[allocation_id] = parts.get(allocation_id, 0) + row.parts
        changed: list[Allocation] = []
        for allocation_id, was in sorted(self._allocations.items()):
            theirs = self._of_allocation.get(allocation_id)
            if not theirs:
                continue
            ends = [presence.end_ms for presence in theirs]
            end_ms = None if None in ends else max(end for end in ends if end is not None)
            why, seen_ms = self._ends.get(allocation_id, (was.end_evidence, was.sure_end_at or was.start_at))
            now = replace(
                was,
                end_at=end_ms,
                end_evidence="" if end_ms is None else why,
                sure_end_at=None if end_ms is None else max(was.start_at, min(seen_ms, end_ms)),
                gpu_parts=parts.get(allocation_id, 0),
            )
            if allocation_id in self._begun:
                changed.append(now)
            elif now != was:
                changed.append(replace(now, revision=was.revision + 1))
        return changed


def workload_id(cluster: str, holder: Holder) -> int:
    """The id of the workload that a label's pod or job is taken for: labels do not tell of owners."""
    return content_id("workload", cluster, SOURCE, holder.namespace, holder.pod, holder.hpc_job)


def _workload(cluster: str, holder: Holder, at_ms: int) -> Workload:
    group, kind = ("", "Pod") if holder.pod else ("slurm", "Job")
    name = holder.pod or holder.hpc_job
    return Workload(cluster, workload_id(cluster, holder), at_ms, None, group, kind, holder.namespace, name)


def _presences(holdings: Iterable[Holding]) -> list[_Presence]:
    """Rows of one allocation on one device that touch are one presence."""
    found: list[_Presence] = []
    last: dict[tuple[int, int], _Presence] = {}
    for row in sorted(holdings, key=lambda row: row.start_at):
        before = last.get((row.allocation_id, row.device_id))
        if before is not None and before.end_ms == row.start_at:
            before.end_ms = row.end_at
            continue
        presence = _Presence(row.allocation_id, row.device_id, row.start_at, row.end_at)
        last[row.allocation_id, row.device_id] = presence
        found.append(presence)
    return found


def _segments(
    cluster: str, device_id: int, parts: int, there: Sequence[_Presence], from_ms: int
) -> list[Holding]:
    """From `from_ms` on, each holder's spans with equal parts; spans that touch and have the same parts are
    one."""
    cuts = {from_ms} | {
        at
        for presence in there
        for at in (presence.start_ms, presence.end_ms)
        if at is not None and at > from_ms
    }
    ordered = sorted(cuts)
    rows: dict[int, list[Holding]] = {}
    coming = sorted(there, key=lambda presence: presence.start_ms, reverse=True)
    here: list[_Presence] = []
    for start_ms, end_ms in zip(ordered, [*ordered[1:], None], strict=True):
        while coming and coming[-1].start_ms <= start_ms:
            here.append(coming.pop())
        here = [presence for presence in here if presence.end_ms is None or presence.end_ms > start_ms]
        for presence in here:
            share = parts // len(here)
            theirs = rows.setdefault(presence.allocation_id, [])
            if theirs and theirs[-1].end_at == start_ms and theirs[-1].parts == share:
                theirs[-1] = replace(theirs[-1], end_at=end_ms)
                continue
            holding_id = content_id("holding", cluster, presence.allocation_id, device_id)
            theirs.append(
                Holding(
                    cluster, holding_id, start_ms, end_ms, presence.allocation_id, device_id, share, "label"
                )
            )
    return [row for theirs in rows.values() for row in theirs]


def _goes_on(row: Holding, at_ms: int, there: Sequence[_Presence]) -> bool:
    """Whether the row's holder is on the device without interruption from the row's start to after the
    instant."""
    return any(
        presence.allocation_id == row.allocation_id
        and presence.start_ms <= row.start_at
        and (presence.end_ms is None or presence.end_ms > at_ms)
        for presence in there
    )


def _reaches(row: Holding, at_ms: int, there: Sequence[_Presence]) -> bool:
    """Whether the row lasts, or should have lasted, up to the instant and on."""
    return (row.end_at is None or row.end_at >= at_ms) and _goes_on(row, at_ms, there)

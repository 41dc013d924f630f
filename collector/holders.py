"""Reading the ledger's new samples for nodes, devices and holders, where only pod labels tell."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from collector import attribution, presence
from collector.attribution import VANISH_MS, Attributed, Change, Holder, Known, attribute
from collector.presence import LIFE_AFTER_LAST_PAGE_MS, Fleet, Sighting
from collector.round import SOURCE
from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.ids import content_id, device_id
from quartermaster.pool import PoolRule, pool_of
from quartermaster.records import Allocation, Authority, Device, Gap, Holding, Node, Watermark
from sql.ledger import Ledger

# Labels are believed where nobody better is: any other source has a lower rank.
RANK = 90
# So much is read at once: well below a node's life after its last page.
SPAN_MS = 6 * HOUR_MS
# A node that is there so soon after a span's begin was there before it.
_SOON_MS = 10 * MINUTE_MS
HOLDERS = "holders"


@dataclass(frozen=True, slots=True)
class ReadLabels:
    """What one reading of new samples gave: how many records of each table, and up to when it has read."""

    cluster: str
    until_ms: int
    records: Mapping[str, int]


def read_labels(ledger: Ledger, cluster: str, pools: Sequence[PoolRule], now_ms: int) -> ReadLabels | None:
    """Append what the samples since the last reading say of nodes, devices and holders; None when none are
    new.

    Reads up to the watermark of telemetry, so that nothing earlier comes any more; a long time in spans of
    some
    hours, each a commit. One process at a time. Raises LedgerError.
    """
    with ledger.exclusive("labels"):
        (marks,) = _rows(ledger, "marks", cluster=cluster, source=SOURCE)
        from_ms = marks["first_ms"] if marks["read_ms"] is None else marks["read_ms"]
        if marks["complete_ms"] is None or from_ms is None or marks["complete_ms"] <= from_ms:
            return None
        counted: dict[str, int] = {}
        while from_ms < marks["complete_ms"]:
            until_ms = min(marks["complete_ms"], from_ms + SPAN_MS)
            records = _Reading(ledger, cluster, from_ms, until_ms, tuple(pools)).records()
            ledger.append(f"labels/{cluster}/{from_ms}-{until_ms}", records, recorded_at=now_ms)
            for table, rows in records.items():
                counted[table] = counted.get(table, 0) + len(rows)
            from_ms = until_ms
        return ReadLabels(cluster, from_ms, counted)


def read_before(
    ledger: Ledger,
    cluster: str,
    pools: Sequence[PoolRule],
    span: tuple[int, int],
    *,
    ends: Mapping[str, int],
    now_ms: int,
) -> dict[str, int]:
    """Append what labels say of a span at whose end another source goes on; how many records of each table.

    `ends` is where that source's nodes begin, by name ("" for all others). The caller has the ledger's lock
    `labels`. Raises LedgerError.
    """
    counted: dict[str, int] = {}
    from_ms, end_ms = span
    while from_ms < end_ms:
        until_ms = min(end_ms, from_ms + SPAN_MS)
        records = _Reading(ledger, cluster, from_ms, until_ms, tuple(pools), ends).records()
        ledger.append(f"labels/{cluster}/{from_ms}-{until_ms}", records, recorded_at=now_ms)
        for table, rows in records.items():
            counted[table] = counted.get(table, 0) + len(rows)
        from_ms = until_ms
    return counted


@dataclass
class _Reading:
    """One reading of a span of samples, [from_ms, until_ms); `ends` as in `read_before`, where another goes on."""

    ledger: Ledger
    cluster: str
    from_ms: int
    until_ms: int
    pools: tuple[PoolRule, ...]
    ends: Mapping[str, int] | None = None

    def records(self) -> dict[str, Sequence[object]]:
        """The records to append, by table."""
        fleets, devices = self._fleets()
        held = self._holders(fleets, devices)
        first_ms = [node.start_at for fleet in fleets.values() for node in fleet.nodes]
        authority = [self._authority(min(first_ms))] if first_ms and not self._authority_known() else []
        return {
            "nodes_versions": [self._within(node) for fleet in fleets.values() for node in fleet.nodes],
            "devices_versions": [device for fleet in fleets.values() for device in fleet.devices],
            "workloads_versions": [workload for one in held for workload in one.workloads],
            "allocations_versions": [allocation for one in held for allocation in one.allocations],
            "holdings_versions": [holding for one in held for holding in one.holdings],
            "authority_versions": authority,
            "gaps_versions": self._gaps(),
            "watermarks": [Watermark(self.cluster, attribution.SOURCE, HOLDERS, self.until_ms)],
        }

    def _fleets(self) -> tuple[dict[str, Fleet], dict[str, dict[int, Device]]]:
        """The changes of nodes and devices by node, and each node's devices by id: those before and the new
        ones."""
        seen: dict[str, list[Sighting]] = {}
        for row in self._query("sightings", **self._span()):
            seen.setdefault(row.pop("node"), []).append(Sighting(**row))
        known = self._known_fleets()
        for name in seen:
            known.setdefault(name, Fleet())
        late = {
            n for n, theirs in seen.items() if known[n].nodes and _first(theirs) > self.from_ms + _SOON_MS
        }
        last = dict.fromkeys(late | known.keys() - seen.keys(), self.from_ms - LIFE_AFTER_LAST_PAGE_MS)
        for (name, _), last_ms in self._last_pages(sorted(last)).items():
            last[name] = max(last[name], last_ms)
        fleets: dict[str, Fleet] = {}
        for name, was in sorted(known.items()):
            if name not in seen:
                fleets[name] = presence.ended(was, last[name], self.until_ms)
                continue
            before = presence.ended(was, last[name], _first(seen[name])) if name in late else Fleet()
            now = presence.presence(
                self.cluster, name, seen[name], Fleet() if before.nodes else was, self._pool
            )
            fleets[name] = Fleet(before.nodes + now.nodes, before.devices + now.devices)
        return fleets, {
            name: {d.device_id: d for d in (*known[name].devices, *fleets[name].devices)} for name in known
        }

    def _known_fleets(self) -> dict[str, Fleet]:
        """The open nodes, each with its open devices."""
        devices: dict[str, list[Device]] = {}
        for row in self._query("known_devices"):
            devices.setdefault(row["node"], []).append(Device(**row))
        if self.ends is None:
            nodes = [Node(**row) for row in self._query("known_nodes")]
        else:
            rows = self._query("nodes_before", from_ms=self.from_ms)
            nodes = [replace(Node(**row), end_at=None) for row in rows]
        return {node.node: Fleet((node,), tuple(devices.get(node.node, ()))) for node in nodes}

    def _within(self, node: Node) -> Node:
        """The node, ended where another source's begins."""
        if self.ends is None or node.end_at is not None:
            return node
        return replace(node, end_at=max(node.start_at, self.ends.get(node.node, self.ends[""])))

    def _holders(
        self, fleets: Mapping[str, Fleet], devices: Mapping[str, Mapping[int, Device]]
    ) -> list[Attributed]:
        known = self._known(list(fleets))
        ends = {
            (name, device.device_id): device.end_at
            for name, fleet in fleets.items()
            for device in fleet.devices
            if device.end_at is not None and fleet.ended_ms is None
        }
        changes = self._changes(devices, known, ends.keys())
        for (name, device), at in ends.items():
            changes.setdefault(name, []).append(Change(device, at, at, frozenset()))
        concerned = [
            name for name, fleet in fleets.items() if changes.get(name) or fleet.ended_ms is not None
        ]
        last = self._last_pages(concerned)
        said: list[Attributed] = []
        for name in concerned:
            parts = {device.device_id: device.parts for device in devices[name].values()}
            theirs = [
                _with_before(change, last.get((name, change.device_id))) for change in changes.get(name, [])
            ]
            said.append(
                attribute(self.cluster, name, parts, theirs, known[name], ended_ms=fleets[name].ended_ms)
            )
        return said

    def _changes(
        self,
        devices: Mapping[str, Mapping[int, Device]],
        known: Mapping[str, Known],
        ended: AbstractSet[tuple[str, int]],
    ) -> dict[str, list[Change]]:
        """The pages that name others than the page before; a span's first, others than are known to hold.

        Where the device itself `ended`, its first page counts too.
        """
        holding = {name: _holding(one) for name, one in known.items()}
        found: dict[str, list[Change]] = {}
        for row in self._query("changes", **self._span()):
            device = device_id(self.cluster, row["gpu_uuid"], row["gi_id"])
            if device not in devices[row["node"]]:
                continue
            holders = frozenset(Holder(**holder) for holder in row["holders"])
            same = holders == holding[row["node"]].get(device, frozenset())
            if row["before_ms"] is None and same and (row["node"], device) not in ended:
                continue
            before_ms = row["before_ms"] if row["before_ms"] is not None else -1
            found.setdefault(row["node"], []).append(Change(device, row["at_ms"], before_ms, holders))
        return found

    def _known(self, nodes: Sequence[str]) -> dict[str, Known]:
        rows = (
            self._query("known_allocations", nodes=list(nodes), since_ms=self.from_ms - VANISH_MS)
            if nodes
            else []
        )
        allocations: dict[str, list[tuple[Holder, Allocation]]] = {name: [] for name in nodes}
        node_of: dict[int, str] = {}
        for row in rows:
            job = row.pop("is_job")
            allocation = Allocation(**row)
            name = ("", allocation.pod) if job else (allocation.pod, "")
            holder = Holder(allocation.namespace, name[0], allocation.pod_uid, name[1])
            allocations[allocation.node].append((holder, allocation))
            node_of[allocation.allocation_id] = allocation.node
        holdings: dict[str, list[Holding]] = {name: [] for name in nodes}
        spent: dict[str, dict[tuple[int, int], int]] = {name: {} for name in nodes}
        for row in self._query("known_holdings", allocations=list(node_of)) if node_of else []:
            node = node_of[row["allocation_id"]]
            spent[node][row["holding_id"], row["start_at"]] = row.pop("spent")
            if row["device_id"] is not None:
                holdings[node].append(Holding(cluster=self.cluster, **row))
        return {name: Known(tuple(allocations[name]), tuple(holdings[name]), spent[name]) for name in nodes}

    def _last_pages(self, nodes: Sequence[str]) -> dict[tuple[str, int], int]:
        if not nodes:
            return {}
        rows = self._query(
            "last_pages",
            source=SOURCE,
            nodes=list(nodes),
            before_ms=self.from_ms,
            life_ms=LIFE_AFTER_LAST_PAGE_MS,
        )
        return {(r["node"], device_id(self.cluster, r["gpu_uuid"], r["gi_id"])): r["last_ms"] for r in rows}

    def _gaps(self) -> list[Gap]:
        gaps: list[Gap] = []
        for row in self._query("gaps", source=SOURCE):
            key = (HOLDERS, attribution.SOURCE, row["node"], row["target"], row["start_at"])
            gap_id = content_id("gap", self.cluster, *key)
            gaps.append(
                Gap(cluster=self.cluster, gap_id=gap_id, covers=HOLDERS, source=attribution.SOURCE, **row)
            )
        return gaps

    def _authority_known(self) -> bool:
        sql = "select count(*) as n from authority where cluster = ? and source = ? and end_at is null"
        return bool(self.ledger.query(sql, [self.cluster, attribution.SOURCE])["n"].item())

    def _authority(self, start_ms: int) -> Authority:
        authority_id = content_id("authority", self.cluster, attribution.SOURCE)
        return Authority(self.cluster, authority_id, start_ms, None, attribution.SOURCE, RANK)

    def _pool(self, model: str) -> str:
        return pool_of(self.pools, model, {})

    def _span(self) -> dict[str, object]:
        return {"source": SOURCE, "from_ms": self.from_ms, "until_ms": self.until_ms}

    def _query(self, name: str, **parameters: object) -> list[dict[str, Any]]:
        return _rows(self.ledger, name, cluster=self.cluster, **parameters)


def _first(sightings: Sequence[Sighting]) -> int:
    return min(sighting.first_ms for sighting in sightings)


def _holding(known: Known) -> dict[int, frozenset[Holder]]:
    """Who is known to hold each device now."""
    holder = {allocation.allocation_id: holder for holder, allocation in known.allocations}
    found: dict[int, set[Holder]] = {}
    for row in known.holdings:
        if row.end_at is None:
            found.setdefault(row.device_id, set()).add(holder[row.allocation_id])
    return {device: frozenset(holders) for device, holders in found.items()}


def _with_before(change: Change, last_ms: int | None) -> Change:
    """A device's first page of the span has its page before in an earlier one; a device without any is
    new."""
    if change.before_ms >= 0:
        return change
    return Change(
        change.device_id, change.at_ms, change.at_ms if last_ms is None else last_ms, change.holders
    )


def _rows(ledger: Ledger, name: str, **parameters: object) -> list[dict[str, Any]]:
    text = (files("sql") / "queries" / "labels" / f"{name}.sql").read_text(encoding="utf-8")
    return ledger.query(text, parameters).to_dicts()

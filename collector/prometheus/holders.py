"""Who held what in the spans that were read from a Prometheus, by the pod labels of their samples.

Each span that is full and that nobody has told of is told in one commit, whole or not at all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from collector import attribution
from collector.attribution import Attributed, Change, Holder, Known, attribute
from collector.holders import HOLDERS, RANK
from collector.prometheus.coverage import Span, covered, rows
from collector.prometheus.fleet import FleetHistory, Life, Run, shared_devices
from collector.prometheus.silence import SOURCE
from quartermaster.clock import DAY_MS, MINUTE_MS
from quartermaster.ids import content_id, device_id
from quartermaster.pool import PoolRule, pool_of
from quartermaster.records import Authority, Gap, Watermark
from sql.ledger import Ledger

HISTORY_ENDS = "history ends"
# What is collected so soon after a span's end goes on from it.
SOON_MS = 10 * MINUTE_MS
# So much is read at once.
_SPAN_MS = DAY_MS


@dataclass(frozen=True, slots=True)
class Told:
    """A span of which it was told who held what, and how many records of each table that made."""

    source: str
    span: Span
    records: Mapping[str, int]


def untold(ledger: Ledger, cluster: str) -> list[Span]:
    """The spans that were read from a Prometheus and of which nobody has told who held what. Raises LedgerError."""
    read = [span for span in covered(ledger, cluster) if span.source == SOURCE and span.end_ms is not None]
    whole = _merged([(span.start_ms, span.end_ms or span.start_ms) for span in read])
    told = [(row["start_ms"], row["end_ms"]) for row in rows(ledger, "told_spans", cluster=cluster)]
    for start_ms, end_ms in told:
        whole = [
            piece
            for span in whole
            for piece in (
                (span[0], min(span[1], start_ms)),
                (span[1] if end_ms is None else max(span[0], end_ms), span[1]),
            )
            if piece[0] < piece[1]
        ]
    return whole


def tell_by_labels(ledger: Ledger, cluster: str, pools: Sequence[PoolRule], span: Span, now_ms: int) -> Told:
    """Append what the labels of a span's samples say of nodes, devices and holders. Raises LedgerError."""
    records = _Telling(ledger, cluster, tuple(pools), span).records()
    ledger.append(f"history/{cluster}/{span[0]}-{span[1]}", records, recorded_at=now_ms)
    return Told(attribution.SOURCE, span, {table: len(given) for table, given in records.items()})


@dataclass
class _Telling:
    """One span while it is told."""

    ledger: Ledger
    cluster: str
    pools: tuple[PoolRule, ...]
    span: Span

    def records(self) -> dict[str, Sequence[object]]:
        """The records to append, by table."""
        ends = Seams(self.ledger, self.cluster, self.span[1])
        history = fleet_history(self.ledger, self.cluster, self.span, self.pools)
        nodes, devices = history.records(ends.of_node)
        held = [
            self._attributed(node, life, ends)
            for node, lives in sorted(history.lives.items())
            for life in lives
        ]
        authority_id = content_id("authority", self.cluster, attribution.SOURCE)
        return {
            "nodes_versions": nodes,
            "devices_versions": devices,
            "workloads_versions": [workload for one in held for workload in one.workloads],
            "allocations_versions": [allocation for one in held for allocation in one.allocations],
            "holdings_versions": [holding for one in held for holding in one.holdings],
            "authority_versions": [
                Authority(self.cluster, authority_id, self.span[0], ends.end_ms, attribution.SOURCE, RANK)
            ],
            "gaps_versions": self._gaps(),
            "watermarks": marks(self.ledger, self.cluster, attribution.SOURCE, self.span[1]),
        }

    def _attributed(self, node: str, life: Life, ends: "Seams") -> Attributed:
        end_ms = ends.of_node(node) if life.ended_ms is None else life.ended_ms
        said = attribute(self.cluster, node, life.parts, life.changes, Known(), ended_ms=end_ms)
        if life.ended_ms is not None:
            return said
        return replace(
            said,
            allocations=tuple(
                replace(each, end_evidence=HISTORY_ENDS)
                if each.end_evidence == attribution.NODE_GONE
                else each
                for each in said.allocations
            ),
        )

    def _gaps(self) -> list[Gap]:
        """Telemetry's gaps are gaps of what labels tell, too."""
        told: list[Gap] = []
        for row in _labels(self.ledger, "gaps", cluster=self.cluster, source=SOURCE):
            key = (HOLDERS, attribution.SOURCE, row["node"], row["target"], row["start_at"])
            gap_id = content_id("gap", self.cluster, *key)
            told.append(
                Gap(cluster=self.cluster, gap_id=gap_id, covers=HOLDERS, source=attribution.SOURCE, **row)
            )
        return told


class Seams:
    """Where a span's records end: at its end, or where what is collected live begins soon after."""

    def __init__(self, ledger: Ledger, cluster: str, end_ms: int) -> None:
        found = rows(ledger, "seams", cluster=cluster, at_ms=end_ms, soon_ms=SOON_MS)
        self._span_end_ms = end_ms
        self._starts = {row["node"]: int(row["start_ms"]) for row in found}
        self.end_ms = self._starts.get("", end_ms)

    def of_node(self, node: str) -> int:
        """The end of what is told of a node."""
        return self._starts.get(node, self._span_end_ms)


def fleet_history(ledger: Ledger, cluster: str, span: Span, pools: Sequence[PoolRule]) -> FleetHistory:
    """Nodes, devices and the holders that labels name, of a span's samples. Raises LedgerError."""
    holders = {
        row["label_ref"]: Holder(row["namespace"], row["pod"], row["pod_uid"], row["hpc_job"])
        for row in rows(ledger, "label_refs", cluster=cluster)
    }
    history = FleetHistory(cluster, lambda model: pool_of(pools, model, {}), holders)
    for from_ms in range(span[0], span[1], _SPAN_MS):
        part = (from_ms, min(span[1], from_ms + _SPAN_MS))
        given = {"cluster": cluster, "from_ms": part[0], "until_ms": part[1]}
        runs = [Run(**row) for row in rows(ledger, "runs", **given)]
        shared = shared_devices(cluster, runs)
        history.read(runs, part[1], _shared_changes(ledger, given, shared) if shared else {})
    return history


def marks(ledger: Ledger, cluster: str, source: str, until_ms: int) -> list[Watermark]:
    """How far a source of holders is complete; nothing where somebody tells of later already."""
    later = rows(ledger, "told_later", cluster=cluster, covers=HOLDERS, until_ms=until_ms)
    return [] if later else [Watermark(cluster, source, HOLDERS, until_ms)]


def _shared_changes(ledger: Ledger, given: Mapping[str, object], shared: set[int]) -> dict[str, list[Change]]:
    """The changes of devices that several series speak of."""
    found: dict[str, list[Change]] = {}
    for row in _labels(ledger, "changes", source=SOURCE, **given):
        device = device_id(str(given["cluster"]), row["gpu_uuid"], row["gi_id"])
        if device in shared:
            before_ms = row["before_ms"] if row["before_ms"] is not None else row["at_ms"]
            holders = frozenset(Holder(**holder) for holder in row["holders"])
            found.setdefault(row["node"], []).append(Change(device, row["at_ms"], before_ms, holders))
    return found


def _merged(spans: Sequence[Span]) -> list[Span]:
    """The spans in order, those that touch as one."""
    found: list[Span] = []
    for start_ms, end_ms in sorted(spans):
        if found and start_ms <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end_ms))
        else:
            found.append((start_ms, end_ms))
    return found


def _labels(ledger: Ledger, name: str, **parameters: object) -> list[dict[str, Any]]:
    text = (files("sql") / "queries" / "labels" / f"{name}.sql").read_text(encoding="utf-8")
    return ledger.query(text, parameters).to_dicts()

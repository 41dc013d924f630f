"""The truth: what a Kubernetes watch would have told, version by version, in order."""

from bisect import bisect_right
from dataclasses import replace
from typing import TypeVar

from quartermaster.ids import content_id
from quartermaster.records import (
    Allocation,
    Authority,
    Demand,
    Device,
    Holding,
    Node,
    Watermark,
    Workload,
)

Record = Node | Device | Workload | Allocation | Holding | Demand | Authority | Watermark
Spanned = Node | Device | Workload | Allocation | Holding | Demand | Authority
Told = TypeVar("Told", Node, Device, Workload, Allocation, Holding, Demand, Authority)

SOURCE = "kubernetes"
TABLES: dict[type, str] = {
    Node: "nodes_versions",
    Device: "devices_versions",
    Workload: "workloads_versions",
    Allocation: "allocations_versions",
    Holding: "holdings_versions",
    Demand: "demand_versions",
    Authority: "authority_versions",
    Watermark: "watermarks",
}
_KEYS: dict[type, str] = {
    Node: "node",
    Device: "device_id",
    Workload: "workload_id",
    Allocation: "allocation_id",
    Holding: "holding_id",
    Demand: "demand_id",
    Authority: "authority_id",
}


class Truth:
    """A log of records. Each time a thing is told again its revision grows."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._at: list[int] = []
        self._records: list[Spanned] = []
        self._revisions: dict[tuple[type, int | str, int], int] = {}

    def tell(self, at_ms: int, record: Told) -> Told:
        """Write the record down as known at `at_ms`, with its next revision; gives it as written."""
        key = (
            type(record),
            getattr(record, _KEYS[type(record)]),
            0 if isinstance(record, Allocation) else record.start_at,
        )
        revision = self._revisions.get(key, -1) + 1
        self._revisions[key] = revision
        told = replace(record, revision=revision)
        self._at.append(at_ms)
        self._records.append(told)
        return told

    def end(self, at_ms: int, record: Told) -> Told:
        """The same record with its end."""
        return self.tell(at_ms, replace(record, end_at=at_ms))

    def since(self, since_ms: int | None, until_ms: int) -> dict[str, list[Record]]:
        """What became known after `since_ms`, as {table: records}, with the watermarks at `until_ms`."""
        first = 0 if since_ms is None else bisect_right(self._at, since_ms)
        found: dict[str, list[Record]] = {}
        for record in self._records[first:]:
            found.setdefault(TABLES[type(record)], []).append(record)
        found["watermarks"] = [
            Watermark(self._cluster, SOURCE, covers, until_ms) for covers in ("holders", "quota")
        ]
        return found


def authority(cluster: str, start_at: int) -> Authority:
    """Kubernetes is believed about holders from `start_at` on."""
    return Authority(cluster, content_id("authority", cluster, SOURCE), start_at, None, SOURCE, rank=0)

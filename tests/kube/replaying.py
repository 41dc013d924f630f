"""Recorded streams given to the collector's picture and to a ledger, and the accountant's books beside them."""

from collections.abc import Iterable, Sequence
from typing import Any

from analytics.usage import provisional
from collector.kubernetes.picture import Picture
from collector.kubernetes.settings import SOURCE
from collector.kubernetes.stream import Event
from quartermaster.clock import HOUR_MS
from quartermaster.ids import device_id
from quartermaster.records import Allocation, Device, Gap, Holding, Watermark
from sql.ledger import Ledger
from tests.kube.accountant import Books, Life, Line
from tests.kube.raws import SETTINGS, replaced

Tables = dict[str, list[Any]]
SUMS = ("capacity", "held", "unallocated", "unavailable", "unobserved", "overbooked")


def picture_of(lines: Iterable[Line], takes: frozenset[int] = frozenset(), cluster: str = "c") -> Tables:
    """All versions that a picture tells of a stream, handed on after the given lines and at the end."""
    picture = Picture(replaced(SETTINGS, cluster=cluster))
    told: Tables = {}

    def take(at_ms: int) -> None:
        for table, rows in picture.take(at_ms).items():
            told.setdefault(table, []).extend(rows)

    at_ms = 0
    for number, line in enumerate(lines):
        picture.apply(Event(*line))
        at_ms = line[0]
        if number in takes:
            take(at_ms)
    take(at_ms)
    return told


def last(rows: Sequence[Any], *key: str) -> list[Any]:
    """The last version of each; withdrawn ones left out."""
    best: dict[tuple[Any, ...], Any] = {}
    for row in rows:
        name = tuple(getattr(row, part) for part in key)
        if name not in best or row.revision > best[name].revision:
            best[name] = row
    return [row for row in best.values() if row.end_at is None or row.end_at > row.start_at]


def lives_of(told: Tables, cluster: str = "c") -> dict[str, Life]:
    """The allocations that were told, as the accountant writes them."""
    allocations: list[Allocation] = last(told.get("allocations_versions", []), "allocation_id")
    holdings: list[Holding] = last(told.get("holdings_versions", []), "holding_id", "start_at")
    devices: list[Device] = told.get("devices_versions", [])
    uuids = {device_id(cluster, each.gpu_uuid, each.gi_id): each.gpu_uuid for each in devices}
    return {
        each.pod_uid: Life(
            each.pod,
            each.node,
            each.start_at,
            each.started_at,
            each.end_at,
            each.sure_end_at,
            each.gpu_parts,
            {uuids[h.device_id]: h.parts for h in holdings if h.allocation_id == each.allocation_id},
        )
        for each in allocations
    }


def written(books: Books) -> dict[str, Life]:
    """The accountant's lives as a ledger shows them: a start within the span, and none that holds nothing."""
    for life in books.lives.values():
        if life.started_ms is not None:
            until = life.started_ms if life.end_ms is None else min(life.started_ms, life.end_ms)
            life.started_ms = max(life.start_ms, until)
    return {uid: life for uid, life in books.lives.items() if life.parts and life.end_ms != life.start_ms}


def into_ledger(ledger: Ledger, cluster: str, told: Tables, until_ms: int, gaps: Sequence[Gap] = ()) -> None:
    """What was told, in a ledger, complete until an instant."""
    marks = [Watermark(cluster, SOURCE, covers, until_ms) for covers in ("holders", "quota")]
    ledger.append(f"{cluster}/told", {**told, "gaps_versions": list(gaps), "watermarks": marks})


def measured(
    ledger: Ledger, cluster: str, from_ms: int, until_ms: int
) -> tuple[dict[str, int], dict[str, int]]:
    """What usage says of [from, until): sums over all nodes, and what each pod (by name) held; part-milliseconds."""
    first = from_ms // HOUR_MS * HOUR_MS
    rows = provisional(ledger, cluster, first, until_ms).usage
    sums = {name: int(rows[f"{name}_pms"].sum()) for name in SUMS}
    pods = {
        row["allocation_id"]: row["pod"]
        for row in ledger.query(
            "select allocation_id, pod from allocations where cluster = ?", [cluster]
        ).to_dicts()
    }
    held: dict[str, int] = {}
    for row in rows.select("allocation_id", "held_pms").to_dicts():
        if row["allocation_id"] is not None:
            pod = pods[row["allocation_id"]]
            held[pod] = held.get(pod, 0) + row["held_pms"]
    return sums, held

"""The workloads of a span: the costliest, and the idlest with what to do about them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from analytics.reports.advice import Evidence, advice, signals
from analytics.reports.figures import Amount, IdleRow, WorkloadRow, millionths
from analytics.reports.queries import Queries, Row, split_of

MOST = 100  # workloads, by cost
IDLEST = 10  # workloads, by the cost of their idle time
Key = tuple[str, int]  # cluster, workload_id


@dataclass(frozen=True, slots=True)
class Named:
    """What workloads are called, and what the devices of the idle ones showed."""

    names: Mapping[Key, Row]
    devices: Mapping[Key, Row]


def look_up(queries: Queries, figures: Iterable[Iterable[Row]], moves: Iterable[Iterable[Row]]) -> Named:
    """The names and devices that the figures and changes of some reports need, read once for all."""
    ranked = [row for rows in figures for row in rows if row["place"] is not None]
    moved = [row for rows in moves for row in rows if row["workload_id"] is not None]
    return Named(
        _by_key(queries, "names", {row["workload_id"] for row in (*ranked, *moved)}),
        _by_key(queries, "devices", {row["workload_id"] for row in ranked if row["level"] == "idlest"}),
    )


def workloads(figures: Iterable[Row], named: Named) -> tuple[tuple[WorkloadRow, ...], tuple[IdleRow, ...]]:
    """The costliest and the idlest workloads of the figures, in order, the idlest with what their devices showed."""
    ranked = sorted((row for row in figures if row["place"] is not None), key=_place)
    return (
        tuple(_workload_row(row, named.names) for row in ranked if row["level"] == "costliest"),
        tuple(
            _idle_row(
                _workload_row(row, named.names),
                row,
                named.devices.get((row["cluster"], row["workload_id"]), {}),
            )
            for row in ranked
            if row["level"] == "idlest"
        ),
    )


def _by_key(queries: Queries, name: str, ids: set[int]) -> dict[Key, Row]:
    if not ids:
        return {}
    return {(row["cluster"], row["workload_id"]): row for row in queries.rows(name, ids=sorted(ids))}


def _place(row: Row) -> int:
    return row["place"]


def _workload_row(row: Row, names: Mapping[tuple[str, int], Row]) -> WorkloadRow:
    name = names.get((row["cluster"], row["workload_id"]), {})
    return WorkloadRow(
        cluster=row["cluster"],
        workload_id=row["workload_id"],
        team=row["team"] or "",
        kind=name.get("kind") or "workload",
        namespace=name.get("namespace") or "",
        name=name.get("name") or f"{row['workload_id']:x}",
        split=split_of(row),
        stalled_pms=row["stalled"],
        faulted_pms=row["faulted"],
        not_started_pms=row["not_started"],
        estimated_pms=row["estimated"],
        adjustments=millionths(row["adjustment_micros"]),
        cost=millionths(row["owed_micros"]),
    )


def _idle_row(workload: WorkloadRow, row: Row, seen: Row) -> IdleRow:
    last_computing_ms: int | None = seen.get("last_computing_ms")
    evidence = Evidence(
        kind=workload.kind,
        held_pms=row["held"],
        idle_pms=row["idle"],
        unknown_pms=row["unknown"],
        stalled_pms=row["stalled"],
        not_started_pms=row["not_started"],
        devices=seen.get("devices", 0),
        idle_devices=seen.get("idle_devices", 0),
        silent_ms=0 if last_computing_ms is None else seen["last_held_ms"] - last_computing_ms,
        activity_permille_pms=row["activity"],
        activity_peak_permille=row["activity_peak"],
        energy_j=row["energy_j"],
        energy_known_pms=row["energy_known"],
        power_peak_dw=row["power_peak"],
    )
    return IdleRow(
        workload=workload,
        why=evidence.why,
        wasted=Amount(row["wasted"], millionths(row["wasted_micros"])),
        devices=evidence.devices,
        idle_devices=evidence.idle_devices,
        last_computing_ms=last_computing_ms,
        activity_permille=evidence.activity_permille,
        activity_peak_permille=evidence.activity_peak_permille,
        power_peak_dw=evidence.power_peak_dw,
        signals=signals(evidence),
        advice=advice(evidence),
    )

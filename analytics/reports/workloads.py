"""The workloads of a week: the costliest, and the idlest with what to do about them."""

from analytics.reports.advice import Evidence, advice, signals
from analytics.reports.figures import Amount, IdleRow, WorkloadRow, millionths
from analytics.reports.queries import Queries, Row, split_of

MOST = 100  # workloads, by cost
IDLEST = 10  # workloads, by the cost of their idle time


def workloads(queries: Queries) -> tuple[list[tuple[WorkloadRow, int, Row]], int]:
    """The costliest and the idlest, each with its rank by cost and its sums; and how many held something."""
    found = queries.rows("workloads", most=MOST, idlest=IDLEST)
    ids = [row["workload_id"] for row in found]
    names = (
        {(row["cluster"], row["workload_id"]): row for row in queries.rows("names", ids=ids)} if ids else {}
    )
    ranked: list[tuple[WorkloadRow, int, Row]] = []
    for row in found:
        name = names.get((row["cluster"], row["workload_id"]), {})
        workload = WorkloadRow(
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
        ranked.append((workload, row["cost_rank"], row))
    return ranked, (found[0]["workload_count"] if found else 0)


def idlest(queries: Queries, candidates: list[tuple[WorkloadRow, Row]]) -> tuple[IdleRow, ...]:
    """Of workloads with their sums, those that wasted most, with what their devices showed."""
    chosen = sorted(
        ((row["idle_rank"], workload, row) for workload, row in candidates if row["mostly_idle"]),
        key=lambda one: one[0],
    )[:IDLEST]
    if not chosen:
        return ()
    devices = {
        (row["cluster"], row["workload_id"]): row
        for row in queries.rows("devices", ids=[workload.workload_id for _, workload, _ in chosen])
    }
    return tuple(
        _idle_row(workload, row, devices.get((workload.cluster, workload.workload_id), {}))
        for _, workload, row in chosen
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

"""The weekly report as a JSON document for machines: every figure, under a version (docs/report.md)."""

from decimal import Decimal

from analytics.reports.figures import Amount, IdleRow, Split, WeeklyReport, WorkloadRow
from analytics.wonback import METHOD
from quartermaster.clock import to_iso

VERSION = 1

Document = dict[str, object]


def to_document(report: WeeklyReport) -> Document:
    """The report in plain values: money as decimal strings, or null without a price; instants in ISO 8601."""
    return {
        "report": "weekly",
        "version": VERSION,
        "week": report.week,
        "days": list(report.days),
        "start": to_iso(report.start_ms),
        "end": to_iso(report.end_ms),
        "time_zone": report.time_zone,
        "currency": report.currency or None,
        "generated_at": to_iso(report.generated_at_ms),
        "known_until": _instant(report.known_until_ms),
        "provisional": report.provisional,
        "team": report.team,
        "billed": _money(report, report.billed),
        "pool_cost": _money(report, report.pool_cost),
        "pool_cost_before": _money(report, report.pool_cost_before),
        "adjustments": _money(report, report.adjustments),
        "split": _split(report, report.split),
        "by_day": [
            {
                "day": row.day,
                "name": row.name,
                "is_team": row.is_team,
                "time": _time(row.pms),
                "cost": _money(report, row.cost),
            }
            for row in report.by_day
        ],
        "by_team": [
            {
                "team": row.team,
                "department": row.department,
                "split": _split(report, row.split),
                "guaranteed": _time(row.guaranteed_pms),
                "within_guarantee": _time(row.within_pms),
                "borrowed": _time(row.borrowed_pms),
                "lent": _time(row.lent_pms),
                "shared": _money(report, row.shared),
                "adjustments": _money(report, row.adjustments),
                "cost": _money(report, row.cost),
                "cost_before": _money(report, row.cost_before),
            }
            for row in report.by_team
        ],
        "by_pool": [
            {
                "cluster": row.cluster,
                "pool": row.pool,
                "model": row.model,
                "split": _split(report, row.split),
                "unit_prices": [str(price) for price in row.unit_prices],
                "cost": _money(report, row.cost),
            }
            for row in report.by_pool
        ],
        "workload_count": report.workload_count,
        "by_workload": [_workload(report, row) for row in report.by_workload],
        "idlest": [_idle(report, row) for row in report.idlest],
        "own_lines": [
            {
                "kind": line.kind,
                **_amount(report, line.amount),
                "shared": _money(report, line.shared),
                "unbilled": _money(report, line.unbilled),
                "treatment": line.treatment,
            }
            for line in report.own_lines
        ],
        "won_back": None
        if report.won_back is None
        else {
            "stopped": report.won_back.stopped,
            "started_again": report.won_back.started_again,
            "given": _time(report.won_back.given_pms),
            "method": METHOD,
        },
        "notes": list(report.notes),
    }


def _workload(report: WeeklyReport, row: WorkloadRow) -> Document:
    return {
        "cluster": row.cluster,
        "workload_id": str(row.workload_id),
        "team": row.team,
        "kind": row.kind,
        "namespace": row.namespace,
        "name": row.name,
        "split": _split(report, row.split),
        "stalled": _time(row.stalled_pms),
        "faulted": _time(row.faulted_pms),
        "not_started": _time(row.not_started_pms),
        "estimated": _time(row.estimated_pms),
        "adjustments": _money(report, row.adjustments),
        "cost": _money(report, row.cost),
    }


def _idle(report: WeeklyReport, row: IdleRow) -> Document:
    return {
        "workload": _workload(report, row.workload),
        "why": row.why,
        "wasted": _amount(report, row.wasted),
        "devices": row.devices,
        "idle_devices": row.idle_devices,
        "last_computing": _instant(row.last_computing_ms),
        "activity_permille": row.activity_permille,
        "activity_peak_permille": row.activity_peak_permille,
        "power_peak_dw": row.power_peak_dw,
        "signals": row.signals,
        "advice": row.advice,
    }


def _split(report: WeeklyReport, split: Split) -> Document:
    named = (("capacity", split.capacity), ("held", split.held), *split.parts)
    return {**{name: _amount(report, amount) for name, amount in named}, "coverage": split.coverage}


def _amount(report: WeeklyReport, amount: Amount) -> Document:
    return {**_time(amount.pms), "cost": _money(report, amount.cost)}


def _time(pms: int) -> Document:
    return {"pms": pms, "gpu_hours": round(Amount(pms).gpu_hours, 6)}


def _money(report: WeeklyReport, amount: Decimal | None) -> str | None:
    return f"{amount:.6f}" if report.priced and amount is not None else None


def _instant(instant_ms: int | None) -> str | None:
    return None if instant_ms is None else to_iso(instant_ms)

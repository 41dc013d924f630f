"""A report as a JSON document for machines: every figure, under a version (docs/report.md)."""

from decimal import Decimal

from analytics.reports.figures import Amount, IdleRow, Report, Split, WonBack, WorkloadRow
from analytics.wonback import METHOD
from quartermaster.clock import to_iso
from quartermaster.parts import GPU_PARTS

VERSION = 1
_OF_UNIT = {"week": "weekly", "month": "monthly", "period": "periodic"}

Document = dict[str, object]


def to_document(report: Report) -> Document:
    """The report in plain values: money as decimal strings, or null without a price; instants in ISO 8601."""
    return {
        "report": _OF_UNIT[report.unit],
        "version": VERSION,
        "week": report.span if report.unit == "week" else None,
        "unit": report.unit,
        "span": report.span,
        "month": report.span if report.unit == "month" else None,
        "audience": report.audience.words,
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
        "won_back": _won(report.won_back),
        "won_ever": _won(report.won_ever),
        "days_split": [{"day": day, **_split(report, split)} for day, split in report.days_split],
        "lending": [
            {"lender": row.lender, "borrower": row.borrower, "lent": _time(row.pms)} for row in report.lending
        ],
        "deeds": [
            {
                "act": row.act,
                "cause": row.cause,
                "came": row.came,
                "workloads": row.workloads,
                "gpus": row.parts / GPU_PARTS,
            }
            for row in report.deeds
        ],
        "change": _change(report),
        "books": _books(report),
        "closed": None
        if report.closed is None
        else {
            "number": report.closed.number,
            "sha256": report.closed.sha256,
            "statement": report.closed.statement or None,
        },
        "notes": list(report.notes),
    }


def _won(won: WonBack | None) -> Document | None:
    if won is None:
        return None
    counts: Document = {"stopped": won.stopped, "started_again": won.started_again}
    return counts | {"given": _time(won.given_pms), "method": METHOD}


def _change(report: Report) -> Document | None:
    change = report.change
    if change is None:
        return None
    return {
        "spans": change.spans,
        "now": _money(report, change.now),
        "before": _money(report, change.before),
        "causes": [
            {
                "kind": cause.kind,
                "amount": _money(report, cause.amount),
                "workloads": cause.workloads,
                "title": cause.title,
                "team": cause.team,
            }
            for cause in change.causes
        ],
        "held": _time(change.held_pms),
        "idle": _time(change.idle_pms),
        "held_before": _time(change.held_before_pms),
        "idle_before": _time(change.idle_before_pms),
    }


def _books(report: Report) -> Document | None:
    books = report.books
    if books is None:
        return None
    return {
        "capacity": _money(report, books.capacity),
        "total": _money(report, books.total),
        "accounts": [
            {
                "account": row.account,
                "kind": row.kind,
                "detail": row.detail,
                "measure": row.measure,
                "lines": row.lines,
                "amount": _money(report, row.amount),
            }
            for row in books.accounts
        ],
        "cost_centres": [
            {
                "cost_centre": row.cost_centre,
                "department": row.department,
                "team": row.team,
                "base": _money(report, row.base),
                "shared": _money(report, row.shared),
                "adjustments": _money(report, row.adjustments),
                "corrections": _money(report, row.corrections),
                "owed": _money(report, row.owed),
            }
            for row in books.centres
        ],
        "corrections": [
            {
                "day": row.day,
                "team": row.team or None,
                "account": row.account,
                "detail": row.detail,
                "corrects": None if row.corrects is None else str(row.corrects),
                "amount": _money(report, row.amount),
            }
            for row in books.corrections
        ],
        "correction_count": books.correction_count,
    }


def _workload(report: Report, row: WorkloadRow) -> Document:
    return {
        "cluster": row.cluster,
        "workload_id": str(row.workload_id),
        "team": row.team,
        "kind": row.kind,
        "namespace": row.namespace,
        "name": row.name,
        "person": row.person or None,
        "split": _split(report, row.split),
        "stalled": _time(row.stalled_pms),
        "faulted": _time(row.faulted_pms),
        "not_started": _time(row.not_started_pms),
        "estimated": _time(row.estimated_pms),
        "adjustments": _money(report, row.adjustments),
        "cost": _money(report, row.cost),
    }


def _idle(report: Report, row: IdleRow) -> Document:
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


def _split(report: Report, split: Split) -> Document:
    named = (("capacity", split.capacity), ("held", split.held), *split.parts)
    return {**{name: _amount(report, amount) for name, amount in named}, "coverage": split.coverage}


def _amount(report: Report, amount: Amount) -> Document:
    return {**_time(amount.pms), "cost": _money(report, amount.cost)}


def _time(pms: int) -> Document:
    return {"pms": pms, "gpu_hours": round(Amount(pms).gpu_hours, 6)}


def _money(report: Report, amount: Decimal | None) -> str | None:
    return f"{amount:.6f}" if report.priced and amount is not None else None


def _instant(instant_ms: int | None) -> str | None:
    return None if instant_ms is None else to_iso(instant_ms)

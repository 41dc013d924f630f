"""The weekly report as CSV for a spreadsheet: one table, a row for each thing told, never a formula."""

import csv
import io
from collections.abc import Iterator
from decimal import Decimal

from analytics.reports import tables
from analytics.reports.figures import Amount, Report, Split, WorkloadRow
from analytics.reports.tables import Kind, Table
from quartermaster.text import inert, visible

COLUMNS = (
    *(
        "section",
        "span",
        "day",
        "cluster",
        "pool",
        "model",
        "team",
        "department",
        "kind",
        "namespace",
        "name",
        "person",
    ),
    *("capacity_gpu_h", "held_gpu_h", "computing_gpu_h", "idle_gpu_h", "unknown_gpu_h"),
    *("unallocated_gpu_h", "unavailable_gpu_h", "unobserved_gpu_h"),
    *("guaranteed_gpu_h", "borrowed_gpu_h", "lent_gpu_h", "stalled_gpu_h", "wasted_gpu_h", "coverage"),
    *("cost", "idle_cost", "wasted_cost", "shared", "adjustments", "cost_before", "currency", "note"),
)

Cell = str | int | float | Decimal | None


def to_csv(report: Report) -> str:
    """Sections under one header (RFC 4180, CRLF): total, day, team, pool, workload, idle, nobody, note.

    Text that a spreadsheet would take for a formula begins with an apostrophe. Costs are empty where there
    is no price.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\r\n")
    writer.writeheader()
    for row in _rows(report):
        writer.writerow({name: _safe(cell) for name, cell in row.items()})
    return text.getvalue()


def table_csv(table: Table) -> str:
    """One table as CSV: GPU-hours and money with six decimals, shares in [0, 1], text never a formula."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([_safe(column.heading) for column in table.columns])
    for row in table.rows:
        writer.writerow([_plain(column.kind, cell) for column, cell in zip(table.columns, row, strict=True)])
    return text.getvalue()


def _plain(kind: Kind, cell: tables.Cell) -> str:
    if isinstance(cell, tuple):
        if kind is not Kind.SHARE:
            return "; ".join(f"{each:f}" for each in map(Decimal, cell))
        return f"{cell[0] / cell[1]:.6f}" if cell[1] else ""
    if kind is Kind.HOURS and isinstance(cell, int):
        return _safe(_hours(cell))
    return tables.gpus(cell) if kind is Kind.GPUS and isinstance(cell, int) else _safe(cell)


def _rows(report: Report) -> Iterator[dict[str, Cell]]:
    split = report.split
    yield _row(
        report,
        "total",
        _times(split),
        team=report.team,
        cost=report.billed if report.team else report.pool_cost,
        idle_cost=split.idle.cost,
        adjustments=report.adjustments,
        cost_before=report.pool_cost_before,
    )
    for day in report.by_day:
        who, what = ("team", "held") if day.is_team else ("kind", day.name)
        yield _row(
            report, "day", {"day": day.day, who: day.name, f"{what}_gpu_h": _hours(day.pms)}, cost=day.cost
        )
    for team in report.by_team:
        promised = {"guaranteed": team.guaranteed_pms, "borrowed": team.borrowed_pms, "lent": team.lent_pms}
        yield _row(
            report,
            "team",
            _times(team.split) | {f"{name}_gpu_h": _hours(pms) for name, pms in promised.items()},
            team=team.team,
            department=team.department,
            cost=team.cost,
            idle_cost=team.split.idle.cost,
            shared=team.shared,
            adjustments=team.adjustments,
            cost_before=team.cost_before,
        )
    for pool in report.by_pool:
        place: dict[str, Cell] = {"cluster": pool.cluster, "pool": pool.pool, "model": pool.model}
        yield _row(report, "pool", _times(pool.split) | place, cost=pool.cost, idle_cost=pool.split.idle.cost)
    for workload in report.by_workload:
        yield _row(
            report,
            "workload",
            _workload(workload),
            cost=workload.cost,
            idle_cost=workload.split.idle.cost,
            adjustments=workload.adjustments,
        )
    for idle in report.idlest:
        wasted: dict[str, Cell] = {
            "wasted_gpu_h": _hours(idle.wasted.pms),
            "note": f"{idle.why}: {idle.signals}; {idle.advice}",
        }
        yield _row(
            report,
            "idle",
            _workload(idle.workload) | wasted,
            cost=idle.workload.cost,
            wasted_cost=idle.wasted.cost,
        )
    for line in report.own_lines:
        told: dict[str, Cell] = {"kind": line.kind, f"{line.kind}_gpu_h": _hours(line.amount.pms)}
        yield _row(
            report, "nobody", told | {"note": line.treatment}, cost=line.amount.cost, shared=line.shared
        )
    for note in report.notes:
        yield {"section": "note", "span": report.span, "note": note}


def _row(report: Report, section: str, cells: dict[str, Cell], **more: Cell) -> dict[str, Cell]:
    told = {name: cell for name, cell in more.items() if report.priced or not isinstance(cell, Decimal)}
    return {"section": section, "span": report.span, "currency": report.currency, **cells, **told}


def _workload(row: WorkloadRow) -> dict[str, Cell]:
    return _times(row.split) | {
        "cluster": row.cluster,
        "team": row.team,
        "kind": row.kind,
        "namespace": row.namespace,
        "name": row.name,
        "person": row.person,
        "stalled_gpu_h": _hours(row.stalled_pms),
    }


def _times(split: Split) -> dict[str, Cell]:
    named = (("capacity", split.capacity), ("held", split.held), *split.parts)
    hours: dict[str, Cell] = {f"{name}_gpu_h": _hours(amount.pms) for name, amount in named}
    return hours | {"coverage": split.coverage}


def _hours(pms: int) -> float:
    return Amount(pms).gpu_hours


def _safe(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return visible(inert(cell))
    return f"{cell:.6f}" if isinstance(cell, float | Decimal) else str(cell)

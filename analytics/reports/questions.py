"""The questions that a report answers, each as a table, for its audience."""

from collections.abc import Iterable
from datetime import date
from decimal import Decimal

from analytics.reports.changed import cause_words
from analytics.reports.details import DeedRow
from analytics.reports.figures import ZERO, Report, Split, TeamRow, WorkloadRow
from analytics.reports.finance import finance
from analytics.reports.tables import Cell, Column, Kind, Row, Table, in_hours, in_money, in_text

LENT = 12  # pairs of teams, in forms for people
WORKLOADS = 25  # in forms for people; JSON and CSV have a hundred
_ACTS = {"stop": "Stop", "hold": "Hold back", "start": "Start again", "warn": "Warn"}
_CAME = {
    "would": "would have been done; nothing was changed",
    "no effect": "tried, without effect",
    "open": "under way, or cut short",
}


def tables(report: Report, workloads: int = WORKLOADS) -> tuple[Table, ...]:
    """All tables of the report, in the order in which a reader asks. Those without anything to say are left out."""
    found = (
        days(report),
        teams(report),
        change(report),
        lending(report),
        idlest(report),
        deeds(report),
        by_workload(report, workloads),
        pools(report),
        nobodys(report),
        *(() if report.books is None else finance(report, report.books)),
    )
    return tuple(table for table in found if table.rows or table.empty)


def days(report: Report) -> Table:
    """Held, computing, idle and unknown by day."""
    columns = [Column("Day", Kind.TEXT), *in_hours("Computing", "Idle", "Unknown", "Held")]
    if report.whole:
        columns += in_hours("Unallocated", "Unavailable", "Unobserved", "Capacity")
    columns.append(Column("Coverage", Kind.SHARE))
    columns += in_money(report.currency, "Cost")

    def cells(day: str, split: Split) -> Row:
        held = [amount.pms for amount in (split.computing, split.idle, split.unknown, split.held)]
        if report.whole:
            held += [
                amount.pms
                for amount in (split.unallocated, split.unavailable, split.unobserved, split.capacity)
            ]
        return (day, *held, _coverage(split), *_priced(report, split.capacity.cost))

    return Table(
        "days",
        "By day",
        "GPU-hours, a business day a row",
        tuple(columns),
        tuple(cells(_day(day), split) for day, split in report.days_split),
        cells("All days", report.split),
        f"Nothing is known of any day of this {report.unit}.",
    )


def teams(report: Report) -> Table:
    """Who held what, and what is owed."""
    columns = [*in_text("Team"), Column("Department", Kind.TEXT, on_paper=False), *in_hours("Held")]
    columns += [Column("Computing", Kind.HOURS, on_paper=False), *in_hours("Idle")]
    columns += [Column("Unknown", Kind.HOURS, on_paper=False), Column("Coverage", Kind.SHARE)]
    columns += in_hours("Guarantee", "Borrowed", "Lent")
    compared = bool(report.by_team) and all(row.cost_before is not None for row in report.by_team)
    columns += in_money(report.currency, "Shared", "Adjusted", "Owes", *(["Before"] if compared else []))

    def cells(name: str, department: str | None, split: Split, rows: Iterable[TeamRow]) -> Row:
        there = tuple(rows)
        return (
            name,
            department,
            *(amount.pms for amount in (split.held, split.computing, split.idle, split.unknown)),
            _coverage(split),
            sum(row.guaranteed_pms for row in there),
            sum(row.borrowed_pms for row in there),
            sum(row.lent_pms for row in there),
            *_priced(
                report,
                sum((row.shared for row in there), ZERO),
                sum((row.adjustments for row in there), ZERO),
                sum((row.cost for row in there), ZERO),
                *([sum((row.cost_before or ZERO for row in there), ZERO)] if compared else []),
            ),
        )

    whole = sum((row.split for row in report.by_team), Split())
    return Table(
        "teams",
        "By team",
        "GPU-hours held, promised, borrowed and lent, and what each team owes",
        tuple(columns),
        tuple(cells(row.team, row.department, row.split, [row]) for row in report.by_team),
        cells("All teams", None, whole, report.by_team) if report.by_team else None,
        f"No team held a GPU in this {report.unit}.",
    )


def change(report: Report) -> Table:
    """Why it is more or less than before."""
    found = report.change
    note = ""
    rows: tuple[Row, ...] = ()
    if found is not None and report.priced:
        spans = f"{found.spans} {report.unit}s" if found.spans > 1 else report.unit
        note = f"What is owed, against the mean of the {spans} before: {report.money(found.before)}"
        rows = tuple((_capital(cause_words(cause, report)), cause.amount) for cause in found.causes)
    columns = (Column("Cause", Kind.WORDS), *in_money(report.currency, "Change"))
    total = (
        (f"From {report.money(found.before)} to {report.money(found.now)}", found.amount)
        if found and rows
        else None
    )
    return Table("change", "Why it changed", note, columns, rows, total)


def lending(report: Report) -> Table:
    """Lending, given and taken: the largest, and the rest in a row."""
    rest = report.lending[LENT:]
    rows: list[Row] = [(row.lender, row.borrower, row.pms) for row in report.lending[:LENT]]
    if rest:
        rows.append((f"{len(rest)} others", "", sum(row.pms for row in rest)))
    return Table(
        "lending",
        "Lending",
        "GPU-hours of a team's guarantee that another held while it did not use them",
        (*in_text("From", "To"), *in_hours("Lent")),
        tuple(rows),
        ("All", None, sum(row.pms for row in report.lending)) if rows else None,
    )


def idlest(report: Report) -> Table:
    """What stood idle, and what to do about it."""
    columns = [*in_text("Workload", "Team", "Why")]
    columns += in_hours("Held", "Wasted") + in_money(report.currency, "Wasted cost")
    columns += [Column("What its devices showed", Kind.WORDS), Column("What to do", Kind.WORDS)]
    return Table(
        "idlest",
        "Most idle, and what to do",
        f"At most ten workloads, by what their idle and stalled time {'cost' if report.priced else 'took'}",
        tuple(columns),
        tuple(
            (
                title(row.workload),
                row.workload.team,
                row.why,
                row.workload.split.held.pms,
                row.wasted.pms,
                *_priced(report, row.wasted.cost),
                row.signals,
                row.advice,
            )
            for row in report.idlest
        ),
        empty="Nothing that was held stood idle.",
    )


def deeds(report: Report) -> Table:
    """What the enforcer did, and what it would have done."""
    return Table(
        "deeds",
        "What the enforcer did",
        "Workloads and the GPUs they held; while it only plans, what it would have done",
        (
            *in_text("What", "Why", "What came of it"),
            Column("Workloads", Kind.COUNT),
            Column("GPUs", Kind.GPUS),
        ),
        tuple(_deed(row) for row in report.deeds),
    )


def by_workload(report: Report, most: int) -> Table:
    """The workloads that cost most."""
    shown = report.by_workload[:most]
    columns = [*in_text("Workload", "Team"), *in_hours("Held")]
    columns += [Column(label, Kind.SHARE) for label in ("Computing", "Idle", "Coverage")]
    note = "Everything that held a GPU"
    if report.workload_count > len(shown):
        by = "cost" if report.priced else "held"
        note = f"The {len(shown)} of {report.workload_count:,} that {by} most"

    def cells(row: WorkloadRow) -> Row:
        split = row.split
        states = ((amount.pms, split.held.pms) for amount in (split.computing, split.idle))
        return (title(row), row.team, split.held.pms, *states, _coverage(split), *_priced(report, row.cost))

    return Table(
        "workloads",
        "By workload",
        note,
        (*columns, *in_money(report.currency, "Cost")),
        tuple(cells(row) for row in shown),
        empty=f"No workload held a GPU in this {report.unit}.",
    )


def pools(report: Report) -> Table:
    """The pools: capacity, and what became of it."""
    columns = in_text("Pool", "Cluster", "GPU model")
    columns += [
        *in_hours("Capacity"),
        *(Column(label, Kind.SHARE) for label in ("Held", "Computing", "Coverage")),
    ]
    if report.priced:
        columns += [Column(f"{report.currency} a GPU-h", Kind.PRICES), *in_money(report.currency, "Cost")]
    return Table(
        "pools",
        "By pool",
        "Capacity, and how much of it was held and computed"
        if report.whole
        else "Held time by pool and GPU model",
        tuple(columns),
        tuple(
            (
                row.pool or "no pool",
                row.cluster,
                row.model,
                row.split.capacity.pms,
                (row.split.held.pms, row.split.capacity.pms),
                (row.split.computing.pms, row.split.capacity.pms),
                _coverage(row.split),
                *((row.unit_prices, row.cost) if report.priced else ()),
            )
            for row in report.by_pool
        ),
    )


def nobodys(report: Report) -> Table:
    """What nobody held, and who bears it."""
    lines = [line for line in report.own_lines if line.amount.pms]
    columns = [Column("Capacity", Kind.TEXT), *in_hours("GPU-hours")]
    if report.priced:
        columns += [
            *in_money(report.currency, "Cost", "Teams bear", "Nobody is asked", "Its own line"),
            Column("How", Kind.WORDS),
        ]
    return Table(
        "nobodys",
        "What nobody held",
        "Capacity without a holder, and who bears its cost" if report.priced else "Capacity without a holder",
        tuple(columns),
        tuple(
            (
                line.kind,
                line.amount.pms,
                *(
                    (line.amount.cost, line.shared, line.unbilled, line.own, line.treatment)
                    if report.priced
                    else ()
                ),
            )
            for line in lines
        ),
    )


def title(row: WorkloadRow) -> str:
    """A workload as people name it: `Notebook vision/jupyter`."""
    return row.title


def _deed(row: DeedRow) -> Row:
    cause = row.cause.removeprefix("it ").removeprefix("an ")
    return _ACTS.get(row.act, row.act), cause, _CAME.get(row.came, row.came), row.workloads, row.parts


def _day(day: str) -> str:
    return f"{date.fromisoformat(day):%a %-d %b}"


def _priced(report: Report, *amounts: Decimal | None) -> tuple[Decimal | None, ...]:
    return amounts if report.priced else ()


def _coverage(split: Split) -> Cell:
    return (split.held.pms - split.unknown.pms, split.held.pms)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

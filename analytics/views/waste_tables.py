"""Waste as figures and tables: what is idle now, forgotten workspaces, what was idle in the week, what is too large."""

from decimal import Decimal

from analytics.found import Kind as FoundKind
from analytics.reports.figures import IdleRow, Report
from analytics.reports.summary import Card, hours, money, share, title
from analytics.reports.tables import Column, Kind, Row, Table, gpus, in_hours, in_money, in_text
from analytics.views.instants import lasting, minute
from analytics.views.waste import Noted, Waste, a_month

_STEPS = {
    FoundKind.idle: "End it, or ask its owner; it is warned and taken back where the policy says so.",
    FoundKind.forgotten: "Save the work and stop it: what is on its volume stays, what is in memory is lost.",
    FoundKind.partly_idle: "Ask for fewer GPUs: some of its GPUs do nothing.",
    FoundKind.stalled: "Read its log, then restart it from a checkpoint: it is busy and does no work.",
    FoundKind.never_started: "Read the pod's events and mend or delete it: it holds GPUs and never started.",
}


def cards(report: Report, found: Waste) -> tuple[Card, ...]:
    """The two wastes apart, what the idle one comes to a month, and what is idle now."""
    idle, free = report.split.idle, report.split.unallocated
    of_all = "of what was held" if report.some else "of capacity"

    def of(part: int) -> str:
        return f"{share(part, report.split.capacity.pms)} {of_all}"

    if report.priced:
        monthly = money(report, a_month(idle.cost, report.known_ms), 0)
        told = [
            Card(
                "Idle while held",
                money(report, idle.cost, 0),
                f"{hours(idle)} GPU-hours, {of(idle.pms)}",
                True,
            ),
            Card("That is, a month", monthly, f"if it goes on as in this {report.unit}"),
        ]
    else:
        told = [Card("Idle while held", f"{hours(idle)} GPU-h", f"{of(idle.pms)}; no prices in force", True)]
    if report.whole:
        amount = money(report, free.cost, 0) if report.priced else f"{hours(free)} GPU-h"
        told.append(Card("Held by nobody", amount, f"{hours(free)} GPU-hours, {of(free.pms)}"))
    now = found.lasting
    last = f"{gpus(sum(each.parts for each in now))} GPUs between them" if now else "as it was noted last"
    told.append(Card("Noted as idle now", f"{len(now):,}", f"workloads; {last}"))
    return tuple(told)


def now(found: Waste, at_ms: int) -> Table:
    """What is idle, stalled or not started as it was noted last, and what to do."""
    return Table(
        "now",
        "Idle now",
        "",
        (
            *in_text("Workload", "Team", "What"),
            Column("For", Kind.WORDS),
            Column("GPUs", Kind.GPUS),
            *in_money(found.currency, "So far", "A month"),
            Column("Next step", Kind.WORDS),
        ),
        tuple(
            (
                each.subject,
                each.team,
                each.kind.value,
                lasting(at_ms - each.since_ms),
                each.parts,
                *_money(found, each),
                _step(each),
            )
            for each in found.lasting
        ),
        empty="Nothing is noted as idle. quartermaster findings looks, and so does the enforcer at each turn.",
    )


def forgotten(found: Waste, time_zone: str) -> Table:
    """The workspaces that somebody left running, while the week lasted."""
    return Table(
        "forgotten",
        "Forgotten workspaces",
        "",
        (
            *in_text("Workspace", "Team"),
            Column("Since", Kind.WORDS),
            Column("Until", Kind.WORDS),
            Column("GPUs", Kind.GPUS),
            *in_money(found.currency, "Cost", "A month"),
        ),
        tuple(
            (
                each.subject,
                each.team,
                minute(each.since_ms, time_zone),
                "still" if each.until_ms is None else minute(each.until_ms, time_zone),
                each.parts,
                *_money(found, each),
            )
            for each in found.forgotten
        ),
        empty="No workspace was noted as forgotten.",
    )


def period(report: Report, most: int | None = None) -> Table:
    """The workloads that wasted more than a fifth of what they held, those that cost most first; all, or the first."""
    return Table(
        "period",
        "Idle in the period",
        "",
        (
            *in_text("Workload", "Team", "Why"),
            *in_hours("Held", "Idle or stalled"),
            Column("Of held", Kind.SHARE),
            *in_money(report.currency, "Cost", "A month"),
            Column("Next step", Kind.WORDS),
        ),
        tuple(_period_row(report, row) for row in report.idlest[:most]),
        empty="Nothing that was held stood idle for more than a fifth of its time.",
    )


def too_many(report: Report) -> Table:
    """The workloads of several GPUs of which some never computed."""
    return Table(
        "oversized",
        "More GPUs than were used",
        "",
        (
            *in_text("Workload", "Team"),
            Column("Held", Kind.COUNT),
            Column("Never computed", Kind.COUNT),
            *in_money(report.currency, "Cost", "A month"),
            Column("Next step", Kind.WORDS),
        ),
        tuple(
            (
                title(row),
                row.workload.team,
                row.devices,
                row.idle_devices,
                *_priced(report, row),
                row.advice,
            )
            for row in report.idlest
            if row.why == "over-requested"
        ),
        empty="No workload held GPUs that it never computed on, while it computed on others.",
    )


def fitting(found: Waste) -> Table:
    """The workloads of whole GPUs that a MIG slice would have carried, by their peaks."""
    return Table(
        "fitting",
        "What would fit a slice",
        "",
        (
            *in_text("Workload", "Team", "GPU model"),
            *in_hours("Held"),
            Column("Slice of each GPU", Kind.TEXT),
            Column("Peak activity", Kind.SHARE),
            Column("Peak memory", Kind.TEXT),
            *in_money(found.currency, "Saves a month"),
        ),
        tuple(
            (
                each.title,
                each.team,
                each.model,
                each.held_pms,
                f"{each.sevenths}/7",
                (each.activity_peak_permille, 1000),
                f"{each.memory_peak_mib / 1024:.1f} GiB",
                *([each.saves_a_month] if found.currency else []),
            )
            for each in found.fitting
        ),
        empty="No workload of whole GPUs stayed within a slice in all that telemetry tells.",
    )


def _period_row(report: Report, row: IdleRow) -> Row:
    return (
        title(row),
        row.workload.team,
        row.why,
        row.workload.split.held.pms,
        row.wasted.pms,
        (row.wasted.pms, row.workload.split.held.pms),
        *_priced(report, row),
        f"{row.advice[:1].upper()}{row.advice[1:]}",
    )


def _priced(report: Report, row: IdleRow) -> list[Decimal]:
    return [row.wasted.cost, a_month(row.wasted.cost, report.known_ms)] if report.priced else []


def _money(found: Waste, each: Noted) -> list[Decimal | None]:
    return [each.cost, each.a_month] if found.currency else []


def _step(each: Noted) -> str:
    told = _STEPS[each.kind]
    if each.reported_only:
        told = "Ask its owner: it serves requests, so it is only reported."
    doubts = f"{each.doubts} doubt{'' if each.doubts == 1 else 's'} about it"
    return f"{told} ({doubts}: nothing is done by itself.)" if each.doubts else told

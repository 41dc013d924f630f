"""A team as figures and tables: what it owes, its budget, lending, its idle workloads and whose they are."""

from decimal import Decimal

from analytics.money.budgets import Burn
from analytics.reports.figures import Amount, Report, TeamRow
from analytics.reports.summary import Card, hours, money, percent, share, title
from analytics.reports.tables import Column, Kind, Table, in_hours, in_money, in_text
from analytics.views.team import TeamHour, TeamWeek
from quartermaster.clock import HOUR_MS
from quartermaster.parts import GPU_PARTS
from quartermaster.person import pseudonym


def cards(report: Report, week: TeamWeek) -> tuple[Card, ...]:
    """The team's week in four figures: what it owes, held against guarantee, idle, lent and borrowed."""
    split = report.split
    row = next(iter(report.by_team), None)
    promised = row.guaranteed_pms if row else 0
    against = f"of {hours(Amount(promised))} GPU-hours guaranteed" if promised else "it has no guarantee"
    first = (
        Card("Owes", money(report, report.billed, 0), _change(report, row))
        if report.priced
        else Card("Held", f"{hours(split.held)} GPU-h", "no rate card was in force: no prices")
    )
    idle = money(report, split.idle.cost, 0) if report.priced else f"{hours(split.idle)} GPU-h"
    return (
        first,
        Card(
            "Guarantee in use",
            share(row.within_pms if row else 0, promised),
            f"{against}; {hours(Amount(sum(hour.waiting_pms for hour in week.hours)))} GPU-hours waited for",
        ),
        Card(
            "Idle while held",
            idle,
            f"{share(split.idle.pms, split.held.pms)} of {hours(split.held)} GPU-hours held; coverage "
            f"{percent(split.coverage)}",
            alarming=split.idle.pms * 5 > split.held.pms,
        ),
        Card(
            "Borrowed · lent",
            f"{hours(Amount(row.borrowed_pms if row else 0))} · {hours(Amount(row.lent_pms if row else 0))}",
            "GPU-hours above its guarantee · of its guarantee to others",
        ),
    )


def budget(burn: Burn) -> tuple[Card, ...]:
    """The budget in three figures: gone, left, and what the forecast says of the period's end."""
    left = burn.budget - burn.spent
    over = burn.end > burn.budget
    told = f"{burn.period.period} will end at {_whole(burn.end)} {burn.currency}"
    if burn.low is not None and burn.high is not None:
        told += f", between {_whole(burn.low)} and {_whole(burn.high)}"
    else:
        told += "; there is too little history to say how sure that is"
    return (
        Card(
            "Spent",
            f"{_whole(burn.spent)} {burn.currency}",
            f"of {_whole(burn.budget)} in {burn.period.period}; {burn.days_done} of {burn.days} days",
        ),
        Card(
            "Left",
            f"{_whole(left)} {burn.currency}",
            f"{share(left, burn.budget)} of the budget".replace("-", "−"),
            alarming=left < 0,
        ),
        Card("Forecast", "Over budget" if over else "Within budget", told, over),
    )


def lending(report: Report) -> Table:
    """From whom the team borrowed, and to whom it lent."""
    own = report.team
    lent = [(f"Lent to {row.borrower}", row) for row in report.lending if row.lender == own]
    borrowed = [(f"Borrowed from {row.lender}", row) for row in report.lending if row.borrower == own]

    return Table(
        "lending",
        "Lent and borrowed",
        "",
        (*in_text("What"), *in_hours("GPU-hours")),
        tuple((what, row.pms) for what, row in (*borrowed, *lent)),
        empty="Nothing of its guarantee was lent, and nothing of another's borrowed.",
    )


def idle(report: Report, week: TeamWeek) -> Table:
    """The team's idle workloads, whose they are, and the next step."""
    return Table(
        "idle",
        "Idle, and what to do",
        "",
        (
            *in_text("Workload", "Whose", "Why"),
            *in_hours("Idle or stalled"),
            Column("Of held", Kind.SHARE),
            *in_money(report.currency, "Cost"),
            Column("Next step", Kind.WORDS),
        ),
        tuple(
            (
                title(row),
                _person(week.persons.get((row.workload.cluster, row.workload.workload_id))),
                row.why,
                row.wasted.pms,
                (row.wasted.pms, row.workload.split.held.pms),
                *([row.wasted.cost] if report.priced else []),
                f"{row.advice[:1].upper()}{row.advice[1:]}",
            )
            for row in report.idlest
        ),
        empty="Nothing that the team held stood idle for more than a fifth of its time.",
    )


def use_words(hours_: tuple[TeamHour, ...]) -> str:
    """The chart of use in words, for who cannot see it."""
    if not hours_:
        return "The team held nothing."
    held = [hour.computing_pms + hour.idle_pms + hour.unknown_pms for hour in hours_]
    above = sum(one > hour.guaranteed_pms for one, hour in zip(held, hours_, strict=True))
    return (
        f"GPUs held hour by hour: {_gpus(sum(held)) / len(held):,.1f} on average, {_gpus(max(held)):,.1f} at most; "
        f"above the guarantee in {above} of {len(held)} hours."
    )


def burn_words(burn: Burn) -> str:
    """The budget's chart in words."""
    return f"What is left of the budget: {'; '.join(card.note for card in budget(burn))}."


def _change(report: Report, row: TeamRow | None) -> str:
    if row is None or row.change is None or row.cost_before is None:
        return f"no {report.unit} before to compare with"
    if report.provisional:
        return f"so far; {money(report, row.cost_before, 0)} in the {report.unit} before"
    sign = "+" if row.change >= 0 else "−"
    return f"{sign}{money(report, abs(row.change), 0)} against the {report.unit} before"


def _person(person_id: int | None) -> str:
    return "not known" if person_id is None else pseudonym(person_id)


def _whole(amount: Decimal) -> str:
    return f"{amount:,.0f}".replace("-", "−")


def _gpus(pms: int) -> float:
    return pms / HOUR_MS / GPU_PARTS

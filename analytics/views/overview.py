"""The overview's figures beside the report: the budgets, who waits, and what is worth doing first."""

from dataclasses import dataclass
from decimal import Decimal
from urllib.parse import urlencode

from analytics.money.budgets import Burn, burn_down
from analytics.money.calendar import Calendar
from analytics.reports import summary
from analytics.reports.figures import Report
from analytics.reports.html import Step
from analytics.reports.summary import Card, hours, money, share
from analytics.reports.tables import gpus
from analytics.reports.worth import worth_doing
from analytics.scope import Scope
from analytics.views.instants import lasting
from analytics.views.queue import Queue, queue
from sql.ledger import Ledger


@dataclass(frozen=True)
class Beside:
    """What stands beside a report: the budgets of the period in which its week ends, and who waits now."""

    burns: tuple[Burn, ...]
    queue: Queue


def beside(ledger: Ledger, scope: Scope, report: Report, calendar: Calendar, *, now_ms: int) -> Beside:
    """The budgets and the queue of the report's team, or of all that the reader may see.

    Raises InputError for a team that is not theirs, as for one that is unknown; LedgerError.
    """
    teams = scope
    if report.team is not None:
        scope.require(report.team)
        teams = Scope(frozenset({report.team}))
    period = calendar.at(min(report.end_ms - 1, now_ms))
    with ledger.reading() as cursor:
        burns = tuple(burn_down(cursor, period, now_ms, teams))
    return Beside(burns, queue(ledger, teams, now_ms))


def cards(report: Report, found: Beside) -> tuple[Card, ...]:
    """Cost against budget and before; the two wastes apart; who waits."""
    cost, idle, computing = summary.cards(report)
    told = [cost]
    if found.burns:
        told.append(_budget(found.burns))
    told.append(idle)
    if report.whole:
        told.append(_free(report))
    else:
        told.append(computing)
    told.append(_waiting(found.queue))
    return tuple(told)


def steps(report: Report) -> tuple[Step, ...]:
    """The three things that would save most, each with the page that shows why."""
    return tuple(
        Step(
            task.about,
            task.do,
            money(report, task.saves.cost, 0) if report.priced else f"{hours(task.saves)} GPU-h",
            f"saved a {report.unit}, at most",
            "fleet" if task.team is None else f"waste?{urlencode({'week': report.span, 'team': task.team})}",
        )
        for task in worth_doing(report)
    )


def _budget(burns: tuple[Burn, ...]) -> Card:
    first = burns[0]
    budget, spent, end = (
        sum(amounts, Decimal(0))
        for amounts in (
            [each.budget for each in burns],
            [each.spent for each in burns],
            [each.end for each in burns],
        )
    )
    of = "budget" if len(burns) == 1 else f"{len(burns)} budgets"
    label = f"Spent of {of}, {first.period.period}"
    ends = f"forecast {end:,.0f}, {'over by' if end > budget else 'below by'} {abs(end - budget):,.0f}"
    return Card(
        label,
        share(spent, budget),
        f"{spent:,.0f} of {budget:,.0f} {first.currency}; {ends}",
        alarming=end > budget,
    )


def _free(report: Report) -> Card:
    free, whole = report.split.unallocated, report.split.capacity
    part = f"{share(free.pms, whole.pms)} of {hours(whole)} GPU-hours"
    return Card(
        "Held by nobody", money(report, free.cost, 0) if report.priced else f"{hours(free)} GPU-h", part
    )


def _waiting(found: Queue) -> Card:
    waits = found.now
    if not waits:
        return Card("Waiting now", "Nobody", "as the queue was told last")
    longest = lasting(max(wait.lasting_ms(found.at_ms) for wait in waits))
    workloads = f"{len(waits):,} workload{'' if len(waits) == 1 else 's'}"
    return Card(
        "Waiting now",
        f"{gpus(sum(wait.parts for wait in waits))} GPUs",
        f"for {workloads}; the longest {longest}",
    )

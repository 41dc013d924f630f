"""A team in a week: each hour against its guarantee, whose its idle workloads are, and how far its budget reaches."""

from collections.abc import Mapping
from dataclasses import dataclass

from analytics.money.budgets import Burn, burn_down
from analytics.money.calendar import Calendar
from analytics.reports.figures import Report
from analytics.scope import Scope
from analytics.views.rows import rows
from quartermaster.clock import to_datetime
from sql.ledger import Ledger


@dataclass(frozen=True, slots=True)
class TeamHour:
    """One hour of a team, in part-milliseconds: what it held, by state, and what it was promised; epoch ms."""

    start_ms: int
    computing_pms: int
    idle_pms: int
    unknown_pms: int
    guaranteed_pms: int
    borrowed_pms: int
    lent_pms: int
    waiting_pms: int


@dataclass(frozen=True, slots=True)
class TeamWeek:
    """What stands beside a team's report: its hours, the persons of its idle workloads (pseudonyms, by cluster and
    workload), and its budget of the period in which the week ends, None where it has none."""

    hours: tuple[TeamHour, ...]
    persons: Mapping[tuple[str, int], int]
    burn: Burn | None


def team_week(ledger: Ledger, scope: Scope, report: Report, calendar: Calendar, *, now_ms: int) -> TeamWeek:
    """What stands beside the report of one team.

    Raises InputError for a team that is not the reader's, as for one that is unknown; LedgerError.
    """
    team = report.team or ""
    scope.require(team)
    given: dict[str, object] = {
        "team": team,
        "start_at": to_datetime(report.start_ms),
        "end_at": to_datetime(report.end_ms),
        "ids": sorted({row.workload.workload_id for row in report.idlest}),
    }
    with ledger.reading() as cursor:
        hours = tuple(
            TeamHour(
                row["hour_ms"],
                row["computing"],
                row["idle"],
                row["unknown"],
                row["guaranteed"],
                row["borrowed"],
                row["lent"],
                row["waiting"],
            )
            for row in rows(cursor, "team", "hours", **given)
        )
        persons = {
            (row["cluster"], row["workload_id"]): row["person_id"]
            for row in rows(cursor, "team", "owners", **given)
        }
        period = calendar.at(min(report.end_ms - 1, now_ms))
        burns = burn_down(cursor, period, now_ms, Scope(frozenset({team})))
    return TeamWeek(hours, persons, burns[0] if burns else None)

"""The team page's data: a team's week, its hours, its budget."""

from dataclasses import dataclass

import streamlit as st

from analytics.money.calendar import Calendar
from analytics.reports.figures import Report
from analytics.reports.forms import Form, written
from analytics.reports.questions import by_workload
from analytics.reports.summary import Card
from analytics.reports.tables import Table
from analytics.reports.weekly import weekly
from analytics.scope import Scope
from analytics.views import team_tables
from analytics.views.team import TeamWeek, team_week
from dashboards import access
from dashboards.data.kept import KEPT_S
from quartermaster.clock import now_ms

_WORKLOADS = 15


@dataclass(frozen=True)
class TeamShown:
    """A team's week as the page shows it."""

    report: Report
    week: TeamWeek
    cards: tuple[Card, ...]
    budget: tuple[Card, ...]
    workloads: Table
    idle: Table
    lending: Table


@st.cache_data(ttl=KEPT_S, max_entries=64, show_spinner="Reading the team's week …")
def shown(where: access.Place, scope: Scope, week: str, team: str, calendar: Calendar) -> TeamShown:
    """A team's week, and its budget in the period of the books in which the week ends.

    Raises InputError for a team that the viewer may not see, as for one that is unknown; LedgerError.
    """
    ledger, at_ms = access.ledger(where), now_ms()
    report = weekly(ledger, week, team, scope=scope, time_zone=where.time_zone, now_ms=at_ms)
    found = team_week(ledger, scope, report, calendar, now_ms=at_ms)
    return TeamShown(
        report,
        found,
        team_tables.cards(report, found),
        team_tables.budget(found.burn) if found.burn else (),
        by_workload(report, _WORKLOADS),
        team_tables.idle(report, found),
        team_tables.lending(report),
    )


@st.cache_data(ttl=KEPT_S, max_entries=16, show_spinner=False)
def statement(report: Report, form: Form) -> bytes:
    """The report as a file's bytes."""
    return written(report, form)

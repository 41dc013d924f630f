"""The overview's data: a week's report."""

from dataclasses import dataclass

import streamlit as st

from analytics.business import iso_week
from analytics.reports.figures import Report
from analytics.reports.html import render
from analytics.reports.made import teams_of
from analytics.reports.span import of_week
from analytics.reports.weekly import latest_week, weekly
from analytics.reports.weeks import weeks as weeks_of
from analytics.scope import Scope
from dashboards import access
from dashboards.data.kept import KEPT_S
from quartermaster.clock import now_ms


@dataclass(frozen=True)
class Weeks:
    """The weeks with usage, newest first, and where to begin: at the last whole one, where there is any."""

    all: tuple[str, ...]
    first: int


@st.cache_data(ttl=KEPT_S, max_entries=8, show_spinner=False)
def weeks(where: access.Place) -> Weeks | None:
    """The weeks to choose from; None before the first hour is rolled up. Raises LedgerError."""
    ledger = access.ledger(where)
    found = weeks_of(ledger)
    return Weeks(found, found.index(latest_week(ledger, where.time_zone))) if found else None


@st.cache_data(ttl=KEPT_S, max_entries=64, show_spinner="Reading the week …")
def report(where: access.Place, scope: Scope, week: str, team: str | None) -> Report:
    """A week's figures, of one team or of all that the viewer may see.

    Raises InputError for a team that the viewer may not see, as for one that is unknown; LedgerError.
    """
    ledger = access.ledger(where)
    return weekly(ledger, week, team, scope=scope, time_zone=where.time_zone, now_ms=now_ms())


@st.cache_data(ttl=KEPT_S, max_entries=64, show_spinner=False)
def teams(where: access.Place, scope: Scope, week: str) -> tuple[str, ...]:
    """The viewer's teams that have something in the week or are configured. Raises InputError, LedgerError."""
    span = of_week(iso_week(week, where.time_zone))
    return tuple(teams_of(access.ledger(where), span, scope))


@st.cache_data(ttl=KEPT_S, max_entries=8, show_spinner=False)
def file(figures: Report) -> str:
    """The week as an HTML file to forward."""
    return render(figures)

"""The overview's data beside the week's report: cards and what is worth doing first."""

from dataclasses import dataclass

import streamlit as st

from analytics.money.calendar import Calendar
from analytics.reports.html import Step
from analytics.reports.summary import Card
from analytics.scope import Scope
from analytics.views import overview
from dashboards import access
from dashboards.data import week as weekly
from dashboards.data.kept import KEPT_S
from quartermaster.clock import now_ms


@dataclass(frozen=True)
class OverviewShown:
    """What the overview says first."""

    cards: tuple[Card, ...]
    steps: tuple[Step, ...]


@st.cache_data(ttl=KEPT_S, max_entries=64, show_spinner=False)
def shown(
    where: access.Place, scope: Scope, week: str, team: str | None, calendar: Calendar
) -> OverviewShown:
    """The week's figures of a team, or of all that the viewer may see. Raises InputError, LedgerError."""
    report = weekly.report(where, scope, week, team)
    found = overview.beside(access.ledger(where), scope, report, calendar, now_ms=now_ms())
    return OverviewShown(overview.cards(report, found), overview.steps(report))

"""The costs page's data: a period of the books, a line explained, files for finance."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from analytics.finance.focus import focus_frames
from analytics.finance.span import span_of
from analytics.finance.written import write_csv
from analytics.money.calendar import Calendar
from analytics.reports.figures import Report
from analytics.reports.summary import Card
from analytics.reports.tables import Table
from analytics.scope import Scope
from analytics.views import costs, costs_tables
from dashboards import access
from dashboards.data.kept import KEPT_S
from quartermaster.clock import now_ms
from quartermaster.config.accounts import AccountsPart
from quartermaster.errors import InputError


@dataclass(frozen=True)
class CostsShown:
    """A period's books as the page shows them. `lines` are the numbers that can be explained, the largest first."""

    report: Report
    cards: tuple[Card, ...]
    statement: tuple[Table, ...]
    prices: Table
    largest: Table
    disputes: Table
    lines: tuple[str, ...]


@st.cache_data(ttl=KEPT_S, max_entries=8, show_spinner=False)
def periods(where: access.Place, calendar: Calendar) -> tuple[str, ...]:
    """The periods to choose from, newest first; empty before there is usage. Raises LedgerError."""
    return costs.periods(access.ledger(where), calendar)


@st.cache_data(ttl=KEPT_S, max_entries=32, show_spinner="Reading the books …")
def shown(where: access.Place, scope: Scope, period: str, calendar: Calendar) -> CostsShown:
    """A period's books, of all that the viewer may see. Raises InputError, LedgerError."""
    found = costs.costs(access.ledger(where), scope, period, calendar, now_ms=now_ms())
    return CostsShown(
        found.report,
        costs_tables.cards(found, where.time_zone),
        costs_tables.statement(found),
        costs_tables.prices(found, where.time_zone),
        costs_tables.lines(found),
        costs_tables.disputes(found, where.time_zone),
        tuple(str(each.charge_id) for each in found.lines),
    )


@st.cache_data(ttl=KEPT_S, max_entries=64, show_spinner=False)
def explained(where: access.Place, scope: Scope, line: str) -> tuple[str, ...]:
    """A line of cost in sentences. Raises InputError for one that is not there, or not the viewer's; LedgerError."""
    return costs.explained(access.ledger(where), scope, line, where.time_zone)


def focus(
    where: access.Place, scope: Scope, period: str, calendar: Calendar, accounts: AccountsPart
) -> bytes:
    """A period's lines as FOCUS rows, CSV. Raises InputError unless the viewer may see everything; LedgerError."""
    if not scope.whole:
        raise InputError("FOCUS files are of all teams", "ask finance for what is of your teams")
    frames = focus_frames(access.ledger(where), span_of(calendar.named(period)), accounts)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "focus.csv"
        write_csv(frames, file)
        return file.read_bytes()

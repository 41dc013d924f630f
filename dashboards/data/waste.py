"""The waste page's data: a week's tables, and the same as files."""

from dataclasses import dataclass

import streamlit as st

from analytics.reports.figures import Report
from analytics.reports.spreadsheet import table_csv
from analytics.reports.summary import Card
from analytics.reports.tables import Table
from analytics.reports.weekly import weekly
from analytics.scope import Scope
from analytics.views import waste_tables
from analytics.views.waste import waste
from dashboards import access
from dashboards.data.kept import KEPT_S
from quartermaster.clock import now_ms

_MOST = 200  # idle workloads of the week, in a file
_SHOWN = 15  # of them on the page


@dataclass(frozen=True)
class WasteShown:
    """A week's waste as the page shows it."""

    report: Report
    cards: tuple[Card, ...]
    now: Table
    forgotten: Table
    period: Table
    too_many: Table
    fitting: Table

    @property
    def tables(self) -> dict[str, Table]:
        """Every table, whole, by its title, for a file."""
        whole = waste_tables.period(self.report)
        shown = (self.now, self.forgotten, whole, self.too_many, self.fitting)
        return {table.title: table for table in shown}


@st.cache_data(ttl=KEPT_S, max_entries=32, show_spinner="Looking for waste …")
def shown(where: access.Place, scope: Scope, week: str, team: str | None) -> WasteShown:
    """The waste of a week, of one team or of all that the viewer may see. Raises InputError, LedgerError."""
    ledger, at_ms = access.ledger(where), now_ms()
    report = weekly(ledger, week, team, scope=scope, idlest=_MOST, time_zone=where.time_zone, now_ms=at_ms)
    found = waste(ledger, scope, report)
    return WasteShown(
        report,
        waste_tables.cards(report, found),
        waste_tables.now(found, at_ms),
        waste_tables.forgotten(found, where.time_zone),
        waste_tables.period(report, _SHOWN),
        waste_tables.too_many(report),
        waste_tables.fitting(found),
    )


@st.cache_data(ttl=KEPT_S, max_entries=16, show_spinner=False)
def csv(table: Table) -> str:
    """A table as CSV; no cell of it is a formula."""
    return table_csv(table)

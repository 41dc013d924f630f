"""The data quality page's data: some days' coverage, sources, gaps."""

import streamlit as st

from analytics.scope import Scope
from analytics.views.quality import Quality, quality
from dashboards import access
from dashboards.data.kept import KEPT_S
from quartermaster.clock import now_ms


@st.cache_data(ttl=KEPT_S, max_entries=32, show_spinner="Reading what is known …")
def days(where: access.Place, scope: Scope, last_day: str, count: int) -> Quality:
    """So many days that end with one. Raises InputError, LedgerError."""
    return quality(access.ledger(where), scope, last_day, count, time_zone=where.time_zone, now_ms=now_ms())

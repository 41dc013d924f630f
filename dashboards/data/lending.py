"""The lending page's data: a week's pairs, and the weeks until it."""

import streamlit as st

from analytics.scope import Scope
from analytics.views.lending import Lending, lending
from dashboards import access
from dashboards.data.kept import KEPT_S


@st.cache_data(ttl=KEPT_S, max_entries=32, show_spinner="Reading the weeks …")
def week(where: access.Place, scope: Scope, name: str) -> Lending:
    """The lending of a week. Raises InputError, LedgerError."""
    return lending(access.ledger(where), scope, name, where.time_zone)

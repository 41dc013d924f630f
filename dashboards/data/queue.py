"""The queue page's data: who waits, who waited, what is held."""

import streamlit as st

from analytics.scope import Scope
from analytics.views.queue import Queue, queue
from dashboards import access
from dashboards.data.kept import KEPT_S
from quartermaster.clock import now_ms


@st.cache_data(ttl=KEPT_S, max_entries=32, show_spinner="Reading the queue …")
def now(where: access.Place, scope: Scope, person: int) -> Queue:
    """The queue now, of all that the scope holds, and what is the person's own. Raises LedgerError."""
    return queue(access.ledger(where), scope, now_ms(), person)

"""The enforcer page's data: a cluster's plan, record, deeds, requests."""

import streamlit as st

from analytics.scope import Scope
from analytics.views.enforced import Enforced, clusters, enforced
from dashboards import access
from dashboards.data.kept import KEPT_S
from quartermaster.clock import now_ms

_SOON_S = 10  # what was asked for is answered within seconds


@st.cache_data(ttl=KEPT_S, max_entries=8, show_spinner=False)
def known_clusters(where: access.Place) -> tuple[str, ...]:
    """The clusters to choose from. Raises LedgerError."""
    return clusters(access.ledger(where))


@st.cache_data(ttl=_SOON_S, max_entries=32, show_spinner="Reading what the enforcer did …")
def now(where: access.Place, scope: Scope, cluster: str, asker: str) -> Enforced:
    """The enforcer's work in a cluster, as a reader with this scope and pseudonym may see it. Raises LedgerError."""
    return enforced(access.ledger(where), scope, cluster, asker, now_ms())

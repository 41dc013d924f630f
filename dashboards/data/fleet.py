"""The fleet page's data: the hours to choose from, and one of them."""

from dataclasses import dataclass

import streamlit as st

from analytics.reports.summary import Card
from analytics.reports.tables import Table
from analytics.scope import Scope
from analytics.views import fleet_tables
from analytics.views.fleet import Hour, days, fleet, hours
from analytics.views.gpu_map import gpu_map
from dashboards import access
from dashboards.data.kept import KEPT_S


@dataclass(frozen=True)
class FleetShown:
    """An hour as the page shows it."""

    gpus: int
    whole: bool
    cards: tuple[Card, ...]
    drawing: str  # HTML
    nodes: tuple[str, ...]
    pools: Table
    fragmentation: Table
    mig: Table
    troubles: Table
    silences: Table


@st.cache_data(ttl=KEPT_S, max_entries=16, show_spinner=False)
def known_days(where: access.Place, scope: Scope) -> tuple[str, ...]:
    """The days to choose from, newest first. Raises LedgerError."""
    return days(access.ledger(where), scope)


@st.cache_data(ttl=KEPT_S, max_entries=64, show_spinner=False)
def known_hours(where: access.Place, scope: Scope, day: str) -> tuple[Hour, ...]:
    """A day's hours, in order. Raises InputError, LedgerError."""
    return hours(access.ledger(where), scope, day, where.time_zone)


@st.cache_data(ttl=KEPT_S, max_entries=32, show_spinner="Reading the hour …")
def hour(where: access.Place, scope: Scope, start_ms: int) -> FleetShown:
    """The fleet in the hour that begins then (epoch ms). Raises InputError, LedgerError."""
    found = fleet(access.ledger(where), scope, start_ms)
    return FleetShown(
        found.gpus,
        found.whole,
        fleet_tables.cards(found),
        gpu_map(found),
        tuple(node.name for pool in found.pools for node in pool.nodes),
        fleet_tables.by_pool(found),
        fleet_tables.fragmentation(found),
        fleet_tables.mig(found),
        fleet_tables.troubles(found, where.time_zone),
        fleet_tables.silences(found, where.time_zone),
    )


@st.cache_data(ttl=KEPT_S, max_entries=64, show_spinner=False)
def node(where: access.Place, scope: Scope, start_ms: int, name: str) -> Table:
    """A node's devices in that hour. Raises InputError for a node that is not there, or not to be seen; LedgerError."""
    return fleet_tables.of_node(fleet(access.ledger(where), scope, start_ms), name)

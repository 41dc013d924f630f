"""The pages' front door: one look, one list of pages."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from dashboards.pages import ask, costs, enforcer, fleet, lending, overview, quality, queue, team, waste
from dashboards.welcome import welcome
from quartermaster.role import Role

_STATIC = Path(__file__).parent / "static"
_MENU_PX = 212
_EVERYBODY = frozenset(Role)


@dataclass(frozen=True)
class Listed:
    """A page in the menu: what draws it, its title, its place in the address, its icon, and the roles that see it."""

    render: Callable[[], None]
    title: str
    path: str
    icon: str
    roles: frozenset[Role] = _EVERYBODY


PAGES = (
    Listed(overview.render, "Overview", "", ":material/monitoring:"),
    Listed(team.render, "Team", "team", ":material/groups:"),
    Listed(waste.render, "Waste", "waste", ":material/hourglass_disabled:"),
    Listed(costs.render, "Costs", "costs", ":material/receipt_long:"),
    Listed(fleet.render, "Fleet", "fleet", ":material/grid_view:"),
    Listed(queue.render, "Queue", "queue", ":material/hourglass_empty:"),
    Listed(lending.render, "Lending", "lending", ":material/swap_horiz:"),
    Listed(enforcer.render, "Enforcer", "enforcer", ":material/gavel:"),
    Listed(quality.render, "Data quality", "quality", ":material/fact_check:"),
    Listed(ask.render, "SQL", "sql", ":material/terminal:"),
)


def _pages(roles: frozenset[Role]) -> list["st.Page"]:
    """The pages of the menu for who looks; the first is the one without a path."""
    return [
        st.Page(each.render, title=each.title, icon=each.icon, url_path=each.path, default=not each.path)
        for each in PAGES
        if each.roles & roles
    ]


st.set_page_config(
    page_title="Quartermaster",
    page_icon=str(_STATIC / "mark.svg"),
    layout="wide",
    initial_sidebar_state=_MENU_PX,
)
st.logo(str(_STATIC / "logo.svg"), size="large")
st.navigation(_pages(welcome().roles)).run()

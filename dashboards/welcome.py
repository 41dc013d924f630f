"""The way in: who looks is known before any page is drawn, and told where they are and how to leave."""

from typing import NoReturn

import streamlit as st

from analytics.reports import html
from dashboards import access
from dashboards.access import Viewer
from dashboards.guard.standing import STANDING
from quartermaster.errors import QuartermasterError

_NOBODY = (
    "There is nothing here for you yet",
    "You are signed in as {name}, and no rule of this installation gives you a team to see.",
    "ask who runs it to add {person}, or a group of yours, to dashboards.access",
)


def welcome() -> Viewer:
    """Who looks. Whom nothing is for is told so, and the run of the page ends here."""
    try:
        viewer = access.viewer()
    except QuartermasterError as error:
        _end("There is nothing to show", error.what, error.hint)
    _menu(viewer)
    if not viewer.known:
        title, text, step = _NOBODY
        _end(title, text.format(name=viewer.called), step.format(person=viewer.name))
    return viewer


def _menu(viewer: Viewer) -> None:
    """Below the pages: who is signed in, by which roles, and the way out."""
    if STANDING.sign_in in {None, "local"}:
        return
    with st.sidebar.container(key="who", gap="xsmall"):
        st.text(viewer.called)
        st.text(", ".join(sorted(role.value for role in viewer.roles)) or "no role")
        if STANDING.sign_in == "oidc" and st.button("Sign out", icon=":material/logout:", type="tertiary"):
            st.logout()


def _end(title: str, text: str, step: str) -> NoReturn:
    st.html(html.style("dark" if st.context.theme.type == "dark" else "light"))
    st.html(html.notice(title, text, step))
    st.stop()

"""Data quality: what is known, what is not, and why; before anybody believes a number."""

import streamlit as st

from analytics.reports import charts, html
from analytics.views import quality_tables as tables
from dashboards import frame
from dashboards.data import fleet
from dashboards.data import quality as data
from dashboards.frame import Visit, card

_SPANS = {"7 days": 7, "28 days": 28, "90 days": 90}


def render() -> None:
    """The page, in whichever state the ledger is."""
    frame.page(_body)


def _body(visit: Visit) -> None:
    where, scope = visit.where, visit.viewer.scope
    known = fleet.known_days(where, scope)
    if not known:
        frame.notice(*frame.NOTHING_YET)
        return
    head = frame.masthead()
    with head.filters:
        span = st.selectbox("Until the last day", tuple(_SPANS), key="span", bind="query-params", width=150)
    found = data.days(where, scope, known[0], _SPANS[span])
    whose = "all clusters" if found.whole else "what your teams held"
    head.say("Data quality", f"{found.first_day} to {found.last_day}", whose, where.time_zone)
    frame.cards(tables.cards(found), "Coverage is known ÷ held. Unknown is never idle and never zero.")
    with card("What is not known, by day", "unknown", "GPU-hours a day: held but unknown, and unobserved."):
        bars = tables.bars(found)
        if any(bar.amount for bar in bars):
            drawing = charts.cost_by_day(bars, "GPU-hours", visit.tone, height=190)
            told = "; ".join(f"{row.name} {row.amount}" for row in tables.legend(found))
            frame.chart(drawing, f"Stacked bars by day; in all: {told}.")
            frame.legend(tables.legend(found))
        else:
            st.html(html.note("All of the held time of these days is known."))
    if found.whole:
        with card("Sources", "sources", "Nothing before 'complete until' is missing, save its gaps."):
            frame.table(tables.sources(found, where.time_zone))
        with card("Gaps", "gaps", "A gap is never a zero: what it covers is unknown or unobserved."):
            frame.table(tables.gaps(found))
    with card(
        "Disagreements", "disagreements", "Where two sources tell different things, the better one counts."
    ):
        frame.table(tables.disagreements(found, where.time_zone))
    if found.whole:
        with card(
            "Of no team", "unassigned", "A rule under `team_rules` in the configuration names their team."
        ):
            frame.table(tables.unassigned(found))
    with card("Coverage by day", "days", "GPU-hours"):
        frame.table(tables.days(found))

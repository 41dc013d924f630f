"""Lending: who lends to whom, whether it evens out over weeks, and what owners waited meanwhile."""

import streamlit as st

from analytics.reports import html
from analytics.reports.figures import Amount
from analytics.reports.summary import hours
from analytics.views import lending_charts as charts
from analytics.views import lending_tables as tables
from analytics.views.instants import day
from dashboards import data, frame
from dashboards.data import lending as kept
from dashboards.frame import Visit, card


def render() -> None:
    """The page, in whichever state the ledger is."""
    frame.page(_body)


def _body(visit: Visit) -> None:
    weeks = data.weeks(visit.where)
    if weeks is None:
        frame.notice(*frame.NOTHING_YET)
        return
    head = frame.masthead()
    with head.filters:
        week = frame.week(weeks)
        found = kept.week(visit.where, visit.viewer.scope, week)
        pool = st.selectbox(
            "Pool",
            found.pools,
            index=None,
            key="pool",
            bind="query-params",
            placeholder="All pools",
            width=160,
        )
    zone = visit.where.time_zone
    head.say(
        f"Lending in week {week[-2:]}",
        f"{day(found.start_ms, zone)} to {day(found.end_ms - 1, zone)}",
        "all teams" if visit.viewer.scope.whole else "your teams and whom they lend to",
        zone,
    )
    frame.cards(
        tables.cards(found, pool),
        "GPU-hours. Lent is what others held of a guarantee that its owner did not use.",
    )
    pairs = found.pairs(pool)
    with card("Who lends to whom", "flow", "GPU-hours in this week, from lenders on the left to borrowers."):
        if pairs:
            first = pairs[0]
            words = f"{first.lender} lent most, {hours(Amount(first.pms))} GPU-hours to {first.borrower}"
            frame.chart(
                charts.flow(pairs, found.teams, visit.tone), f"Bands from lenders to borrowers; {words}."
            )
            st.html(tables.matrix(pairs))
        else:
            st.html(html.note("Nothing was lent in this week."))
    with card("The largest", "pairs", "GPU-hours in this week: the fifteen largest pairs."):
        frame.table(tables.pairs(found, pool))
    with card(
        "Given and taken, week by week",
        "balances",
        "GPU-hours lent less GPU-hours borrowed: above the line a team gave, below it took. All pools.",
    ):
        rows = charts.legend(found)
        if rows:
            told = "; ".join(f"{row.name} {row.amount}" for row in rows)
            frame.chart(charts.balances(found, visit.tone), f"Bars by week; in all: {told}.")
            frame.legend(rows)
        else:
            st.html(html.note("Nothing was lent or borrowed in these weeks."))
    with card(
        "What owners waited",
        "waited",
        "GPU-hours in this week over all pools; what a team waited for its own, and what of that others held.",
    ):
        frame.table(tables.week(found))

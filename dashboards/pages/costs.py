"""Costs: a period's statement, the prices in force, a line explained to its roots, disputes, and files."""

import streamlit as st

from analytics.reports import html, summary
from dashboards import frame
from dashboards.data import books, costs, team
from dashboards.frame import Visit, card
from quartermaster.errors import InputError


def render() -> None:
    """The page, in whichever state the ledger is."""
    frame.page(_body)


def _body(visit: Visit) -> None:
    where, scope, calendar = visit.where, visit.viewer.scope, books.calendar()
    periods = costs.periods(where, calendar)
    if not periods:
        frame.notice(*frame.NOTHING_YET)
        return
    head = frame.masthead()
    with head.filters:
        period = st.selectbox("Period", periods, key="period", bind="query-params", width=150)
        shown = costs.shown(where, scope, period, calendar)
        frame.statement(shown.report, team.statement)
        if scope.whole:
            accounts = books.accounts()
            frame.download(
                "FOCUS",
                lambda: costs.focus(where, scope, period, calendar, accounts),
                f"focus-{period}.csv",
                "text/csv",
                "Every line of cost as rows of the FinOps Open Cost and Usage Specification 1.2",
            )
    report = shown.report
    head.say("Costs", *summary.facts(report), badge=html.badge(report), provisional=report.provisional)
    frame.cards(shown.cards, summary.footnote(report))
    for table in shown.statement:
        with card(table.title, table.key, table.note):
            frame.table(table)
    with card("Explain a line", "explain", "From the cent back to its price, its pods and its samples"):
        _explain(visit, shown)
    with card(
        "The largest lines",
        "lines",
        "By amount, a credit like a cost; choose one above to see where it comes from",
    ):
        frame.table(shown.largest)
    with card(
        "Prices in force", "prices", f"In {period}; of each card the first line that matches is charged"
    ):
        frame.table(shown.prices)
    with card("Disputes", "disputes", f"About lines of {period}"):
        frame.table(shown.disputes)


def _explain(visit: Visit, shown: costs.CostsShown) -> None:
    line = st.selectbox(
        "Line",
        shown.lines,
        index=None,
        key="line",
        bind="query-params",
        placeholder="Choose a line, or type its number",
        accept_new_options=True,
        width=320,
    )
    if line:
        try:
            frame.sentences(costs.explained(visit.where, visit.viewer.scope, line))
        except InputError as error:
            frame.notice("No such line", error.what, error.hint)

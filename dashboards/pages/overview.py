"""The overview: what the week cost, what was wasted, by whom, and what to do about it."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from analytics.reports import charts, html, summary
from analytics.reports.figures import Report
from analytics.reports.theme import Tone
from dashboards import access, data
from quartermaster.errors import QuartermasterError

# On a telephone the title has a line of its own; a legend needs less air, for the page has its own.
_STYLE = """<style>
.qm > .legend { margin-top: -4px; }
@media (max-width: 640px) { .st-key-masthead > :first-child { flex: 1 1 100% !important; min-width: 100%; } }
</style>"""


_NOTHING_YET = (
    "No finished hour yet",
    "The ledger is there, and nothing in it is rolled up. The first figures come when all sources have "
    "passed an hour.",
    "run quartermaster rollup; quartermaster status shows how far each source is",
)


def render() -> None:
    """The page, in whichever state the ledger is: missing, empty, partial, whole."""
    tone: Tone = "dark" if st.context.theme.type == "dark" else "light"
    st.html(html.style(tone) + _STYLE)
    try:
        where = access.place()
        weeks = data.weeks(where)
        if weeks is None:
            st.html(html.notice(*_NOTHING_YET))
            return
        report = _chosen(where, weeks)
    except QuartermasterError as error:
        st.html(html.notice("There is nothing to show", error.what, error.hint))
        return
    _show(report, tone)


def _chosen(where: access.Place, weeks: data.Weeks) -> Report:
    """The masthead with its filters, which the URL carries; the report that they choose."""
    scope = access.viewer().scope
    with st.container(horizontal=True, vertical_alignment="bottom", key="masthead"):
        title = st.container(width="stretch")
        week = st.selectbox("Week", weeks.all, index=weeks.first, key="week", bind="query-params", width=150)
        whole = data.report(where, scope, week, None)
        teams = sorted(row.team for row in whole.by_team)
        team = st.selectbox(
            "Team", teams, index=None, key="team", bind="query-params", placeholder="All teams", width=190
        )
        report = data.report(where, scope, week, team) if team else whole
        st.download_button(
            "Report",
            data=lambda: data.file(report),
            file_name=f"gpu-report-{report.span}.html",
            mime="text/html",
            on_click="ignore",
            icon=":material/download:",
            help="The same figures as one HTML file to forward or print",
        )
    with title:
        st.html(html.block("masthead", report))
    return report


def _show(report: Report, tone: Tone) -> None:
    st.html(html.block("lead", report))
    if not report.priced:
        st.info(
            "No rate card was in force in this week, so time is shown without cost. "
            "Add `rate_cards` to the configuration, then run `quartermaster rollup`.",
            icon=":material/sell:",
        )
    st.html(html.block("cards", report))
    with _card("Where the capacity went" if report.whole else "What the team held", "split"):
        st.html(html.block("split_note", report))
        bar = charts.split_bar(summary.split_hours(report), tone)
        st.altair_chart(bar, theme=None, alt=f"Bar of GPU-hours by state: {summary.split_words(report)}.")
        st.html(html.block("split_table", report))
    left, right = st.columns([6, 5], gap="small")
    with left, _card("By day" if report.some else "By day and team", "days"):
        st.html(html.block("day_note", report))
        days = charts.cost_by_day(summary.day_bars(report), report.currency or "GPU-hours", tone, height=250)
        st.altair_chart(days, theme=None, alt=f"Stacked bars: {'; '.join(summary.day_totals(report))}.")
        st.html(html.block("legend", report, summary.day_legend(report)))
    with right, _card("Held, against guarantees", "teams"):
        st.html(html.block("team_note", report))
        if report.by_team:
            held = charts.team_bars(summary.team_bars(report), tone, label_px=110, axis_px=46)
            st.altair_chart(
                held, theme=None, alt="Bars of GPUs held by team; the figures are in the table below."
            )
            st.html(html.block("team_legend", report))
    with _card("Most idle, and what to do", "waste"):
        st.html(html.block("waste", report))
    with _card("By team", "by-team"):
        st.html(html.block("team_table", report))
    with _card("By workload", "by-workload"):
        st.html(html.block("workload_note", report))
        st.html(html.block("workload_table", report))
    if report.by_pool:
        with _card("By pool", "by-pool"):
            st.html(html.block("pool_table", report))
    with _card("Coverage and data quality", "quality"):
        st.html(html.block("notes", report))


def _card(title: str, key: str) -> DeltaGenerator:
    card = st.container(border=True, key=f"card-{key}", height="stretch", gap="xsmall")
    card.header(title, anchor=False)
    return card

"""The overview: what the week cost, what was wasted, who waits, and what to do about it."""

import streamlit as st

from analytics.reports import charts, html, summary
from analytics.reports.figures import Report
from analytics.reports.theme import Tone
from dashboards import data, frame
from dashboards.data import books, overview
from dashboards.frame import Visit, card


def render() -> None:
    """The page, in whichever state the ledger is: missing, empty, partial, whole."""
    frame.page(_body)


def _body(visit: Visit) -> None:
    where, scope = visit.where, visit.viewer.scope
    weeks = data.weeks(where)
    if weeks is None:
        frame.notice(*frame.NOTHING_YET)
        return
    head = frame.masthead()
    with head.filters:
        week = frame.week(weeks)
        team = frame.team(data.teams(where, scope, week))
        report = data.report(where, scope, week, team)
        frame.download(
            "Report",
            lambda: data.file(report),
            f"gpu-report-{report.span}.html",
            "text/html",
            "The same figures as one HTML file to forward or print",
        )
    head.say(
        summary.heading(report),
        *summary.facts(report),
        badge=html.badge(report),
        provisional=report.provisional,
    )
    _first(report, overview.shown(where, scope, week, team, books.calendar()))
    _show(report, visit.tone)


def _first(report: Report, shown: overview.OverviewShown) -> None:
    st.html(html.block("lead", report))
    if not report.priced:
        st.info(
            "No rate card was in force in this week, so time is shown without cost. "
            "Add `rate_cards` to the configuration, then run `quartermaster rollup`.",
            icon=":material/sell:",
        )
    frame.cards(shown.cards, summary.footnote(report))
    with card("Worth doing first", "worth", "What would save most, at most so much"):
        st.html(html.steps(shown.steps))


def _show(report: Report, tone: Tone) -> None:
    with card("Where the capacity went" if report.whole else "What the team held", "split"):
        st.html(html.block("split_note", report))
        bar = charts.split_bar(summary.split_hours(report), tone)
        frame.chart(bar, f"Bar of GPU-hours by state: {summary.split_words(report)}.")
        st.html(html.block("split_table", report))
    left, right = st.columns([6, 5], gap="small")
    with left, card("By day" if report.some else "By day and team", "days"):
        st.html(html.block("day_note", report))
        days = charts.cost_by_day(summary.day_bars(report), report.currency or "GPU-hours", tone, height=250)
        frame.chart(days, f"Stacked bars: {'; '.join(summary.day_totals(report))}.")
        frame.legend(summary.day_legend(report))
    with right, card("Held, against guarantees", "teams"):
        st.html(html.block("team_note", report))
        if report.by_team:
            held = charts.team_bars(summary.team_bars(report), tone, label_px=110, axis_px=46)
            frame.chart(held, "Bars of GPUs held by team; the figures are in the table below.")
            st.html(html.block("team_legend", report))
    with card("By team", "by-team"):
        st.html(html.block("team_table", report, True))
    if report.by_pool:
        with card("By pool", "by-pool"):
            st.html(html.block("pool_table", report))
    with card("Coverage and data quality", "quality"):
        st.html(html.block("notes", report))

"""A team: its use against its guarantee, what it lent and borrowed, its workloads, its budget, its statement."""

import streamlit as st

from analytics.money.budgets import Burn
from analytics.reports import html, summary
from analytics.reports.summary import LegendRow
from analytics.reports.theme import STATES
from analytics.views import team_charts, team_tables
from dashboards import asking, data, frame
from dashboards.data import books, team
from dashboards.frame import Visit, card


def render() -> None:
    """The page, in whichever state the ledger is."""
    frame.page(_body)


def _body(visit: Visit) -> None:
    weeks = data.weeks(visit.where)
    if weeks is None:
        frame.notice(*frame.NOTHING_YET)
        return
    scope = visit.viewer.scope
    head = frame.masthead()
    with head.filters:
        week = frame.week(weeks)
        name = frame.team(data.teams(visit.where, scope, week), everyone=None)
        if name is None:
            frame.notice(
                "No team is yours to see", "No team has anything in this week.", "choose another week"
            )
            return
        shown = team.shown(visit.where, scope, week, name, books.calendar())
        frame.statement(shown.report, team.statement)
    _show(visit, head, shown)


def _show(visit: Visit, head: frame.Masthead, shown: team.TeamShown) -> None:
    report, hours = shown.report, shown.week.hours
    head.say(
        report.team or "",
        *summary.facts(report),
        badge=html.badge(report),
        provisional=report.provisional,
    )
    frame.cards(shown.cards, summary.footnote(report))
    with card(
        "Use against the guarantee",
        "use",
        "GPUs held in each hour; what reaches beyond the line was borrowed",
    ):
        if hours:
            drawing = team_charts.use(hours, visit.where.time_zone, visit.tone)
            frame.chart(drawing, team_tables.use_words(hours))
            frame.legend(_legend(shown))
        else:
            st.html(html.note("The team held nothing in this week, and nothing was promised to it."))
    with card(
        "Idle, and what to do",
        "idle",
        "The workloads that wasted more than a fifth of what they held; GPU-hours",
    ):
        frame.table(shown.idle)
        _names(visit, shown)
    if shown.week.burn is not None:
        _budget(shown.week.burn, shown, visit)
    with card(
        "Workloads by cost" if report.priced else "Workloads by time", "workloads", shown.workloads.note
    ):
        frame.table(shown.workloads)
    with card("Lent and borrowed", "lending", f"GPU-hours in {summary.period(report)}"):
        frame.table(shown.lending)


def _names(visit: Visit, shown: team.TeamShown) -> None:
    """Who it is behind the pseudonyms, for who answers for the team."""
    name, persons = shown.report.team or "", shown.week.persons
    if not (persons and asking.may_see_names(visit, name)):
        return
    if st.button("Show names", icon=":material/badge:", help="That you looked is recorded."):
        frame.table(asking.names(visit, name, persons))


def _budget(burn: Burn, shown: team.TeamShown, visit: Visit) -> None:
    note = (
        f"What is left of {burn.period.period}'s budget day by day; dashed: the forecast by the last four weeks, "
        "with the range of its own past misses"
    )
    with card("Budget", "budget", note):
        frame.cards(shown.budget)
        frame.chart(team_charts.burn(burn, visit.tone), team_tables.burn_words(burn))


def _legend(shown: team.TeamShown) -> tuple[LegendRow, ...]:
    amounts = dict(shown.report.split.parts)
    rows = [
        LegendRow(state.name, state.label, f"{summary.hours(amounts[state.name])} GPU-h")
        for state in STATES[:3]
    ]
    promised = any(hour.guaranteed_pms for hour in shown.week.hours)
    return (*rows, LegendRow("text", "Guarantee", "")) if promised else tuple(rows)

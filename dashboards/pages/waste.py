"""Waste: what is idle now and in a week, forgotten workspaces, requests that are too large, and what each costs."""

from analytics.reports import html, summary
from dashboards import data, frame
from dashboards.data import waste
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
        team = frame.team(data.teams(visit.where, scope, week))
        shown = waste.shown(visit.where, scope, week, team)
        frame.export(shown.tables, f"gpu-waste-{week}", waste.csv)
    report = shown.report
    head.say("Waste", *summary.facts(report), badge=html.badge(report), provisional=report.provisional)
    frame.cards(
        shown.cards,
        f"{summary.footnote(report)} A month is a twelfth of 365 days; amounts are what could be saved at most.",
    )
    with card("Idle now", "now", "As it was noted last; what has doubts is never acted on by itself."):
        frame.table(shown.now)
    with card(
        "Forgotten workspaces", "forgotten", f"Noted in {summary.period(report)}, whether or not they last."
    ):
        frame.table(shown.forgotten)
    with card(
        "Idle in the period",
        "period",
        f"{len(shown.period.rows)} of the {len(report.idlest)} workloads that wasted more than a fifth of what they "
        f"held in {summary.period(report)}, the dearest first; GPU-hours. Export has them all.",
    ):
        frame.table(shown.period)
    with card(
        "More GPUs than were used",
        "oversized",
        "Some of their GPUs never computed; the cost is of idle time.",
    ):
        frame.table(shown.too_many)
    with card(
        "What would fit a slice",
        "fitting",
        "Whole GPUs, held for a day or more, that never used more than a MIG slice has; GPU-hours and peaks.",
    ):
        frame.table(shown.fitting)

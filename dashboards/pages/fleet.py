"""The fleet: every GPU as a cell, now and at any past hour; what still fits, and what is amiss."""

import streamlit as st

from dashboards import frame
from dashboards.data import fleet as data
from dashboards.frame import Visit, card


def render() -> None:
    """The page, in whichever state the ledger is."""
    frame.page(_body)


def _body(visit: Visit) -> None:
    where, scope = visit.where, visit.viewer.scope
    days = data.known_days(where, scope)
    if not days:
        frame.notice(*frame.NOTHING_YET)
        return
    head = frame.masthead()
    with head.filters:
        day = st.selectbox("Day", days, key="day", bind="query-params", width=150)
        hours = {hour.label: hour.start_ms for hour in data.known_hours(where, scope, day)}
        label = _hour(tuple(hours))
    if label is None:
        head.say("Fleet", day)
        frame.notice("No usage on this day", "Nothing of this day is rolled up yet.", "choose another day")
        return
    shown = data.hour(where, scope, hours[label])
    whose = f"{shown.gpus:,} GPUs" if shown.whole else f"{shown.gpus:,} GPUs that your teams held"
    is_last = day == days[0] and label == list(hours)[-1]
    head.say(
        "Fleet",
        f"{day}, the hour from {label}",
        whose,
        where.time_zone,
        badge="The last hour that is known" if is_last else "A past hour",
    )
    frame.cards(shown.cards, "Shares are of GPU-time in this one hour. Unknown is not idle.")
    with card("Every GPU", "map", "A cell is a GPU in the colour of what most of the hour went into."):
        st.html(shown.drawing)
    _one_node(visit, shown, hours[label])
    with card("By pool", "pools", "GPU-hours in this hour; a pool's states add up to its capacity."):
        frame.table(shown.pools)
    if shown.whole:
        with card(
            "What still fits", "fragmentation", "Free whole GPUs, and how many jobs that need one node."
        ):
            frame.table(shown.fragmentation)
    with card("MIG layout", "mig", "Instances by profile, and what most of the hour went into."):
        frame.table(shown.mig)
    if shown.whole:
        with card("Not healthy, not ready, cordoned", "troubles"):
            frame.table(shown.troubles)
        with card("Silent exporters", "silences", "While nobody tells, held time is unknown."):
            frame.table(shown.silences)


def _hour(labels: tuple[str, ...]) -> str | None:
    """The hour of the day, the last at first; None where the day has none."""
    if len(labels) < 2:
        return labels[0] if labels else None
    return st.select_slider("Hour", labels, value=labels[-1], key="hour", bind="query-params", width=260)


def _one_node(visit: Visit, shown: data.FleetShown, start_ms: int) -> None:
    with card("One node", "node"):
        name = st.selectbox(
            "Node",
            shown.nodes,
            index=None,
            key="node",
            bind="query-params",
            placeholder="Choose a node to see its GPUs",
            width=320,
        )
        if name:
            frame.table(data.node(visit.where, visit.viewer.scope, start_ms, name))

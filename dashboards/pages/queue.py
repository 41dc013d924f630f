"""The queue: who waits for GPUs, how long and why; and what the reader's teams hold meanwhile."""

import streamlit as st

from analytics.asking.request import Kind
from analytics.asking.wish import Wish
from analytics.reports.tables import gpus
from analytics.views import queue_tables as tables
from analytics.views.instants import minute
from analytics.views.queue import Queue
from dashboards import asking, frame
from dashboards.data import queue as data
from dashboards.frame import Visit, card
from quartermaster.clock import DAY_MS, HOUR_MS

_SPANS = {"4 hours": 4 * HOUR_MS, "1 day": DAY_MS, "3 days": 3 * DAY_MS}


def render() -> None:
    """The page, in whichever state the ledger is."""
    frame.page(_body)


def _body(visit: Visit) -> None:
    zone = visit.where.time_zone
    person = asking.person(visit)
    whole = data.now(visit.where, visit.viewer.scope, person)
    head = frame.masthead()
    with head.filters:
        team = frame.team(whole.teams)
        pool = st.selectbox(
            "Pool",
            whole.pools,
            index=None,
            key="pool",
            bind="query-params",
            placeholder="All pools",
            width=150,
        )
    shown = whole.of(team, pool)
    who = f"Team {team}" if team else "All teams" if visit.viewer.scope.whole else "Your teams"
    head.say("Queue", f"as of {minute(shown.at_ms, zone)} ({zone})", who, pool or "all pools")
    frame.cards(
        tables.cards(shown), "Waits are measured from when a workload asked until its pods were bound."
    )
    with card("Who waits, and why", "waiting", "The longest wait of each pool first."):
        st.html(tables.waiting(shown, zone, person))
    with card("How long waits took", "past", "Waits that ended in the last seven days."):
        frame.table(tables.past(shown))
    with card("What is held meanwhile", "held", "Workloads that hold GPUs now; those found idle first."):
        _decide(visit, shown, person)
        frame.table(tables.held(shown, zone))


def _decide(visit: Visit, shown: Queue, person: int) -> None:
    """Keep or give back a workload of one's own, or of a team that one answers for: a request each."""
    mine = shown.free_to_decide(person, visit.viewer.owned)
    theirs = {each.title: each for each in mine}
    if not theirs:
        return
    with st.container(horizontal=True, vertical_alignment="bottom", key="decide"):
        title = st.selectbox(
            "Workload",
            tuple(theirs),
            index=None,
            key="workload",
            placeholder="Choose one of yours",
            width=360,
        )
        span = st.selectbox("Keep it for", tuple(_SPANS), key="span", width=130)
        keep = st.button("Keep", disabled=title is None, icon=":material/lock_clock:")
        give = st.button("Give back", disabled=title is None, icon=":material/undo:")
    if title is None:
        return
    each = theirs[title]
    if keep:
        words = f"{title} is to be kept for {span}: as far as the policy lets it, nobody takes it for its idleness."
        wished = Wish(each.cluster, Kind.KEEP, each.uid, _SPANS[span])
        asking.confirm(visit, wished, words, data.now.clear)
    if give:
        freed = gpus(each.parts)
        words = f"{title} is not needed any more: it may be stopped at once, and others get its {freed} GPUs."
        asking.confirm(visit, Wish(each.cluster, Kind.GIVE_BACK, each.uid), words, data.now.clear)

"""The enforcer: what it would do and why, how often it would be wrong, what it did, and what people asked of it."""

import streamlit as st

from analytics.asking.request import Kind
from analytics.asking.wish import Asker, Wish
from analytics.reports import html
from analytics.views import enforced_tables as tables
from analytics.views.enforced import Enforced, Planned
from analytics.views.instants import minute
from dashboards import asking, frame
from dashboards.data import enforced as data
from dashboards.frame import Visit, card


def render() -> None:
    """The page, in whichever state the ledger is."""
    frame.page(_body)


def _body(visit: Visit) -> None:
    where = visit.where
    clusters = data.known_clusters(where)
    if not clusters:
        frame.notice(*frame.NOTHING_YET)
        return
    who = asking.asker(visit)
    head = frame.masthead()
    with head.filters:
        cluster = clusters[0]
        if len(clusters) > 1:
            cluster = st.selectbox("Cluster", clusters, key="cluster", bind="query-params", width=180)
        found = data.now(where, visit.viewer.scope, cluster, who.pseudonym)
        _switch(visit, who, found)
    at = "no plan yet" if found.planned is None else minute(found.planned.planned_ms, where.time_zone)
    head.say(
        "Enforcer",
        f"cluster {cluster}",
        f"last plan {at}",
        where.time_zone,
        badge=tables.mode(found),
        provisional=found.frozen_ms is not None,
    )
    if found.frozen_ms is not None:
        words = f"since {minute(found.frozen_ms, where.time_zone)} {found.frozen_words}".strip()
        st.html(html.note(f"Frozen {words}. Plans are still made."))
    frame.cards(
        tables.cards(found), "Deeds are counted over 28 days, regret over all shadow plans that are recorded."
    )
    _plan(visit, who, found)
    with card(
        "Shadow's record and regret",
        "regret",
        "Of those whom recorded shadow plans would have stopped: who computed again, and when. GPU-hours idle since.",
    ):
        frame.table(tables.regret(found))
    with card("Open findings", "findings", "A finding with a doubt is never acted on."):
        frame.table(tables.findings(found))
    _deeds(visit, who, found)
    with card("Requests", "asked", "What people asked for, under their pseudonyms, and what became of it."):
        frame.table(tables.asked(found, where.time_zone))
    sentences = tables.audit(found, where.time_zone)
    if sentences:
        with card("The audit", "audit"):
            for sentence in sentences:
                st.html(html.note(sentence))


def _plan(visit: Visit, who: Asker, found: Enforced) -> None:
    planned = found.planned
    with card("The current plan, and why", "plan", planned.doing_nothing if planned else ""):
        st.html(tables.plan(found))
        if planned and planned.notes:
            for note in planned.notes:
                st.html(html.note(note))
        if planned and planned.actions and planned.mode == "plan" and who.may(Kind.APPROVE):
            _approve(visit, found, planned)


def _approve(visit: Visit, found: Enforced, planned: Planned) -> None:
    if st.button("Approve this plan", type="primary", icon=":material/approval:"):
        words = (
            f"Plan {planned.plan_hash[:12]} of cluster {found.cluster} is carried out as far as the guard lets it: "
            f"{len(planned.actions)} actions. When an object that it touches changes, nothing is done."
        )
        asking.confirm(visit, Wish(found.cluster, Kind.APPROVE, planned.plan_hash), words, data.now.clear)


def _switch(visit: Visit, who: Asker, found: Enforced) -> None:
    kind = Kind.FREEZE if found.frozen_ms is None else Kind.THAW
    if not who.may(kind):
        return
    freezing = kind is Kind.FREEZE
    if st.button(
        "Freeze" if freezing else "Thaw", icon=":material/ac_unit:" if freezing else ":material/sunny:"
    ):
        words = (
            f"Nothing more is done to cluster {found.cluster} until somebody thaws it. Plans are still made."
            if freezing
            else f"The enforcer may act on cluster {found.cluster} again, where nothing else stops it."
        )
        asking.confirm(visit, Wish(found.cluster, kind), words, data.now.clear)


def _deeds(visit: Visit, who: Asker, found: Enforced) -> None:
    zone = visit.where.time_zone
    with card("What was done", "done", "The last 28 days, newest first."):
        frame.table(tables.done(found, zone))
        if found.stopped and who.may(Kind.RESTORE):
            _restore(visit, found)
    with card(
        "Won back", "won", "GPU-hours that others held on what was stopped, until it was started again."
    ):
        frame.table(tables.won(found, zone))
    with card("What the guard refused", "refused", "The last 28 days, by reason."):
        frame.table(tables.refused(found, zone))


def _restore(visit: Visit, found: Enforced) -> None:
    stopped = {each.title: each for each in found.stopped}
    with st.container(horizontal=True, vertical_alignment="bottom", key="restore"):
        title = st.selectbox(
            "Stopped and not started again",
            tuple(stopped),
            index=None,
            key="stopped",
            placeholder="Choose a workload",
            width=400,
        )
        wanted = st.button("Restore", disabled=title is None, icon=":material/restart_alt:")
    if title is not None and wanted:
        words = f"{title} is started again as it was before it was stopped. What it had in memory is gone."
        asking.confirm(visit, Wish(found.cluster, Kind.RESTORE, stopped[title].uid), words, data.now.clear)

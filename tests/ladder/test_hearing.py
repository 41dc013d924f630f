"""Outside of shadow: only accepted warnings count, and people keep what is theirs as long as the policy lets them."""

from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from analytics.asking import request as asking
from analytics.asking.request import Request, ask
from analytics.found import Found, Kind
from enforcer.idleness import Findings, Idle, Notice
from enforcer.ladder.hearing import hear_live
from enforcer.ladder.keep import asked, kept
from enforcer.ladder.rung import AGAIN, WARN
from enforcer.ladder.told import record
from quartermaster.person import pseudonym
from sql.ledger import Ledger
from tests.enforcer.clusters import NOW
from tests.enforcer.scenes import POOL, job, made, node, proof, scene, taken
from tests.ladder.idlers import MIN, POLICY, H, idle, workload
from tests.ladder.test_told import delivery

WHO = pseudonym(5)
SCENE = scene((node("n1"),), job("w", "b", "n1", gpus=8, ran=1_000))
DEVICE: dict[str, Any] = {
    "device": "GPU-0",
    "known_permille": 1000,
    "idle_by": ["gr_engine", "power"],
    "active_by": [],
    "sampled_at_ms": proof().sampled_at_ms,
    "interval_ms": 30_000,
}


def found(since_ms: int) -> Found:
    evidence = {"uid": "w", "devices": [DEVICE]}
    return Found("here", Kind.idle, "Job ns-b/w", since_ms, "b", POOL, ("power",), 1000, None, "", evidence)


def live(ledger: Ledger, since_ms: int = NOW - 3 * H, annotated: dict[str, int] | None = None) -> Idle:
    with ledger.reading() as cursor:
        heard = hear_live(
            cursor, [found(since_ms)], [POOL], SCENE, annotated_ms=annotated or {}, policy=POLICY
        )
    assert heard.computing == {POOL}
    (one,) = heard.idle
    return one


def keep(ledger: Ledger, until_ms: int, subject: str = "w", cluster: str = "here", at_ms: int = NOW) -> None:
    ask(ledger, Request(cluster, at_ms, WHO, asking.Kind.KEEP, subject, until_ms))


@pytest.mark.patient
def test_who_was_warned_twice_is_taken_and_only_then(ledger: Ledger) -> None:
    for deliveries, expected in (
        ((), []),
        ((delivery(cluster="here", ago=2 * H),), []),
        ((delivery(cluster="here", stage=AGAIN, ago=H, accepted=False),), []),
        ((delivery(cluster="here", stage=AGAIN, ago=H),), ["w"]),
    ):
        record(ledger, deliveries, NOW)
        assert taken(made(SCENE, live(ledger))) == expected
    assert live(ledger).notices == (Notice(WARN, NOW - 2 * H), Notice(AGAIN, NOW - H))


def test_where_nothing_is_idle_the_ledger_is_not_asked(ledger: Ledger) -> None:
    busy = replace(found(NOW - 3 * H), kind=Kind.partly_idle)
    with closing(ledger.cursor()) as cursor:
        closed = cursor
    for there in ([], [busy]):
        heard = hear_live(closed, there, [POOL], SCENE, annotated_ms={}, policy=POLICY)
        assert heard == Findings((), frozenset({POOL}))


def test_idleness_is_counted_from_a_grace_after_the_start(ledger: Ledger) -> None:
    assert live(ledger, since_ms=0).since_ms == NOW - 1_000 * MIN + POLICY.grace_ms


def test_who_asked_is_kept_until_then(ledger: Ledger) -> None:
    keep(ledger, NOW + 2 * H)
    keep(ledger, NOW + H)
    keep(ledger, NOW + 5 * H, subject="other")
    keep(ledger, NOW + 6 * H, cluster="there")
    keep(ledger, NOW - 1, subject="over")
    with ledger.reading() as cursor:
        assert asked(cursor, "here", NOW) == {"w": NOW + 2 * H, "other": NOW + 5 * H}
    assert live(ledger).keep_until_ms == NOW + 2 * H
    assert live(ledger, annotated={"w": NOW + 3 * H}).keep_until_ms == NOW + 3 * H
    assert live(ledger, annotated={"w": NOW}).keep_until_ms == NOW + 2 * H


def test_nobody_is_kept_longer_than_the_policy_lets_them(ledger: Ledger) -> None:
    since_ms = NOW - 3 * H
    wishes = (NOW + 90 * H, 2**62)
    for wish in wishes:
        assert live(ledger, since_ms, {"w": wish}).keep_until_ms == since_ms + 2 * H + 24 * H
    record(ledger, (delivery(cluster="here", ago=H),), NOW)
    for wish in wishes:
        assert live(ledger, since_ms, {"w": wish}).keep_until_ms == NOW + 24 * H


def test_what_is_gone_or_reported_only_is_not_kept() -> None:
    findings = Findings((idle(3),))
    wishes = ({"w": NOW + H},)
    assert kept(findings, (), POLICY, wishes) == findings
    assert kept(findings, (workload(serving=True),), POLICY, wishes) == findings
    assert kept(findings, (workload(),), POLICY, ()) == findings
    (one,) = kept(findings, (workload(),), POLICY, wishes).idle
    assert one.keep_until_ms == NOW + H

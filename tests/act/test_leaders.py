"""Two who would like to act: at most one does, whatever stops, sleeps, jumps or is cut off."""

from typing import Any

import pytest

from collector.kubernetes.values import Json
from enforcer.act.actor import Actor
from enforcer.act.clearing import Pace
from enforcer.act.effects import Evict, How
from enforcer.act.hands import Hands
from enforcer.act.leader import Leader
from enforcer.act.lease import (
    AUDIT_HEAD,
    DURATION_S,
    NAME,
    TRUST_S,
    held_of,
    is_free,
    released,
    taken,
    watched,
)
from enforcer.act.order import Under
from enforcer.act.pods import fence
from enforcer.act.resume import resume
from enforcer.act.wire import CONNECT_S, READ_S
from enforcer.plan import Act
from tests.act.acting import Paper, doing, fine, wire
from tests.act.bare import Bare


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def lease_of(bare: Bare) -> Json:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{bare.namespace}/leases/{NAME}"
    return bare.call("GET", path)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def leader(bare: Bare, identity: str, clock: Clock, **more: Any) -> Leader:
    return Leader(wire(bare.plane), bare.namespace, identity, clock=clock, **more)


def test_the_first_has_it_and_the_second_waits_until_it_was_not_renewed(bare: Bare, clock: Clock):
    first, second = leader(bare, "a", clock), leader(bare, "b", clock)
    first.renew()
    second.renew()
    assert (first.epoch, second.epoch, second.trouble) == (1, 0, "a has it")
    assert (first.doubt(1), first.doubt(2)) == ("", "the lease is of epoch 1 now")
    clock.now_s += TRUST_S
    assert first.doubt(1) == "the lease is another's, or was not renewed in time"
    second.renew()
    assert second.epoch == 0
    clock.now_s += DURATION_S - TRUST_S + 0.1
    second.renew()
    assert (first.epoch, second.epoch) == (0, 2)
    first.renew()
    assert (first.epoch, first.trouble) == (0, "b has it")


def test_who_renews_keeps_it(bare: Bare, clock: Clock):
    first, second = leader(bare, "a", clock), leader(bare, "b", clock)
    for _ in range(6):
        first.renew()
        second.renew()
        clock.now_s += 5
        assert (first.epoch, second.epoch) == (1, 0)


def test_wall_clocks_change_nothing(bare: Bare, clock: Clock):
    """The second's clock is a day ahead: it still waits as long as the first's lease lasts, on its own clock."""
    first = leader(bare, "a", clock)
    second = leader(bare, "b", clock, wall=lambda: 4_000_000_000_000)
    first.renew()
    second.renew()
    clock.now_s += DURATION_S - 1
    second.renew()
    assert second.epoch == 0


def test_it_is_given_up_with_its_last_words(bare: Bare, clock: Clock):
    first, second = leader(bare, "a", clock), leader(bare, "b", clock)
    first.publish("12:abc")
    first.renew()
    assert lease_of(bare)["metadata"]["annotations"] == {AUDIT_HEAD: "12:abc"}
    first.stop()
    assert first.epoch == 0
    second.renew()
    assert (second.epoch, held_of(lease_of(bare)).holder) == (2, "b")
    assert lease_of(bare)["metadata"]["annotations"] == {AUDIT_HEAD: "12:abc"}
    second.remove()
    third = leader(bare, "c", clock, least_epoch=7)
    third.renew()
    assert third.epoch == 8, "a Lease that was deleted begins above what the audit knows"


def test_it_is_kept_by_a_thread_of_its_own(bare: Bare):
    only = Leader(wire(bare.plane), bare.namespace, "a")
    only.start()
    for _ in range(100):
        if only.epoch:
            break
        only._stop.wait(0.05)
    assert only.epoch == 1
    only.stop()
    assert held_of(lease_of(bare)).holder == ""


def test_a_server_that_is_away_ends_it(bare: Bare, clock: Clock):
    only = leader(bare, "a", clock)
    only.renew()
    only._wire = wire(bare.plane, url="https://127.0.0.1:1")
    clock.now_s += 5
    only.renew()
    assert "refused" in only.trouble
    assert only.epoch == 1
    clock.now_s += TRUST_S - 5
    assert only.epoch == 0


def test_what_nobody_foresaw_ends_trust_and_not_the_thread(
    bare: Bare, clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    def too_deep(*request: Any) -> None:
        raise RecursionError("too deep")

    only = leader(bare, "a", clock)
    only.renew()
    with monkeypatch.context() as broken:
        broken.setattr(only._wire, "send", too_deep)
        clock.now_s += TRUST_S
        only.renew()
        assert (only.epoch, only.trouble) == (0, "RecursionError: too deep")
    only.renew()
    assert (only.epoch, only.trouble) == (1, "")


def test_what_was_sent_in_trust_is_answered_before_another_may_act():
    assert TRUST_S + CONNECT_S + READ_S < DURATION_S


def test_of_two_who_take_it_at_once_one_is_refused(bare: Bare, clock: Clock):
    hands = wire(bare.plane)
    path = f"/apis/coordination.k8s.io/v1/namespaces/{bare.namespace}/leases"
    hands.send("POST", path, taken(None, "old", 0, 0, ""))
    lease = hands.send("GET", f"{path}/{NAME}").body
    answers = [hands.send("PUT", f"{path}/{NAME}", taken(lease, each, 0, 0, "")).code for each in ("a", "b")]
    assert answers == [200, 409]


def test_a_lease_as_a_value():
    lease = taken(None, "a", 1_796_000_000_123, 4, "h")
    assert lease["spec"]["renewTime"] == "2026-11-30T00:53:20.123000Z"
    assert held_of(lease).epoch == 5
    again = taken(lease, "a", 1_796_000_005_000, 99, "")
    assert (held_of(again).epoch, again["metadata"]["annotations"]) == (5, {AUDIT_HEAD: "h"})
    seen = watched(held_of(again), None, 10.0)
    assert watched(held_of(again), seen, 20.0).since_s == 10.0
    assert [is_free(seen, who, 20.0) for who in ("a", "b")] == [True, False]
    assert is_free(seen, "b", 25.1)
    assert is_free(watched(held_of(released(again)), seen, 20.0), "b", 20.0)
    assert held_of(taken(released(again), "b", 0, 0, "")).epoch == 6


def test_a_paused_leaders_plan_is_not_done_by_two(bare: Bare, clock: Clock):
    """The first sleeps after it has stopped the owner; the second ends what was begun; the first does no more."""
    bare.owned(bare.owner("StatefulSet", "s", replicas=2), "s-0")
    first, second, paper = leader(bare, "a", clock), leader(bare, "b", clock), Paper()
    first.renew()
    second.renew()
    slept: list[str] = []

    def may(epoch: int) -> str:
        if len(slept) == 1:
            clock.now_s += DURATION_S + 1
            second.renew()
        slept.append("")
        return first.doubt(epoch)

    pace = Pace(0.0, 0.5)
    under = Under("c", "p" * 64, first.epoch, "a")
    Actor(doing(bare.plane, paper, may, pace)).carry_out(
        [bare.order(Act.STOP, "StatefulSet", "s", "s-0")], under, fine
    )
    assert not bare.is_going("s-0")
    assert (paper.outcomes(), len(paper.open())) == ([], 1)
    resume(doing(bare.plane, paper, second.doubt, pace), paper.open(), second.epoch)
    assert paper.outcomes() == [("stop", "s", "done")]
    assert bare.pod("s-0")["metadata"]["annotations"]["quartermaster/epoch"] == "2"


def test_an_old_leader_that_does_not_know_it_is_refused_by_the_server(bare: Bare):
    """It has fenced the pod and sleeps; the next one fences it; the old one wakes up and evicts: 409."""
    pod = bare.owned(bare.owner("StatefulSet", "s"), "s-0")
    hands = Hands(wire(bare.plane))
    old = hands.do(fence(pod, 1), lambda: "")
    new = hands.do(fence(old.object, 2), lambda: "")
    metadata = old.object["metadata"]
    evict = Evict(bare.namespace, "s-0", metadata["uid"], metadata["resourceVersion"])
    assert hands.do(evict, lambda: "").how is How.DIFFERS
    assert not bare.is_going("s-0")
    metadata = new.object["metadata"]
    evict = Evict(bare.namespace, "s-0", metadata["uid"], metadata["resourceVersion"])
    assert hands.do(evict, lambda: "").how is How.HAPPENED

"""The second look: what has changed by the moment of acting, and what is not known then, stops the act."""

from dataclasses import replace
from typing import Any

import pytest

from enforcer.act.seen import Seen, SeenBudget, SeenPod
from enforcer.guard.recheck import recheck
from enforcer.guard.refused import Reason, Refused
from enforcer.guard.standing import Approval, Standing
from enforcer.guard.switches import Freeze, Switch
from enforcer.plan import Act, Action, Cause, Plan, Target
from quartermaster.clock import HOUR_MS, to_iso
from quartermaster.config.policy import PolicyPart
from tests.enforcer.clusters import NOW
from tests.enforcer.scenes import proof
from tests.guard.cases import idler, rules, standing

TARGET = Target(
    "i", "7", "Job", "ns-c", "i", "c", "whole", "suspend", (("i-0", "1", "n0"), ("i-1", "1", "n1"))
)
TAKE = Action(1, Act.STOP, Cause.IDLE, TARGET)
PREEMPT = replace(TAKE, cause=Cause.OWNER, for_uid="q")
PODS = (SeenPod("i-0", "3", {}, {}, False), SeenPod("i-1", "3", {}, {}, False))
AS_IT_WAS = Seen(NOW, "i", "7", {}, {}, PODS)


def look(
    action: Action = TAKE, now: Standing | None = None, policy: PolicyPart | None = None, **seen: Any
) -> Refused | None:
    """What the second look says, where `seen` is different."""
    made = Plan("here", NOW, "policy", (action,))
    return recheck(action, made, replace(AS_IT_WAS, **seen), now or standing(idler()), policy or rules())


def test_as_it_was_it_is_done() -> None:
    assert look() is None
    assert look(PREEMPT, standing()) is None


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ({"uid": ""}, "Job ns-c/i is gone"),
        ({"uid": "j"}, "Job ns-c/i is another object of the same name"),
        ({"version": "8"}, "Job ns-c/i has changed: it was version 7, and is 8"),
        ({"pods": PODS[:1]}, "1 of its 2 pods are gone or going"),
        ({"pods": (PODS[0], replace(PODS[1], going=True))}, "1 of its 2 pods are gone or going"),
        ({"pods": (*PODS, replace(PODS[1], uid="new"))}, "it has pods that the plan does not know"),
    ],
)
@pytest.mark.parametrize("action", [TAKE, PREEMPT], ids=["idle", "owner"])
def test_reality_differs(action: Action, seen: dict[str, Any], words: str) -> None:
    assert look(action, **seen) == Refused(Reason.DIFFERS, words)


def test_a_pods_own_version_may_be_another() -> None:
    assert look(pods=(replace(PODS[0], version="99"), PODS[1])) is None


def test_frozen_a_moment_ago() -> None:
    now = standing(idler(), freeze=Freeze(Switch.FILE, NOW, "", "/x/freeze is there"))
    words = f"frozen since {to_iso(NOW)}: the file /x/freeze is there"
    assert look(now=now) == Refused(Reason.FROZEN, words)


@pytest.mark.parametrize("read_ms", [NOW - 120_001, NOW + 1])
def test_what_was_read_is_not_of_this_moment(read_ms: int) -> None:
    told = look(at_ms=read_ms)
    assert told is not None
    assert told.reason is Reason.STALE


def test_the_approval_has_run_out_meanwhile() -> None:
    made = Plan("here", NOW, "policy", (TAKE,))
    for until_ms, reason in ((NOW + 1, None), (NOW, Reason.EXPIRED)):
        given = Approval(made.hash, made.snapshot_hash, NOW - HOUR_MS, until_ms, "person-1", 1)
        told = look(now=standing(idler(), asked="plan", approvals=(given,)))
        assert (told and told.reason) == reason
    told = look(now=standing(idler(), asked="plan"))
    assert told is not None
    assert told.reason is Reason.NOT_APPROVED


@pytest.mark.parametrize("where", ["labels", "annotations"])
@pytest.mark.parametrize(
    "opt_out",
    [
        {"quartermaster/exclude": "true"},
        {"quartermaster/exclude-until": to_iso(NOW + 1)},
        {"quartermaster/exclude-until": "who knows"},
    ],
)
def test_an_opt_out_of_the_owner_or_a_pod_since(where: str, opt_out: dict[str, str]) -> None:
    of_a_pod: dict[str, Any] = {"pods": (PODS[0], replace(PODS[1], **{where: opt_out}))}
    of_the_owner: dict[str, Any] = {where: opt_out}
    for seen in (of_the_owner, of_a_pod):
        told = look(**seen)
        assert told is not None
        assert told.reason is Reason.OPTED_OUT
        assert look(PREEMPT, **seen) is None  # an owner's return outranks it


def test_an_opt_out_that_is_over() -> None:
    assert look(annotations={"quartermaster/exclude-until": to_iso(NOW)}) is None


def test_kept_since() -> None:
    told = look(now=standing(idler(keep_until_ms=NOW + 1)))
    assert told is not None
    assert told.reason is Reason.KEPT


@pytest.mark.parametrize(
    "evidence", [(), (proof(sampled_at_ms=NOW - 61_000),), (proof(active_by=("power",)),)]
)
def test_a_sample_that_is_not_fresh_or_not_idle(evidence: tuple[Any, ...]) -> None:
    now = standing(idler(evidence=evidence))
    told = look(now=now)
    assert told is not None
    assert told.reason is Reason.NOT_IDLE
    assert look(PREEMPT, now) is None


def test_protected_by_a_label_that_it_has_now() -> None:
    policy, labels = rules({"protected": {"labels": {"tier": "prod"}}}), {"tier": "prod"}
    of_a_pod: dict[str, Any] = {"pods": (replace(PODS[0], labels=labels), PODS[1])}
    of_the_owner: dict[str, Any] = {"labels": labels}
    for action in (TAKE, PREEMPT, replace(PREEMPT, act=Act.HOLD)):
        for seen in (of_the_owner, of_a_pod):
            told = look(action, policy=policy, **seen)
            assert told == Refused(Reason.PROTECTED, "its label tier is 'prod'")


def test_a_disruption_budget_as_it_is_now() -> None:
    budgets = (SeenBudget("ns-c/wide", 2, 2), SeenBudget("ns-c/tight", 2, 1))
    words = "ns-c/tight lets 1 pods go now, and this takes 2"
    assert look(PREEMPT, budgets=budgets) == Refused(Reason.DISRUPTION_BUDGET, words)
    assert look(PREEMPT, budgets=budgets[:1]) is None


@pytest.mark.parametrize("act", [Act.HOLD, Act.START])
def test_what_waits_is_checked_too(act: Act) -> None:
    action = Action(1, act, Cause.OWNER, replace(TARGET, pods=()), "q")
    assert look(action, standing(), pods=()) is None
    told = look(action, standing(), pods=(), version="8")
    assert told is not None
    assert told.reason is Reason.DIFFERS

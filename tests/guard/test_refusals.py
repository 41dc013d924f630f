"""Why something is not done: each reason with its figures, and the one that is told where several hold."""

from dataclasses import replace
from typing import Any

import pytest

from enforcer.guard.refused import ORDER, Reason, Refused
from enforcer.guard.standing import Approval, Standing
from enforcer.guard.switches import Freeze, Switch
from enforcer.making import target_of
from enforcer.plan import Act, Plan
from enforcer.snapshot import FOREVER_MS, Budget, Snapshot, Taking
from quartermaster.clock import HOUR_MS, MINUTE_MS, to_iso
from quartermaster.config.policy import PolicyPart
from tests.enforcer.clusters import NOW
from tests.enforcer.scenes import POOL, ask, idle, job, node, promise, proof, scene
from tests.guard.cases import (
    idle_scene,
    idler,
    judged,
    judged_idle,
    only_refusal,
    planned,
    rules,
    standing,
    stop,
    taken,
    uids,
    written,
)

FROZEN = Freeze(Switch.COMMAND, NOW - MINUTE_MS, "person-1", "was told: a holiday")


def refused(now: Standing | None = None, policy: PolicyPart | None = None, **more: Any) -> Refused:
    """Why job `i` is not taken."""
    return only_refusal(judged_idle(policy or rules(), now, **more))


def test_what_nothing_speaks_against_is_done() -> None:
    judgement = judged_idle(rules())
    assert (uids(judgement), judgement.refused, judgement.approval) == (["i"], (), None)


@pytest.mark.parametrize(
    ("asked", "mode", "words"),
    [
        ("shadow", "act", "shadow is asked for: nothing is done"),
        ("plan", "shadow", "--plan is asked for, and policy.acting.mode is shadow"),
        ("act", "shadow", "--act is asked for, and policy.acting.mode is shadow"),
        ("act", "plan", "--act is asked for, and policy.acting.mode is plan"),
    ],
)
def test_neither_flag_nor_policy_goes_further_than_the_other(asked: str, mode: str, words: str) -> None:
    assert refused(standing(idler(), asked=asked), rules(mode=mode)) == Refused(Reason.MODE, words)


def test_frozen_by_whom_since_when_and_why() -> None:
    told = refused(standing(idler(), freeze=FROZEN))
    words = f"frozen since {to_iso(NOW - MINUTE_MS)} by person-1: quartermaster freeze was told: a holiday"
    assert told == Refused(Reason.FROZEN, words)


def test_a_switch_stops_starts_and_warnings_too() -> None:
    warned = judged(
        idle_scene(),
        planned(idle_scene(), rules(), idle("i", 70)),
        standing(idle("i", 70), freeze=FROZEN),
        rules(),
    )
    ((group, why),) = warned.refused
    assert (group[0].act, why.reason) == (Act.WARN, Reason.FROZEN)


def test_nothing_in_the_first_minutes_after_a_start() -> None:
    told = refused(standing(idler(), started_at_ms=NOW - 14 * MINUTE_MS))
    assert told.reason is Reason.JUST_STARTED
    assert told.until_ms == NOW + MINUTE_MS
    assert to_iso(NOW + MINUTE_MS) in told.words
    assert uids(judged_idle(rules(), standing(idler(), started_at_ms=NOW - 15 * MINUTE_MS))) == ["i"]


def test_nor_after_a_clock_that_jumped_back_behind_the_start() -> None:
    assert refused(standing(idler(), started_at_ms=NOW + HOUR_MS)).reason is Reason.JUST_STARTED


def test_nothing_in_the_first_minutes_of_a_policy() -> None:
    told = refused(standing(idler(), policy_since_ms=NOW - 1), rules(after_policy_change="1m"))
    assert (told.reason, told.until_ms) == (Reason.POLICY_CHANGED, NOW - 1 + MINUTE_MS)


@pytest.mark.parametrize("seen_ms", [NOW - 120_001, NOW + 1])
def test_what_is_seen_is_stale_or_from_the_future(seen_ms: int) -> None:
    told = refused(snapshot=replace(idle_scene(), seen_at_ms=seen_ms))
    assert told.reason is Reason.STALE
    assert (
        f"is {(NOW - seen_ms) / 1000:g} s old; nothing is done on one that is older than 120 s" in told.words
    )


def test_a_plan_that_lay_about_is_stale_too() -> None:
    snapshot = replace(idle_scene(), at_ms=NOW + 130_000, seen_at_ms=NOW + 130_000)
    told = refused(standing(idler(), now_ms=NOW + 130_000), snapshot=snapshot)
    assert (told.reason, told.words.startswith("the plan is 130 s old")) == (Reason.STALE, True)


def test_too_little_is_known_of_the_cluster_or_the_pool() -> None:
    words = "89.9 % of what is held in the cluster is known; 90 % are needed"
    assert refused(standing(idler(), coverage_permille=899)) == Refused(Reason.COVERAGE, words)
    words = "89.9 % of what is held in pool whole is known; 90 % are needed"
    assert refused(standing(idler(), coverage_of_pools={POOL: 899})) == Refused(Reason.COVERAGE, words)
    assert refused(standing(idler(), coverage_permille=None)).reason is Reason.COVERAGE
    assert refused(standing(idler(), coverage_of_pools={})).reason is Reason.COVERAGE
    assert uids(judged_idle(rules(), standing(idler(), coverage_permille=900))) == ["i"]


def approval(made_: Plan, **more: Any) -> Approval:
    """An approval of five minutes ago that lasts five more."""
    told: dict[str, Any] = {
        "plan_hash": made_.hash,
        "snapshot_hash": made_.snapshot_hash,
        "at_ms": NOW - 5 * MINUTE_MS,
        "until_ms": NOW + 5 * MINUTE_MS,
        "by": "person-1",
        "request_id": 7,
    }
    return Approval(**(told | more))


def test_what_is_to_be_approved_waits_for_it() -> None:
    plan = planned(idle_scene(), rules(), idler())
    told = refused(standing(idler(), asked="plan"))
    assert told == Refused(Reason.NOT_APPROVED, f"quartermaster approve {plan.hash[:12]} approves it")
    allowed = judged_idle(rules(), standing(idler(), asked="plan", approvals=(approval(plan),)))
    assert (uids(allowed), allowed.approval) == (["i"], approval(plan))


def test_an_approval_expires() -> None:
    plan = planned(idle_scene(), rules(), idler())
    told = refused(standing(idler(), asked="plan", approvals=(approval(plan, until_ms=NOW),)))
    words = f"it was approved at {to_iso(NOW - 5 * MINUTE_MS)} by person-1, until {to_iso(NOW)}"
    assert told == Refused(Reason.EXPIRED, words)


def test_an_approval_from_the_future_is_none() -> None:
    plan = planned(idle_scene(), rules(), idler())
    told = refused(standing(idler(), asked="plan", approvals=(approval(plan, at_ms=NOW + 1),)))
    assert told.reason is Reason.EXPIRED


def test_an_approval_is_void_when_the_snapshot_has_changed() -> None:
    before = planned(idle_scene(version="6"), rules(), idler())
    told = refused(standing(idler(), asked="plan", approvals=(approval(before),)))
    assert told.reason is Reason.VOID
    assert f"plan {before.hash[:12]} was approved" in told.words
    assert told.words.endswith("the objects that it would touch have changed")


def test_an_approval_under_another_policy_is_void_too() -> None:
    before = planned(idle_scene(), rules(a_cycle=2), idler())
    told = refused(standing(idler(), asked="plan", approvals=(approval(before),)))
    assert told.reason is Reason.VOID
    assert "its policy, or for whom it is done, is not the same" in told.words


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (scene((node("n0"),)), "Job ns-c/i is not there as the plan has it"),
        (idle_scene(version="8"), "Job ns-c/i has changed: it was version , and is 8"),
        (idle_scene(pod={"version": "8"}), "the pods of Job ns-c/i are others"),
        (idle_scene(way_down="scale to zero"), "Job ns-c/i is not what the plan takes it for"),
        (replace(idle_scene(), cluster="there"), "it is a plan for cluster here, and this is there"),
    ],
)
def test_reality_differs(seen: Snapshot, words: str) -> None:
    assert refused(snapshot=seen) == Refused(Reason.DIFFERS, words)


def test_a_plan_under_another_policy_is_not_done() -> None:
    plan = planned(idle_scene(), rules(a_cycle=2), idler())
    told = only_refusal(judged(idle_scene(), plan, standing(idler()), rules()))
    assert told == Refused(Reason.DIFFERS, "it was made under another policy")


@pytest.mark.parametrize(
    ("protected", "seen", "words"),
    [
        ({"namespaces": ("ns-*",)}, {}, "namespace ns-c is one of ns-*"),
        ({"priority_from": 100}, {"priority": 100}, "its priority is 100; 100 and above is protected"),
        ({"labels": {"tier": "pro*"}}, {"labels": {"tier": "prod"}}, "its label tier is 'prod'"),
        ({"owners": ("Job/ns-c/?",)}, {}, "Job/ns-c/i is one of Job/ns-c/?"),
    ],
)
@pytest.mark.parametrize("for_uid", ["", "q"])
def test_the_protected_are_never_stopped(
    protected: dict[str, Any], seen: dict[str, Any], words: str, for_uid: str
) -> None:
    policy, there = rules({"protected": protected}), idle_scene(**seen)
    plan = written(there, policy, stop(1, there.workloads[0], for_uid))
    assert only_refusal(judged(there, plan, standing(idler()), policy)) == Refused(Reason.PROTECTED, words)


def test_the_protected_are_neither_warned_nor_held_back() -> None:
    policy = rules({"protected": {"namespaces": ("ns-c",)}})
    plan = planned(idle_scene(), policy, idle("i", 70))
    assert plan.actions[0].act is Act.WARN
    told = only_refusal(judged(idle_scene(), plan, standing(idle("i", 70)), policy))
    assert told.reason is Reason.PROTECTED
    there = owner_scene(rival="c")
    plan = planned(there, policy)
    assert [each.act for each in plan.actions] == [Act.HOLD, Act.STOP]
    told = only_refusal(judged(there, plan, standing(), policy))
    assert told == Refused(Reason.PROTECTED, "namespace ns-c is one of ns-c")


def owner_scene(rival: str = "") -> Snapshot:
    """Team a, whose guarantee is all there is, waits for what a job of b holds; perhaps somebody else waits too."""
    rivals = [ask("r", rival, gpus=8)] if rival else []
    return scene((node("n0"),), job("v", "b", "n0", gpus=8), ask("q", "a", gpus=8), promise("a", 8), *rivals)


def test_what_nothing_brings_back_is_not_stopped() -> None:
    for there in (idle_scene(way_down=""), idle_scene(kind="Pod")):
        told = only_refusal(
            judged(there, written(there, rules(), stop(1, there.workloads[0])), standing(idler()), rules())
        )
        assert told.reason is Reason.NO_WAY


def test_nor_is_it_held_back() -> None:
    plan = planned(owner_scene(rival="c"), rules())
    hold = plan.actions[0]
    rival = ask("r", "c", gpus=8, way_down="")
    there = scene((node("n0"),), rival)
    plan = written(there, rules(), replace(hold, target=target_of(rival)))
    assert only_refusal(judged(there, plan, standing(), rules())).reason is Reason.NO_WAY


def test_what_was_stopped_in_vain_is_not_stopped_again() -> None:
    seen = replace(idle_scene(), takings=(Taking("i", "", NOW - HOUR_MS, in_vain=True),))
    assert refused(snapshot=seen).reason is Reason.IN_VAIN
    seen = replace(idle_scene(), takings=(Taking("i", "", NOW - HOUR_MS),))
    assert uids(judged_idle(rules(), snapshot=seen)) == ["i"]


def test_what_serves_is_reported_only() -> None:
    assert refused(snapshot=idle_scene(serving=True)).reason is Reason.REPORTED_ONLY


def test_who_opted_out_is_not_taken_for_standing_idle_but_for_an_owner() -> None:
    seen = idle_scene(spared_until_ms=FOREVER_MS)
    assert refused(snapshot=seen).reason is Reason.OPTED_OUT
    plan = written(seen, rules(), stop(1, seen.workloads[0], "q"))
    assert uids(judged(seen, plan, standing(), rules())) == ["i"]
    assert uids(judged_idle(rules(), snapshot=idle_scene(spared_until_ms=NOW))) == ["i"]


def test_what_its_people_keep_is_left() -> None:
    told = refused(standing(idler(keep_until_ms=NOW + HOUR_MS)))
    assert told == Refused(Reason.KEPT, f"it is kept until {to_iso(NOW + HOUR_MS)}", NOW + HOUR_MS)


def test_a_warning_needs_none_before_it_and_is_sent_while_people_are_at_work() -> None:
    ladder = {"kinds": ("*",), "warn": "1h", "again": "105m", "take": "2h", "in_business_hours": False}
    policy = rules({"idle": (ladder,), "business_hours": {"from": "01:00", "to": "02:00"}})
    plan = planned(idle_scene(), policy, idle("i", 70))
    judgement = judged(idle_scene(), plan, standing(idle("i", 70)), policy)
    assert [each.act for group in judgement.allowed for each in group] == [Act.WARN]


def test_business_hours() -> None:
    ladder = {"kinds": ("*",), "warn": "1h", "again": "105m", "take": "2h"}
    hours = {"from": "01:00", "to": "02:00"}  # it is a Monday at 01:00
    for at_work, told in ((False, Reason.BUSINESS_HOURS), (True, None)):
        policy = rules({"idle": (ladder | {"in_business_hours": at_work},), "business_hours": hours})
        plan = written(idle_scene(), policy, stop(1, idle_scene().workloads[0]))
        judgement = judged(idle_scene(), plan, standing(idler()), policy)
        assert [why for _, why in judgement.refused] == (
            [Refused(told, "business hours last until 02:00")] if told else []
        )


@pytest.mark.parametrize(
    ("notices", "which"),
    [
        ((), "first"),
        ((("warn", 90),), "second"),
        ((("again", 45),), "first"),
        ((("warn", 140), ("again", 45)), "first"),
    ],
)
def test_nobody_is_taken_who_was_not_told(notices: tuple[tuple[str, int], ...], which: str) -> None:
    told = refused(standing(idler(told=notices)))
    words = f"no message of its {which} warning was accepted for its owner or team since it is idle"
    assert told == Refused(Reason.UNTOLD, words)


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (proof(sampled_at_ms=NOW - 61_000), "gpu-0: its last sample is 61 s old"),
        (proof(active_by=("gr_engine",)), "gpu-0: gr_engine shows it active"),
        (proof(idle_by=("power",)), "gpu-0: power alone shows it idle; two signals are needed"),
        (proof(known_permille=949), "gpu-0: it is known for 94.9 % of the window; 95 % are needed"),
        (proof(frozen=True), "gpu-0: its exporter is frozen"),
    ],
)
def test_what_is_not_surely_idle_any_more_is_left(evidence: Any, words: str) -> None:
    assert refused(standing(idler(evidence=(evidence,)))) == Refused(Reason.NOT_IDLE, words)


def test_nothing_noticed_is_no_idleness() -> None:
    for found in ((), (idler(evidence=()),), (idler(doubts=("sources disagree",)),)):
        told = judged_idle(rules(), standing(*found))
        assert only_refusal(told).reason in {Reason.NOT_IDLE, Reason.UNTOLD}


def test_a_pod_disruption_budget_counts_over_all_that_a_cycle_stops() -> None:
    seen = idle_scene("i", "j", pod={"budgets": ("ns/p",)})
    plan = written(seen, rules(), *(stop(n, each) for n, each in enumerate(seen.workloads[:2], 1)))
    now = standing(idler("i"), idler("j"))
    judgement = judged(replace(seen, budgets=(Budget("ns/p", 1),)), plan, now, rules())
    assert uids(judgement) == ["i"]
    ((_, why),) = judgement.refused
    assert why == Refused(Reason.DISRUPTION_BUDGET, "ns/p lets 0 pods go now, and this takes 1")
    assert uids(judged(replace(seen, budgets=(Budget("ns/p", 2),)), plan, now, rules())) == ["i", "j"]
    assert uids(judged(seen, plan, now, rules())) == []  # one that is not known lets none go


def test_a_pod_that_goes_anyway_is_asked_of_no_budget() -> None:
    there = idle_scene(pod={"budgets": ("ns/p",), "terminating": True})
    plan = written(there, rules(), stop(1, there.workloads[0]))
    assert uids(judged(there, plan, standing(idler()), rules())) == ["i"]


def test_a_pod_under_two_budgets_cannot_be_evicted() -> None:
    seen = replace(
        idle_scene(pod={"budgets": ("ns/p", "ns/q")}), budgets=(Budget("ns/p", 9), Budget("ns/q", 9))
    )
    told = refused(snapshot=seen)
    assert told == Refused(
        Reason.DISRUPTION_BUDGET, "pod ns-c/i-0 is under 2, and so cannot be evicted at all"
    )


def test_of_several_reasons_the_first_is_told() -> None:
    everything: dict[Reason, dict[str, Any]] = {
        Reason.MODE: {"asked": "shadow"},
        Reason.FROZEN: {"freeze": FROZEN},
        Reason.JUST_STARTED: {"started_at_ms": NOW},
        Reason.POLICY_CHANGED: {"policy_since_ms": NOW},
        Reason.COVERAGE: {"coverage_permille": 0},
        Reason.KEPT: {"idle": {"i": idler(keep_until_ms=NOW + 1, told=())}},
        Reason.AN_HOUR: {"done": tuple(taken(f"d{n}", 1) for n in range(1000))},
    }
    so_far: dict[str, Any] = {}
    for reason in sorted(everything, key=lambda each: ORDER[each], reverse=True):
        so_far |= everything[reason]
        assert refused(standing(idler(), **so_far)).reason is reason


def test_a_start_needs_only_what_waits_as_it_was() -> None:
    held_back = ask("q", "a", gpus=1, held_back=True, version="3")
    snapshot = scene((node("n0"),), held_back, promise("a", 8))
    policy = PolicyPart.model_validate({"acting": {"mode": "act"}})
    plan = planned(snapshot, policy)
    assert [each.act for each in plan.actions] == [Act.START]
    now = standing(coverage_of_pools={}, done=tuple(taken(f"d{n}", 1) for n in range(10)))
    assert len(judged(snapshot, plan, now, policy).allowed) == 1  # no limit is against it
    changed = scene((node("n0"),), replace(held_back, version="4"), promise("a", 8))
    assert only_refusal(judged(changed, plan, now, policy)).reason is Reason.DIFFERS

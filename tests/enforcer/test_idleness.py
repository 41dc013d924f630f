"""Idle beyond doubt, and the ladder: what is due to whom, and why nothing is."""

from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from enforcer.idleness import Idle, at_work, by_uid
from enforcer.plan import Act
from enforcer.snapshot import FOREVER_MS, Budget
from quartermaster.clock import MINUTE_MS, from_iso
from quartermaster.config.policy import BusinessHoursPart
from tests.enforcer.clusters import NOW
from tests.enforcer.scenes import TOLD, ask, done, idle, job, made, node, promise, proof, scene, taken

HELD = scene((node("n1"),), promise("b", 8), job("b1", "b", "n1", gpus=8, ran=600))


def _spared(*found: Idle, **more: Any) -> str:
    plan = made(HELD, *found, **more)
    assert plan.actions == ()
    return plan.spared[0].reason


def test_idle_beyond_doubt_it_is_taken_after_two_warnings() -> None:
    plan = made(HELD, idle("b1", 120, told=TOLD))
    assert done(plan) == [("stop", "b1")]
    assert plan.actions[0].why == (
        "It holds 8 GPUs and is idle for 2 h; take is due after 2 h; its people were warned twice.",
        "Stopping it costs 80.0 GPU-hours of work since its start.",
    )


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        ((), "no telemetry names its devices"),
        ((proof(), proof(device="gpu-1", known_permille=949)), "gpu-1: it is known for 94.9 % of the window"),
        ((proof(known_permille=0, idle_by=()),), "gpu-0: it is known for 0 % of the window"),
        ((proof(idle_by=("power",)),), "power alone shows it idle; two signals are needed"),
        ((proof(idle_by=("power", "power")),), "power alone"),
        ((proof(idle_by=()),), "no signal alone"),
        ((proof(active_by=("tensor",)),), "tensor shows it active"),
        ((proof(sampled_at_ms=NOW - 60_001),), "its last sample is 60 s old"),
        ((proof(sampled_at_ms=NOW + 30_001),), "its last sample is from the future"),
        ((proof(frozen=True),), "its exporter is frozen"),
    ],
)
def test_one_device_in_doubt_is_enough_to_leave_the_workload(evidence: Any, words: str) -> None:
    assert words in _spared(idle("b1", 120, told=TOLD, evidence=evidence))


def test_at_the_very_edge_it_is_beyond_doubt() -> None:
    edge = (proof(known_permille=950, sampled_at_ms=NOW - 60_000),)
    assert taken(made(HELD, idle("b1", 120, told=TOLD, evidence=edge))) == ["b1"]


def test_what_analysis_doubts_is_left() -> None:
    assert _spared(idle("b1", 120, told=TOLD, doubts=("sources disagree",))) == "sources disagree"


def test_all_idle_at_once_in_a_pool_is_a_fault_of_telemetry() -> None:
    assert "a fault of telemetry" in _spared(idle("b1", 120, told=TOLD), computing=False)


def test_a_container_has_its_grace_for_loading() -> None:
    for ran, expected in ((140, ["b1"]), (139, [])):
        snapshot = scene((node("n1"),), job("b1", "b", "n1", gpus=8, ran=ran))
        assert taken(made(snapshot, idle("b1", 120, told=TOLD))) == expected


def test_a_pod_that_has_not_started_leaves_all_of_it() -> None:
    (workload,) = HELD.workloads
    pods = tuple(replace(pod, started_at_ms=None) for pod in workload.pods)
    snapshot = replace(HELD, workloads=(replace(workload, pods=pods),))
    assert made(snapshot, idle("b1", 120, told=TOLD)).spared[0].reason == "a pod of it has not started"


@pytest.mark.parametrize(
    ("minutes", "told", "stage"),
    [
        (59, (), ""),
        (60, (), "warn"),
        (500, (), "warn"),  # never taken without a warning, however long it stands
        (104, (("warn", 44),), ""),
        (105, (("warn", 45),), "again"),
        (500, (("warn", 44),), ""),  # and the second no sooner after the first than stated
        (119, (("warn", 60), ("again", 15)), ""),
        (120, (("warn", 60), ("again", 15)), "take"),
        (500, (("warn", 60), ("again", 14)), ""),
        (500, (("again", 400),), "warn"),
        (120, (("warn", 130), ("again", 125)), "warn"),  # it computed since: the ladder begins anew
        (120, (("warn", 120), ("again", 45)), "warn"),  # told at the instant at which it fell idle: of before
    ],
)
def test_the_ladder_of_a_batch_job(minutes: int, told: tuple[tuple[str, int], ...], stage: str) -> None:
    plan = made(HELD, idle("b1", minutes, told=told))
    assert [action.stage or "take" for action in plan.actions] == ([stage] if stage else [])


def test_a_warning_says_what_would_be_lost() -> None:
    (workload,) = HELD.workloads
    snapshot = replace(HELD, workloads=(replace(workload, lost_for_good=("the notebook's memory",)),))
    (action,) = made(snapshot, idle("b1", 60)).actions
    assert (action.act, action.stage) == (Act.WARN, "warn")
    assert "lost for good: the notebook's memory" in action.why[1]


def test_workspaces_are_taken_late_and_never_in_business_hours() -> None:
    notebook = replace(HELD, workloads=(job("b1", "b", "n1", gpus=8, ran=6_000, kind="Notebook"),))
    told = (("warn", 370), ("again", 250))
    assert _reason(notebook, idle("b1", 480, told=told), "2026-11-30T12:00:00Z") == (
        "idle for 8 h; take is due after 8 h, but not in business hours"
    )
    assert _reason(notebook, idle("b1", 479, told=told), "2026-11-30T22:00:00Z").endswith("in 1 min")
    assert _reason(notebook, idle("b1", 480, told=told), "2026-11-30T22:00:00Z") == ""
    assert _reason(notebook, idle("b1", 480, told=told), "2026-11-29T12:00:00Z") == ""  # a Sunday


def _reason(snapshot: Any, found: Idle, instant: str) -> str:
    """The same scene at another time of day."""
    shift = from_iso(instant) - NOW
    workloads = tuple(
        replace(
            each,
            pods=tuple(
                replace(pod, bound_at_ms=pod.bound_at_ms + shift, started_at_ms=pod.bound_at_ms + shift)
                for pod in each.pods
            ),
        )
        for each in snapshot.workloads
    )
    moved = replace(
        found,
        since_ms=found.since_ms + shift,
        evidence=tuple(replace(each, sampled_at_ms=each.sampled_at_ms + shift) for each in found.evidence),
        notices=tuple(replace(each, at_ms=each.at_ms + shift) for each in found.notices),
    )
    plan = made(replace(snapshot, workloads=workloads), moved, at=NOW + shift)
    assert bool(plan.spared) is not bool(taken(plan))
    return plan.spared[0].reason if plan.spared else ""


def test_what_serves_is_reported_only() -> None:
    for more in ({"kind": "Deployment", "serving": True}, {"kind": "InferenceService", "serving": True}):
        snapshot = replace(HELD, workloads=(job("b1", "b", "n1", gpus=8, ran=600, **more),))
        plan = made(snapshot, idle("b1", 500, told=TOLD))
        assert plan.spared[0].reason == "workloads of its kind are reported only"


def test_who_keeps_it_or_opted_out_is_left() -> None:
    assert "keep it until" in _spared(idle("b1", 500, told=TOLD, keep_until_ms=NOW + 1))
    assert taken(made(HELD, idle("b1", 500, told=TOLD, keep_until_ms=NOW))) == ["b1"]
    snapshot = replace(HELD, workloads=(job("b1", "b", "n1", gpus=8, ran=600, spared_until_ms=FOREVER_MS),))
    assert made(snapshot, idle("b1", 500, told=TOLD)).spared[0].reason == "it opted out"


def test_what_may_never_be_taken_is_not_taken_for_idleness_either() -> None:
    for more in ({"namespace": "kube-system"}, {"way_down": ""}, {"priority": 2_000_000_000}):
        snapshot = replace(HELD, workloads=(job("b1", "b", "n1", gpus=8, ran=600, **more),))
        plan = made(snapshot, idle("b1", 500, told=TOLD))
        assert (plan.actions, len(plan.spared)) == ((), 1)
    covered = job("b1", "b", "n1", gpus=8, ran=600, pod={"budgets": ("ns/b",)})
    for allowed, expected in ((0, []), (1, ["b1"])):
        snapshot = replace(HELD, workloads=(covered,), budgets=(Budget("ns/b", allowed),))
        assert taken(made(snapshot, idle("b1", 500, told=TOLD))) == expected


def test_of_two_findings_the_shorter_idleness_counts_and_of_what_is_gone_none() -> None:
    assert by_uid([idle("b1", 500), idle("b1", 5)])["b1"].since_ms == NOW - 5 * MINUTE_MS
    assert made(HELD, idle("b1", 500, told=TOLD), idle("b1", 5), idle("gone", 500, told=TOLD)).actions == ()


@pytest.mark.parametrize(
    ("instant", "zone", "expected"),
    [
        ("2026-11-30T07:59:59Z", "UTC", False),
        ("2026-11-30T08:00:00Z", "UTC", True),
        ("2026-11-30T17:59:59Z", "UTC", True),
        ("2026-11-30T18:00:00Z", "UTC", False),
        ("2026-11-30T07:00:00Z", "Europe/Berlin", True),
        ("2026-11-29T12:00:00Z", "UTC", False),
        ("2026-11-29T23:00:00Z", "Pacific/Auckland", True),  # Monday noon there
    ],
)
def test_business_hours_are_the_businesss(instant: str, zone: str, expected: bool) -> None:
    assert at_work(BusinessHoursPart(), from_iso(instant), ZoneInfo(zone)) is expected


def test_what_is_taken_for_idleness_is_not_started_in_the_same_plan() -> None:
    more = ask("b1", "b", gpus=1, held_back=True)
    plan = made(
        scene((node("n1"), node("n2")), *HELD.workloads, more, promise("b", 9)), idle("b1", 500, told=TOLD)
    )
    assert (done(plan), plan.answers[0].words) == ([("stop", "b1")], "the part of it that runs is stopped")


def test_idle_work_that_is_taken_makes_room_for_what_is_held_back() -> None:
    waits = ask("r", "b", gpus=8, held_back=True)
    snapshot = replace(HELD, waiting=(waits,), promises=())
    plan = made(snapshot, idle("b1", 120, told=TOLD))
    assert done(plan) == [("stop", "b1")]  # its GPUs are not free yet
    assert plan.answers[0].words == "it borrows only what is free, and too little is"

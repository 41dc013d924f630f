"""When it would be taken, until when it may be kept: the words of a warning agree with what the planner does."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.idleness import Findings, Idle, Notice, due
from enforcer.ladder.rung import AGAIN, WARN, Rung, keepable_until_ms, rungs, steps_of, taken_from_ms
from quartermaster.clock import from_iso, to_iso
from quartermaster.config.policy import BusinessHoursPart, PolicyPart
from tests.enforcer.clusters import NOW, UTC
from tests.enforcer.scenes import idle as idle_minutes
from tests.enforcer.scenes import job, made, node, scene
from tests.ladder.idlers import BERLIN, POLICY, H, idle, rung, steps

BATCH, WORKSPACE = steps("Job"), steps("Notebook")


def test_a_plans_warnings_are_rungs_and_nothing_else_is() -> None:
    jobs = (job(uid, "b", where, gpus=8, ran=600) for uid, where in (("b1", "n1"), ("b2", "n2")))
    snapshot = scene((node("n1"), node("n2")), *jobs)
    findings = Findings((idle_minutes("b1", 61), idle_minutes("b2", 300, told=(("warn", 90), ("again", 45)))))
    plan = made(snapshot, *findings.idle)
    assert [action.act.value for action in plan.actions] == ["stop", "warn"]
    assert rungs(plan.actions, snapshot, findings) == (
        Rung("here", WARN, snapshot.workloads[0], findings.idle[0]),
    )
    gone = replace(snapshot, workloads=())
    assert rungs(plan.actions, gone, findings) == rungs(plan.actions, snapshot, Findings()) == ()


def test_what_is_reported_only_has_no_steps() -> None:
    assert steps_of(POLICY, "Deployment", serving=True) is None
    assert steps_of(PolicyPart.model_validate({"idle": ()}), "Job", serving=False) is None


@pytest.mark.parametrize(
    ("at", "idle_h", "stage", "taken"),
    [
        # A notebook is taken after 8 h, 6 h after a first warning, 4 h after a second, and not from 08:00 to 18:00.
        ("2026-11-30T17:00:00Z", 2, WARN, "2026-11-30T23:00:00.000Z"),
        ("2026-11-30T17:00:00Z", 20, WARN, "2026-11-30T23:00:00.000Z"),
        ("2026-11-30T17:00:00Z", 4, AGAIN, "2026-11-30T21:00:00.000Z"),
        ("2026-11-30T02:00:00Z", 2, WARN, "2026-11-30T17:00:00.000Z"),  # 09:00 in Berlin: until 18:00 there
        ("2026-11-28T10:00:00Z", 2, WARN, "2026-11-28T16:00:00.000Z"),  # a Saturday
        (
            "2026-10-24T23:30:00Z",
            2,
            WARN,
            "2026-10-25T05:30:00.000Z",
        ),  # the night in which the clock goes back
    ],
)
def test_when_a_notebook_would_be_taken(at: str, idle_h: int, stage: str, taken: str) -> None:
    at_ms = from_iso(at)
    there = rung(stage=stage)
    there = replace(there, found=replace(there.found, since_ms=at_ms - idle_h * H))
    found = taken_from_ms(there, WORKSPACE, at_ms, BusinessHoursPart(), BERLIN)
    assert found is not None
    assert to_iso(found) == taken


def test_where_business_hours_never_end_it_never_is() -> None:
    days = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
    always = BusinessHoursPart.model_validate({"days": days, "from": "00:00", "to": "24:00"})
    assert taken_from_ms(rung(), WORKSPACE, NOW, always, UTC) is None


@given(
    idle_min=st.integers(60, 600),
    late_min=st.integers(0, 200),
    kind=st.sampled_from(["Job", "Notebook"]),
    early_min=st.integers(1, 60),
)
def test_it_is_not_taken_before_the_instant_that_was_said_and_is_due_then(
    idle_min: int, late_min: int, kind: str, early_min: int
) -> None:
    """The first warning says an instant, and the second, accepted when it is due or late: neither comes sooner."""
    ladder = steps(kind)
    minute = 60_000
    (one,) = scene((node("n1"),), job("w", "b", "n1", gpus=8, ran=6_000, kind=kind)).workloads
    since = NOW - idle_min * minute
    bare = Idle("w", since, ())
    said = taken_from_ms(Rung("c", WARN, one, bare), ladder, NOW, POLICY.business_hours, UTC)
    second_ms = max(since + ladder.again_ms, NOW + ladder.again_ms - ladder.warn_ms) + late_min * minute
    warned = replace(bare, notices=(Notice(WARN, NOW), Notice(AGAIN, second_ms)))
    later = taken_from_ms(Rung("c", AGAIN, one, warned), ladder, second_ms, POLICY.business_hours, UTC)
    assert said is not None
    assert later is not None
    assert said <= later

    def stage(at_ms: int) -> str:
        return due(warned, one, replace(scene(()), at_ms=at_ms), POLICY, UTC).stage

    assert stage(later) == "take"
    assert stage(later - early_min * minute) != "take"


def test_how_long_it_may_be_kept() -> None:
    for told, until in (
        ((), 2 + 24),
        ((("warn", 9.0),), 2 + 24),  # of an earlier spell: it fell idle six hours ago
        ((("warn", 6.0), ("warn", 4.0)), 3 + 24),
        ((("warn", 4.0),), 3 + 24),  # told two hours after it fell idle, an hour late
        ((("warn", 4.0), ("again", 1.0)), 3 + 24),
        ((("again", 1.0),), 2 + 24),
        ((("warn", 4.0), ("warn", 1.0)), 3 + 24),
    ):
        found = idle(6, *told)
        assert (keepable_until_ms(BATCH, found.since_ms, found.notices) - found.since_ms) / H == until, told

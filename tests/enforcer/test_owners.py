"""An owner asks for its guarantee: scenes, each with the one thing that it is about."""

from dataclasses import replace

import pytest

from enforcer.plan import Act, Verdict
from enforcer.snapshot import Coming, Taking
from quartermaster.clock import MINUTE_MS, to_iso
from quartermaster.parts import GPU_PARTS
from tests.enforcer.clusters import NOW
from tests.enforcer.scenes import A8, FULL, ONE, TWO, answer, ask, job, made, node, promise, scene, taken

# Before anybody is taken


def test_what_is_free_is_used() -> None:
    plan = made(scene(TWO, A8, job("b1", "b", "n1", gpus=8), ask("q", "a", gpus=8)))
    assert (taken(plan), answer(plan).verdict, answer(plan).places) == ([], Verdict.FREE, (("n2", 1),))


def test_what_is_being_released_is_waited_for() -> None:
    leaving = job("b1", "b", "n1", gpus=8, pod={"terminating": True})
    plan = made(scene(ONE, A8, leaving, ask("q", "a", gpus=8)))
    assert (taken(plan), answer(plan).verdict) == ([], Verdict.RELEASED)


@pytest.mark.parametrize(
    ("minutes", "verdict"), [(4, Verdict.BOOTING), (5, Verdict.TAKEN), (-1, Verdict.TAKEN)]
)
def test_a_node_that_boots_is_waited_for_as_long_as_stated(minutes: int, verdict: Verdict) -> None:
    coming = (Coming(node("n2"), NOW - minutes * MINUTE_MS),)
    plan = made(scene(ONE, A8, job("b1", "b", "n1", gpus=8), ask("q", "a", gpus=8), coming=coming))
    assert answer(plan).verdict is verdict
    if verdict is Verdict.BOOTING:
        assert answer(plan).until_ms == NOW + MINUTE_MS


def test_free_gpus_that_are_not_bound_keep_no_other_owner_off() -> None:
    stuck, other = ask("stuck", "a", gpus=8, waits=60), ask("q", "c", gpus=8, waits=1)
    plan = made(scene(TWO, A8, promise("c", 8), job("b1", "b", "n1", gpus=8), stuck, other))
    assert (taken(plan), answer(plan).verdict) == ([], Verdict.FREE)


def test_but_its_guarantee_is_spoken_for() -> None:
    plan = made(
        scene(
            TWO, A8, job("b1", "b", "n1", gpus=8), ask("first", "a", gpus=8, waits=60), ask("q", "a", gpus=8)
        )
    )
    assert (taken(plan), answer(plan).verdict) == ([], Verdict.ABOVE)


def test_freed_gpus_are_kept_for_whom_they_were_freed() -> None:
    mine, other = ask("mine", "a", gpus=8, waits=60), ask("q", "c", gpus=8, waits=50)
    plan = made(
        scene(TWO, FULL, A8, promise("c", 8), mine, other, takings=(Taking("b1", "mine", NOW - MINUTE_MS),))
    )
    assert (answer(plan, "mine").verdict, answer(plan).verdict) == (Verdict.FREE, Verdict.NONE_FITS)


# What is said


def test_every_figure_of_a_taking_is_said() -> None:
    victim = job(
        "b1",
        "b",
        "n1",
        gpus=8,
        ran=150,
        checkpoint_at_ms=NOW - 30 * MINUTE_MS,
        lost_for_good=("unsaved work",),
    )
    plan = made(scene(TWO, FULL, A8, promise("b", 2), victim, ask("q", "a", gpus=8, waits=5)))
    (action,) = plan.actions
    assert (action.act, action.frees_parts, action.gains_parts) == (Act.STOP, 8 * GPU_PARTS, 8 * GPU_PARTS)
    assert action.why == (
        f"Job ns-a/q of team a waits since {to_iso(NOW - 5 * MINUTE_MS)} for 8 GPUs; the team holds 0 GPUs of the 8 "
        "GPUs that it is guaranteed. Neither free GPUs nor those being released or booting fit it.",
        "Team b holds 8 GPUs, 6 GPUs above its guarantee of 2 GPUs; of the workload's GPUs 6 GPUs are borrowed.",
        "Stopping it costs 4.0 GPU-hours of work since its last checkpoint; lost for good: unsaved work.",
        "Nobody else may be taken.",
        "Then 1 pods, 8 GPUs, fit on n1.",
    )
    balance_a, balance_b, _ = plan.balances
    assert (balance_a.held_before_parts, balance_a.held_after_parts) == (0, 8 * GPU_PARTS)
    assert (balance_b.held_before_parts, balance_b.held_after_parts) == (8 * GPU_PARTS, 0)


def test_hostile_names_stay_on_their_line() -> None:
    name = "x\n\x1b[31m\u202e"
    victim = job("b1", name, "n1", gpus=8, name=name)
    plan = made(scene(ONE, A8, victim, ask("q", "a", gpus=8, name=name)))
    assert all(line.isprintable() for action in plan.actions for line in action.why)


def test_on_an_old_picture_or_one_from_the_future_nothing_is_planned() -> None:
    snapshot = scene(ONE, A8, job("b1", "b", "n1", gpus=8), ask("q", "a", gpus=8))
    for age_ms, expected in ((120_000, ["b1"]), (120_001, []), (-1, [])):
        plan = made(replace(snapshot, seen_at_ms=NOW - age_ms))
        assert taken(plan) == expected
        assert bool(plan.notes) is not bool(expected)

"""What was stopped or held back begins again: within its fair share, on what is free, after owners."""

from enforcer.plan import Verdict
from enforcer.snapshot import Taking
from quartermaster.clock import MINUTE_MS
from quartermaster.parts import GPU_PARTS
from tests.enforcer.clusters import NOW
from tests.enforcer.scenes import answer, ask, done, job, made, node, promise, scene, shape

TWO = (node("n1"), node("n2"))


def test_the_one_least_above_its_guarantee_for_its_weight_begins() -> None:
    waiting = [ask(f"{team}1", team, gpus=2, held_back=True) for team in "bcd"]
    promises = promise("b", 0), promise("c", 0, weight=3), promise("d", 0)
    held = job("c0", "c", "n1", gpus=6), job("d0", "d", "n1", "n2", gpus=2)
    # b stands at 0, c at 6 ÷ 3, d at 4: each begins in its turn, as far as GPUs are free.
    plan = made(scene((node("n1"), node("n2", 6)), *promises, *held, *waiting))
    assert done(plan) == [("start", "b1"), ("start", "c1")]


def test_what_nobody_within_a_fair_share_can_use_does_not_stand_free() -> None:
    # Three teams ask for 8 of 8 each; a gang of 8 is beyond every share.
    waiting = [ask(f"{team}1", team, gpus=8, held_back=True) for team in "bcd"]
    plan = made(scene((node("n1"),), *waiting))
    assert done(plan) == [("start", "b1")]
    assert "nobody within a fair share waits" in plan.actions[0].why[0]
    small = ask("c2", "c", gpus=1, held_back=True)
    assert done(made(scene((node("n1"),), *waiting, small))) == [("start", "c2")]


def test_past_borrowing_counts_as_something_that_it_has_already() -> None:
    waiting = [ask(f"{team}1", team, gpus=8, held_back=True) for team in "bc"]
    assert done(made(scene((node("n1"),), *waiting))) == [("start", "b1")]
    past = promise("b", 0, remembered_parts=GPU_PARTS)
    assert done(made(scene((node("n1"),), past, *waiting))) == [("start", "c1")]
    alone = made(scene((node("n1"),), past, waiting[0]))
    assert done(alone) == [("start", "b1")]
    assert alone.actions[0].why[1] == "Of past borrowing 1 GPU counted in its fair share."


def test_priority_comes_first() -> None:
    waiting = [ask(f"{team}1", team, gpus=8, held_back=True) for team in "bc"]
    snapshot = scene((node("n1"),), *waiting)
    assert done(made(snapshot)) == [("start", "b1")]
    assert done(made(snapshot, priorities=({"team": "c", "priority": 1},))) == [("start", "c1")]


def test_within_fair_shares_come_before_beyond_and_nobody_goes_above_a_limit() -> None:
    waiting = [ask(f"b{n}", "b", gpus=4, held_back=True, waits=n) for n in range(4)]
    plan = made(scene(TWO, *waiting, ask("c1", "c", gpus=8, held_back=True), job("b9", "b", "n1", gpus=4)))
    assert done(plan) == [("start", "c1"), ("start", "b3")]
    assert answer(plan, "b0").words == "it borrows only what is free, and too little is"
    limited = promise("b", 0, limit_parts=4 * GPU_PARTS)
    plan = made(scene(TWO, limited, *waiting))
    assert (done(plan), answer(plan, "b0").words) == ([("start", "b3")], "its limit leaves 0 GPUs")
    departments = ({"department": "x", "pool": "whole", "limit": 8},)
    plan = made(scene(TWO, promise("b", 0, department="x"), *waiting), departments=departments)
    assert done(plan) == [("start", "b3"), ("start", "b2")]


def test_only_preemptible_work_borrows() -> None:
    plan = made(scene(TWO, ask("b1", "b", held_back=True, preemptible=False)))
    assert (done(plan), answer(plan, "b1").words) == ([], "only preemptible work may borrow")
    within = made(scene(TWO, promise("b", 1), ask("b1", "b", held_back=True, preemptible=False)))
    assert done(within) == [("start", "b1")]


def test_what_the_scheduler_sees_is_left_to_it() -> None:
    for more in ({"held_back": False}, {"held_back": True}):
        snapshot = scene(TWO, ask("b1", "b", **more), queues_order=more["held_back"])
        assert done(made(snapshot)) == []


def test_who_gave_way_rests_but_not_from_its_own_guarantee() -> None:
    takings = (Taking("b1", "q", NOW - 59 * MINUTE_MS),)
    wish = ask("b1", "b", held_back=True)
    assert done(made(scene(TWO, wish, takings=takings))) == []
    assert done(made(scene(TWO, promise("b", 1), wish, takings=takings))) == [("start", "b1")]


def test_nobody_borrows_where_an_owner_waits_for_borrowers_to_have_their_minimum_runtime() -> None:
    young = job("c1", "c", "n1", gpus=8, ran=1)
    owner, wish = ask("q", "a", gpus=8), ask("b1", "b", gpus=2, held_back=True)
    fixed = job("f", "f", "n2", gpus=4, preemptible=False)
    plan = made(scene(TWO, promise("a", 8), young, fixed, owner, wish))
    assert (done(plan), answer(plan).verdict) == ([], Verdict.YOUNG)
    assert (
        answer(plan, "b1").words == "an owner waits in this pool for borrowers to have their minimum runtime"
    )


def test_free_gpus_that_an_owner_is_about_to_have_are_not_lent() -> None:
    owner, wish = ask("q", "a", gpus=8, waits=60), ask("b1", "b", gpus=4, held_back=True)
    plan = made(scene((node("n1"),), promise("a", 8), owner, wish))
    assert (done(plan), answer(plan).verdict) == ([], Verdict.FREE)


def test_what_cannot_be_placed_for_sure_does_not_begin() -> None:
    wish = ask("b1", "b", held_back=True, shape=shape(1, unsure=("a volume",)))
    assert (
        answer(made(scene(TWO, wish)), "b1").words
        == "its pods ask for a volume: it cannot be told where they fit"
    )


def test_where_guarantees_do_not_fit_it_is_said() -> None:
    plan = made(
        scene((node("n1"),), promise("a", 8), promise("b", 8), ask("q", "a", gpus=8), ask("r", "b", gpus=8))
    )
    assert answer(plan).words == (
        "its guarantee of 8 GPUs would cover it, but not all guarantees fit; its part is 4 GPUs"
    )

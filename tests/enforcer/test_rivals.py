"""Who could be faster than the owner, and departments that are owners."""

from dataclasses import replace

import pytest

from enforcer.plan import Step, Verdict
from enforcer.snapshot import Taking
from quartermaster.clock import MINUTE_MS
from quartermaster.parts import GPU_PARTS
from tests.enforcer.clusters import NOW
from tests.enforcer.scenes import (
    A8,
    ONE,
    TWO,
    answer,
    ask,
    done,
    idle,
    job,
    made,
    node,
    promise,
    scene,
    shape,
    taken,
)

# Who could be faster


def test_what_could_be_bound_first_is_held_back_before_anybody_is_stopped() -> None:
    rival = ask("r", "b", gpus=2, waits=500, priority=-5)
    plan = made(scene(ONE, A8, job("b1", "b", "n1", gpus=8), rival, ask("q", "a", gpus=8)))
    assert done(plan) == [("hold", "r"), ("stop", "b1")]
    assert {action.group for action in plan.actions} == {1}
    assert done(
        made(scene(ONE, A8, job("b1", "b", "n1", gpus=8), rival, ask("q", "a", gpus=8), queues_order=True))
    ) == [("stop", "b1")]


def test_a_rival_is_one_by_where_its_pods_may_be_whatever_pool_it_is_counted_in() -> None:
    elsewhere = replace(ask("r", "b", gpus=2), pool="other")
    bound = replace(ask("s", "b", gpus=2, shape=shape(2, selector=(("pool", "other"),))), pool="other")
    plan = made(scene(ONE, A8, job("b1", "b", "n1", gpus=8), elsewhere, bound, ask("q", "a", gpus=8)))
    assert done(plan) == [("hold", "r"), ("stop", "b1")]


def test_workloads_and_wishes_without_pods_are_nothing() -> None:
    empty = replace(job("e", "b", "n1"), pods=())
    nothing = replace(ask("r", "a"), pods=((shape(1), 0, GPU_PARTS),))
    plan = made(
        scene(ONE, A8, empty, nothing, job("b1", "b", "n1", gpus=8), ask("q", "a", gpus=8)), idle("e")
    )
    assert (done(plan), [each.uid for each in plan.answers]) == ([("stop", "b1")], ["q"])


def test_names_of_teams_and_departments_do_not_meet() -> None:
    teams = (
        promise("x department", 1),
        promise("b", 1, department="x"),
        promise("c", 1, department="x department"),
    )
    plan = made(scene(ONE, *teams, ask("q", "b")))
    assert [each.team for each in plan.balances] == ["b", "c", "x department"]


@pytest.mark.parametrize("why", ["no way", "part of it runs", "too many"])
def test_where_a_rival_cannot_be_held_back_nobody_is_taken(why: str) -> None:
    rivals = [ask("r", "b", gpus=2, way_down="" if why == "no way" else "suspend")]
    others = [job("r", "b", "n1", gpus=1)] if why == "part of it runs" else []
    if why == "too many":
        rivals = [ask(f"r{n}", "b") for n in range(51)]
    plan = made(
        scene(
            TWO,
            A8,
            job("b1", "b", "n1", gpus=7),
            job("f", "b", "n2", gpus=8, preemptible=False),
            *others,
            *rivals,
            ask("q", "a", gpus=7),
        )
    )
    assert (done(plan), answer(plan).verdict) == ([], Verdict.UNSURE)


def test_a_victim_does_not_come_straight_back() -> None:
    action = made(scene(ONE, A8, job("b1", "b", "n1", gpus=8), ask("q", "a", gpus=8))).actions[0]
    assert action.steps == (Step.RECORD, Step.STOP_OWNER, Step.EVICT, Step.WATCH)
    # Stopped, it is not started again: first the owner's GPUs are its owner's, then it rests.
    stopped = ask("b1", "b", gpus=8, held_back=True, waits=1)
    for minutes, expected in ((59, []), (60, [("start", "b1")])):
        takings = (Taking("b1", "q", NOW - minutes * MINUTE_MS),)
        assert (
            done(made(scene(TWO, A8, job("q", "a", "n1", gpus=8, ran=1), stopped, takings=takings)))
            == expected
        )


def test_an_owner_that_is_held_back_is_started_in_the_same_group_after_the_stop() -> None:
    plan = made(scene(ONE, A8, job("b1", "b", "n1", gpus=8), ask("q", "a", gpus=8, held_back=True)))
    assert done(plan) == [("stop", "b1"), ("start", "q")]
    assert {action.group for action in plan.actions} == {1}


# Departments


def test_what_a_departments_guarantee_covers_is_not_borrowed_as_others_see_it() -> None:
    departments = ({"department": "x", "pool": "whole", "gpus": 8},)
    holder = job("b1", "b", "n1", gpus=8)
    outside = scene(ONE, A8, promise("b", 0, department="x"), holder, ask("q", "a", gpus=8))
    assert taken(made(outside)) == ["b1"]
    assert taken(made(outside, departments=departments)) == []
    inside = scene(
        ONE, promise("a", 8, department="x"), promise("b", 0, department="x"), holder, ask("q", "a", gpus=8)
    )
    assert taken(made(inside, departments=departments)) == ["b1"]


def test_a_department_takes_back_what_it_is_guaranteed_beyond_its_teams() -> None:
    snapshot = scene(
        TWO, promise("a", 0, department="x"), job("b1", "b", "n1", "n2", gpus=4), ask("q", "a", gpus=8)
    )
    assert answer(made(snapshot)).verdict is Verdict.ABOVE
    plan = made(snapshot, departments=({"department": "x", "pool": "whole", "gpus": 8},))
    assert taken(plan) == ["b1"]
    assert "the guarantee of its department x covers 8 GPUs more" in plan.actions[0].why[0]
    assert (
        answer(made(snapshot, departments=({"department": "x", "pool": "whole", "gpus": 7},))).verdict
        is Verdict.ABOVE
    )


def test_a_departments_guarantee_covers_no_more_than_it_says() -> None:
    nodes = (*TWO, node("n3"))
    teams = promise("a", 16, department="x"), promise("d", 4, department="x")
    mine, other = job("a1", "a", "n1", gpus=5), job("b1", "b", "n2", "n3", gpus=8)
    snapshot = scene(nodes, *teams, mine, other, ask("q", "a", pods=12), ask("r", "d", gpus=2))
    plan = made(snapshot, departments=({"department": "x", "pool": "whole", "gpus": 8},))
    assert answer(plan).verdict is Verdict.ABOVE  # with it the team would hold 17 of its 16


def test_where_guarantees_do_not_fit_each_takes_back_its_part_and_it_is_noted() -> None:
    snapshot = scene(
        ONE,
        promise("a", 8),
        promise("c", 8),
        job("c1", "c", "n1", gpus=4),
        job("b1", "b", "n1", gpus=4),
        ask("q", "a", gpus=4),
        ask("q2", "c", gpus=1, waits=1),
    )
    plan = made(snapshot)
    assert taken(plan) == ["b1"]
    assert answer(plan, "q2").verdict is Verdict.ABOVE
    assert plan.notes == ("Pool whole: 16 GPUs are promised, and there can be no more than 8 GPUs.",)

"""Of those who may be taken the smallest harm, and only where the owner then fits."""

from dataclasses import replace
from typing import Any

import pytest

from enforcer.plan import Verdict
from enforcer.shape import Shape, Taint
from enforcer.snapshot import Node
from quartermaster.clock import MINUTE_MS
from quartermaster.parts import GPU_PARTS
from tests.enforcer.clusters import MIG, NOW, SLICE
from tests.enforcer.scenes import (
    A8,
    FULL,
    ONE,
    TWO,
    answer,
    ask,
    idle,
    job,
    made,
    node,
    promise,
    scene,
    shape,
    taken,
)

# The smallest harm (rule 9)


def test_the_fewest_before_the_least_work_before_the_newest() -> None:
    one, two, three = (
        job("old", "b", "n1", gpus=8, ran=900),
        [job(f"small{n}", "c", "n2", gpus=4, ran=20) for n in (1, 2)],
        job("saved", "d", "n3", gpus=8, ran=9_000, checkpoint_at_ms=NOW - MINUTE_MS),
    )
    nodes = (*TWO, node("n3"))
    assert taken(made(scene(nodes, A8, one, *two, three, ask("q", "a", gpus=8)))) == ["saved"]
    assert taken(made(scene(TWO, A8, one, *two, ask("q", "a", gpus=8)))) == ["old"]
    equal = (
        job("older", "b", "n1", gpus=8, ran=50, checkpoint_at_ms=NOW),
        job("newer", "c", "n2", gpus=8, ran=40, checkpoint_at_ms=NOW),
    )
    assert taken(made(scene(TWO, A8, *equal, ask("q", "a", gpus=8)))) == ["newer"]


def test_of_choices_of_one_size_the_one_that_loses_least_work_in_all() -> None:
    uneven = job("a", "b", "n1", gpus=4, ran=20), job("b", "b", "n1", gpus=4, ran=900)
    even = job("c", "c", "n2", gpus=4, ran=300), job("d", "c", "n2", gpus=4, ran=300)
    assert sorted(taken(made(scene(TWO, A8, *uneven, *even, ask("q", "a", gpus=8))))) == ["c", "d"]


def test_a_smaller_choice_is_found_where_gathering_from_the_least_harm_misses_it() -> None:
    # Gathering takes n1's four one after the other; the two on n2 are fewer, though more work.
    small = [job(f"s{n}", "b", "n1", gpus=2, ran=15 + n) for n in range(4)]
    large = [job(f"l{n}", "c", "n2", gpus=4, ran=500) for n in range(2)]
    assert taken(made(scene(TWO, A8, *small, *large, ask("q", "a", gpus=8)))) == ["l0", "l1"]


def test_two_are_found_where_every_way_of_gathering_ends_with_three() -> None:
    # Node by node, by harm and by size c, e and f come first; a and b, who lie across two nodes, are fewer.
    nodes = (
        *(node(f"n{n}") for n in range(1, 5)),
        node("n5", schedulable=False),
        node("n6", schedulable=False),
    )
    across = [job(uid, "b", "n1", "n2", gpus=4, ran=900) for uid in ("a", "b")]
    spread = [job(uid, "c", "n4", "n5", "n6", gpus=4, ran=20) for uid in ("e", "f")]
    wish = ask("q", "a", gpus=8, pods=2)
    plan = made(scene(nodes, promise("a", 16), *across, *spread, job("c", "c", "n3", gpus=8, ran=20), wish))
    assert taken(plan) == ["a", "b"]


def test_among_very_many_nobody_is_taken_who_is_not_needed() -> None:
    nodes = tuple(node(f"n{n}") for n in range(10))
    jobs = [job(f"j{n:02d}", "b", f"n{n % 10}", ran=20 + (n * 37) % 80) for n in range(80)]
    plan = made(scene(nodes, A8, *jobs, ask("q", "a", gpus=8)))
    assert len(taken(plan)) == 8
    assert len({pod[2] for action in plan.actions for pod in action.target.pods}) == 1


def test_what_was_gathered_and_is_not_needed_in_the_end_is_left() -> None:
    # Of each node's six small jobs and one of two GPUs, the large one and five of the others give seven.
    nodes = tuple(node(f"n{n}") for n in range(10))
    small = [job(f"s{n:02d}", "b", f"n{n % 10}", ran=20 + (n * 37) % 80) for n in range(60)]
    large = [job(f"l{n}", "b", f"n{n}", gpus=2, ran=500) for n in range(10)]
    plan = made(scene(nodes, A8, *small, *large, ask("q", "a", gpus=7)))
    assert len(taken(plan)) == 6


def test_what_stands_idle_is_taken_before_what_computes() -> None:
    working, still = (
        job("b1", "b", "n1", gpus=8, ran=20),
        [job(f"c{n}", "c", "n2", gpus=4, ran=900) for n in (1, 2)],
    )
    found = [idle(each.uid, 45) for each in still]
    plan = made(scene(TWO, A8, working, *still, ask("q", "a", gpus=8)), *found)
    assert taken(plan) == ["c1", "c2"]
    assert "stands idle" in plan.actions[0].why[1]


def test_idle_work_within_a_guarantee_is_taken_only_after_its_warnings_and_then_before_anybody_else() -> None:
    still = job("c1", "c", "n1", gpus=8, ran=900)
    snapshot = scene(TWO, FULL, A8, promise("c", 8), still, ask("q", "a", gpus=8))
    assert taken(made(snapshot, idle("c1", 300))) == []
    plan = made(snapshot, idle("c1", 300, told=(("warn", 200), ("again", 100))))
    assert (taken(plan), answer(plan).verdict) == (["c1"], Verdict.RELEASED)
    # Though a borrower's work would have done: what is taken in any case is taken first.
    plan = made(
        scene(TWO, A8, promise("c", 8), still, job("b1", "b", "n2", gpus=8, ran=20), ask("q", "a", gpus=8)),
        idle("c1", 300, told=(("warn", 200), ("again", 100))),
    )
    assert taken(plan) == ["c1"]


def test_what_is_borrowed_is_taken_before_what_is_not() -> None:
    # Team b holds 16 of its 8: the older job is within its guarantee, though stopping it costs less.
    older = job("older", "b", "n1", gpus=8, ran=900, checkpoint_at_ms=NOW)
    newer = job("newer", "b", "n2", gpus=8, ran=100)
    snapshot = scene(TWO, A8, promise("b", 8), older, newer, ask("q", "a", gpus=8))
    assert taken(made(snapshot)) == ["newer"]
    # What cannot be preempted stands within the guarantee before all else.
    fixed = job("fixed", "b", "n2", gpus=8, ran=100, preemptible=False)
    assert taken(made(scene(TWO, A8, promise("b", 8), older, fixed, ask("q", "a", gpus=8)))) == ["older"]


def test_a_borrower_gives_what_fits_where_what_it_borrowed_does_not() -> None:
    nodes = (node("n1", labels={"zone": "u"}), node("n2", labels={"zone": "v"}))
    older, newer = job("older", "b", "n1", gpus=8, ran=900), job("newer", "b", "n2", gpus=8, ran=100)
    wish = ask("q", "a", gpus=8, shape=shape(8, selector=(("zone", "u"),)))
    plan = made(scene(nodes, A8, promise("b", 8), older, newer, wish))
    assert taken(plan) == ["older"]
    assert "is newer, but those do not fit" in plan.actions[0].why[1]


def test_a_gang_goes_whole_and_what_it_leaves_over_serves_the_next() -> None:
    gang = job("b1", "b", "n1", "n2", gpus=8, ran=60)
    plan = made(scene(TWO, promise("a", 16), gang, ask("q", "a", gpus=8), ask("q2", "a", gpus=8, waits=1)))
    assert taken(plan) == ["b1"]
    assert plan.actions[0].target.pods == (("b1-0", "", "n1"), ("b1-1", "", "n2"))
    assert answer(plan, "q2").verdict is Verdict.RELEASED


def test_pods_that_are_on_their_way_out_are_not_taken_again() -> None:
    gang = job("b1", "b", "n1", "n2", gpus=4)
    leaving = replace(gang, pods=(replace(gang.pods[0], terminating=True), gang.pods[1]))
    plan = made(scene((node("n1", 4), node("n2", 4)), A8, leaving, ask("q", "a", gpus=4, pods=2)))
    assert [pod[0] for pod in plan.actions[0].target.pods] == ["b1-1"]
    assert plan.actions[0].frees_parts == 4 * GPU_PARTS


def test_pods_that_need_no_gang_are_served_as_far_as_it_goes() -> None:
    fixed = job("fixed", "b", "n1", gpus=6, preemptible=False)
    plan = made(
        scene(ONE, A8, fixed, job("b1", "b", "n1", gpus=2), ask("q", "a", gpus=1, pods=4, gang_minimum=1))
    )
    assert (taken(plan), answer(plan).gains_parts) == (["b1"], 2 * GPU_PARTS)
    gang = made(scene(ONE, A8, fixed, job("b1", "b", "n1", gpus=2), ask("q", "a", gpus=1, pods=4)))
    assert (taken(gang), answer(gang).verdict) == ([], Verdict.NONE_FITS)


def test_a_guarantee_covers_as_many_pods_as_it_covers() -> None:
    snapshot = scene(
        ONE, promise("a", 3), job("b1", "b", "n1", gpus=8), ask("q", "a", gpus=2, pods=4, gang_minimum=1)
    )
    assert answer(made(snapshot)).gains_parts == 2 * GPU_PARTS


# Where it truly fits


def test_gpus_on_different_nodes_do_not_fit_one_pod() -> None:
    jobs = job("b1", "b", "n1", gpus=4), job("c1", "c", "n2", gpus=4)
    fixed = job("f1", "f", "n1", gpus=4, preemptible=False), job("f2", "f", "n2", gpus=4, preemptible=False)
    assert taken(made(scene(TWO, A8, *jobs, *fixed, ask("q", "a", gpus=8)))) == []


@pytest.mark.parametrize("why", ["cpu", "taint", "selector", "cordoned", "not ready", "another pool"])
def test_gpus_are_not_all_that_a_pod_asks_for(why: str) -> None:
    more: dict[str, Any] = {}
    wish: dict[str, Any] = {}
    if why == "cpu":
        wish = {"cpu_milli": 65_000}
    elif why == "taint":
        more = {"taints": (Taint("dedicated", "x"),)}
    elif why == "selector":
        wish = {"selector": (("zone", "u"),)}
    elif why == "cordoned":
        more = {"schedulable": False}
    elif why == "not ready":
        more = {"ready": False}
    place = node("n1", **more)
    if why == "another pool":
        place = replace(place, pool="other")
    plan = made(
        scene((place,), A8, job("b1", "b", "n1", gpus=8), ask("q", "a", gpus=8, shape=shape(8, **wish)))
    )
    assert (taken(plan), answer(plan).verdict) == ([], Verdict.NONE_FITS)


def test_where_it_is_not_sure_it_says_so_and_takes_nobody() -> None:
    wish = shape(8, unsure=("a volume that is in no zone yet",))
    plan = made(scene(ONE, A8, job("b1", "b", "n1", gpus=8), ask("q", "a", gpus=8, shape=wish)))
    assert (taken(plan), answer(plan).verdict) == ([], Verdict.UNSURE)
    assert "a volume that is in no zone yet" in answer(plan).words


def test_pods_that_may_take_one_anothers_places_are_not_sure_to_fit() -> None:
    # Six GPUs are free on n1 and two on n2: a pod of six and one of two fit, unless the small one is placed on n1.
    nodes = (node("n1", 6), node("n2", 2))
    wish = ask("q", "a", gpus=6, also=((shape(2), 1, 2 * GPU_PARTS),))
    plan = made(scene(nodes, A8, job("b1", "b", "n3", gpus=8), wish))
    assert (taken(plan), answer(plan).verdict) == ([], Verdict.UNSURE)
    assert answer(made(scene((node("n1", 6), node("n2", 8)), A8, wish))).verdict is Verdict.FREE


def test_what_a_queue_system_takes_back_by_itself_is_left_to_it_but_not_what_stands_idle() -> None:
    snapshot = scene(
        ONE, A8, job("b1", "b", "n1", gpus=8), ask("q", "a", gpus=8), queues_order=True, queues_reclaim=True
    )
    assert (taken(made(snapshot)), answer(made(snapshot)).verdict) == ([], Verdict.LEFT)
    assert taken(made(snapshot, idle("b1", 45))) == ["b1"]


def test_a_guarantee_of_a_part_takes_no_whole_gpu() -> None:
    snapshot = scene(
        ONE, promise("a", 2.5), job("b1", "b", "n1", gpus=8), ask("q", "a", gpus=1, pods=3, gang_minimum=1)
    )
    assert answer(made(snapshot)).gains_parts == 2 * GPU_PARTS


def test_slices_are_dealt_where_there_are_slices() -> None:
    sliced = Node("n1", "whole", ((MIG, 7),), ((MIG, SLICE),), 64_000, 64_000)
    one = Shape(((MIG, 1),))
    holder = job("b1", "b", "n1")
    (pod,) = holder.pods
    pods = tuple(replace(pod, uid=f"b1-{n}", shape=one, parts=SLICE) for n in range(7))
    wish = replace(ask("q", "a"), pods=((one, 1, SLICE),))
    plan = made(scene((sliced,), promise("a", 1 / 7), replace(holder, pods=pods), wish))
    assert (taken(plan), answer(plan).gains_parts) == (["b1"], SLICE)

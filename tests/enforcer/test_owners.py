"""An owner asks for its guarantee: scenes, each with the one thing that it is about."""

from dataclasses import replace
from typing import Any

import pytest

from enforcer.plan import Act, Step, Verdict
from enforcer.shape import Shape, Taint
from enforcer.snapshot import FOREVER_MS, Budget, Coming, Node, Taking
from quartermaster.clock import HOUR_MS, MINUTE_MS, SECOND_MS, to_iso
from quartermaster.parts import GPU_PARTS
from tests.enforcer.clusters import MIG, NOW, SLICE
from tests.enforcer.scenes import answer, ask, done, idle, job, made, node, promise, scene, shape, taken

ONE = (node("n1"),)
TWO = (node("n1"), node("n2"))
A8 = promise("a", 8)
FULL = job("full", "f", "n2", gpus=8, preemptible=False)


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


# Who may be taken


REFUSED: dict[str, dict[str, Any]] = {
    "not preemptible": {"preemptible": False},
    "of the system": {"priority": 2_000_000_000},
    "nothing brings it back": {"way_down": ""},
    "a bare pod": {"kind": "Pod"},
    "in a protected namespace": {"namespace": "kube-system"},
    "covered by a budget that allows nothing": {"pod": {"budgets": ("ns/none",)}},
    "covered by a budget that is not known": {"pod": {"budgets": ("ns/gone",)}},
    "covered by two budgets, which no eviction gets through": {"pod": {"budgets": ("ns/some", "ns/more")}},
}


@pytest.mark.parametrize("why", REFUSED)
def test_nobody_is_taken_who_is(why: str) -> None:
    victim = job("b1", "b", "n1", gpus=4, **REFUSED[why])
    budgets = (Budget("ns/none", 0), Budget("ns/some", 9), Budget("ns/more", 9))
    plan = made(scene((node("n1", 4),), A8, victim, ask("q", "a", gpus=4), budgets=budgets))
    assert (taken(plan), answer(plan).verdict) == ([], Verdict.NONE_FITS)


def test_a_team_takes_nothing_from_itself() -> None:
    mine, other = job("a1", "a", "n1", gpus=4), job("b1", "b", "n1", gpus=4)
    assert taken(made(scene(ONE, A8, mine, other, ask("q", "a", gpus=4)))) == ["b1"]


def test_a_workload_that_policy_protects_by_label_or_name_is_left() -> None:
    snapshot = scene(ONE, A8, job("b1", "b", "n1", gpus=8, labels={"tier": "gold"}), ask("q", "a", gpus=8))
    assert taken(made(snapshot)) == ["b1"]
    assert taken(made(snapshot, protected={"labels": {"tier": "g*"}})) == []
    assert taken(made(snapshot, protected={"owners": ("Job/ns-b/*",)})) == []


def test_a_team_within_its_guarantee_is_left() -> None:
    plan = made(scene(TWO, FULL, A8, promise("b", 8), job("b1", "b", "n1", gpus=8), ask("q", "a", gpus=8)))
    assert (taken(plan), answer(plan).verdict) == ([], Verdict.NONE_FITS)
    assert [each.reason for each in answer(plan).rejected] == [
        "it is not preemptible",
        "its team holds no more than its guarantee",
    ]


def test_a_borrower_gives_back_until_it_borrows_no_more() -> None:
    jobs = [job(f"b{n}", "b", "n1", gpus=2, ran=100 + n) for n in range(4)]
    plan = made(
        scene(ONE, A8, promise("b", 4), *jobs, ask("q", "a", gpus=1, pods=4), ask("q2", "a", waits=1))
    )
    assert taken(plan) == ["b0", "b1"]
    assert answer(plan, "q2").verdict is Verdict.NONE_FITS


def test_a_borrower_is_not_taken_below_its_guarantee_for_one_owner_either() -> None:
    jobs = [job(f"b{n}", "b", "n1", gpus=2, ran=100 + n) for n in range(4)]
    plan = made(scene(TWO, FULL, A8, promise("b", 4), *jobs, ask("q", "a", gpus=8)))
    assert (taken(plan), answer(plan).verdict) == ([], Verdict.NONE_FITS)


def test_a_borrower_that_may_give_only_so_much_gives_what_fits() -> None:
    # Of 8 held 2 are borrowed: one after the other by harm would use them up on jobs that are too small.
    jobs = [job(f"s{n}", "b", "n1", gpus=2, ran=20) for n in range(2)]
    plan = made(
        scene(
            TWO, FULL, A8, promise("b", 6), *jobs, job("l", "b", "n1", gpus=4, ran=900), ask("q", "a", gpus=4)
        )
    )
    assert taken(plan) == ["l"]


def test_two_that_share_a_budget_are_not_both_taken() -> None:
    covered: dict[str, Any] = {"gpus": 4, "pod": {"budgets": ("ns/b",)}}
    jobs = job("b1", "b", "n1", **covered), job("b2", "b", "n1", **covered)
    for allowed, expected in ((1, []), (2, ["b1", "b2"])):
        snapshot = scene(ONE, A8, *jobs, ask("q", "a", gpus=8), budgets=(Budget("ns/b", allowed),))
        assert taken(made(snapshot)) == expected


def test_a_budget_that_one_owner_spent_is_spent_for_the_next() -> None:
    covered: dict[str, Any] = {"gpus": 4, "pod": {"budgets": ("ns/b",)}}
    jobs = job("b1", "b", "n1", **covered), job("b2", "b", "n1", **covered)
    asks = ask("q", "a", gpus=4), ask("q2", "a", gpus=4, waits=1)
    plan = made(scene(ONE, A8, *jobs, *asks, budgets=(Budget("ns/b", 1),)))
    assert (taken(plan), answer(plan, "q2").verdict) == (["b1"], Verdict.NONE_FITS)


def test_what_had_no_effect_is_not_tried_again() -> None:
    before = (Taking("b1", "", NOW - 5 * HOUR_MS, in_vain=True),)
    plan = made(scene(ONE, A8, job("b1", "b", "n1", gpus=8), ask("q", "a", gpus=8), takings=before))
    assert (taken(plan), answer(plan).rejected[0].reason) == ([], "stopping it had no effect before")


# The minimum runtime, opt-outs, back-off, circles (rules 8 and 9)


def test_a_borrower_has_its_minimum_runtime_and_the_owner_is_told_until_when() -> None:
    young = job("b1", "b", "n1", gpus=8, ran=9)
    plan = made(scene(ONE, A8, young, ask("q", "a", gpus=8)))
    told = answer(plan)
    assert (taken(plan), told.verdict, told.until_ms) == ([], Verdict.YOUNG, NOW + MINUTE_MS)
    assert to_iso(NOW + MINUTE_MS) in told.words
    assert taken(made(scene(ONE, A8, job("b1", "b", "n1", gpus=8, ran=10), ask("q", "a", gpus=8)))) == ["b1"]


def test_of_several_young_ones_the_wait_ends_when_enough_are_old_enough() -> None:
    jobs = [job(f"b{n}", "b", "n1", gpus=2, ran=n) for n in range(2, 6)]
    told = answer(made(scene(ONE, A8, *jobs, ask("q", "a", gpus=4))))
    assert (told.verdict, told.until_ms) == (Verdict.YOUNG, NOW + 6 * MINUTE_MS)


@pytest.mark.parametrize("spared", ["opted out", "gave way lately"])
def test_who_is_spared_is_taken_only_where_there_is_no_other_way(spared: str) -> None:
    # The other choice is worse in all else: more workloads, more work, older.
    one = job("b1", "b", "n1", gpus=8, ran=20, spared_until_ms=FOREVER_MS if spared == "opted out" else 0)
    others = [job(f"c{n}", "c", "n2", gpus=4, ran=900) for n in (1, 2)]
    takings = (Taking("b1", "x", NOW - 59 * MINUTE_MS),) if spared != "opted out" else ()
    plan = made(scene(TWO, A8, one, *others, ask("q", "a", gpus=8), takings=takings))
    assert taken(plan) == ["c1", "c2"]
    plan = made(scene(ONE, A8, one, ask("q", "a", gpus=8), takings=takings))
    assert taken(plan) == ["b1"]
    assert "the owner has no other way" in plan.actions[0].why[1]


def test_whom_it_took_from_does_not_take_from_it() -> None:
    takings = (Taking("q", "m", NOW - 30 * HOUR_MS), Taking("m", "b1", NOW - 20 * HOUR_MS))
    alone = made(scene(ONE, A8, job("b1", "b", "n1", gpus=8), ask("q", "a", gpus=8), takings=takings))
    assert (taken(alone), answer(alone).verdict) == ([], Verdict.NONE_FITS)
    assert "once had GPUs taken for it" in answer(alone).rejected[0].reason
    other = job("c1", "c", "n2", gpus=8, ran=9_000)
    assert taken(
        made(scene(TWO, A8, job("b1", "b", "n1", gpus=8), other, ask("q", "a", gpus=8), takings=takings))
    ) == ["c1"]


def test_what_was_taken_twice_and_went_elsewhere_is_not_taken_again_at_once() -> None:
    def takings(*minutes: int) -> tuple[Taking, ...]:
        return tuple(Taking(f"x{ago}", "q", NOW - ago * MINUTE_MS) for ago in minutes)

    wish = ask("q", "a", gpus=8, waits=300)
    for before, expected in (
        ((5,), ["b1"]),
        ((9, 5), []),
        ((90, 59), []),
        ((90, 60), ["b1"]),
        ((400, 5), ["b1"]),
    ):
        plan = made(scene(ONE, A8, job("b1", "b", "n1", gpus=8), wish, takings=takings(*before)))
        assert taken(plan) == expected
        assert expected or (answer(plan).verdict, answer(plan).until_ms) == (
            Verdict.UNSURE,
            NOW + (60 - before[-1]) * MINUTE_MS,
        )


@pytest.mark.parametrize(
    ("seconds", "more", "expected"),
    [
        (0, {}, Verdict.WATCHED),
        (59, {}, Verdict.WATCHED),
        (60, {}, Verdict.TAKEN),
        (5, {"in_vain": True}, Verdict.TAKEN),
        (5, {"short": True}, Verdict.TAKEN),
    ],
)
def test_nobody_else_is_taken_while_what_was_freed_is_watched(
    seconds: int, more: dict[str, bool], expected: Verdict
) -> None:
    before = (Taking("x", "q", NOW - seconds * SECOND_MS, **more),)
    plan = made(
        scene(ONE, A8, job("b1", "b", "n1", gpus=8), ask("q", "a", gpus=8, waits=9), takings=before),
        watch="60s",
    )
    assert (answer(plan).verdict, taken(plan)) == (expected, ["b1"] if expected is Verdict.TAKEN else [])
    if expected is Verdict.WATCHED:
        assert answer(plan).until_ms == NOW + (60 - seconds) * SECOND_MS


def test_what_was_freed_is_watched_for_one_owner_and_by_the_policys_span() -> None:
    before = (Taking("x", "q", NOW - 30 * SECOND_MS),)
    snapshot = scene(
        ONE, A8, job("b1", "b", "n1", gpus=8), ask("q", "a", gpus=4), ask("r", "a", gpus=4), takings=before
    )
    plan = made(snapshot)
    assert (answer(plan).verdict, answer(plan, "r").verdict) == (Verdict.WATCHED, Verdict.TAKEN)
    assert answer(made(snapshot, watch="30s")).verdict is Verdict.TAKEN


def test_nobody_borrows_in_the_pool_while_what_was_freed_is_watched() -> None:
    stuck, borrower = job("b1", "b", "n1", gpus=4), ask("b2", "b", gpus=4, held_back=True, waits=1)
    before = (Taking("x", "q", NOW - 30 * SECOND_MS),)
    snapshot = scene(ONE, A8, stuck, borrower, ask("q", "a", gpus=8), takings=before)
    assert done(made(snapshot)) == []
    assert ("start", "b2") in done(made(replace(snapshot, waiting=(borrower,))))


def test_what_was_watched_in_vain_is_told() -> None:
    def told(*before: Taking) -> tuple[int | None, str]:
        found = answer(made(scene(ONE, A8, ask("q", "a", gpus=8, waits=9), takings=before)))
        assert found.verdict is Verdict.FREE
        return found.freed_at_ms, found.words

    freed_ms = NOW - MINUTE_MS
    at_ms, words = told(Taking("x", "q", freed_ms))
    assert at_ms == freed_ms
    assert words.endswith(f"; GPUs were freed for it at {to_iso(freed_ms)}, and 60 s later it waited still")
    for before in (
        (),
        (Taking("x", "q", freed_ms + 1),),  # watched still
        (Taking("x", "q", NOW - HOUR_MS),),  # before it began to wait
        (Taking("x", "r", freed_ms),),  # for another
    ):
        at_ms, words = told(*before)
        assert (at_ms, words) == (None, "8 GPUs that are free fit it")


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

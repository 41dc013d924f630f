"""Who may be taken for an owner, and who is spared: minimum runtime, opt-outs, back-off, circles."""

from dataclasses import replace
from typing import Any

import pytest

from enforcer.plan import Verdict
from enforcer.snapshot import FOREVER_MS, Budget, Taking
from quartermaster.clock import HOUR_MS, MINUTE_MS, SECOND_MS, to_iso
from tests.enforcer.clusters import NOW
from tests.enforcer.scenes import (
    A8,
    FULL,
    ONE,
    TWO,
    answer,
    ask,
    done,
    job,
    made,
    node,
    promise,
    scene,
    taken,
)

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

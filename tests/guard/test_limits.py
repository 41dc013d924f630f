"""Limits: how much may be taken at a time, in an hour, of a team, of a pool in a day; and whose turn it is."""

from dataclasses import replace
from typing import Any

from enforcer.guard.judge import Judgement
from enforcer.guard.refused import Reason, Refused
from enforcer.guard.standing import Taken, pool_parts
from enforcer.making import target_of
from enforcer.plan import Act, Action, Answer, Cause, Verdict
from enforcer.snapshot import Snapshot, Workload
from quartermaster.clock import DAY_MS, HOUR_MS, MINUTE_MS, to_iso
from quartermaster.parts import GPU_PARTS
from tests.enforcer.clusters import NOW
from tests.enforcer.scenes import POOL, ask, job, node, promise, scene
from tests.guard.cases import idler, judged, planned, rules, standing, stop, taken, uids, written

Place = tuple[tuple[str, int], ...]


def wide(*jobs: Workload) -> Snapshot:
    """Jobs on a cluster of as many nodes as they name, of 8 GPUs each."""
    nodes = sorted({pod.node for each in jobs for pod in each.pods})
    return scene(tuple(node(name) for name in nodes), *jobs)


def told(
    snapshot: Snapshot, *actions: Action, done: tuple[Taken, ...] = (), answers: Any = (), **acting: Any
) -> Judgement:
    """The judgement of just these actions."""
    policy = rules(**acting)
    found = [idler(each.uid) for each in snapshot.workloads]
    pools = {each.pool: 1000 for each in snapshot.workloads}
    now = standing(*found, done=done, coverage_of_pools=pools)
    return judged(snapshot, written(snapshot, policy, *actions, answers=answers), now, policy)


def why(judgement: Judgement) -> dict[str, Refused]:
    """Why each is refused, by the first that would be stopped."""
    return {group[0].target.uid: refused for group, refused in judgement.refused}


def test_as_many_as_may_be_at_a_time_are_stopped() -> None:
    jobs = [job(uid, "b", "n0") for uid in "xyz"]
    judgement = told(wide(*jobs), *(stop(n, each) for n, each in enumerate(jobs)), a_cycle=2)
    assert uids(judgement) == ["x", "y"]
    words = "stopping 1 makes 3 in this cycle; 2 may be"
    assert why(judgement) == {"z": Refused(Reason.A_CYCLE, words, NOW)}


def test_as_many_as_may_be_in_an_hour_are_stopped() -> None:
    x = job("x", "b", "n0")
    done = tuple(taken(f"d{n}", 50 - n, team=f"t{n}", pool="p") for n in range(10))
    fits_at = NOW + 10 * MINUTE_MS
    words = f"stopping 1 makes 11 in an hour; 10 may be; it fits at {to_iso(fits_at)}"
    refused = Refused(Reason.AN_HOUR, words, fits_at)
    assert why(told(wide(x), stop(1, x), done=done, an_hour=10)) == {"x": refused}
    an_hour_ago = (taken("d", 60), *done[1:])
    assert uids(told(wide(x), stop(1, x), done=an_hour_ago, an_hour=10)) == ["x"]


def test_a_team_is_taken_from_once_an_hour() -> None:
    x, y = job("x", "b", "n0"), job("y", "c", "n0")
    judgement = told(wide(x, y), stop(1, x), stop(2, y), done=(taken("d", 59, team="b"),), team_an_hour=1)
    assert uids(judgement) == ["y"]
    words = f"stopping 1 makes 2 of team b in an hour; 1 may be; it fits at {to_iso(NOW + MINUTE_MS)}"
    assert why(judgement) == {"x": Refused(Reason.TEAM_AN_HOUR, words, NOW + MINUTE_MS)}


def test_a_share_of_a_pool_is_taken_in_a_day() -> None:
    x, y = job("x", "b", "n0"), job("y", "b", "n0")
    there = scene(tuple(node(f"n{n}") for n in range(13)), x, y)  # 104 GPUs: 2 % are 2.08
    judgement = told(there, stop(1, x), stop(2, y), done=(taken("d", 23 * 60),), pool_share_a_day="0.02")
    assert uids(judgement) == ["x"]
    words = (
        "taking 1 GPU makes 3 GPUs of pool whole in 24 hours; 2 % of its 104 GPUs, 2.08 GPUs, may be, or one "
        f"workload; it fits at {to_iso(NOW + HOUR_MS)}"
    )
    assert why(judgement) == {"y": Refused(Reason.POOL_A_DAY, words, NOW + HOUR_MS)}


def test_of_a_small_pool_one_workload_a_day_is_taken_whatever_its_size() -> None:
    x = job("x", "b", "n0", "n1", gpus=8)  # 16 of 16 GPUs: 2 % are a third of one
    assert uids(told(wide(x), stop(1, x), pool_share_a_day="0.02")) == ["x"]
    for ago, fits_at in ((1, NOW + DAY_MS - MINUTE_MS), (24 * 60 - 1, NOW + MINUTE_MS)):
        refused = why(told(wide(x), stop(1, x), done=(taken("d", ago, gpus=0.5),), pool_share_a_day="0.02"))[
            "x"
        ]
        assert (refused.reason, refused.until_ms) == (Reason.POOL_A_DAY, fits_at)
    long_ago = (taken("d", 24 * 60), taken("e", 5, pool="other"))
    assert uids(told(wide(x), stop(1, x), done=long_ago, pool_share_a_day="0.02")) == ["x"]


def test_two_workloads_beyond_the_share_never_fit() -> None:
    x, y = job("x", "b", "n0"), job("y", "c", "n1")
    refused = why(told(wide(x, y), stop(1, x, "q"), stop(1, y, "q"), pool_share_a_day="0.02"))["x"]
    assert refused.reason is Reason.POOL_A_DAY
    assert refused.never_fits
    assert refused.words.endswith("it never fits unless policy.acting.pool_share_a_day is raised")


def test_nodes_that_are_not_available_count_for_nothing() -> None:
    nodes = (
        node("n0"),
        node("n1", ready=False),
        node("n2", schedulable=False),
        replace(node("n3"), pool="p"),
    )
    assert pool_parts(scene(nodes)) == {POOL: 8 * GPU_PARTS, "p": 8 * GPU_PARTS}
    x = job("x", "b", "gone")
    assert why(told(scene((), x), stop(1, x), done=(taken("d", 1),)))["x"].reason is Reason.POOL_A_DAY


def test_what_happens_in_the_future_counts_too() -> None:
    x = job("x", "b", "n0")
    refused = why(told(wide(x), stop(1, x), done=(taken("d", -30),), team_an_hour=1))["x"]
    assert (refused.reason, refused.until_ms) == (Reason.TEAM_AN_HOUR, NOW + 90 * MINUTE_MS)


def test_gangs_are_stopped_whole_or_not_at_all() -> None:
    jobs = [job(uid, "b", "n0") for uid in "xyz"]
    judgement = told(
        wide(*jobs), stop(1, jobs[0], "q"), stop(1, jobs[1], "q"), stop(2, jobs[2], "q"), a_cycle=1
    )
    assert uids(judgement) == ["z"]  # what never fits keeps nobody waiting
    words = "stopping 2 makes 2 in this cycle; 1 may be; it never fits unless policy.acting.a_cycle is raised"
    assert why(judgement) == {"x": Refused(Reason.A_CYCLE, words, None)}


def test_what_will_fit_keeps_its_place() -> None:
    jobs = [job(uid, f"team-{uid}", f"n{n}", pool=f"p{n}") for n, uid in enumerate("xyz")]
    there = scene(tuple(replace(node(f"n{n}"), pool=f"p{n}") for n in range(3)), *jobs)
    done = tuple(taken(f"d{n}", 30, team=f"t{n}", pool="elsewhere") for n in range(9))
    two, one = (stop(1, jobs[0]), stop(1, jobs[1])), stop(2, jobs[2])
    judgement = told(there, *two, one, done=done, an_hour=10)
    assert uids(judgement) == []  # z would fit, and with each z that does x and y would wait for longer
    refused = why(judgement)
    assert (refused["x"].reason, refused["x"].until_ms) == (Reason.AN_HOUR, NOW + 30 * MINUTE_MS)
    words = "what is left to be taken is kept for stopping Job ns-team-x/x, whose turn is before"
    assert refused["z"] == Refused(Reason.BEFORE, words)


def test_holds_starts_and_warnings_count_for_nothing() -> None:
    rivals = [ask(f"r{n}", "c") for n in range(3)]
    there = scene((node("n0"),), job("v", "b", "n0", gpus=8), ask("q", "a", gpus=8), promise("a", 8), *rivals)
    policy = rules(a_cycle=1, an_hour=1, team_an_hour=1)
    plan = planned(there, policy)
    assert [each.act for each in plan.actions] == [Act.HOLD] * 3 + [Act.STOP]
    judgement = judged(there, plan, standing(), policy)
    assert judgement.allowed == (plan.actions,)


def answers(*places: tuple[int, Place]) -> tuple[Answer, ...]:
    """For the owner of each group, where its pods were found to fit."""
    return tuple(
        Answer(f"q{group}", "", "a", POOL, 0, 0, Verdict.TAKEN, "", places=where, group=group)
        for group, where in places
    )


def owners(*pools: str) -> tuple[Snapshot, list[Workload]]:
    """An owner in each of the pools; of team b a job that could be stopped for each, on a node of its own."""
    jobs = [job(f"v{n}", f"b{n}", f"n{n}", pool=pool) for n, pool in enumerate(pools)]
    waits = [replace(ask(f"q{n}", "a"), pool=pool) for n, pool in enumerate(pools)]
    return scene(
        tuple(replace(node(f"n{n}"), pool=pool) for n, pool in enumerate(pools)), *jobs, *waits
    ), jobs


def test_owners_come_before_what_stands_idle() -> None:
    there, jobs = owners(POOL, POOL)
    judgement = told(
        there, stop(1, jobs[0]), stop(2, jobs[1], "q1"), a_cycle=1, answers=answers((2, (("n1", 1),)))
    )
    assert uids(judgement) == ["v1"]
    assert why(judgement)["v0"].reason is Reason.A_CYCLE


def test_what_an_owner_counts_on_comes_before_it() -> None:
    there, jobs = owners(POOL, POOL, POOL)
    both = answers((3, (("n1", 1), ("n2", 1))))
    actions = stop(1, jobs[0]), stop(2, jobs[1]), stop(3, jobs[2], "q2")
    assert uids(told(there, *actions, answers=both)) == ["v1", "v2", "v0"]
    judgement = told(there, *actions, answers=both, done=(taken("d", 1, team="b1"),), team_an_hour=1)
    assert uids(judgement) == ["v0"]
    words = "its owner's pods fit only with the GPUs of Job ns-b1/v1, which is not stopped now"
    assert why(judgement)["v2"] == Refused(Reason.BEFORE, words)


def test_pods_that_differ_count_on_all_that_their_pool_is_given() -> None:
    there, jobs = owners(POOL, POOL)
    done, where = (taken("d", 1, team="b0"),), answers((2, (("n1", 1),)))
    actions = stop(1, jobs[0]), stop(2, jobs[1], "q1")
    assert uids(told(there, *actions, answers=where, done=done, team_an_hour=1)) == ["v1"]
    ((shape, count, parts),) = there.waiting[1].pods
    spread = replace(there.waiting[1], pods=((replace(shape, apart_on="zone"), count, parts),))
    there = replace(there, waiting=(there.waiting[0], spread))
    assert uids(told(there, *actions, answers=where, done=done, team_an_hour=1)) == []


def test_who_waits_longest_is_served_first_in_a_pool() -> None:
    there, jobs = owners(POOL, POOL, "other")
    actions = [stop(n + 1, each, f"q{n}") for n, each in enumerate(jobs)]
    where = answers(*((n + 1, ((f"n{n}", 1),)) for n in range(3)))
    judgement = told(there, *actions, answers=where, done=(taken("d", 1, team="b0"),), team_an_hour=1)
    assert uids(judgement) == ["v2"]
    words = "the owner for whom Job ns-b0/v0 is to be stopped comes first in this pool"
    assert why(judgement)["v1"] == Refused(Reason.BEFORE, words)


def test_where_rivals_are_held_back_with_what_is_not_done_nobody_is_taken_for_them() -> None:
    there, jobs = owners(POOL, POOL)
    rival, more = ask("r", "c"), job("v9", "b9", "n0")
    there = replace(there, waiting=(*there.waiting, rival), workloads=(*there.workloads, more))
    hold = Action(1, Act.HOLD, Cause.OWNER, target_of(rival), "q0", why=("1",))
    where = answers((1, (("n0", 1),)), (2, (("n1", 1),)))
    first = hold, stop(1, jobs[0], "q0"), stop(1, more, "q0")
    never = told(there, *first, stop(2, jobs[1], "q1"), answers=where, a_cycle=1)
    assert uids(never) == []
    words = "those who are held back with the stopping of Job ns-b0/v0 could be bound first"
    assert why(never)["v1"] == Refused(Reason.BEFORE, words)

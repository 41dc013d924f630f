"""The laws of the guard: no limit is ever exceeded, groups are whole, a refusal has one reason, more done allows no
more, and nobody is stopped for an owner who would not fit then. Over drawn plans for days, and the planner's own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.guard.judge import Judgement, judge
from enforcer.guard.limits import Group, stops
from enforcer.guard.refused import LIMITS, Reason
from enforcer.guard.standing import Standing, Taken, pool_parts
from enforcer.idleness import Findings
from enforcer.placement import Room
from enforcer.plan import Act, Plan
from enforcer.planner import plan
from enforcer.snapshot import Snapshot, Workload
from quartermaster.clock import DAY_MS, HOUR_MS, MINUTE_MS
from quartermaster.config.acting import ActingPart
from quartermaster.config.policy import PolicyPart
from quartermaster.parts import GPU_PARTS
from tests.enforcer.clusters import NOW, UTC
from tests.enforcer.scenes import ask, job, node, promise, scene
from tests.guard.cases import idler, judged, rules, standing, stop, written

TEAMS, POOLS = ("a", "b", "c"), ("p", "q")


@st.composite
def actings(draw_: st.DrawFn) -> PolicyPart:
    """A policy with limits of any size."""
    an_hour = draw_(st.integers(1, 6))
    return rules(
        an_hour=an_hour,
        a_cycle=draw_(st.integers(1, an_hour)),
        team_an_hour=draw_(st.integers(1, an_hour)),
        pool_share_a_day=draw_(st.sampled_from(("0.02", "0.2", "0.5", "1"))),
    )


@dataclass
class Day:
    """A day of cycles: what is taken is gone from the plans after it."""

    done: tuple[Taken, ...] = ()
    cycles: int = 0

    def cycle(self, at_ms: int, groups: Sequence[Sequence[tuple[str, str, int]]], policy: PolicyPart) -> None:
        """A plan of groups of workloads, each a team, a pool and its GPUs, is judged and done."""
        self.cycles += 1
        jobs = [
            [
                job(f"{self.cycles}-{n}-{m}", team, f"{pool}0", gpus=gpus, pool=pool)
                for m, (team, pool, gpus) in enumerate(group)
            ]
            for n, group in enumerate(groups)
        ]
        nodes = tuple(replace(node(f"{pool}{n}"), pool=pool) for pool in POOLS for n in range(2))
        there = replace(
            scene(nodes, *(each for theirs in jobs for each in theirs)), at_ms=at_ms, seen_at_ms=at_ms
        )
        actions = [stop(n, each) for n, theirs in enumerate(jobs) for each in theirs]
        found = [replace(idler(each.target.uid), since_ms=0) for each in actions]
        fresh = [replace(each, evidence=(replace(each.evidence[0], sampled_at_ms=at_ms),)) for each in found]
        now = standing(*fresh, now_ms=at_ms, done=self.done, coverage_of_pools=dict.fromkeys(POOLS, 1000))
        judgement = judged(there, written(there, policy, *actions), now, policy)
        whole(judgement, [tuple(each for each in actions if each.group == n) for n in range(len(groups))])
        taken = [each for group in judgement.allowed for each in group]
        assert len(taken) <= policy.acting.a_cycle
        self.done += tuple(
            Taken(each.target.uid, at_ms, each.target.team, each.target.pool, each.frees_parts)
            for each in taken
        )
        self.within(policy.acting, pool_parts(there))

    def within(self, acting: ActingPart, pools: dict[str, int]) -> None:
        """No window that slides over what was done has more in it than may be."""
        for last in self.done:
            hour = [each for each in self.done if last.at_ms - HOUR_MS < each.at_ms <= last.at_ms]
            assert len(hour) <= acting.an_hour
            for team in TEAMS:
                assert sum(each.team == team for each in hour) <= acting.team_an_hour
            for pool in POOLS:
                day = [
                    each
                    for each in self.done
                    if each.pool == pool and last.at_ms - DAY_MS < each.at_ms <= last.at_ms
                ]
                share = pools[pool] * acting.pool_share_a_day // 1000
                assert len(day) <= 1 or sum(each.parts for each in day) <= share


def whole(judgement: Judgement, groups: Sequence[Group]) -> None:
    """Each group stands on one side, whole, in order, and has one reason where it is refused."""
    sides = [*judgement.allowed, *(group for group, _ in judgement.refused)]
    assert sorted(sides, key=lambda group: group[0].group) == sorted(groups, key=lambda group: group[0].group)
    for _, refused in judgement.refused:
        assert refused.words
        assert refused.until_ms is None or refused.reason is not Reason.BEFORE


WORKLOADS = st.tuples(st.sampled_from(TEAMS), st.sampled_from(POOLS), st.sampled_from((1, 1, 2, 4, 8)))
CYCLES = st.tuples(
    st.integers(1, 5 * HOUR_MS), st.lists(st.lists(WORKLOADS, min_size=1, max_size=3), max_size=5)
)


@given(policy=actings(), cycles=st.lists(CYCLES, min_size=1, max_size=12))
def test_no_limit_is_exceeded_over_any_sequence_of_cycles(
    policy: PolicyPart, cycles: list[tuple[int, list[list[tuple[str, str, int]]]]]
) -> None:
    day, at_ms = Day(), NOW
    for pause_ms, groups in cycles:
        at_ms += pause_ms
        day.cycle(at_ms, groups, policy)


def test_what_waits_for_a_limit_is_done_when_it_is_said_to_fit() -> None:
    random = Random(7)
    for _ in range(300):
        jobs = [job(f"v{n}", random.choice(TEAMS), "n0", gpus=random.choice((1, 2, 4))) for n in range(2)]
        there = scene(tuple(node(f"n{n}") for n in range(2)), *jobs)
        done = tuple(
            Taken(
                f"d{n}",
                NOW - random.randrange(DAY_MS),
                random.choice(TEAMS),
                "whole",
                random.choice((84_000, 336_000)),
            )
            for n in range(random.randrange(8))
        )
        policy = rules(an_hour=3, team_an_hour=2, pool_share_a_day=random.choice(("0.1", "0.3")))
        one = jobs[: random.choice((1, 2))]
        now_ms, waits = NOW, 0
        while True:
            moved = replace(there, at_ms=now_ms, seen_at_ms=now_ms)
            found = [idler(each.uid, evidence=()) for each in one]
            now = standing(*found, now_ms=now_ms, done=done)
            plan_ = written(moved, policy, *(stop(1, each, "q") for each in one))
            ((_, refused),) = judged(moved, plan_, now, policy).refused or ((None, None),)
            if refused is None or refused.until_ms is None:
                break
            assert refused.until_ms > now_ms
            now_ms, waits = refused.until_ms, waits + 1
        assert waits <= len(LIMITS)
        assert refused is None or refused.never_fits


def drawn(seed: int) -> tuple[Plan, Snapshot, Standing, PolicyPart]:
    """A crowded cluster: owners wait, borrowers compute or stand idle, others would be bound first; tight limits."""
    random = Random(seed)
    nodes = tuple(node(f"n{n}") for n in range(random.randint(3, 6)))
    free = {each.name: 8 for each in nodes}
    there: list[Workload] = []
    for n in range(random.randint(5, 20)):
        where, gpus = random.choice(nodes).name, random.choice((1, 2, 4, 8))
        if free[where] >= gpus:
            free[where] -= gpus
            there.append(job(f"v{n}", random.choice("bcd"), where, gpus=gpus, ran=random.randint(150, 900)))
    waits = [
        ask(
            f"q{n}",
            random.choice("aaxb"),
            gpus=random.choice((1, 2, 4, 8)),
            pods=random.choice((1, 1, 2)),
            waits=n,
        )
        for n in range(random.randint(1, 5))
    ]
    promises = promise("a", 16), promise("x", 8), promise("b", 2)
    snapshot = scene(nodes, *there, *waits, *promises)
    found = [idler(each.uid) for each in there if random.random() < 0.3]
    an_hour = random.choice((2, 4, 50))
    policy = rules(
        an_hour=an_hour,
        a_cycle=random.randint(1, min(an_hour, 6)),
        team_an_hour=random.randint(1, an_hour),
        pool_share_a_day=random.choice(("0.2", "0.5", "1")),
    )
    done = tuple(
        Taken(f"d{n}", NOW - random.randrange(90 * MINUTE_MS), random.choice("bcd"), "whole", GPU_PARTS)
        for n in range(random.choice((0, 0, 1, 3)))
    )
    made = plan(snapshot, Findings(tuple(found), frozenset({"whole"})), policy, UTC)
    return made, snapshot, standing(*found, done=done), policy


@pytest.mark.parametrize("chunk", range(4))
@pytest.mark.patient
def test_over_crowded_clusters(chunk: int) -> None:
    allowed, behind = 0, 0
    for seed in range(chunk * 60, chunk * 60 + 60):
        made, snapshot, now, policy = drawn(seed)
        judgement = judge(made, snapshot, now, policy, UTC)
        groups: dict[int, Group] = {}
        for action in made.actions:
            groups[action.group] = (*groups.get(action.group, ()), action)
        whole(judgement, list(groups.values()))
        taken = [each for group in judgement.allowed for each in stops(group)]
        lately = [each for each in now.done if each.at_ms > NOW - HOUR_MS]
        assert len(taken) <= policy.acting.a_cycle
        assert not taken or len(taken) + len(lately) <= policy.acting.an_hour
        owners_fit(made, snapshot, judgement)
        more_done_allows_no_more(made, snapshot, now, policy)
        allowed += len(taken)
        behind += sum(refused.reason is Reason.BEFORE for _, refused in judgement.refused)
    assert allowed > 30  # or the laws were not asked
    assert behind > 5


def owners_fit(made: Plan, snapshot: Snapshot, judgement: Judgement) -> None:
    """Every owner for whom somebody is stopped fits, and nobody else who waits could be bound first, when of the plan
    only that is done which is allowed."""
    room = Room(snapshot.nodes, (), (pod for each in snapshot.workloads for pod in each.pods))
    workloads = {each.uid: each for each in snapshot.workloads}
    waiting = {each.uid: each for each in snapshot.waiting}
    for group in judgement.allowed:
        for each in stops(group):
            room.give(workloads[each.target.uid].pods)
    served = {each.for_uid for group in judgement.allowed for each in stops(group) if each.for_uid}
    for answer in made.answers:
        if answer.uid in served:
            ((shape, _, _),) = waiting[answer.uid].pods
            room.occupy(tuple((name, shape, count) for name, count in answer.places))
    assert all(amount >= 0 for free in room._free.values() for amount in free.values())
    held = {each.target.uid for group in judgement.allowed for each in group if each.act is Act.HOLD}
    wanted = {each.target.uid for each in made.actions if each.act is Act.HOLD}
    for group in judgement.allowed:
        for each in stops(group):
            needed = {
                rival.target.uid
                for rival in made.actions
                if rival.act is Act.HOLD and rival.group <= each.group
            }
            assert not each.for_uid or needed & wanted <= held


def more_done_allows_no_more(made: Plan, snapshot: Snapshot, now: Standing, policy: PolicyPart) -> None:
    """Of each group by itself: what is refused stays refused when more was done."""
    random = Random(made.hash)
    more = Taken("more", NOW - random.randrange(HOUR_MS), random.choice("bcd"), "whole", GPU_PARTS)
    later = replace(now, done=(*now.done, more))
    for number in {each.group for each in made.actions}:
        alone = replace(
            made, actions=tuple(each for each in made.actions if each.group == number), answers=()
        )
        if not judge(alone, snapshot, now, policy, UTC).allowed:
            assert not judge(alone, snapshot, later, policy, UTC).allowed

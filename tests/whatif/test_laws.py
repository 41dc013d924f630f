"""What holds in every world, whatever was asked for: nothing is lost, nothing is held twice, the same is the same."""

from collections import defaultdict
from itertools import pairwise
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from enforcer.whatif.asked import Asked, Past, Turn
from enforcer.whatif.fluid import most_held_pms
from enforcer.whatif.terms import Terms
from enforcer.whatif.world import World, play
from quartermaster.parts import GPU_PARTS as G
from simulator import scheduler
from tests.whatif.scenes import ACT, POOL, H, job, past, promise, terms

TEAMS = ("a", "b", "c")
IDLE: Any = ({"kinds": ("Job",), "warn": "1h", "again": "2h", "take": "3h"},)


@st.composite
def asked_for(draw: st.DrawFn) -> tuple[Asked, ...]:
    found: list[Asked] = []
    for number in range(draw(st.integers(1, 14))):
        size = draw(st.sampled_from([0.25, 0.5, 1, 1, 2, 3, 4]))
        pods = (int(size * G),) * draw(st.sampled_from([1, 1, 1, 2]))
        run_h = draw(st.integers(1, 12))
        idle_h = draw(st.integers(0, run_h))
        found.append(
            job(
                f"j{number}",
                draw(st.sampled_from(TEAMS)),
                draw(st.integers(0, 20)),
                run_h,
                pods=pods,
                preemptible=draw(st.sampled_from([True, True, True, False])),
                idle=((idle_h * H, run_h * H),) if idle_h < run_h else (),
            )
        )
    return tuple(found)


@st.composite
def pasts(draw: st.DrawFn) -> Past:
    nodes = tuple(draw(st.lists(st.sampled_from([2, 4]), min_size=1, max_size=3)))
    turns: list[Turn] = []
    for number in range(len(nodes)):
        if draw(st.booleans()):
            shut = draw(st.integers(1, 20))
            turns += [
                Turn(shut * H, f"n{number}", open=False, gone=draw(st.booleans())),
                Turn((shut + 2) * H, f"n{number}", open=True),
            ]
    return past(*draw(asked_for()), nodes=nodes, turns=tuple(turns))


@st.composite
def policies(draw: st.DrawFn, *, static: bool = False) -> Terms:
    promises = [
        promise(team, gpus, gpus if static else draw(st.sampled_from([None, None, gpus + 2])))
        for team in TEAMS
        for gpus in [draw(st.integers(0, 5))]
    ]
    acting = draw(st.sampled_from([None, ACT, ACT | {"an_hour": 2, "team_an_hour": 1, "a_cycle": 1}]))
    return terms(*promises, acting=acting, idle=IDLE, minimum_runtime=draw(st.sampled_from(["1m", "90m"])))


def held_at(world: World) -> dict[int, dict[str, int]]:
    """What each team holds from each instant on at which anything changes, by the runs alone."""
    changes: defaultdict[int, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for story in world.stories:
        for run in story.runs:
            changes[run.begun_ms][story.asked.team] += story.asked.parts
            changes[run.ended_ms][story.asked.team] -= story.asked.parts
    held: defaultdict[str, int] = defaultdict(int)
    found: dict[int, dict[str, int]] = {}
    for at_ms in sorted(changes):
        for team, parts in changes[at_ms].items():
            held[team] += parts
        found[at_ms] = dict(held)
    return found


@settings(max_examples=40, deadline=None)
@given(pasts(), policies())
def test_capacity_is_held_free_or_down_and_the_runs_say_the_same(past: Past, made: Terms) -> None:
    world = play(past, made)
    space = world.spaces[POOL]
    held = sum(account.held_pms for account in world.accounts.values())
    capacity = sum(machine.gpus for machine in past.machines) * G
    assert space.capacity_pms == capacity * (past.until_ms - past.from_ms)
    assert space.capacity_pms == held + space.free_pms + space.down_pms
    by_runs = sum(
        (run.ended_ms - run.begun_ms) * story.asked.parts for story in world.stories for run in story.runs
    )
    assert held == by_runs
    assert all(sum(teams.values()) <= capacity for teams in held_at(world).values())
    assert held <= most_held_pms(past) + by_runs - _once(world)


def _once(world: World) -> int:
    """What the runs that ended as they should held: work that is done again is asked for once."""
    return sum(
        (run.ended_ms - run.begun_ms) * story.asked.parts
        for story in world.stories
        for run in story.runs
        if run.how in {"done", "open"}
    )


@settings(max_examples=40, deadline=None)
@given(pasts(), policies())
def test_every_one_is_done_or_open_or_waits_and_waits_whenever_it_does_not_run(
    past: Past, made: Terms
) -> None:
    for story in play(past, made).stories:
        runs = story.runs
        assert all(one.ended_ms <= other.begun_ms for one, other in pairwise(runs))
        if story.waits_since_ms is None:
            assert runs
            assert runs[-1].how in {"done", "open", "idle"}
        if runs and runs[-1].how == "done":
            assert runs[-1].ended_ms - runs[-1].begun_ms == story.asked.run_ms - runs[-1].before_ms
        if all(run.how != "idle" for run in runs):
            ran = sum(run.ended_ms - run.begun_ms for run in runs)
            last = runs[-1].ended_ms if runs and story.waits_since_ms is None else past.until_ms
            assert story.waited_ms == last - story.asked.asked_ms - ran


@settings(max_examples=40, deadline=None)
@given(pasts(), policies())
def test_the_same_terms_give_the_same_world(past: Past, made: Terms) -> None:
    one, other = play(past, made), play(past, made)
    assert (one.accounts, one.spaces) == (other.accounts, other.spaces)
    assert [story.runs for story in one.stories] == [story.runs for story in other.stories]


@settings(max_examples=40, deadline=None)
@given(pasts(), policies(static=True))
def test_under_static_quotas_nobody_is_above_its_guarantee(past: Past, made: Terms) -> None:
    world = play(past, made)
    guaranteed = {each.team: each.guaranteed_parts for each in made.promises}
    assert all(
        parts <= guaranteed[team] for teams in held_at(world).values() for team, parts in teams.items()
    )
    assert all(account.borrowed_pms == account.lent_pms == 0 for account in world.accounts.values())


@settings(max_examples=40, deadline=None)
@given(pasts(), policies())
def test_what_is_borrowed_is_lent_or_spare(past: Past, made: Terms) -> None:
    world = play(past, made)
    accounts = world.accounts.values()
    borrowed, lent = sum(each.borrowed_pms for each in accounts), sum(each.lent_pms for each in accounts)
    promised = sum(each.guaranteed_parts for each in made.promises)
    space = world.spaces[POOL]
    spare = max(0, space.capacity_pms - promised * (past.until_ms - past.from_ms))
    assert lent <= borrowed <= lent + spare


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(TEAMS), st.integers(0, 20), st.integers(1, 8)), max_size=14), st.data()
)
def test_in_water_a_higher_guarantee_has_its_owner_wait_no_longer(
    jobs: list[tuple[str, int, int]], data: st.DataObject
) -> None:
    asked = past(*(job(f"j{n}", *each) for n, each in enumerate(jobs)), nodes=(6,))
    gpus = data.draw(st.integers(0, 2))
    waited: list[int] = []
    for more in (0, 1):
        made = terms(promise("a", gpus + more, gpus + more), promise("b", 1, 1), promise("c", 1, 1))
        world = play(asked, made)
        waited.append(sum(story.waited_ms for story in world.stories if story.asked.team == "a"))
    assert waited[1] <= waited[0]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 2), st.integers(0, 4)), min_size=1, max_size=6))
def test_it_binds_whom_the_simulators_scheduler_binds(teams: list[tuple[int, int, int]]) -> None:
    """At one instant on empty machines, a gang a team, guarantees that fit: the two are the same."""
    assume(sum(gpus for _, _, gpus in teams) <= 10)
    asked = [job(f"j{n}", f"t{n}", 0, 9, pods=(size * G,) * pods) for n, (size, pods, _) in enumerate(teams)]
    quotas = {f"t{n}": scheduler.Quota(gpus * G) for n, (_, _, gpus) in enumerate(teams)}
    asks = [
        scheduler.Ask(n, each.team, len(each.pods), each.pods[0] // G, "gpu", each.parts, 0)
        for n, each in enumerate(asked)
    ]
    wanted = scheduler.decide(asks, (), {("n0", "gpu"): 4, ("n1", "gpu"): 4, ("n2", "gpu"): 2}, quotas)
    made = terms(*(promise(f"t{n}", gpus) for n, (_, _, gpus) in enumerate(teams)))
    world = play(past(*asked, nodes=(4, 4, 2), hours=1), made)
    assert {n for n, story in enumerate(world.stories) if story.runs} == set(wanted.bind)

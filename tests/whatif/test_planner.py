"""Who gives way to an owner is whom the planner would stop, at one instant on small machines."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from enforcer.whatif.world import play
from tests.enforcer import scenes
from tests.whatif.scenes import ACT, H, job, past, promise, terms

GPUS = 4  # of each of two machines


def laid(sizes: list[int]) -> list[int] | None:
    """A machine for each, the first that has room; None where one has none."""
    left, found = [GPUS, GPUS], list[int]()
    for size in sizes:
        place = next((number for number in (0, 1) if left[number] >= size), None)
        if place is None:
            return None
        left[place] -= size
        found.append(place)
    return found


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 2)), min_size=2, max_size=6),
    st.permutations(range(1, 7)),
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
    st.integers(1, GPUS),
)
def test_who_gives_way_is_whom_the_planner_stops(
    jobs: list[tuple[str, int]], ages_h: list[int], guarantees: tuple[int, int], wanted: int
) -> None:
    places = laid([size for _, size in jobs])
    assume(places is not None)
    told = [(f"j{n}", *each, (places or [])[n], ages_h[n]) for n, each in enumerate(jobs)]
    promised = list(zip("abo", (*guarantees, GPUS), strict=True))
    plan = scenes.made(
        scenes.scene(
            (scenes.node("n0", GPUS), scenes.node("n1", GPUS)),
            *(
                scenes.job(uid, team, f"n{place}", gpus=size, ran=60 * age_h)
                for uid, team, size, place, age_h in told
            ),
            scenes.ask("o", "o", gpus=wanted),
            *(scenes.promise(*each) for each in promised),
        )
    )
    # Who falls below its guarantee by it asks back at once, and takes from others in its turn.
    assume(all(b.held_after_parts >= min(b.guaranteed_parts, b.held_before_parts) for b in plan.balances))
    there = [
        job(uid, team, -age_h, 99, size, begun_ms=-age_h * H, nodes=(f"n{place}",))
        for uid, team, size, place, age_h in told
    ]
    asked = past(*there, job("o", "o", 0, 1, wanted), nodes=(GPUS, GPUS), hours=1)
    world = play(asked, terms(*(promise(*each) for each in promised), acting=ACT))
    gave_way = {
        story.asked.uid
        for story in world.stories
        for run in story.runs
        if (run.ended_ms, run.how) == (0, "preempted")
    }
    assert gave_way == set(scenes.taken(plan))

"""What lending and preemption give on a real trace made dense: openb × K at 0.9, against the fluid optimum."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

from bench.machine import Result
from enforcer.snapshot import Promise
from enforcer.whatif.asked import Asked, Machine, Past
from enforcer.whatif.fluid import most_held_pms
from enforcer.whatif.stay import Story
from enforcer.whatif.terms import Terms
from enforcer.whatif.world import World, play
from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.config.policy import PolicyPart
from quartermaster.ids import content_id
from quartermaster.parts import GPU_PARTS
from quartermaster.remainder import share
from simulator.trace import Trace, dense, read

BESIDE = Path(__file__).parents[2] / "shared/data/openb"
COPIES, DEMAND, SEED = 4, 0.9, 1
GOAL_PERMILLE = 900
POOL = "all"
Measure = Callable[[Story, Past], int]
# Of 100 pods so many are of each team, by the hash of the pod's name.
TEAMS = {"search": 30, "ads": 22, "speech": 14, "vision": 12, "maps": 9, "risk": 7, "labs": 6}
_LEAST_GPUS = 8  # the largest pod's: with less a team could never run it under static quotas
_NO_LIMITS = {
    "mode": "act",
    "a_cycle": 10_000,
    "an_hour": 100_000,
    "team_an_hour": 100_000,
    "pool_share_a_day": "1000",
}


def run() -> list[Result]:
    """Static quotas, lending, and lending with preemption; QUARTERMASTER_OPENB names the trace's folder."""
    folder = Path(os.environ.get("QUARTERMASTER_OPENB", BESIDE))
    what = f"what-if, openb × {COPIES} at {DEMAND:g} of capacity"
    if not (folder / "pods.csv").is_file():
        detail = "the public trace is not part of the project: set QUARTERMASTER_OPENB to its folder"
        return [Result(what, "≥ 90 % of the fluid optimum", "not measured", False, detail)]
    trace = dense(read(folder), copies=COPIES, demand=DEMAND, seed=SEED)
    past, guarantees = past_of(trace), guarantees_of(trace)
    most_pms = most_held_pms(past)
    worlds: list[World] = []
    results: list[Result] = []
    for terms in policies(guarantees):
        began = time.process_time()
        world = play(past, terms)
        took_s = time.process_time() - began
        worlds.append(world)
        permille = _held_pms(world) * 1000 // most_pms
        judged = terms.name == "with preemption"
        results.append(
            Result(
                f"{what}, {terms.name}: GPU-hours held",
                f"≥ {GOAL_PERMILLE / 10:g} % of the fluid optimum" if judged else "—",
                f"{permille / 10:.1f} %",
                permille >= GOAL_PERMILLE or not judged,
                f"{(_held_pms(world) - _lost_pms(world)) * 1000 // most_pms / 10:.1f} % without work that was lost; "
                f"{_preempted(world):,} preemptions; "
                f"waiting {_hours(_mean_ms(world.stories, past, waited_ms)):.2f} h on average; "
                f"{len(past.asked):,} pods on {sum(each.gpus for each in past.machines)} GPUs in {took_s:.0f} s of CPU",
            )
        )
    both = worlds[0], worlds[-1]
    return [
        *results,
        _owners(both, past, what, "in the queue", waited_ms),
        _owners(both, past, what, "until the run that is not taken again", delay_ms),
    ]


def past_of(trace: Trace) -> Past:
    """The trace as it was asked for: one pool, a team a pod by the hash of its name."""
    asked = tuple(
        Asked(
            pod.name,
            team_of(pod.name),
            POOL,
            pod.created_ms,
            (pod.load * (GPU_PARTS // 1000),),
            pod.deleted_ms - pod.created_ms,
        )
        for pod in trace.pods
        if pod.deleted_ms > pod.created_ms
    )
    machines = tuple(Machine(node.name, POOL, node.gpus) for node in trace.nodes)
    return Past(trace.start_ms, trace.end_ms, asked, machines)


def team_of(pod: str) -> str:
    """The team of a pod."""
    place = content_id("team", SEED, pod) % sum(TEAMS.values())
    for team, weight in TEAMS.items():
        if place < weight:
            return team
        place -= weight
    raise AssertionError("the weights add up")


def guarantees_of(trace: Trace) -> dict[str, int]:
    """All GPUs, promised to the teams in proportions by seed; in GPUs."""
    random = Random(f"{SEED}/guarantees")  # noqa: S311 - not for secrets
    weights = {team: random.randint(1, 4) for team in sorted(TEAMS)}
    left = sum(node.gpus for node in trace.nodes) - _LEAST_GPUS * len(TEAMS)
    return {team: _LEAST_GPUS + gpus for team, gpus in share(left, weights).items()}


def policies(guarantees: dict[str, int]) -> Sequence[Terms]:
    """Nobody above its guarantee; whoever finds room; and borrowers that give way to owners after ten minutes."""
    static = PolicyPart.model_validate({"idle": ({"kinds": ("*",)},)})
    acting = static.model_copy(update={"acting": type(static.acting).model_validate(_NO_LIMITS)})
    zone = ZoneInfo("UTC")
    capped = tuple(
        Promise(team, POOL, gpus * GPU_PARTS, gpus * GPU_PARTS) for team, gpus in guarantees.items()
    )
    free = tuple(Promise(team, POOL, gpus * GPU_PARTS) for team, gpus in guarantees.items())
    return (
        Terms("static quotas", static, zone, capped),
        Terms("with lending", static, zone, free),
        Terms("with preemption", acting, zone, free),
    )


def delay_ms(story: Story, past: Past) -> int:
    """From asking until the run begins that is not taken again, or the trace ends: time lost counts as waited."""
    lasting = story.runs and story.runs[-1].how in {"done", "open"}
    return (story.runs[-1].begun_ms if lasting else past.until_ms) - story.asked.asked_ms


def waited_ms(story: Story, past: Past) -> int:
    """How long it waited, each time that it did."""
    return story.waited_ms


def _owners(worlds: tuple[World, World], past: Past, what: str, how: str, measure: Measure) -> Result:
    """Whose mean is longer in the second world than in the first."""
    means = {
        team: tuple(
            _mean_ms([story for story in world.stories if story.asked.team == team], past, measure)
            for world in worlds
        )
        for team in sorted(TEAMS)
    }
    longer = [team for team, (before, after) in means.items() if after > before]
    words = ", ".join(
        f"{team} {_hours(before):.3f} → {_hours(after):.3f} h" for team, (before, after) in means.items()
    )
    both = zip(*(world.stories for world in worlds), strict=True)
    later = [more for one, other in both if (more := measure(other, past) - measure(one, past)) > 0]
    return Result(
        f"{what}: owners that wait longer with preemption than under static quotas, {how}",
        "none",
        f"{len(longer)} of {len(TEAMS)}",
        not longer,
        f"on average: {words}; of {len(past.asked):,} single pods {len(later)} wait longer, "
        f"{sum(each > 10 * MINUTE_MS for each in later)} by more than the minimum runtime of 10 minutes, "
        f"the worst by {_hours(max(later, default=0)):.0f} h",
    )


def _mean_ms(stories: Sequence[Story], past: Past, measure: Measure) -> int:
    return sum(measure(story, past) for story in stories) // max(1, len(stories))


def _held_pms(world: World) -> int:
    return sum(account.held_pms for account in world.accounts.values())


def _lost_pms(world: World) -> int:
    return sum(
        story.asked.parts * (run.ended_ms - run.begun_ms)
        for story in world.stories
        for run in story.runs
        if run.how == "preempted"
    )


def _preempted(world: World) -> int:
    return sum(run.how == "preempted" for story in world.stories for run in story.runs)


def _hours(span_ms: int) -> float:
    return span_ms / HOUR_MS

"""Small pasts to play: whole GPUs, hours, two or three teams."""

from typing import Any
from zoneinfo import ZoneInfo

from enforcer.snapshot import Promise
from enforcer.whatif.asked import Asked, Machine, Past, Turn
from enforcer.whatif.stay import Story
from enforcer.whatif.terms import Terms
from enforcer.whatif.world import World, play
from quartermaster.clock import HOUR_MS
from quartermaster.config.policy import PolicyPart
from quartermaster.parts import GPU_PARTS as G

H = HOUR_MS
POOL = "p"
UTC = ZoneInfo("UTC")
ACT = {
    "mode": "act",
    "a_cycle": 10_000,
    "an_hour": 100_000,
    "team_an_hour": 100_000,
    "pool_share_a_day": "1000",
}


def job(uid: str, team: str, at_h: float, run_h: float, gpus: float = 1, **more: Any) -> Asked:
    """A pod of so many GPUs; `pods` make it a gang of these."""
    pods = more.pop("pods", (int(gpus * G),))
    given: dict[str, Any] = {"kind": "Job"} | more
    return Asked(uid, team, POOL, int(at_h * H), pods, int(run_h * H), **given)


def past(
    *asked: Asked, nodes: tuple[int, ...] = (4,), hours: float = 24, turns: tuple[Turn, ...] = ()
) -> Past:
    """Machines `n0`, `n1` … with so many GPUs each."""
    machines = tuple(Machine(f"n{number}", POOL, gpus) for number, gpus in enumerate(nodes))
    return Past(0, int(hours * H), asked, machines, turns)


def promise(team: str, gpus: int, limit: int | None = None, **more: Any) -> Promise:
    """So many GPUs."""
    return Promise(team, POOL, gpus * G, None if limit is None else limit * G, **more)


def terms(*promises: Promise, acting: dict[str, Any] | None = None, **policy: Any) -> Terms:
    """A policy without a ladder, in shadow unless `acting` says otherwise."""
    given: dict[str, Any] = {"idle": ({"kinds": ("*",)},), "acting": acting or {}} | policy
    return Terms("t", PolicyPart.model_validate(given), UTC, promises)


def played(past: Past, terms: Terms) -> tuple[World, dict[str, Story]]:
    """The world, and each one's story by its UID."""
    world = play(past, terms)
    return world, {story.asked.uid: story for story in world.stories}


def told(story: Story) -> list[tuple[float, float, str]]:
    """Its runs, in hours."""
    return [(run.begun_ms / H, run.ended_ms / H, run.how) for run in story.runs]

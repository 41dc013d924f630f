"""An idle workload as the ladder has it, in a line: hours before now, one device a GPU."""

from typing import Any
from zoneinfo import ZoneInfo

from enforcer.idleness import Evidence, Idle, Notice
from enforcer.ladder.rung import WARN, Rung, Steps, steps_of
from enforcer.snapshot import Workload
from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.config.policy import PolicyPart
from tests.enforcer.clusters import NOW
from tests.enforcer.scenes import job

POLICY = PolicyPart()
BERLIN = ZoneInfo("Europe/Berlin")
H, MIN = HOUR_MS, MINUTE_MS


def proof(number: int = 0) -> Evidence:
    """Evidence of one device's idleness."""
    return Evidence(f"GPU-{number}", 980, ("power", "gr_engine"), (), NOW - 10_000, 30_000)


def idle(hours: float, *told: tuple[str, float], gpus: int = 1) -> Idle:
    """Idleness of so many hours; `told` are accepted warnings, each some hours ago."""
    notices = tuple(Notice(stage, NOW - round(ago * H)) for stage, ago in told)
    return Idle("w", NOW - round(hours * H), tuple(map(proof, range(gpus))), notices=notices)


def workload(**more: Any) -> Workload:
    """A notebook of team vision that has run for ten hours on two GPUs."""
    given: dict[str, Any] = {"kind": "Notebook", "namespace": "lab", "name": "drafts", "gpus": 2} | more
    return job("w", "vision", "n1", ran=600, **given)


def rung(hours: float = 2, stage: str = WARN, *told: tuple[str, float], **more: Any) -> Rung:
    """The rung on which the notebook stands."""
    return Rung("main", stage, workload(**more), idle(hours, *told, gpus=2))


def steps(kind: str) -> Steps:
    """The ladder of a kind by the house's own policy."""
    found = steps_of(POLICY, kind, serving=False)
    assert found is not None
    return found

"""Standing: what counts for the guard beside the plan and the cluster: when it is, what was done, who stopped it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from enforcer.guard.switches import Freeze
from enforcer.idleness import Idle
from enforcer.snapshot import Snapshot
from quartermaster.config.acting import Mode


@dataclass(frozen=True, slots=True)
class Taken:
    """That a workload was stopped, or may have been: whatever was meant and did not surely fail counts."""

    uid: str
    at_ms: int
    team: str
    pool: str
    parts: int


@dataclass(frozen=True, slots=True)
class Approval:
    """That a person approved a plan, and until when; `by` is a pseudonym."""

    plan_hash: str
    snapshot_hash: str
    at_ms: int
    until_ms: int
    by: str
    request_id: int


@dataclass(frozen=True)
class Standing:
    """What is so at `now_ms`. Whatever is not known here counts against acting."""

    now_ms: int
    asked: Mode  # by the command's own flags
    started_at_ms: int
    policy_since_ms: int  # since when this policy is in force
    freeze: Freeze | None
    coverage_permille: int | None  # of the cluster: known ÷ held; None: nobody can tell
    coverage_of_pools: Mapping[str, int] = field(
        default_factory=dict[str, int]
    )  # pools in which anything is held
    done: tuple[Taken, ...] = ()  # of the last 24 hours at least
    approvals: tuple[Approval, ...] = ()
    idle: Mapping[str, Idle] = field(default_factory=dict[str, Idle])  # what is noticed, by UID


def pool_parts(snapshot: Snapshot) -> dict[str, int]:
    """The available parts of each pool: those of nodes that are ready and take pods."""
    found: dict[str, int] = {}
    for node in snapshot.nodes:
        if node.ready and node.schedulable:
            parts = dict(node.unit_parts)
            there = sum(count * parts.get(unit, 0) for unit, count in node.units)
            found[node.pool] = found.get(node.pool, 0) + there
    return found

"""What was asked for: the pods of a workload that run together, since when they were wanted and how long they ran."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from enforcer.snapshot import FOREVER_MS


@dataclass(frozen=True)
class Asked:
    """A gang, or one pod. Instants are epoch milliseconds, spans milliseconds, amounts parts.

    `idle` are the stretches of its run in which it stood idle beyond doubt, counted from its start. What ran already
    when the past begins has `begun_ms` and the `nodes` of its pods.
    """

    uid: str
    team: str
    pool: str
    asked_ms: int
    pods: tuple[int, ...]  # what each asks for, the largest first
    run_ms: int = FOREVER_MS
    priority: int = 0
    preemptible: bool = True
    idle: tuple[tuple[int, int], ...] = ()
    begun_ms: int | None = None
    nodes: tuple[str, ...] = ()
    kind: str = ""
    namespace: str = ""
    name: str = ""
    serving: bool = False
    spared_until_ms: int = 0
    labels: Mapping[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def parts(self) -> int:
        """What all its pods hold."""
        return sum(self.pods)


@dataclass(frozen=True)
class Machine:
    """A node of a pool with whole GPUs, there from the beginning; `open`: it takes pods."""

    node: str
    pool: str
    gpus: int
    open: bool = True


@dataclass(frozen=True)
class Turn:
    """From then on a node takes pods or does not, or is gone with all that ran on it."""

    at_ms: int
    node: str
    open: bool
    gone: bool = False


@dataclass(frozen=True)
class Past:
    """What was asked for in [from, until), and the machines that there were."""

    from_ms: int
    until_ms: int
    asked: tuple[Asked, ...]
    machines: tuple[Machine, ...]
    turns: tuple[Turn, ...] = ()

"""The snapshot: one cluster at one instant, as values, and all that a plan is made of.

Instants are epoch milliseconds, amounts of GPUs are parts. A pod whose phase is terminal is not in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from enforcer.shape import Shape, Taint

FOREVER_MS = 2**62


@dataclass(frozen=True, slots=True)
class Node:
    """A machine, with what its pods can be given (allocatable)."""

    name: str
    pool: str
    units: tuple[tuple[str, int], ...]
    unit_parts: tuple[tuple[str, int], ...]  # what one unit of each of its GPU resources is here
    cpu_milli: int = 0
    memory_mib: int = 0
    most_pods: int = 110
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    taints: tuple[Taint, ...] = ()
    ready: bool = True
    schedulable: bool = True


@dataclass(frozen=True, slots=True)
class Coming:
    """A node that is on its way, as it will be."""

    node: Node
    asked_at_ms: int


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod that is bound to a node."""

    uid: str
    namespace: str
    name: str
    node: str
    shape: Shape
    parts: int  # of GPUs, over all its units
    bound_at_ms: int
    started_at_ms: int | None = None
    terminating: bool = False
    budgets: tuple[str, ...] = ()  # PodDisruptionBudgets that cover it
    version: str = ""


@dataclass(frozen=True, slots=True)
class Workload:
    """A top owner with bound pods."""

    uid: str
    kind: str
    namespace: str
    name: str
    team: str
    pool: str
    pods: tuple[Pod, ...]
    version: str = ""
    priority: int = 0
    preemptible: bool = True
    serving: bool = False
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    checkpoint_at_ms: int | None = None  # as an annotation states it
    lost_for_good: tuple[
        str, ...
    ] = ()  # what a restart does not bring back, in words: "the notebook's memory"
    spared_until_ms: int = 0  # its opt-out (`FOREVER_MS` without an end)
    way_down: str = ""  # how its owner is stopped and started again; "" where there is no way


@dataclass(frozen=True, slots=True)
class Waiting:
    """Pods of a workload that are not bound. `held_back`: suspended or gated, so that no scheduler sees them."""

    uid: str
    kind: str
    namespace: str
    name: str
    team: str
    pool: str
    pods: tuple[tuple[Shape, int, int], ...]  # shape, how many, parts of each
    since_ms: int
    gang_minimum: int = 1  # the fewest of all its pods, bound ones included, that can run
    version: str = ""
    priority: int = 0
    preemptible: bool = True
    held_back: bool = False
    way_down: str = ""

    @property
    def count(self) -> int:
        """How many pods wait."""
        return sum(count for _, count, _ in self.pods)

    @property
    def parts(self) -> int:
        """What they ask for."""
        return sum(count * parts for _, count, parts in self.pods)


@dataclass(frozen=True, slots=True)
class Promise:
    """What a team is promised in a pool now: bookings added, offers taken off."""

    team: str
    pool: str
    guaranteed_parts: int
    limit_parts: int | None = None
    weight: int = 1
    department: str = ""
    remembered_parts: int = 0  # past borrowing that counts (enforcer.past_use)


@dataclass(frozen=True, slots=True)
class Budget:
    """A PodDisruptionBudget: how many of the pods it covers may go now."""

    name: str  # namespace/name
    allowed: int


@dataclass(frozen=True, slots=True)
class Taking:
    """That a workload was stopped, and for whom ("": for nobody, it stood idle).

    A snapshot has those of which either is still there.
    `in_vain`: it was seen to have no effect. `short`: another that was stopped with it was not, so that less was freed
    than was meant.
    """

    uid: str
    for_uid: str
    at_ms: int
    in_vain: bool = False
    short: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One cluster at `at_ms`. `seen_at_ms` is how far every watch behind it is known to be complete."""

    cluster: str
    at_ms: int
    seen_at_ms: int
    nodes: tuple[Node, ...]
    workloads: tuple[Workload, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    promises: tuple[Promise, ...] = ()
    coming: tuple[Coming, ...] = ()
    budgets: tuple[Budget, ...] = ()
    takings: tuple[Taking, ...] = ()
    queues_order: bool = False  # a queue system admits what waits; it is not started or held back by us
    queues_reclaim: bool = False  # it takes borrowed GPUs back by itself; what it does not see is idleness

"""Weeks in a small cluster: jobs come and go, a plain scheduler binds what it sees, and every plan is carried out."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from enforcer.idleness import Findings
from enforcer.plan import Act, Plan
from enforcer.planner import plan
from enforcer.shape import Shape
from enforcer.snapshot import Node, Pod, Promise, Snapshot, Taking, Waiting, Workload
from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.config.policy import PolicyPart
from quartermaster.parts import GPU_PARTS
from tests.enforcer.clusters import GPU, NOW, UTC

STEP_MS = 5 * MINUTE_MS
NODES = tuple(Node(f"n{n}", "whole", ((GPU, 8),), ((GPU, GPU_PARTS),), 96_000, 900_000) for n in range(4))


@dataclass
class Run:
    """A job's life: waiting, bound, stopped, and over when it has run for as long as it needs."""

    uid: str
    team: str
    shape: Shape
    pods: int
    gang: bool
    preemptible: bool
    priority: int
    left_ms: int
    since_ms: int
    held_back: bool
    places: tuple[str, ...] = ()
    bound_ms: int = 0
    terminating_until_ms: int = 0

    @property
    def parts(self) -> int:
        """Of one pod."""
        return self.shape.units[0][1] * GPU_PARTS


@dataclass
class Weeks:
    """The cluster, and all that was ever planned."""

    seed: int
    policy: PolicyPart = field(default_factory=PolicyPart)
    at_ms: int = NOW
    runs: dict[str, Run] = field(default_factory=dict[str, Run])
    takings: list[Taking] = field(default_factory=list[Taking])
    bound_for: dict[str, int] = field(
        default_factory=dict[str, int]
    )  # owners for whom was taken, until bound
    waited_ms: list[int] = field(default_factory=list[int])

    def __post_init__(self) -> None:
        """Teams with guarantees that change hands now and then."""
        self.random = Random(self.seed)
        self.promises = self._promises()

    def go(self, until_ms: int) -> Iterator[tuple[Snapshot, Plan]]:
        """A plan every five minutes."""
        while self.at_ms < until_ms:
            if self.random.random() < 0.02:
                self.promises = self._promises()
            self._end()
            self._arrive()
            self._bind()
            snapshot = self.snapshot()
            made = plan(snapshot, Findings(computing=frozenset({"whole"})), self.policy, UTC)
            yield snapshot, made
            self._carry_out(made)
            self._bind()
            self.at_ms += STEP_MS

    def snapshot(self) -> Snapshot:
        """The cluster now."""
        alive = self.runs.keys()
        return Snapshot(
            "here",
            self.at_ms,
            self.at_ms,
            NODES,
            tuple(self._workload(run) for run in self.runs.values() if run.places),
            tuple(self._waiting(run) for run in self.runs.values() if not run.places),
            self.promises,
            takings=tuple(each for each in self.takings if each.uid in alive or each.for_uid in alive),
        )

    def _promises(self) -> tuple[Promise, ...]:
        given = self.random.choice(((16, 8, 4), (8, 8, 8), (4, 16, 8), (12, 4, 12)))
        return tuple(Promise(team, "whole", g * GPU_PARTS) for team, g in zip("abc", given, strict=True))

    def _arrive(self) -> None:
        random = self.random
        while random.random() < 0.12:
            uid = f"j{len(self.runs)}-{self.at_ms}"
            shape = Shape(((GPU, random.choice((1, 1, 2, 4, 8))),), random.choice((1_000, 8_000)), 4_000)
            self.runs[uid] = Run(
                uid,
                random.choice("abc"),
                shape,
                random.choice((1, 1, 1, 2, 3)),
                random.random() < 0.7,
                random.random() < 0.8,
                random.choice((0, 0, 0, 10)),
                random.choice((10 * MINUTE_MS, HOUR_MS, 3 * HOUR_MS, 12 * HOUR_MS)),
                self.at_ms,
                random.random() < 0.6,
            )

    def _end(self) -> None:
        for uid, run in list(self.runs.items()):
            if run.terminating_until_ms and run.terminating_until_ms <= self.at_ms:
                run.places, run.terminating_until_ms, run.since_ms = (), 0, self.at_ms
            elif run.places and not run.terminating_until_ms and run.bound_ms + run.left_ms <= self.at_ms:
                del self.runs[uid]

    def _free(self) -> dict[str, list[int]]:
        free = {node.name: [8, node.cpu_milli] for node in NODES}
        for run in self.runs.values():
            for node in run.places:
                free[node][0] -= run.shape.units[0][1]
                free[node][1] -= run.shape.cpu_milli
        return free

    def _bind(self) -> None:
        """As a scheduler does: by priority, then who has waited longest; all of a gang or nothing."""
        waiting = [run for run in self.runs.values() if not run.places and not run.held_back]
        for run in sorted(waiting, key=lambda run: (-run.priority, run.since_ms, run.uid)):
            free, places = self._free(), list[str]()
            for _ in range(run.pods):
                fitting = [
                    node
                    for node, (gpus, cpu) in free.items()
                    if gpus >= run.shape.units[0][1] and cpu >= run.shape.cpu_milli
                ]
                if not fitting:
                    break
                node = self.random.choice(fitting)  # wherever it likes
                free[node][0] -= run.shape.units[0][1]
                free[node][1] -= run.shape.cpu_milli
                places.append(node)
            if len(places) == run.pods:
                run.places, run.bound_ms = tuple(places), self.at_ms
                self.waited_ms.append(self.at_ms - run.since_ms)
                self.bound_for.pop(run.uid, None)

    def _carry_out(self, made: Plan) -> None:
        for action in made.actions:
            run = self.runs[action.target.uid]
            if action.act is Act.STOP:
                run.held_back = True
                run.terminating_until_ms = self.at_ms + self.random.choice((1, STEP_MS, 2 * STEP_MS))
                self.takings.append(Taking(run.uid, action.for_uid, self.at_ms))
                self.bound_for.setdefault(action.for_uid, self.at_ms)
            elif action.act is Act.HOLD:
                run.held_back = True
            elif action.act is Act.START:
                run.held_back = False

    def _workload(self, run: Run) -> Workload:
        pods = tuple(
            Pod(
                f"{run.uid}-{n}-{run.bound_ms}",
                "ns",
                f"{run.uid}-{n}",
                node,
                run.shape,
                run.parts,
                run.bound_ms,
                run.bound_ms,
                terminating=bool(run.terminating_until_ms),
            )
            for n, node in enumerate(run.places)
        )
        return Workload(
            run.uid,
            "Job",
            "ns",
            run.uid,
            run.team,
            "whole",
            pods,
            priority=run.priority,
            preemptible=run.preemptible,
            way_down="suspend",
        )

    def _waiting(self, run: Run) -> Waiting:
        return Waiting(
            run.uid,
            "Job",
            "ns",
            run.uid,
            run.team,
            "whole",
            ((run.shape, run.pods, run.parts),),
            run.since_ms,
            run.pods,
            priority=run.priority,
            preemptible=run.preemptible,
            held_back=run.held_back,
            way_down="suspend",
        )

"""A plan in the making: the cluster as it will be after what is planned so far."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from zoneinfo import ZoneInfo

from enforcer.candidates import Candidate, Refusal, Rules, candidates, title
from enforcer.harm import held_parts
from enforcer.idleness import Due, Findings, by_uid, doubt, due
from enforcer.placement import Ask, Places, Room
from enforcer.plan import Action, Answer, Rejected, Target, Verdict
from enforcer.shape import Shape
from enforcer.snapshot import Pod, Snapshot, Waiting, Workload
from enforcer.standing import standings
from enforcer.victims import Tally
from quartermaster.clock import to_iso
from quartermaster.config.policy import PolicyPart


class Making:
    """What the steps of planning share: the room, who stands where, who may be taken, and what is decided."""

    def __init__(self, snapshot: Snapshot, findings: Findings, policy: PolicyPart, zone: ZoneInfo) -> None:
        self.snapshot = snapshot
        self.policy = policy
        self.workloads = {each.uid: each for each in sorted(snapshot.workloads, key=_uid) if each.pods}
        # Those that should be there by now are not waited for.
        self.coming = [
            each
            for each in sorted(snapshot.coming, key=lambda each: each.node.name)
            if 0 <= snapshot.at_ms - each.asked_at_ms < policy.boot_wait_ms
        ]
        self.room = Room(snapshot.nodes, self.coming, _pods(snapshot.workloads))
        self.leaving = [pod for pod in _pods(snapshot.workloads) if pod.terminating]
        self.room.give(self.leaving)
        self.standings = standings(snapshot, policy)
        self.rules = Rules(snapshot, policy)
        self.actions: list[Action] = []
        self.answers: dict[str, Answer] = {}
        self.spared: list[Rejected] = []
        self._asks: dict[str, Ask] = {}
        self._shapes: dict[Shape, Shape] = {}  # equal shapes as one value
        self.unbound: list[Waiting] = []  # free GPUs fit them, and the scheduler has not bound them
        self.groups = 0
        self.owners: set[str] = set()  # of those that wait: whose guarantee covers them
        self.held_back: set[str] = set()
        self.idle = self._idle(findings, zone)
        self.gone: set[str] = set()  # those that are taken
        self.pending = [
            each for each in sorted(snapshot.waiting, key=_uid) if each.parts and not each.held_back
        ]
        self._useful: dict[tuple[str, tuple[int, ...]], list[Candidate]] = {}
        self._candidates: dict[str, tuple[list[Candidate], dict[str, Refusal]]] = {}
        self._by_pool: dict[str, list[Workload]] = {}
        for each in self.workloads.values():
            self._by_pool.setdefault(each.pool, []).append(each)

    def candidates(self, pool: str) -> tuple[list[Candidate], dict[str, Refusal]]:
        """Those of a pool that may be taken, in order of harm; and of the others why not."""
        if pool not in self._candidates:
            self._candidates[pool] = candidates(
                [each for each in self._by_pool.get(pool, ()) if each.uid not in self.gone],
                self.standings[pool],
                self.rules,
                self.idle,
            )
        return self._candidates[pool]

    def useful(self, ask: Ask) -> list[Candidate]:
        """Those of its pool whose GPUs are of use to the ask, whether they are taken already or not."""
        key = ask.pool, tuple(id(shape) for shape, _ in ask.pods)  # `_shapes` keeps them
        found = self._useful.get(key)
        if found is None:
            found = [each for each in self.candidates(ask.pool)[0] if self.is_useful(each, ask)]
            self._useful[key] = found
        return found

    def is_useful(self, each: Candidate, ask: Ask) -> bool:
        """Whether it holds units of the same name on a node where the ask's pods may be."""
        if all(each.units.keys().isdisjoint(unit for unit, _ in shape.units) for shape, _ in ask.pods):
            return False
        nodes = self.room.nodes_for(ask)
        return any(pod.node in nodes and not pod.terminating for pod in each.workload.pods)

    def taken(self, tally: Tally) -> None:
        """Those in the tally are taken for good."""
        for each in tally.taken:
            self.gone.add(each.workload.uid)
            self.leaving += [pod for pod in each.workload.pods if not pod.terminating]
        tally.keep()

    def stopped(self, workload: Workload) -> None:
        """The workload is taken though nobody asks for its GPUs."""
        pods = [pod for pod in workload.pods if not pod.terminating]
        self.gone.add(workload.uid)
        self.rules.spend(workload)
        self.leaving += pods
        self.room.give(pods)
        self.standings[workload.pool].held[workload.team] -= held_parts(workload)

    def ask_of(self, waiting: Waiting, count: int | None = None) -> Ask:
        """What the waiting pods want: all, or `count` of them where they have one shape."""
        whole = self._asks.get(waiting.uid)
        if whole is None:
            running = self.workloads.get(waiting.uid)
            beside = tuple(pod.node for pod in running.pods if not pod.terminating) if running else ()
            counts: dict[Shape, int] = {}
            for shape, many, _ in (each for each in waiting.pods if each[1]):
                one = self._shapes.setdefault(shape, shape)
                counts[one] = counts.get(one, 0) + many
            whole = self._asks[waiting.uid] = Ask(waiting.pool, tuple(counts.items()), beside)
        (shape, _), *others = whole.pods
        return whole if count is None or others else Ask(whole.pool, ((shape, count),), whole.beside)

    def running_pods(self, uid: str) -> int:
        """How many pods of the workload run and stay."""
        workload = self.workloads.get(uid)
        return sum(not pod.terminating for pod in workload.pods) if workload else 0

    @contextmanager
    def as_it_is_now(self) -> Generator[None]:
        """Within, the room is what is free now: those who are leaving, or are taken, still hold theirs."""
        self.room.take(self.leaving)
        yield
        self.room.give(self.leaving)

    def places(self, ask: Ask) -> Places | None:
        """Where the ask fits; None where it does not."""
        return self.room.places(ask) if self.room.fits(ask) else None

    def reserve(self, waiting: Waiting, places: Places, parts: int) -> None:
        """The places are this one's from now on."""
        self.room.occupy(places)
        self.count(waiting, parts)

    def count(self, waiting: Waiting, parts: int) -> None:
        """So much of its team's guarantee is spoken for."""
        held = self.standings[waiting.pool].held
        held[waiting.team] = held.get(waiting.team, 0) + parts

    def next_group(self) -> int:
        """The number of a new group of actions."""
        self.groups += 1
        return self.groups

    def answer(
        self,
        waiting: Waiting,
        verdict: Verdict,
        words: str,
        *,
        gains_parts: int = 0,
        places: Places = (),
        until_ms: int | None = None,
        group: int | None = None,
        rejected: tuple[Rejected, ...] = (),
    ) -> None:
        """What becomes of a workload that waits."""
        waited = waiting.parts * max(0, self.snapshot.at_ms - waiting.since_ms)
        freed_ms = self.rules.freed_ms(waiting.uid, waiting.since_ms)
        if freed_ms is not None and self.snapshot.at_ms < freed_ms + self.policy.watch_ms:
            freed_ms = None
        if freed_ms is not None:
            watched = f"{self.policy.watch_ms / 1000:g} s"
            words += f"; GPUs were freed for it at {to_iso(freed_ms)}, and {watched} later it waited still"
        self.answers[waiting.uid] = Answer(
            waiting.uid,
            title(waiting),
            waiting.team,
            waiting.pool,
            waiting.parts,
            waited,
            verdict,
            words,
            gains_parts,
            tuple((node, count) for node, _, count in places),
            until_ms,
            freed_ms,
            group,
            rejected,
        )

    def _idle(self, findings: Findings, zone: ZoneInfo) -> Mapping[str, Due]:
        """What is due to each workload that is idle beyond doubt."""
        found: dict[str, Due] = {}
        for uid, each in sorted(by_uid(findings.idle).items()):
            workload = self.workloads.get(uid)
            if workload is None:
                continue
            why_not = doubt(each, workload, findings, self.snapshot, self.policy)
            if why_not:
                self.spared.append(Rejected(uid, title(workload), why_not))
                continue
            found[uid] = due(each, workload, self.snapshot, self.policy, zone)
            if not found[uid].stage:
                self.spared.append(Rejected(uid, title(workload), found[uid].words))
        return found


def target_of(each: Workload | Waiting) -> Target:
    """The object that is acted upon, as the snapshot has it."""
    pods = (
        tuple(sorted((pod.uid, pod.version, pod.node) for pod in each.pods if not pod.terminating))
        if isinstance(each, Workload)
        else ()
    )
    return Target(
        each.uid,
        each.version,
        each.kind,
        each.namespace,
        each.name,
        each.team,
        each.pool,
        each.way_down,
        pods,
    )


def _pods(workloads: Sequence[Workload]) -> Iterator[Pod]:
    return (pod for workload in workloads for pod in workload.pods)


def _uid(each: Workload | Waiting) -> str:
    return each.uid

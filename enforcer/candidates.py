"""Candidates: which workloads may be taken at all and which for an owner, and of each other why not."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from enforcer.harm import Harm, harm_of
from enforcer.snapshot import Snapshot, Taking, Waiting, Workload
from enforcer.standing import Standing, begun_ms, borrowed_in_order
from quartermaster.clock import to_iso
from quartermaster.config.policy import PolicyPart
from quartermaster.team import glob_matches


class Refusal(StrEnum):
    """Why a workload is not taken."""

    PROTECTED = "it is protected"
    NO_WAY = "nothing brings it back"
    LEAVING = "it is on its way out already"
    IN_VAIN = "stopping it had no effect before"
    NOT_PREEMPTIBLE = "it is not preemptible"
    BUDGET = "a PodDisruptionBudget covers it"
    NOT_BORROWING = "its team holds no more than its guarantee"
    CIRCLE = "it once had GPUs taken for it from the one that asks now"
    YOUNG = "it has not had its minimum runtime"
    ELSEWHERE = "its GPUs do not fit the pods that wait"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A workload that may be taken for an owner.

    Its tier is in which turn: 1 idle, 2 on borrowed GPUs alone, 3 partly, 4 what else a borrower has, 5 those that are
    spared as long as there is another way.
    """

    workload: Workload
    harm: Harm
    held_parts: int
    units: Mapping[str, int]
    idle: bool
    borrowed_parts: int  # of what it holds, as the ledger counts it
    spared: str  # why it is spared: it opted out, or gave way lately
    ripe_at_ms: int  # when it has had its minimum runtime
    tier: int
    order: tuple[int, int, str]  # least work lost first, then the newest, then by UID


class Rules:
    """What holds for every workload of a snapshot, whoever asks."""

    def __init__(self, snapshot: Snapshot, policy: PolicyPart) -> None:
        self.snapshot = snapshot
        self.policy = policy
        self._budgets = {budget.name: budget.allowed for budget in snapshot.budgets}
        self._given_way = {taking.uid: taking.at_ms for taking in sorted(snapshot.takings, key=_when)}
        self._protected: dict[str, bool] = {}
        self._in_vain = {taking.uid for taking in snapshot.takings if taking.in_vain}
        self._takers: dict[str, set[str]] = {}
        for taking in snapshot.takings:
            if taking.for_uid:
                self._takers.setdefault(taking.uid, set()).add(taking.for_uid)

    def untouchable(self, workload: Workload) -> Refusal | None:
        """Why it is never taken, by nobody."""
        protected = self.policy.protected
        if (
            workload.priority >= protected.priority_from
            or self._protects(workload.namespace)
            or any(
                key in workload.labels and glob_matches(pattern, workload.labels[key])
                for key, pattern in protected.labels.items()
            )
            or any(glob_matches(pattern, _path(workload)) for pattern in protected.owners)
        ):
            return Refusal.PROTECTED
        if not workload.way_down or workload.kind == "Pod":
            return Refusal.NO_WAY
        leaving, covered, twice = True, False, False
        for pod in workload.pods:
            leaving = leaving and pod.terminating
            covered = covered or bool(pod.budgets)
            twice = twice or len(pod.budgets) > 1  # which the eviction API refuses, whatever they allow
        if leaving:
            return Refusal.LEAVING
        if workload.uid in self._in_vain:
            return Refusal.IN_VAIN
        if covered and (
            twice or any(self.left(name) < count for name, count in self.budgets_of(workload).items())
        ):
            return Refusal.BUDGET
        return None

    def _protects(self, namespace: str) -> bool:
        known = self._protected.get(namespace)
        if known is None:
            patterns = self.policy.protected.namespaces
            known = self._protected[namespace] = any(glob_matches(each, namespace) for each in patterns)
        return known

    def budgets_of(self, workload: Workload) -> dict[str, int]:
        """How many of its pods each PodDisruptionBudget would have to let go."""
        wanted: dict[str, int] = {}
        for pod in workload.pods:
            if not pod.terminating:
                for name in pod.budgets:
                    wanted[name] = wanted.get(name, 0) + 1
        return wanted

    def left(self, budget: str) -> int:
        """How many more pods the budget lets go; none, where it is not known."""
        return self._budgets.get(budget, 0)

    def spend(self, workload: Workload) -> None:
        """The workload is taken: its budgets let fewer go from now on."""
        for name, count in self.budgets_of(workload).items():
            self._budgets[name] = self.left(name) - count

    def spared(self, workload: Workload) -> str:
        """Why it is taken only where an owner has no other way; "" otherwise."""
        at_ms = self.snapshot.at_ms
        if at_ms < workload.spared_until_ms:
            return "it opted out"
        gave_way = self._given_way.get(workload.uid)
        if gave_way is not None and at_ms < gave_way + self.policy.back_off_ms:
            return f"it gave way at {to_iso(gave_way)}"
        return ""

    def rests_until_ms(self, uid: str) -> int:
        """Until when a workload that gave way is not started on borrowed GPUs again."""
        gave_way = self._given_way.get(uid)
        return 0 if gave_way is None else gave_way + self.policy.back_off_ms

    def gave_lately(self, owner: str) -> bool:
        """Whether GPUs were taken for it lately: those that are free are its own."""
        until = self.snapshot.at_ms - self.policy.back_off_ms
        return any(taking.for_uid == owner and taking.at_ms > until for taking in self.snapshot.takings)

    def retry_at_ms(self, owner: str, since_ms: int) -> int:
        """Until when nobody is taken for an owner that waits since then: after the second time, for a back-off.

        Once what was freed may go to a newcomer; twice, there is a reason that taking more does not remove.
        """
        times = sorted(
            {each.at_ms for each in self.snapshot.takings if each.for_uid == owner and each.at_ms >= since_ms}
        )
        return times[-1] + self.policy.back_off_ms if len(times) > 1 else 0

    def freed_ms(self, owner: str, since_ms: int) -> int | None:
        """When all that was meant was last freed for an owner that waits since then; None where that never was."""
        takings = (each for each in self.snapshot.takings if each.for_uid == owner)
        return max(
            (each.at_ms for each in takings if each.at_ms >= since_ms and not (each.in_vain or each.short)),
            default=None,
        )

    def took_from(self, owner: str) -> set[str]:
        """Who took GPUs from the owner, or from one that did: that it takes from them would close a circle."""
        found, todo = {owner}, [owner]
        while todo:
            takers = self._takers.get(todo.pop(), set()) - found
            found |= takers
            todo += takers
        return found


def candidates(
    workloads: Sequence[Workload],
    standing: Standing,
    rules: Rules,
    idle: Collection[str],
) -> tuple[list[Candidate], dict[str, Refusal]]:
    """Of a pool's workloads those that borrowers hold and that may be taken, in order of harm; of others why not.

    `idle` are those that stand idle beyond doubt.
    """
    by_team: dict[str, list[Workload]] = {}
    for workload in workloads:
        by_team.setdefault(workload.team, []).append(workload)
    found: list[Candidate] = []
    refused: dict[str, Refusal] = {}
    for team, theirs in by_team.items():
        guaranteed = standing.promise(team).guaranteed_parts
        borrows = standing.held.get(team, 0) > guaranteed
        borrowed = borrowed_in_order(theirs, guaranteed) if borrows else {}
        for workload in theirs:
            if not borrows:
                refused[workload.uid] = Refusal.NOT_BORROWING
                continue
            refusal = rules.untouchable(workload)
            if refusal is None and not workload.preemptible:
                refusal = Refusal.NOT_PREEMPTIBLE
            if refusal is not None:
                refused[workload.uid] = refusal
                continue
            found.append(_candidate(workload, rules, idle, borrowed.get(workload.uid, 0)))
    return sorted(found, key=by_harm), refused


def by_harm(each: Candidate) -> tuple[int, int, str]:
    """The order of candidates."""
    return each.order


def _candidate(workload: Workload, rules: Rules, idle: Collection[str], borrowed_parts: int) -> Candidate:
    units: dict[str, int] = {}
    held = 0
    for pod in workload.pods:
        if not pod.terminating:
            held += pod.parts
            for unit, count in pod.shape.units:
                units[unit] = units.get(unit, 0) + count
    harm, begun, spared = harm_of(workload, rules.snapshot.at_ms), begun_ms(workload), rules.spared(workload)
    stands_idle = workload.uid in idle
    tier = (
        5 if spared else 1 if stands_idle else 4 if not borrowed_parts else 2 if borrowed_parts == held else 3
    )
    return Candidate(
        workload,
        harm,
        held,
        units,
        stands_idle,
        borrowed_parts,
        spared,
        0 if stands_idle else begun + rules.policy.minimum_runtime_ms,
        tier,
        (harm.lost_pms, -begun, workload.uid),
    )


def title(of: Workload | Waiting) -> str:
    """`Job vision/train`."""
    return f"{of.kind} {of.namespace}/{of.name}"


def _path(workload: Workload) -> str:
    return f"{workload.kind}/{workload.namespace}/{workload.name}"


def _when(taking: Taking) -> int:
    return taking.at_ms

"""Standing: what each team of a pool holds, asks for and is entitled to, and what of it is borrowed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import gcd

from enforcer.harm import held_parts
from enforcer.snapshot import Node, Promise, Snapshot, Workload
from quartermaster.config.policy import DepartmentPart, PolicyPart
from quartermaster.fairshare.division import Division, Share, divide
from quartermaster.fairshare.entitlement import Entitlement
from quartermaster.parts import GPU_PARTS


@dataclass
class Standing:
    """One pool. `held` changes as a plan is made; fair shares stay those of the snapshot."""

    pool: str
    promises: Mapping[str, Promise]
    departments: Mapping[str, DepartmentPart]
    division: Division
    department_names: Mapping[str, str]  # as the division calls them
    shares: Mapping[str, Share]  # of the teams
    held: dict[str, int]
    waiting: Mapping[str, int]
    before: Mapping[str, int] = field(default_factory=dict[str, int])

    def promise(self, team: str) -> Promise:
        """What the team is promised; nothing, where nobody promised."""
        return self.promises.get(team) or Promise(team, self.pool, 0)

    def fair_share(self, team: str) -> int:
        """What it is entitled to."""
        return self.shares[team].parts

    def room_below_limit(self, team: str) -> int | None:
        """How much more it may hold by its own limit and its department's; None without a limit."""
        promise = self.promise(team)
        stated = self.departments.get(promise.department)
        left: list[int] = []
        if promise.limit_parts is not None:
            left.append(promise.limit_parts - self.held.get(team, 0))
        if stated is not None and stated.limit_parts is not None:
            left.append(stated.limit_parts - self._held_by(promise.department))
        return min(left, default=None)

    def claim(self, team: str) -> tuple[int, bool]:
        """What it may still ask back as an owner, and whether that is its department's guarantee, not its own."""
        share = self.shares[team]
        # A guarantee of half a GPU is a whole one where there are no halves; nobody is taken for the other half.
        own = min(share.assured_parts, self.promise(team).guaranteed_parts) - self.held.get(team, 0)
        department = self.promise(team).department
        stated = self.departments.get(department)
        if stated is None or not stated.guaranteed_parts:
            return max(0, own), False
        whole = self.division.shares[self.department_names[department],]
        covered = min(stated.guaranteed_parts, whole.assured_parts) - self._held_by(department)
        shared = min(covered, share.parts - self.held.get(team, 0))
        return (max(0, own), False) if own >= shared else (shared, True)

    def borrowed(self, team: str, owner: str) -> int:
        """How much of what the team holds is borrowed, as seen by an owner.

        To another department, what a department's own guarantee covers is not borrowed.
        """
        above = self.held.get(team, 0) - self.promise(team).guaranteed_parts
        department = self.promise(team).department
        stated = self.departments.get(department)
        if stated is None or department == self.promise(owner).department:
            return max(0, above)
        within = sum(
            min(self.held.get(name, 0), promise.guaranteed_parts)
            for name, promise in self.promises.items()
            if promise.department == department
        )
        return max(0, min(above, self._held_by(department) - max(stated.guaranteed_parts, within)))

    def _held_by(self, department: str) -> int:
        return sum(
            self.held.get(name, 0)
            for name, promise in self.promises.items()
            if promise.department == department
        )


def standings(snapshot: Snapshot, policy: PolicyPart) -> dict[str, Standing]:
    """Every pool of the snapshot."""
    pools: dict[str, Reading] = {}
    kept = _read_pods(snapshot, pools)
    for node in snapshot.nodes:
        pools.setdefault(node.pool, Reading()).offer(node, kept.get(node.name, 0))
    for each in snapshot.waiting:
        pool = pools.setdefault(each.pool, Reading())
        pool.asked[each.team] = pool.asked.get(each.team, 0) + each.parts
        pool.sizes.update(parts for _, _, parts in each.pods)
    for promise in snapshot.promises:
        pools.setdefault(promise.pool, Reading()).promises[promise.team] = promise
    return {name: standing_of(name, pools[name], policy) for name in sorted(pools)}


def borrowed_in_order(workloads: Iterable[Workload], guaranteed_parts: int) -> dict[str, int]:
    """What of each of a team's workloads is borrowed, by UID, as the ledger counts it.

    Within the guarantee stand first those that cannot be preempted, then those bound first.
    """
    left = guaranteed_parts
    borrowed: dict[str, int] = {}
    for workload in sorted(workloads, key=_order):
        held = held_parts(workload)
        within = min(held, max(0, left))
        left -= within
        borrowed[workload.uid] = held - within
    return borrowed


def begun_ms(workload: Workload) -> int:
    """Since when it runs: its first pod's start or, before any started, its binding."""
    # A list, not a generator: these two run over every pod of a cluster.
    return min([pod.bound_at_ms if pod.started_at_ms is None else pod.started_at_ms for pod in workload.pods])


def _order(workload: Workload) -> tuple[bool, int, str]:
    return workload.preemptible, min([pod.bound_at_ms for pod in workload.pods]), workload.uid


@dataclass
class Reading:
    """A pool as it is read, from a snapshot or elsewhere; amounts by team, in parts."""

    free_parts: int = 0
    held: dict[str, int] = field(default_factory=dict[str, int])
    asked: dict[str, int] = field(default_factory=dict[str, int])
    promises: dict[str, Promise] = field(default_factory=dict[str, Promise])
    sizes: set[int] = field(default_factory=set[int])  # of all that is held, asked for or offered, in parts

    def offer(self, node: Node, kept_parts: int) -> None:
        """A node, and what pods that stay hold there; what it has beyond is free, if it takes pods."""
        parts = dict(node.unit_parts)
        self.sizes.update(parts.get(unit, 0) for unit, count in node.units if count)
        if node.ready and node.schedulable:
            there = sum(count * parts.get(unit, 0) for unit, count in node.units)
            self.free_parts += max(0, there - kept_parts)

    @property
    def unit_parts(self) -> int:
        """The smallest thing that can be given: a GPU, unless its nodes have slices or pods hold or ask for some."""
        return gcd(*self.sizes) or GPU_PARTS


def _read_pods(snapshot: Snapshot, pools: dict[str, Reading]) -> dict[str, int]:
    """Tell each pool who holds how much of it; what stays on each node."""
    kept: dict[str, int] = {}
    for workload in snapshot.workloads:
        pool = pools.setdefault(workload.pool, Reading())
        held, size = 0, 0
        for pod in workload.pods:
            parts = pod.parts
            if parts != size:
                pool.sizes.add(parts)
                size = parts
            if parts and not pod.terminating:
                held += parts
                kept[pod.node] = kept.get(pod.node, 0) + parts
        pool.held[workload.team] = pool.held.get(workload.team, 0) + held
    return kept


def standing_of(pool: str, read: Reading, policy: PolicyPart) -> Standing:
    """Who stands where in a pool that was read."""
    held, asked, promises = read.held, read.asked, read.promises
    teams = sorted({*held, *asked, *promises})
    departments = {each.department: each for each in policy.departments if each.pool == pool}
    of_department: dict[str, list[Entitlement]] = {}
    for team in teams:
        promise = promises.get(team) or Promise(team, pool, 0)
        entitlement = Entitlement(
            team,
            guarantee_parts=promise.guaranteed_parts,
            limit_parts=promise.limit_parts,
            weight=promise.weight,
            priority=policy.priority_of(team, pool),
            request_parts=held.get(team, 0) + asked.get(team, 0),
            remembered_parts=promise.remembered_parts,
        )
        of_department.setdefault(promise.department, []).append(entitlement)
    entitled = of_department.pop("", [])
    names: dict[str, str] = {}
    for name in of_department:
        names[name] = _name_of(name, {*teams, *names.values()})
    for name, members in of_department.items():
        stated = departments.get(name) or DepartmentPart.model_construct(department=name, pool=pool)
        entitled.append(
            Entitlement(
                names[name],
                guarantee_parts=stated.guaranteed_parts,
                limit_parts=stated.limit_parts,
                weight=stated.weight,
                priority=stated.priority,
                members=tuple(members),
            )
        )
    # What is held counts as available even where its node takes nobody new: it is given already.
    division = divide(read.free_parts + sum(held.values()), entitled, read.unit_parts)
    shares = {path[-1]: share for path, share in division.shares.items() if not share.entitlement.members}
    return Standing(pool, promises, departments, division, names, shares, dict(held), asked, held)


def _name_of(department: str, others: set[str]) -> str:
    name = f"{department} department"
    while name in others:
        name += " department"
    return name

"""The quota-aware scheduler, pure: who is bound where, who must give way, and why the others wait."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from quartermaster.parts import GPU_PARTS

Free = dict[tuple[str, str], int]  # (node, resource) to slots


@dataclass(frozen=True)
class Ask:
    """A gang that waits: all its pods are bound at one instant, or none."""

    gang: int
    team: str
    pods: int
    slots_a_pod: int
    resource: str
    parts: int  # over all pods
    since_ms: int
    priority: int = 0
    preemptible: bool = True


@dataclass(frozen=True)
class Running:
    """A gang that holds slots; `places`: a (node, slots) a pod. A terminating one holds until it is gone."""

    gang: int
    team: str
    resource: str
    parts: int
    bound_ms: int
    places: tuple[tuple[str, int], ...]
    preemptible: bool = True
    terminating: bool = False


@dataclass(frozen=True)
class Quota:
    """A team's promise in the pool, in parts."""

    guaranteed_parts: int = 0
    limit_parts: int | None = None
    weight: int = 1


@dataclass
class Decision:
    """Gangs to bind, each with a node a pod; gangs that must give way; why each other gang waits."""

    bind: dict[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])
    reclaim: list[int] = field(default_factory=list[int])
    waits: dict[int, str] = field(default_factory=dict[int, str])


def decide(
    asks: Iterable[Ask],
    running: Sequence[Running],
    free: Mapping[tuple[str, str], int],
    quotas: Mapping[str, Quota],
) -> Decision:
    """One pass over a pool.

    First those who ask within their guarantee, by priority and waiting time: where nothing is free,
    preemptible work of borrowers gives way, the youngest first and no more than it takes. Then, unless an
    owner waits for somebody to go, those who borrow, the least above their guarantee (by weight) first.
    """
    work = _Pass(running, dict(free), quotas)
    borrowers: list[Ask] = []
    for ask in sorted(asks, key=lambda ask: (-ask.priority, ask.since_ms, ask.gang)):
        if work.held(ask.team) + ask.parts <= work.quota(ask.team).guaranteed_parts:
            work.owner(ask)
        else:
            borrowers.append(ask)
    borrowers.sort(key=lambda ask: (work.excess(ask.team), -ask.priority, ask.since_ms, ask.gang))
    for ask in borrowers:
        work.borrower(ask)
    return work.decision


class _Pass:
    def __init__(self, running: Sequence[Running], free: Free, quotas: Mapping[str, Quota]) -> None:
        self.decision = Decision()
        self._running = running
        self._free = free
        self._quotas = quotas
        self._held: dict[str, int] = {}
        self._owner_waits = False
        for gang in running:
            if not gang.terminating:
                self._held[gang.team] = self._held.get(gang.team, 0) + gang.parts
        self._coming = dict(free)  # what is free once those who terminate are gone
        for gang in running:
            if gang.terminating:
                _give(self._coming, gang)

    def held(self, team: str) -> int:
        return self._held.get(team, 0)

    def quota(self, team: str) -> Quota:
        return self._quotas.get(team, Quota())

    def excess(self, team: str) -> float:
        return (self.held(team) - self.quota(team).guaranteed_parts) / self.quota(team).weight

    def owner(self, ask: Ask) -> None:
        """Bind, or have borrowers give way, or wait."""
        places = place(ask, {key: min(slots, self._coming[key]) for key, slots in self._free.items()})
        if places is not None:
            self._bind(ask, places)
            return
        coming = place(ask, self._coming)
        victims: list[Running] = []
        if coming is None:
            victims = self._victims(ask)
            for victim in victims:
                _give(self._coming, victim)
                self._held[victim.team] -= victim.parts
                self.decision.reclaim.append(victim.gang)
            coming = place(ask, self._coming)
        if coming is None:
            self.decision.waits[ask.gang] = (
                f"{_asked(ask)} within the guarantee; nobody who borrows can give them back"
            )
            return
        _take(self._coming, ask, coming)
        self._held[ask.team] = self.held(ask.team) + ask.parts
        self._owner_waits = True
        self.decision.waits[ask.gang] = f"{_asked(ask)} within the guarantee; borrowers are giving them back"

    def borrower(self, ask: Ask) -> None:
        """Bind on what is free, or wait."""
        quota = self.quota(ask.team)
        if not ask.preemptible:
            reason = "above the guarantee, and only preemptible work may borrow"
        elif quota.limit_parts is not None and self.held(ask.team) + ask.parts > quota.limit_parts:
            reason = f"above the limit of {quota.limit_parts / GPU_PARTS:g} GPUs"
        elif self._owner_waits:
            reason = "above the guarantee; owners come first"
        else:
            places = place(ask, self._free)
            if places is not None:
                self._bind(ask, places)
                return
            reason = "above the guarantee; not enough is free"
        self.decision.waits[ask.gang] = f"{_asked(ask)} {reason}"

    def _bind(self, ask: Ask, places: tuple[str, ...]) -> None:
        _take(self._free, ask, places)
        _take(self._coming, ask, places)
        self._held[ask.team] = self.held(ask.team) + ask.parts
        self.decision.bind[ask.gang] = places

    def _victims(self, ask: Ask) -> list[Running]:
        """The borrowers' gangs that make room for the ask: none when even all of them do not."""
        held = dict(self._held)
        room = dict(self._coming)
        chosen: list[Running] = []
        for gang in sorted(self._running, key=lambda gang: (-gang.bound_ms, gang.gang)):
            if gang.terminating or gang.gang in self.decision.reclaim or not gang.preemptible:
                continue
            if gang.resource != ask.resource or held[gang.team] <= self.quota(gang.team).guaranteed_parts:
                continue
            held[gang.team] -= gang.parts
            _give(room, gang)
            chosen.append(gang)
            if place(ask, room) is not None:
                return self._needed(ask, chosen)
        return []

    def _needed(self, ask: Ask, chosen: list[Running]) -> list[Running]:
        """The chosen without those whose room is not needed, the oldest spared first."""
        for gang in reversed(chosen[:-1]):
            fewer = [other for other in chosen if other is not gang]
            room = dict(self._coming)
            for other in fewer:
                _give(room, other)
            if place(ask, room) is not None:
                chosen = fewer
        return chosen


def place(ask: Ask, free: Mapping[tuple[str, str], int]) -> tuple[str, ...] | None:
    """A node a pod, each the fullest that still has room (ties by name); None where they do not all fit."""
    room = {node: slots for (node, resource), slots in free.items() if resource == ask.resource}
    places: list[str] = []
    for _ in range(ask.pods):
        fitting = [(slots, node) for node, slots in room.items() if slots >= ask.slots_a_pod]
        if not fitting:
            return None
        _, node = min(fitting)
        room[node] -= ask.slots_a_pod
        places.append(node)
    return tuple(places)


def _take(free: Free, ask: Ask, places: tuple[str, ...]) -> None:
    for node in places:
        free[node, ask.resource] = free.get((node, ask.resource), 0) - ask.slots_a_pod


def _give(free: Free, gang: Running) -> None:
    for node, slots in gang.places:
        if (node, gang.resource) in free:  # a node that takes nobody gives no room
            free[node, gang.resource] += slots


def _asked(ask: Ask) -> str:
    return f"{ask.parts / GPU_PARTS:g} GPUs asked"

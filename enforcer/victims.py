"""Victims: the smallest harm that makes room for pods that wait: fewest workloads, then least work lost, then the
newest.

Whatever is found is proved by placing the pods in the room that it leaves, and nothing in it can be left out. That
there is no smaller choice is proved up to `_COMBINATIONS` tries; beyond, the best of several searches is taken.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import comb

from enforcer.candidates import Candidate, Rules, by_harm
from enforcer.placement import Ask, Room
from enforcer.snapshot import Pod
from enforcer.standing import Standing

_COMBINATIONS = 2_000
Chosen = tuple[Candidate, ...]


class Tally:
    """Who is taken so far for an owner: of each borrower no more than until it borrows no more, within the
    disruption budgets. The standing and the room are as they will be; `undo` puts them back."""

    def __init__(self, room: Room, standing: Standing, rules: Rules, owner: str) -> None:
        self._room = room
        self._standing = standing
        self._rules = rules
        self._owner = owner
        self._budgets: dict[str, int] = {}
        self.taken: list[Candidate] = []

    def take(self, each: Candidate) -> bool:
        """Take it, if it may be taken after those before it."""
        team = each.workload.team
        if self._standing.borrowed(team, self._owner) <= 0:
            return False
        wanted = self._rules.budgets_of(each.workload)
        if any(self._budgets.get(name, 0) + count > self._rules.left(name) for name, count in wanted.items()):
            return False
        self.put(each, len(self.taken))
        return True

    def put(self, each: Candidate, at: int) -> None:
        """It is taken, as the one after the first `at`."""
        for name, count in self._rules.budgets_of(each.workload).items():
            self._budgets[name] = self._budgets.get(name, 0) + count
        self._standing.held[each.workload.team] -= each.held_parts
        self._room.give(pods_of(each))
        self.taken.insert(at, each)

    def leave(self, each: Candidate) -> None:
        """Do not take it after all. Those taken after it may still be: their teams hold more now."""
        self.taken.remove(each)
        for name, count in self._rules.budgets_of(each.workload).items():
            self._budgets[name] -= count
        self._standing.held[each.workload.team] += each.held_parts
        self._room.take(pods_of(each))

    def keep(self) -> None:
        """They are taken for good: their budgets let fewer go from now on."""
        for each in self.taken:
            self._rules.spend(each.workload)
        self.taken.clear()

    def undo(self) -> None:
        """Nobody is taken."""
        for each in list(self.taken):
            self.leave(each)


def choose(ask: Ask, among: Sequence[Candidate], room: Room, tally: Tally) -> Chosen | None:
    """The victims that make the ask fit, in an order in which each may be taken; None where no choice does.

    `among` is in order of harm and of use to the ask. Room and tally are left as they were.
    """
    best = _gather(ask, among, room, tally)
    if best is None and at_most(ask, among, room) < ask.count:
        return None
    for size in range(1, len(best or among) + 1):
        if size == 1:
            enough = room.enough_for(ask)
            sets: Iterable[Chosen] = (
                (each,) for each in among if enough(each.units, len(each.workload.pods))
            )
        elif comb(len(among), size) <= _COMBINATIONS:
            sets = sorted(combinations(among, size), key=_harm)
        else:
            break
        found = _first(ask, sets, room, tally)
        if found is not None:
            return found
    for order in _other_orders(ask, among, room):
        found = _gather(ask, order, room, tally)
        if found is not None and (best is None or _harm(found) < _harm(best)):
            best = found
    return best


def at_most(ask: Ask, among: Sequence[Candidate], room: Room) -> int:
    """How many of the ask's pods would fit if all were taken, whether they may be or not: no choice gives more."""
    for each in among:
        room.give(pods_of(each))
    count = room.most(ask)
    for each in among:
        room.take(pods_of(each))
    return count


def most(ask: Ask, among: Iterable[Candidate], room: Room, tally: Tally) -> int:
    """How many of the ask's pods would fit, were everybody taken that may be taken after those before it."""
    for each in among:
        tally.take(each)
    count = room.most(ask)
    tally.undo()
    return count


def pods_of(each: Candidate) -> Iterator[Pod]:
    """The pods whose room its taking gives."""
    return (pod for pod in each.workload.pods if not pod.terminating)


def _gather(ask: Ask, order: Sequence[Candidate], room: Room, tally: Tally) -> Chosen | None:
    """Take one after the other until it fits, then leave out whom it does not need, the greatest harm first."""
    found = False
    for each in order:
        if tally.take(each) and room.fits(ask):
            found = True
            break
    if not found:
        tally.undo()
        return None
    for each in sorted(tally.taken, key=by_harm, reverse=True):
        at = tally.taken.index(each)
        tally.leave(each)
        if not room.fits(ask):
            tally.put(each, at)
    chosen = tuple(tally.taken)
    tally.undo()
    return chosen


def _first(ask: Ask, sets: Iterable[Chosen], room: Room, tally: Tally) -> Chosen | None:
    """The first set that may be taken, the largest of a team last, and that makes the ask fit."""
    for chosen in sets:
        in_order = sorted(chosen, key=lambda each: (each.held_parts, each.workload.uid))
        fits = all(tally.take(each) for each in in_order) and room.fits(ask)
        tally.undo()
        if fits:
            return tuple(in_order)
    return None


def _other_orders(ask: Ask, among: Sequence[Candidate], room: Room) -> Iterator[Sequence[Candidate]]:
    """The largest first; then node by node, the one with the fewest to take first."""
    units = {unit for shape, _ in ask.pods for unit, _ in shape.units}
    yield sorted(among, key=lambda each: (-sum(each.units.get(unit, 0) for unit in units), each.order))
    useful, by_node = room.nodes_for(ask), dict[str, list[Candidate]]()
    for each in among:
        for node in sorted({pod.node for pod in pods_of(each) if pod.node in useful}):
            by_node.setdefault(node, []).append(each)
    seen = dict[str, Candidate]()
    for node in sorted(by_node, key=lambda node: (len(by_node[node]), _lost(by_node[node]), node)):
        for each in by_node[node]:
            seen.setdefault(each.workload.uid, each)
    yield tuple(seen.values())


def _harm(chosen: Sequence[Candidate]) -> tuple[int, int, list[tuple[int, int, str]]]:
    return len(chosen), _lost(chosen), sorted(each.order for each in chosen)


def _lost(chosen: Sequence[Candidate]) -> int:
    return sum(each.harm.lost_pms for each in chosen)

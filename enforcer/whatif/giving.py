"""Giving way: whom a borrower's team loses for an owner: the planner's order, found fast enough for a whole past.

What only the planner does: prove that no smaller choice exists. Here the fewest of one machine are found, or a gang's
victims are gathered in order of harm and those left out that it does not need.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

from enforcer.standing import Standing
from enforcer.whatif.floor import Floor
from enforcer.whatif.stay import Stay
from quartermaster.parts import GPU_PARTS

TIERS = (1, 2, 3, 4, 5)
_COMBINATIONS = 100  # of one size on one machine


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """One that may be taken, in which turn (as in `enforcer.candidates`), and at which cost."""

    stay: Stay
    tier: int
    order: tuple[int, int, str]  # least work lost, then the newest, then by UID


def choose(
    pods: Sequence[int], owner: str, candidates: Sequence[Candidate], floor: Floor, standing: Standing
) -> list[Candidate] | None:
    """Those whose going makes the pods fit; None where no choice does. Floor and standing are left as they were."""
    last = 0
    for tier in TIERS:
        among = sorted((each for each in candidates if each.tier <= tier), key=lambda each: each.order)
        if len(among) == last:
            continue
        last = len(among)
        picking = _Picking(owner, floor, standing)
        found = picking.on_a_machine(pods[0], among) if len(pods) == 1 else picking.gathered(pods, among)
        if found is not None:
            return found
    return None


class _Picking:
    def __init__(self, owner: str, floor: Floor, standing: Standing) -> None:
        self._owner = owner
        self._floor = floor
        self._standing = standing

    def on_a_machine(self, parts: int, among: Sequence[Candidate]) -> list[Candidate] | None:
        """One alone with the least harm; else the fewest of one machine."""
        by_machine: dict[int, list[Candidate]] = {}
        for each in among:
            for machine in {machine for machine, _ in each.stay.places}:
                by_machine.setdefault(machine, []).append(each)
                if self._could(machine, parts, [each]) and self._suffices(machine, parts, each):
                    return [each]
        best: list[Candidate] | None = None
        for machine, theirs in by_machine.items():
            if self._could(machine, parts, theirs):
                found = self._fewest(machine, parts, theirs)
                if found is not None and (best is None or _harm(found) < _harm(best)):
                    best = found
        return best

    def gathered(self, pods: Sequence[int], among: Sequence[Candidate]) -> list[Candidate] | None:
        """One after the other until the pods fit, without those whose room is not needed."""
        return self._until_it_fits(among, lambda: self._floor.fits(pods))

    def _fewest(self, machine: int, parts: int, theirs: Sequence[Candidate]) -> list[Candidate] | None:
        """The largest first; where a team borrows too little for that, combinations, of a team the largest last."""

        def fits() -> bool:
            return self._floor.fits_on(machine, parts)

        by_size = sorted(theirs, key=lambda each: (-_held_on(machine, each), each.order))
        found = self._until_it_fits(by_size, fits)
        for size in range(2, len(theirs) + 1):
            if found is not None or comb(len(theirs), size) > _COMBINATIONS:
                break
            for taken in sorted(combinations(theirs, size), key=_harm):
                in_order = sorted(taken, key=lambda each: (each.stay.asked.parts, each.stay.asked.uid))
                found = self._until_it_fits(in_order, fits)
                if found is not None:
                    break
        return found

    def _until_it_fits(self, order: Sequence[Candidate], fits: Callable[[], bool]) -> list[Candidate] | None:
        taken: list[Candidate] = []
        for each in order:
            if self._take(each):
                taken.append(each)
                if fits():
                    return self._pruned(taken, fits)
        self._undo(taken)
        return None

    def _pruned(self, taken: list[Candidate], fits: Callable[[], bool]) -> list[Candidate]:
        """Those that it takes, all left where they are again; the greatest harm is left out first."""
        for each in sorted(taken, key=lambda each: each.order, reverse=True):
            self._leave(each)
            if fits():
                taken.remove(each)
            else:
                self._put(each)
        self._undo(list(taken))
        return taken

    def _suffices(self, machine: int, parts: int, each: Candidate) -> bool:
        if not self._take(each):
            return False
        fits = self._floor.fits_on(machine, parts)
        self._leave(each)
        return fits

    def _could(self, machine: int, parts: int, theirs: Sequence[Candidate]) -> bool:
        """Whether it might be enough, at a glance."""
        return parts < GPU_PARTS or parts <= GPU_PARTS * self._floor.most_after(
            machine, sum(_held_on(machine, each) for each in theirs)
        )

    def _take(self, each: Candidate) -> bool:
        """Take it, unless its team borrows no more."""
        if self._standing.borrowed(each.stay.asked.team, self._owner) <= 0:
            return False
        self._put(each)
        return True

    def _put(self, each: Candidate) -> None:
        self._standing.held[each.stay.asked.team] -= each.stay.asked.parts
        self._floor.give(each.stay.places)

    def _leave(self, each: Candidate) -> None:
        self._standing.held[each.stay.asked.team] += each.stay.asked.parts
        self._floor.take(each.stay.places)

    def _undo(self, taken: Sequence[Candidate]) -> None:
        for each in taken:
            self._leave(each)


def _held_on(machine: int, each: Candidate) -> int:
    return sum(parts for number, gpus in each.stay.places if number == machine for _, parts in gpus)


def _harm(taken: Sequence[Candidate]) -> tuple[int, int, list[tuple[int, int, str]]]:
    return len(taken), sum(each.order[0] for each in taken), sorted(each.order for each in taken)

"""Waits: the queue of a pool: who waits, by team and by what is asked for; of each kind the first stands for all."""

from bisect import insort
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from enforcer.whatif.asked import Asked

Key = tuple[int, int, str]


@dataclass(slots=True, eq=False)
class Waits:
    """One that waits; `before_ms` of its run are over, and it borrows nothing before `rests_until_ms`."""

    asked: Asked
    since_ms: int
    before_ms: int = 0
    rests_until_ms: int = 0

    @property
    def turn(self) -> Key:
        """Whose turn it is: the highest priority, then the longest wait."""
        return -self.asked.priority, self.asked.asked_ms, self.asked.uid


@dataclass
class Line:
    """Those of one team that ask for the same: where the first has no room, none of them has."""

    team: str
    pods: tuple[int, ...]
    preemptible: bool
    waits: list[Waits] = field(default_factory=list[Waits])

    def first(self, at_ms: int | None = None) -> Waits | None:
        """Whose turn it is; at an instant, of those that do not rest then."""
        if at_ms is None:
            return self.waits[0] if self.waits else None
        return next((each for each in self.waits if each.rests_until_ms <= at_ms), None)


class Queue:
    """All that wait. `parts` is what each team waits for."""

    def __init__(self) -> None:
        self.parts: defaultdict[str, int] = defaultdict(int)
        self._lines: dict[tuple[str, tuple[int, ...], bool], Line] = {}

    def add(self, waits: Waits) -> None:
        """One more waits."""
        asked = waits.asked
        key = asked.team, asked.pods, asked.preemptible
        line = self._lines.setdefault(key, Line(*key))
        insort(line.waits, waits, key=_turn)
        self.parts[asked.team] += asked.parts

    def remove(self, line: Line, waits: Waits) -> None:
        """It waits no more."""
        line.waits.remove(waits)
        self.parts[line.team] -= waits.asked.parts

    def lines(self) -> Iterator[Line]:
        """Those in which somebody waits."""
        return (line for line in self._lines.values() if line.waits)


def _turn(waits: Waits) -> Key:
    return waits.turn

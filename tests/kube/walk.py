"""The accountant's walk: from instant to instant at which anything changes, what each GPU part of a node was."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from tests.kube.accountant import FOREVER, GPU, Books, Machine

NAMES = ("capacity", "held", "unallocated", "unavailable", "unobserved", "overbooked")


class Walk:
    """Part-milliseconds of [from, until): `sums` over all nodes, and `held` by each pod's name.

    `seen` are the spans in which somebody could tell who holds what; `counted` since when a source is believed.
    """

    def __init__(
        self, books: Books, span: tuple[int, int], counted: int, seen: Sequence[tuple[int, int]]
    ) -> None:
        self.books, self.counted, self.seen = books, counted, seen
        self.sums = dict.fromkeys(NAMES, 0)
        self.held: dict[str, int] = defaultdict(int)
        marks = {*span, counted, *(t for each in seen for t in each)}
        marks |= {t for each in books.lives.values() for t in (each.start_ms, each.end_ms or FOREVER)}
        every = [each for theirs in books.machines.values() for each in theirs]
        marks |= {t for each in every for t in (each.start_ms, each.end_ms or FOREVER)}
        for t, after in pairwise(sorted(t for t in marks if span[0] <= t <= span[1])):
            for name, theirs in books.machines.items():
                for machine in theirs:
                    if machine.start_ms <= t < (machine.end_ms or FOREVER):
                        self.instant(name, machine, t, after - t)

    def instant(self, name: str, machine: Machine, t: int, span: int) -> None:
        """A node from t for `span` ms: first come, first served; then what is away, what nobody sees, what is free."""
        capacity = free = machine.gpus * GPU
        theirs = [
            each
            for each in self.books.lives.values()
            if self.counted <= t and each.node == name and each.start_ms <= t < (each.end_ms or FOREVER)
        ]
        for life in sorted(theirs, key=lambda each: each.start_ms):
            taken = min(free, life.parts)
            free -= taken
            self.held[life.name] += taken * span
            self.sums["overbooked"] += (life.parts - taken) * span
        away = min(free, machine.sick * GPU) if machine.usable else free
        observed = self.counted <= t and any(start <= t < end for start, end in self.seen)
        self.sums["capacity"] += capacity * span
        self.sums["held"] += (capacity - free) * span
        self.sums["unavailable"] += away * span
        self.sums["unallocated" if observed else "unobserved"] += (free - away) * span

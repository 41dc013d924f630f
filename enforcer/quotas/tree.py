"""Trees: queues under queues, and what one above leaves to those under it. Pure."""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from collector.kubernetes.values import quantity
from enforcer.quotas.cap import Cap, Portion

Amounts = Mapping[tuple[str, str], int]  # GPUs by a queue's UID and the field's name


class Tree:
    """The queues of a cluster, each kind's by itself."""

    def __init__(self, caps: Iterable[Cap]) -> None:
        self._named: dict[tuple[str, str], Cap] = {}
        self._under: dict[tuple[str, str], list[Cap]] = {}
        for cap in caps:
            self._named[cap.kind, cap.name] = cap
            if cap.read.above:
                self._under.setdefault((cap.kind, cap.read.above), []).append(cap)

    def is_leaf(self, cap: Cap) -> bool:
        """Whether no queue is under it: the work is in those alone."""
        return (cap.kind, cap.name) not in self._under

    def room(self, cap: Cap, portion: Portion, amounts: Amounts) -> Fraction | None:
        """What the queue above it leaves to it beside its siblings; None where nothing bounds it.

        Siblings have what `amounts` says, else what they have now. Of one above that is not known nothing is left, nor
        where a sibling is unlimited.
        """
        if not cap.read.above:
            return None
        above = self._named.get((cap.kind, cap.read.above))
        most = _gpus(above, portion.quota)
        if above is not None and most < 0:
            return None
        for sibling in self._under[cap.kind, cap.read.above]:
            if sibling.uid != cap.uid:
                has = amounts.get((sibling.uid, portion.quota), _gpus(sibling, portion.quota))
                if has < 0:
                    return Fraction()
                most -= has
        return most

    def ceiling(self, cap: Cap, portion: Portion) -> Fraction | None:
        """The limit of the nearest queue above it that has one."""
        met, now = {cap.name}, cap
        while portion.limit and now.read.above not in met:
            above = self._named.get((cap.kind, now.read.above))
            if above is None:
                return None
            limit = _gpus(above, portion.limit)
            if limit > 0:
                return limit
            met.add(above.name)
            now = above
        return None


def _gpus(cap: Cap | None, field: str) -> Fraction:
    """What is not set is nothing."""
    return Fraction() if cap is None else quantity(cap.fields.get(field)) or Fraction()

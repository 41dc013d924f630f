"""Bookings and offers in queue systems: queues whose quotas follow them while they last. Pure.

Such a system lends and reclaims by itself, within what its quotas say; so these are moved, and nothing else of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from collector.kubernetes.lent import same
from collector.kubernetes.values import quantity
from enforcer.booking import Booking
from enforcer.quotas.backends import QUEUES
from enforcer.quotas.cap import Cap
from enforcer.quotas.change import QuotaChange
from enforcer.quotas.last import Lasts, written
from enforcer.quotas.places import Moved, Owned, Place, moved, places
from enforcer.quotas.tree import Tree
from quartermaster.text import visible


@dataclass(frozen=True, slots=True)
class Unmet:
    """A booking that its team's queue does not follow, and why."""

    cap: Cap
    team: str
    pool: str
    words: str


@dataclass(frozen=True, slots=True)
class Followed:
    """The queues that are to be changed now, those first that are put back; and what cannot be followed."""

    changes: tuple[QuotaChange, ...]
    unmet: tuple[Unmet, ...]


def follow(
    caps: Sequence[Cap], bookings: Sequence[Booking], owners: Mapping[str, Owned], lasts: Lasts, at_ms: int
) -> Followed:
    """What is to become of the queues.

    What a team has booked is added to its largest portion in the pool. What another has offered is taken off its own,
    as far as somebody has booked it: the rest is lent by the queue system anyway, and would be nobody's. Where the
    queue above has no room for all that a team has booked, none of it is added.
    """
    queues = [each for each in caps if each.kind in QUEUES]
    tree = Tree(queues)
    among = _Among(tree, places(queues, tree, owners, lasts), lasts)
    unmet: dict[Owned, Unmet] = {}
    by = moved(among.places, bookings, at_ms)
    while (crowded := among.crowded(by)) is not None:
        unmet[crowded.team, crowded.pool] = crowded
        by = moved(among.places, bookings, at_ms, unmet)
    changes = [each for cap in queues if (each := among.due(cap, by, at_ms)) is not None]
    return Followed(
        tuple(sorted(among.timely(changes), key=_order)), tuple(unmet[owner] for owner in sorted(unmet))
    )


@dataclass(frozen=True, slots=True)
class _Among:
    """Queues: as a tree, what of them is whose, and what became of them before."""

    tree: Tree
    places: Mapping[Owned, Sequence[Place]]
    lasts: Lasts

    def crowded(self, by: Moved) -> Unmet | None:
        """The last of those, by name, for whose bookings the queue above has no room."""
        to_be = {each.key: by.gpus(each) for those in self.places.values() for each in those}
        for (team, pool), those in sorted(self.places.items(), reverse=True):
            first = those[0]
            room = self.tree.room(first.cap, first.portion, to_be)
            plus = by.more.get(first.key, 0)
            if plus and room is not None and to_be[first.key] > room:
                words = (
                    f"{plus} GPUs are booked, and the queue {visible(first.cap.read.above)} above it has no room for "
                    f"them: it leaves {float(max(room, 0)):g} to this one, which would be promised {to_be[first.key]}"
                )
                return Unmet(first.cap, team, pool, words)
        return None

    def due(self, cap: Cap, by: Moved, at_ms: int) -> QuotaChange | None:
        """What is to be changed of a queue now."""
        last = self.lasts.get(cap.uid)
        change = self._change(cap, by)
        if change is None or (last is not None and last.waits(at_ms)):
            return None
        return change if change.goes_back or last is None or not last.rests(at_ms) else None

    def timely(self, changes: Sequence[QuotaChange]) -> Iterator[QuotaChange]:
        """Those for which there is room now: a sibling that is not lowered in this turn has what it has."""
        of = {each.key: each for those in self.places.values() for each in those}
        to_be = {
            (change.cap.uid, name): int(quantity(value) or 0)
            for change in changes
            for name, value in change.after.items()
            if name in change.cap.promising
        }
        for change in changes:
            mine = [of[key] for key in to_be if key in of and key[0] == change.cap.uid]
            rooms = [(to_be[each.key], self.tree.room(each.cap, each.portion, to_be)) for each in mine]
            fits = all(room is None or gpus <= room for gpus, room in rooms)
            if fits or change.goes_back or not change.raises:
                yield change

    def _change(self, cap: Cap, by: Moved) -> QuotaChange | None:
        first = dict(written(cap, self.lasts.get(cap.uid)))
        target, words = dict(first), list[str]()
        whose: list[Owned] = []
        for owner, those in self.places.items():
            for each in those:
                if each.cap is not cap:
                    continue
                whose.append(owner)
                plus, minus = by.of(each)
                if plus or minus:
                    ceiling = self.tree.ceiling(cap, each.portion)
                    target |= QUEUES[cap.kind].followed(each.portion, first, plus, minus, ceiling)
                    words.append(_words(each, by))
        touched = [
            name
            for name in first
            if not (same(target[name], cap.fields[name]) and same(target[name], first[name]))
        ]
        if all(same(target[name], cap.fields[name]) for name in touched):
            return None
        team, pool = whose[0] if whose else ("", "")
        before, after = ({name: of[name] for name in touched} for of in (first, target))
        return QuotaChange(
            cap, team, pool, before, after, "; ".join(words) or "no booking of it stands any more"
        )


def _words(place: Place, by: Moved) -> str:
    plus, minus = by.more.get(place.key, 0), by.less.get(place.key, 0)
    what = f"{visible(place.portion.flavor)}: " if place.portion.flavor else ""
    held = by.gpus(place) - (place.promised + plus - minus)
    return (
        f"{what}{place.promised} GPUs as its people wrote, {plus} more that are booked, {minus} fewer that are offered "
        f"and booked by others{f', {held} more that its non-preemptible work still holds' if held else ''}"
    )


def _order(change: QuotaChange) -> tuple[bool, bool, str]:
    return not change.goes_back, change.raises, change.cap.name

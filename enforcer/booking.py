"""Bookings and offers: quotas with an end. A booking adds to a team's guarantee, an offer lends some of it out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from enforcer.snapshot import Promise
from quartermaster.clock import to_iso
from quartermaster.fairshare.explain import gpus
from quartermaster.text import visible


@dataclass(frozen=True, slots=True)
class Booking:
    """`parts` more for a team in a pool, over [start_at, end_at); an offer has them less."""

    team: str
    pool: str
    parts: int
    start_at: int
    end_at: int
    offer: bool = False


@dataclass(frozen=True, slots=True)
class Shortage:
    """A span in which more is promised in a pool than there is."""

    pool: str
    start_at: int
    end_at: int
    promised_parts: int
    available_parts: int

    def words(self) -> str:
        """The same for people."""
        return (
            f"From {to_iso(self.start_at)} to {to_iso(self.end_at)} {gpus(self.promised_parts)} would be promised in "
            f"pool {visible(self.pool)}, which has {gpus(self.available_parts)}."
        )


def in_force(promises: Iterable[Promise], bookings: Iterable[Booking], at_ms: int) -> tuple[Promise, ...]:
    """The promises at an instant: bookings added, offers taken off, never below nothing; by pool and team.

    A limit moves along with a booking, so that what is booked can be used; an offer leaves it.
    """
    found = {(promise.pool, promise.team): promise for promise in promises}
    for each in bookings:
        if each.start_at <= at_ms < each.end_at:
            key = each.pool, each.team
            promise = found.get(key) or Promise(each.team, each.pool, 0)
            found[key] = _with(promise, each)
    clipped = (replace(each, guaranteed_parts=max(0, each.guaranteed_parts)) for each in found.values())
    return tuple(sorted(clipped, key=lambda each: (each.pool, each.team)))


def shortages(
    promises: Sequence[Promise], bookings: Sequence[Booking], wished: Booking, available_parts: int
) -> list[Shortage]:
    """Where a wished booking would promise more than its pool has; an empty list where it fits.

    Raises ValueError for one that ends before it begins or is about nothing, and for an offer of more than its team
    is promised at some instant of it.
    """
    if wished.end_at <= wished.start_at:
        raise ValueError("it ends before it begins")
    if wished.parts <= 0:
        raise ValueError("it is about no GPUs")
    theirs = [each for each in bookings if each.pool == wished.pool]
    edges = {
        wished.start_at,
        wished.end_at,
        *(each.start_at for each in theirs),
        *(each.end_at for each in theirs),
    }
    inside = sorted(edge for edge in edges if wished.start_at <= edge <= wished.end_at)
    found: list[Shortage] = []
    for start, end in pairwise(inside):
        if wished.offer:
            mine = [each for each in in_force(promises, theirs, start) if each.pool == wished.pool]
            has = sum(each.guaranteed_parts for each in mine if each.team == wished.team)
            if has < wished.parts:
                raise ValueError(
                    f"{wished.team} is promised {gpus(has)} from {to_iso(start)} and offers {gpus(wished.parts)}"
                )
            continue
        then = in_force(promises, [*theirs, wished], start)
        promised = _promised(then, wished.pool)
        if promised > available_parts:
            found.append(Shortage(wished.pool, start, end, promised, available_parts))
    return found


def shortages_without(
    promises: Sequence[Promise], bookings: Sequence[Booking], gone: Booking, available_parts: int
) -> list[Shortage]:
    """Where more would be promised in a pool than it has, and more than now, were `gone` not beside the bookings.

    So it is with an offer that others have booked since. Guarantees that are too many by themselves are no reason.
    """
    most = max(available_parts, _promised(promises, gone.pool))
    theirs = [each for each in bookings if each.pool == gone.pool]
    edges = {gone.start_at, gone.end_at, *(edge for each in theirs for edge in (each.start_at, each.end_at))}
    inside = sorted(edge for edge in edges if gone.start_at <= edge <= gone.end_at)
    found: list[Shortage] = []
    for start, end in pairwise(inside):
        now = _promised(in_force(promises, [*theirs, gone], start), gone.pool)
        then = _promised(in_force(promises, theirs, start), gone.pool)
        if then > max(now, most):
            found.append(Shortage(gone.pool, start, end, then, available_parts))
    return found


def _promised(promises: Iterable[Promise], pool: str) -> int:
    return sum(each.guaranteed_parts for each in promises if each.pool == pool)


def _with(promise: Promise, each: Booking) -> Promise:
    if each.offer:
        return replace(promise, guaranteed_parts=promise.guaranteed_parts - each.parts)
    limit = None if promise.limit_parts is None else promise.limit_parts + each.parts
    return replace(promise, guaranteed_parts=promise.guaranteed_parts + each.parts, limit_parts=limit)

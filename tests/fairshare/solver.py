"""The slow exact solver: every way of giving out whole units is looked at, and the one that serves best is taken.

Each unit that somebody might have is a wish with a rank: guarantees before all else, then by priority, then by how
much its owner has for its weight (or for its guarantee), in exact fractions. Of all ways, the best is the one whose
first unmet wish ranks as late as possible, then its second, and so on: the poorest who goes without is as rich as
can be. No thought is given to speed.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from quartermaster.fairshare.entitlement import Entitlement

Rank = tuple[Fraction, ...] | tuple[object, ...]


def solve(available: int, entitlements: Sequence[Entitlement], unit: int) -> dict[tuple[str, ...], int]:
    """The parts of everybody, by path."""
    return _level((), available // unit, list(entitlements), unit)


def _level(
    path: tuple[str, ...], units: int, members: Sequence[Entitlement], unit: int
) -> dict[tuple[str, ...], int]:
    wishes = [_wishes(each, unit) for each in members]
    best: tuple[list[Rank], tuple[int, ...]] | None = None
    for given in product(*(range(len(wish) + 1) for wish in wishes)):
        if sum(given) > units:
            continue
        unmet = sorted(rank for wish, count in zip(wishes, given, strict=True) for rank in wish[count:])
        key: list[Rank] = [*unmet, (9,)]
        if best is None or key > best[0]:
            best = (key, given)
    assert best is not None
    found: dict[tuple[str, ...], int] = {}
    for each, count in zip(members, best[1], strict=True):
        found[*path, each.name] = count * unit
        if each.members:
            found |= _level((*path, each.name), count, each.members, unit)
    return found


def _wishes(each: Entitlement, unit: int) -> list[Rank]:
    """The ranks of the first, second, … unit of a member; the lowest is served first."""
    claim, promised = _claim(each, unit), _promised(each)
    by_guarantee: list[Rank] = [
        (0, 0, Fraction(k * unit, promised), -promised, each.name) for k in range(claim)
    ]
    beyond: list[Rank] = [
        (1, -each.priority, Fraction(each.remembered_parts + k * unit, each.weight), -each.weight, each.name)
        for k in range(_wants(each, unit) - claim)
    ]
    return by_guarantee + beyond


def _wants(each: Entitlement, unit: int) -> int:
    asked = sum(_wants(one, unit) for one in each.members) if each.members else each.request_parts // unit
    return asked if each.limit_parts is None else min(asked, each.limit_parts // unit)


def _claim(each: Entitlement, unit: int) -> int:
    whole = -(-each.guarantee_parts // unit)
    return min(_wants(each, unit), max(whole, sum(_claim(one, unit) for one in each.members)))


def _promised(each: Entitlement) -> int:
    return max(each.guarantee_parts, sum(_promised(one) for one in each.members))

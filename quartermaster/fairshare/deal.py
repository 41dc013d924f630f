"""Dealing: whole units to those who want them, the poorest first.

A claim that has been dealt k units stands at (start + k × unit) ÷ weight. The next unit goes to whoever stands
lowest; among those who stand equal to the heavier; among those of equal weight by name. So the least standing is
as high as whole units let it be (max-min), a higher weight never gets less, and a further unit takes nothing from
anybody.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """Somebody who wants at most `room_units`; `start_parts` is what it is taken to have already."""

    name: str
    room_units: int
    weight: int
    start_parts: int = 0


def deal(units: int, claims: Sequence[Claim], unit_parts: int = 1) -> dict[str, int]:
    """The units of each claim by name. All are dealt as long as anybody has room; nobody gets more than its room.

    Names are unique, weights at least 1. The work grows with the claims and the digits of the numbers, not with
    the units.
    """
    wanted = sum(claim.room_units for claim in claims)
    if units >= wanted:
        return {claim.name: claim.room_units for claim in claims}
    # Two standings that differ at all differ by at least 1 ÷ (weight × weight): on this scale a step holds one
    # standing alone, and of each claim at most one unit.
    scale = max(claim.weight for claim in claims) ** 2
    step = _last_step(units, claims, unit_parts, scale)
    dealt = {claim.name: _below(claim, step, unit_parts, scale) for claim in claims}
    left = units - sum(dealt.values())
    equal = [claim for claim in claims if _below(claim, step + 1, unit_parts, scale) > dealt[claim.name]]
    for claim in sorted(equal, key=lambda claim: (-claim.weight, claim.name))[:left]:
        dealt[claim.name] += 1
    return dealt


def _last_step(units: int, claims: Sequence[Claim], unit_parts: int, scale: int) -> int:
    """The last step with no more units below it than there are."""
    low = 0
    high = scale * (max(claim.start_parts + claim.room_units * unit_parts for claim in claims) + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if sum(_below(claim, middle, unit_parts, scale) for claim in claims) <= units:
            low = middle
        else:
            high = middle
    return low


def _below(claim: Claim, step: int, unit_parts: int, scale: int) -> int:
    """How many units the claim takes while it stands below step ÷ scale."""
    most = (step * claim.weight - 1) // scale - claim.start_parts
    return min(claim.room_units, max(0, most // unit_parts + 1))

"""Rebalancing: guarantees moved from teams that do not use theirs to teams that ask for more, within set bounds.

What a team needed is the most that it held and waited for at once in the weeks looked at, rare peaks left out; who
makes the snapshot of the past says how rare (`Use.needed_parts`). Nothing is applied here: a proposal is a value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quartermaster.config.policy import RebalancePart
from quartermaster.fairshare.deal import Claim, deal
from quartermaster.fairshare.explain import gpus
from quartermaster.parts import GPU_PARTS
from quartermaster.text import visible


@dataclass(frozen=True, slots=True)
class Use:
    """What a team did with a guarantee in the last weeks.

    `moved_parts` is how much of it was moved, up or down, in the last seven days.
    """

    team: str
    guaranteed_parts: int
    needed_parts: int
    moved_parts: int = 0


@dataclass(frozen=True, slots=True)
class Move:
    """A team's guarantee before and after, and why."""

    team: str
    before_parts: int
    after_parts: int
    why: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """Moves in one pool whose sum is nothing. `needs_approval`: more of one team moves than policy lets pass."""

    pool: str
    moves: tuple[Move, ...]
    moved_parts: int
    covered_before_parts: int  # of what all teams needed, how much guarantees covered
    covered_after_parts: int
    needs_approval: bool

    def words(self) -> str:
        """What is expected of it."""
        return (
            f"Moving {gpus(self.moved_parts)} in pool {visible(self.pool)} covers "
            f"{gpus(self.covered_after_parts)} of what its teams needed by guarantees, instead of "
            f"{gpus(self.covered_before_parts)}."
        )


def propose(bounds: RebalancePart, uses: Sequence[Use], unit_parts: int = GPU_PARTS) -> Proposal | None:
    """The moves in a pool, in whole units; None where nothing is to be moved.

    Those who could use more get it, the one whose guarantee covers least of its need first; it comes from those who
    leave most of theirs unused. The total stays as it is, and nobody who gives falls short of its own need.
    """
    gives = {each.team: _gives(each, bounds) // unit_parts for each in uses}
    wants = {each.team: _wants(each, bounds) // unit_parts for each in uses}
    units = min(sum(gives.values()), sum(wants.values()))
    if not units:
        return None
    covered = {each.team: each.guaranteed_parts for each in uses}
    needed = {each.team: max(1, each.needed_parts) for each in uses}
    gains = deal(units, [Claim(t, n, needed[t], covered[t]) for t, n in wants.items() if n], unit_parts)
    losses = deal(units, [Claim(t, n, n) for t, n in gives.items() if n])
    moves = tuple(
        _move(each, (gains.get(each.team, 0) - losses.get(each.team, 0)) * unit_parts)
        for each in sorted(uses, key=lambda each: each.team)
        if gains.get(each.team) or losses.get(each.team)
    )
    after = covered | {move.team: move.after_parts for move in moves}
    largest = max(abs(move.after_parts - move.before_parts) for move in moves)
    return Proposal(
        bounds.pool,
        moves,
        units * unit_parts,
        _covered(covered, uses),
        _covered(after, uses),
        needs_approval=largest > bounds.small_parts,
    )


def _gives(each: Use, bounds: RebalancePart) -> int:
    """What it can give: what it did not need, down to the floor, within the week's step."""
    unused = each.guaranteed_parts - max(each.needed_parts, bounds.floor_parts)
    return max(0, min(unused, bounds.step_parts - each.moved_parts))


def _wants(each: Use, bounds: RebalancePart) -> int:
    """What it could use: what it needed beyond, up to the ceiling, within the week's step."""
    short = min(each.needed_parts, bounds.ceiling_parts) - each.guaranteed_parts
    return max(0, min(short, bounds.step_parts - each.moved_parts))


def _move(each: Use, parts: int) -> Move:
    text = f"It needed {gpus(each.needed_parts)} of the {gpus(each.guaranteed_parts)} that it is guaranteed"
    if parts > 0:
        above = gpus(each.needed_parts - each.guaranteed_parts)
        text = f"It needed {gpus(each.needed_parts)}, {above} above its guarantee"
    return Move(each.team, each.guaranteed_parts, each.guaranteed_parts + parts, text + ".")


def _covered(guarantees: Mapping[str, int], uses: Sequence[Use]) -> int:
    return sum(min(guarantees[each.team], each.needed_parts) for each in uses)

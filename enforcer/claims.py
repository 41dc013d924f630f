"""Claims: as much of what waits as its team may ask back as an owner."""

from dataclasses import dataclass

from enforcer.making import Making
from enforcer.placement import Ask
from enforcer.snapshot import Waiting


@dataclass(frozen=True, slots=True)
class Claim:
    """What an owner asks for: `ask` are the pods that its team's guarantee, or its department's, covers."""

    waiting: Waiting
    ask: Ask
    parts: int
    fewest: int  # pods; with fewer it cannot run
    by_department: bool


def claim_of(making: Making, waiting: Waiting) -> Claim | None:
    """The claim of a workload that waits; None where no guarantee covers as many of its pods as can run."""
    left, by_department = making.standings[waiting.pool].claim(waiting.team)
    ask = making.ask_of(waiting)
    if len(ask.pods) > 1:
        whole = waiting.parts <= left
        return Claim(waiting, ask, waiting.parts, waiting.count, by_department) if whole else None
    fewest = min(waiting.count, max(1, waiting.gang_minimum - making.running_pods(waiting.uid)))
    each = max(parts for _, _, parts in waiting.pods)
    count = min(waiting.count, left // each)
    return (
        _part(making, waiting, count, fewest, each, by_department=by_department) if count >= fewest else None
    )


def fewer(making: Making, claim: Claim, count: int) -> Claim:
    """The claim for so many of its pods, which have one shape."""
    each = claim.parts // claim.ask.count
    return _part(making, claim.waiting, count, claim.fewest, each, by_department=claim.by_department)


def _part(
    making: Making, waiting: Waiting, count: int, fewest: int, each_parts: int, *, by_department: bool
) -> Claim:
    return Claim(waiting, making.ask_of(waiting, count), count * each_parts, fewest, by_department)

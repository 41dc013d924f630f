"""Prospects: who may be taken for one owner, and of the nearest others why they are not."""

from collections.abc import Iterator, Sequence

from enforcer.candidates import Candidate, Refusal, title
from enforcer.claims import Claim
from enforcer.making import Making
from enforcer.plan import Rejected
from enforcer.victims import Chosen

_MOST = 8  # alternatives that a plan names
_SCANNED = 200  # of those with the least harm


def prospects(making: Making, claim: Claim) -> list[Candidate]:
    """Those who may be taken for the owner and whose GPUs are of use to it, in order of harm."""
    owner, lenders = claim.waiting, _lenders(making, claim)
    lenders.discard(owner.team)
    passed = making.gone | making.rules.took_from(owner.uid)
    return [
        each
        for each in making.useful(claim.ask)
        if each.workload.team in lenders and each.workload.uid not in passed
    ]


def rejected(making: Making, claim: Claim, chosen: Chosen, ripe: Sequence[Candidate]) -> tuple[Rejected, ...]:
    """The nearest alternatives: who might have been taken instead, then who might not, and why not."""
    taken = {each.workload.uid for each in chosen}
    lost = sum(each.harm.lost_pms for each in chosen)
    found: list[Rejected] = []
    for each in ripe if chosen else ():
        if len(found) == _MOST // 2:
            break
        if each.workload.uid not in taken:
            reason = each.spared or (
                f"it would cost {each.harm.words()}"
                if each.harm.lost_pms > lost
                else "those taken do as well without it"
            )
            found.append(Rejected(each.workload.uid, title(each.workload), reason))
    for uid, refusal in _refused(making, claim):
        if len(found) == _MOST:
            break
        found.append(Rejected(uid, title(making.workloads[uid]), refusal.value))
    return tuple(found)


def _lenders(making: Making, claim: Claim) -> set[str]:
    standing, owner = making.standings[claim.waiting.pool], claim.waiting.team
    return {team for team in standing.held if standing.borrowed(team, owner) > 0}


def _refused(making: Making, claim: Claim) -> Iterator[tuple[str, Refusal]]:
    """Others of the pool: first those whose teams borrow."""
    owner, lenders = claim.waiting, _lenders(making, claim)
    found, refused = making.candidates(owner.pool)
    circle = making.rules.took_from(owner.uid)
    for uid, refusal in refused.items():
        if refusal is not Refusal.NOT_BORROWING and making.workloads[uid].team != owner.team:
            yield uid, refusal
    for each in found[:_SCANNED]:
        uid, team = each.workload.uid, each.workload.team
        if team == owner.team or uid in making.gone:
            continue
        if uid in circle:
            yield uid, Refusal.CIRCLE
        elif each.ripe_at_ms > making.snapshot.at_ms:
            yield uid, Refusal.YOUNG
        elif team not in lenders:
            yield uid, Refusal.NOT_BORROWING
        elif not making.is_useful(each, claim.ask):
            yield uid, Refusal.ELSEWHERE
    for uid, refusal in refused.items():
        if refusal is Refusal.NOT_BORROWING and making.workloads[uid].team != owner.team:
            yield uid, refusal

"""Reasons: why an owner is given the GPUs of just these workloads, in words and figures."""

from collections.abc import Sequence

from enforcer.candidates import Candidate, title
from enforcer.claims import Claim
from enforcer.making import Making
from enforcer.placement import Places
from enforcer.victims import Chosen
from quartermaster.clock import to_iso
from quartermaster.fairshare.explain import gpus
from quartermaster.text import visible


def of_owner(making: Making, claim: Claim) -> str:
    """What the owner asks for, and by which right."""
    waiting, standing = claim.waiting, making.standings[claim.waiting.pool]
    promise, held = standing.promise(waiting.team), standing.held.get(waiting.team, 0)
    if claim.by_department:
        right = f"the guarantee of its department {promise.department} covers {gpus(claim.parts)} more"
    else:
        right = f"the team holds {gpus(held)} of the {gpus(promise.guaranteed_parts)} that it is guaranteed"
    return visible(
        f"{title(waiting)} of team {waiting.team} waits since {to_iso(waiting.since_ms)} for {gpus(waiting.parts)}; "
        f"{right}. Neither free GPUs nor those being released or booting fit it."
    )


def of_victim(making: Making, claim: Claim, each: Candidate) -> str:
    """By which right it is taken."""
    standing, team = making.standings[claim.waiting.pool], each.workload.team
    held, guaranteed = standing.held.get(team, 0), standing.promise(team).guaranteed_parts
    text = (
        f"Team {team} holds {gpus(held)}, {gpus(held - guaranteed)} above its guarantee of {gpus(guaranteed)}"
    )
    if each.idle:
        text += "; the workload stands idle"
    elif each.borrowed_parts:
        text += f"; of the workload's GPUs {gpus(each.borrowed_parts)} are borrowed"
    else:
        text += "; what it has on borrowed GPUs is newer, but those do not fit"
    return visible(text + (f"; {each.spared}, but the owner has no other way" if each.spared else "") + ".")


def of_choice(chosen: Chosen, ripe: Sequence[Candidate]) -> str:
    """Out of how many."""
    if len(ripe) == len(chosen):
        return "Nobody else may be taken."
    return f"{len(chosen)} of {len(ripe)} that may be taken: the fewest, then the least work lost, then the newest."


def of_places(claim: Claim, places: Places) -> str:
    """Where the owner's pods fit then."""
    names = sorted({node for node, _, _ in places})
    nodes = ", ".join(visible(name) for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"Then {claim.ask.count} pods, {gpus(claim.parts)}, fit on {nodes}{more}."

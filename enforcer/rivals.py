"""Rivals: who else waits and could be bound to GPUs that are freed for an owner, before the owner's own pods."""

from collections.abc import Sequence

from enforcer.candidates import title
from enforcer.claims import Claim
from enforcer.making import Making, target_of
from enforcer.plan import Act, Action, Cause
from enforcer.snapshot import Waiting
from enforcer.victims import Chosen
from quartermaster.fairshare.explain import gpus
from quartermaster.text import visible

_MOST = 50  # more than this are not held back for one owner


def rivals_of(making: Making, claim: Claim, chosen: Chosen) -> list[Waiting]:
    """Those that are no owners, that the scheduler sees, and that fit on the nodes of the chosen once these are gone.

    A higher priority does not keep them off: where GPUs are freed one after the other, what is smaller is bound to the
    first. Nor does it matter which pool its wish is counted in. A queue system that admits in order lets no rival in.
    """
    if making.snapshot.queues_order:
        return []
    owner = claim.waiting
    nodes = {pod.node for each in chosen for pod in each.workload.pods}
    passed = {each.workload.uid for each in chosen} | making.held_back | making.owners | {owner.uid}
    return [
        each
        for each in making.pending
        if each.uid not in passed and making.room.reachable(making.ask_of(each), owner.pool, nodes)
    ]


def unbeaten(making: Making, rivals: Sequence[Waiting]) -> str:
    """Why the rivals cannot be held back, in words; "" where they can."""
    for each in rivals:
        if not each.way_down or making.running_pods(each.uid):
            reason = "part of it runs" if each.way_down else "it cannot be held back"
            words = f"{title(each)} could be bound to the freed GPUs first, and {reason}"
            return visible(words)
    return f"{len(rivals)} others could be bound to the freed GPUs first" if len(rivals) > _MOST else ""


def hold(making: Making, claim: Claim, rival: Waiting, group: int) -> Action:
    """Keep the rival from the scheduler until the owner's pods are bound."""
    making.held_back.add(rival.uid)
    why = (
        f"It waits for {gpus(rival.parts)} above its team's guarantee and could be bound to the GPUs that are freed "
        f"for {visible(title(claim.waiting))}.",
        "It holds nothing, so nothing is lost; it is started again when there is room for it.",
    )
    return Action(group, Act.HOLD, Cause.OWNER, target_of(rival), claim.waiting.uid, why=why)

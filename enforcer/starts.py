"""Starts: work that was stopped or held back begins again where it is entitled to free GPUs."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush

from enforcer.making import Making, target_of
from enforcer.plan import Act, Action, Cause, Verdict
from enforcer.snapshot import Waiting
from quartermaster.clock import to_iso
from quartermaster.fairshare.explain import gpus
from quartermaster.text import visible


def start_borrowers(making: Making, waiting: Sequence[Waiting]) -> None:
    """Answer those who ask for more than their guarantee; start whom the fair share and the free GPUs allow."""
    blocked = {
        answer.pool
        for answer in making.answers.values()
        if answer.verdict in {Verdict.YOUNG, Verdict.NONE_FITS}
    }
    for owner in making.unbound:
        kept = making.free_places(making.ask_of(owner))
        making.room.occupy(kept or ())
    queues: dict[tuple[str, str], list[Waiting]] = {}
    for each in sorted(waiting, key=lambda each: (each.since_ms, each.uid), reverse=True):
        queues.setdefault((each.pool, each.team), []).append(each)
    heads = [_turn(making, queue[-1]) for queue in queues.values()]
    heapify(heads)
    while heads:
        *_, pool, team = heappop(heads)
        queue = queues[pool, team]
        _answer(making, queue.pop(), blocked)
        if queue:
            heappush(heads, _turn(making, queue[-1]))


def _answer(making: Making, each: Waiting, blocked: set[str]) -> None:
    why_not = _why_not(making, each, blocked)
    places = None if why_not else making.free_places(making.ask_of(each))
    if places is None:
        making.answer(each, Verdict.ABOVE, why_not or "it borrows only what is free, and too little is")
        return
    standing = making.standings[each.pool]
    held, share = standing.held.get(each.team, 0), standing.fair_share(each.team)
    making.reserve(each, places, each.parts)
    group = making.next_group()
    why = visible(
        f"Team {each.team} holds {gpus(held)} of a fair share of {gpus(share)}; {gpus(each.parts)} more are free, "
        "and no owner waits for them."
    )
    target = target_of(each)
    making.actions.append(
        Action(group, Act.START, Cause.ENTITLED, target, each.uid, gains_parts=each.parts, why=(why,))
    )
    making.answer(
        each, Verdict.STARTED, f"{gpus(each.parts)} are free and within its fair share", group=group
    )


def _turn(making: Making, each: Waiting) -> tuple[int, Fraction, int, str, str, str]:
    """The order in which spare GPUs are dealt; within a team who has waited longest."""
    standing = making.standings[each.pool]
    promise = standing.promise(each.team)
    above = standing.held.get(each.team, 0) - promise.guaranteed_parts + promise.remembered_parts
    priority = making.policy.priority_of(each.team, each.pool)
    return -priority, Fraction(above, promise.weight), each.since_ms, each.uid, each.pool, each.team


def _why_not(making: Making, each: Waiting, blocked: set[str]) -> str:
    return next(_obstacles(making, each, blocked), "")


def _obstacles(making: Making, each: Waiting, blocked: set[str]) -> Iterator[str]:
    standing, rests = making.standings[each.pool], making.rules.rests_until_ms(each.uid)
    after, share = standing.held.get(each.team, 0) + each.parts, standing.fair_share(each.team)
    if not each.preemptible:
        yield "only preemptible work may borrow"
    if making.snapshot.queues_order or not each.held_back:
        yield "it borrows only what is free, as the scheduler finds it"
    if making.snapshot.at_ms < rests:
        yield f"it gave way lately and rests until {to_iso(rests)}"
    if each.pool in blocked:
        yield "an owner waits in this pool and comes first"
    if after > share:
        yield f"with it the team would hold {gpus(after)} of a fair share of {gpus(share)}"
    doubt = making.ask_of(each).doubt()
    if doubt:
        yield f"{doubt}: it cannot be told where they fit"

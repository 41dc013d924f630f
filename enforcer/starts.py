"""Starts: work that was stopped or held back begins again where it is entitled to free GPUs."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush

from enforcer.making import Making, target_of
from enforcer.plan import Act, Action, Cause, Verdict
from enforcer.snapshot import Waiting
from quartermaster.clock import to_iso
from quartermaster.fairshare.explain import gpus
from quartermaster.text import visible

_DELAYS = {
    Verdict.YOUNG: "an owner waits in this pool for borrowers to have their minimum runtime",
    Verdict.WATCHED: "GPUs that were freed for an owner in this pool are watched",
}


def start_borrowers(making: Making, waiting: Sequence[Waiting]) -> None:
    """Answer those who ask for more than their guarantee; start whom the free GPUs allow.

    First those within their fair share; then, because no GPU stands free while somebody may have it, the others.
    """
    with making.as_it_is_now():
        for owner in making.unbound:
            making.room.occupy(making.places(making.ask_of(owner)) or ())
        beyond = _deal(making, waiting, within_share=True)
        _deal(making, beyond, within_share=False)


def _deal(making: Making, waiting: Sequence[Waiting], *, within_share: bool) -> list[Waiting]:
    """Start one after the other, each time of the team whose turn it is; those beyond their share are given back."""
    queues: dict[tuple[str, str], list[Waiting]] = {}
    for each in sorted(waiting, key=lambda each: (each.since_ms, each.uid), reverse=True):
        queues.setdefault((each.pool, each.team), []).append(each)
    heads = [_turn(making, queue[-1]) for queue in queues.values()]
    heapify(heads)
    beyond: list[Waiting] = []
    delayed = {
        answer.pool: _DELAYS[answer.verdict]
        for answer in making.answers.values()
        if answer.verdict in _DELAYS
    }
    while heads:
        *_, pool, team = heappop(heads)
        queue = queues[pool, team]
        each = queue.pop()
        standing = making.standings[pool]
        after = standing.held.get(team, 0) + each.parts
        why_not = next(_obstacles(making, each, delayed), "")
        if not why_not and within_share and after > standing.fair_share(team):
            beyond.append(each)
        else:
            _answer(making, each, why_not)
        if queue:
            heappush(heads, _turn(making, queue[-1]))
    return beyond


def _answer(making: Making, each: Waiting, why_not: str) -> None:
    places = None if why_not else making.places(making.ask_of(each))
    if places is None:
        making.answer(each, Verdict.ABOVE, why_not or "it borrows only what is free, and too little is")
        return
    standing = making.standings[each.pool]
    held, share = standing.held.get(each.team, 0), standing.fair_share(each.team)
    making.reserve(each, places, each.parts)
    remembered = standing.promise(each.team).remembered_parts
    group = making.next_group()
    why = visible(
        f"Team {each.team} holds {gpus(held)}, its fair share is {gpus(share)}; {gpus(each.parts)} more are free, and "
        f"no owner {'' if held + each.parts <= share else 'and nobody within a fair share '}waits for them."
    )
    past = (f"Of past borrowing {gpus(remembered)} counted in its fair share.",) if remembered else ()
    making.actions.append(
        Action(
            group,
            Act.START,
            Cause.ENTITLED,
            target_of(each),
            each.uid,
            gains_parts=each.parts,
            why=(why, *past),
        )
    )
    words = f"{gpus(each.parts)} that are free fit it"
    making.answer(each, Verdict.STARTED, words, gains_parts=each.parts, places=places, group=group)


def _turn(making: Making, each: Waiting) -> tuple[int, Fraction, int, str, str, str]:
    """The order in which spare GPUs are dealt; within a team who has waited longest."""
    standing = making.standings[each.pool]
    promise = standing.promise(each.team)
    above = standing.held.get(each.team, 0) - promise.guaranteed_parts + promise.remembered_parts
    priority = making.policy.priority_of(each.team, each.pool)
    return -priority, Fraction(above, promise.weight), each.since_ms, each.uid, each.pool, each.team


def _obstacles(making: Making, each: Waiting, delayed: Mapping[str, str]) -> Iterator[str]:
    standing, rests = making.standings[each.pool], making.rules.rests_until_ms(each.uid)
    guaranteed, left = standing.promise(each.team).guaranteed_parts, standing.room_below_limit(each.team)
    if each.uid in making.gone:
        yield "the part of it that runs is stopped"
    if standing.held.get(each.team, 0) + each.parts <= guaranteed:
        part = gpus(standing.fair_share(each.team))
        yield f"its guarantee of {gpus(guaranteed)} would cover it, but not all guarantees fit; its part is {part}"
    if not each.preemptible:
        yield "only preemptible work may borrow"
    if making.snapshot.queues_order or not each.held_back:
        yield "it borrows only what is free, as the scheduler finds it"
    if making.snapshot.at_ms < rests:
        yield f"it gave way lately and rests until {to_iso(rests)}"
    if each.pool in delayed:
        yield delayed[each.pool]
    if left is not None and each.parts > left:
        yield f"its limit leaves {gpus(max(0, left))}"
    doubt = making.ask_of(each).doubt()
    if doubt:
        yield f"{doubt}: it cannot be told where they fit"

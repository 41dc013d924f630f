"""Owners: what becomes of those who ask for their guarantee and wait.

In this order, and no later one where an earlier does: what is free; what is being released; a node that is booting;
what stands idle; then borrowers' work, the smallest harm first. Where it is not sure, nobody is taken.
"""

from collections.abc import Sequence

from enforcer import reasons
from enforcer.candidates import Candidate
from enforcer.claims import Claim, fewer
from enforcer.harm import gpu_hours
from enforcer.making import Making, target_of
from enforcer.placement import Ask, Places, Room
from enforcer.plan import Act, Action, Cause, Verdict
from enforcer.prospects import prospects, rejected
from enforcer.rivals import hold, rivals_of, unbeaten
from enforcer.victims import Chosen, Tally, at_most, choose, most
from quartermaster.clock import to_iso
from quartermaster.fairshare.explain import gpus


def serve(making: Making, claim: Claim) -> None:
    """Answer one owner, and plan what it takes."""
    waiting, ask = claim.waiting, claim.ask
    doubt = ask.doubt()
    if not doubt and len(ask.pods) > 1 and not making.room.fits(ask) and making.room.might_fit(ask):
        doubt = "there is room for its pods in some orders of placing them and not in others"
    if doubt:
        making.answer(
            waiting, Verdict.UNSURE, f"{doubt}: it cannot be told where they fit, so nobody is taken"
        )
    elif not _waits_for_nobody(making, claim):
        _is_given_room(making, claim)


def _waits_for_nobody(making: Making, claim: Claim) -> bool:
    """Whether it fits on what is free, is being released or is booting."""
    waiting, ask, room = claim.waiting, claim.ask, making.room
    at_ms, policy = making.snapshot.at_ms, making.policy
    with making.as_it_is_now():
        places = making.places(ask)
    if places is not None:
        fresh = at_ms < waiting.since_ms + policy.bind_wait_ms or making.rules.gave_lately(waiting.uid)
        if waiting.held_back or fresh:
            making.reserve(waiting, places, claim.parts)
        else:  # it may wait for something that is not seen here: it keeps no other owner off the free GPUs
            making.count(waiting, claim.parts)
            making.unbound.append(waiting)
        _has_room(making, claim, Verdict.FREE, places, f"{gpus(claim.parts)} that are free fit it")
        return True
    if room.fits(ask):
        places = room.places(ask)
        making.reserve(waiting, places, claim.parts)
        words = f"{gpus(claim.parts)} fit it as soon as those who are leaving are gone"
        _has_room(making, claim, Verdict.RELEASED, places, words)
        return True
    if making.coming and room.fits(ask, booting=True):
        places = room.places(ask, booting=True)
        making.reserve(waiting, places, claim.parts)
        last = max(each.asked_at_ms for each in making.coming) + policy.boot_wait_ms
        words = f"{gpus(claim.parts)} fit it with nodes that are booting; they are waited for until {to_iso(last)}"
        _has_room(making, claim, Verdict.BOOTING, places, words, until_ms=last)
        return True
    return False


def _is_given_room(making: Making, claim: Claim) -> None:
    """Find victims for it, or for as many of its pods as can run."""
    retry_at_ms = making.rules.retry_at_ms(claim.waiting.uid, claim.waiting.since_ms)
    if making.snapshot.at_ms < retry_at_ms:
        words = f"GPUs were taken for it more than once and went elsewhere; nobody is before {to_iso(retry_at_ms)}"
        making.answer(claim.waiting, Verdict.UNSURE, words, until_ms=retry_at_ms)
        return
    if _is_watched(making, claim):
        return
    everybody = prospects(making, claim)
    if making.snapshot.queues_reclaim:
        everybody = [each for each in everybody if each.idle]
    ripe = [each for each in everybody if each.ripe_at_ms <= making.snapshot.at_ms]
    tally = Tally(making.room, making.standings[claim.waiting.pool], making.rules, claim.waiting.team)
    chosen = _smallest(making, claim.ask, ripe, tally)
    if chosen is None and claim.fewest < claim.ask.count:
        # As many of its pods as those who may be taken make room for, and at least as many as can run.
        claim = fewer(making, claim, max(claim.fewest, most(claim.ask, ripe, making.room, tally)))
        if making.room.fits(claim.ask):
            _binds_fewer(making, claim)
            return
        chosen = _smallest(making, claim.ask, ripe, tally)
    if chosen is None:
        _is_refused(making, claim, everybody, ripe, tally)
    else:
        _take(making, claim, chosen, ripe, tally)


def _is_watched(making: Making, claim: Claim) -> bool:
    """Whether what was freed for it is still watched: its pods are given time to be bound there."""
    freed_ms = making.rules.freed_ms(claim.waiting.uid, claim.waiting.since_ms)
    if freed_ms is None or making.snapshot.at_ms >= freed_ms + making.policy.watch_ms:
        return False
    until_ms = freed_ms + making.policy.watch_ms
    words = f"GPUs were freed for it at {to_iso(freed_ms)} and are watched; nobody else is before {to_iso(until_ms)}"
    making.count(claim.waiting, claim.parts)
    making.answer(claim.waiting, Verdict.WATCHED, words, until_ms=until_ms)
    return True


def _smallest(making: Making, ask: Ask, ripe: Sequence[Candidate], tally: Tally) -> Chosen | None:
    """The smallest harm, in the order of the rules: idle; borrowed; of a borrower; those who are spared last."""
    before = 0
    for tier in (1, 2, 3, 4, 5):
        among = [each for each in ripe if each.tier <= tier]
        if len(among) == before:
            continue
        chosen = choose(ask, among, making.room, tally)
        if chosen is not None:
            return chosen
        if not before and len(among) < len(ripe) and at_most(ask, ripe, making.room) < ask.count:
            return None
        before = len(among)
    return None


def _take(making: Making, claim: Claim, chosen: Chosen, ripe: Sequence[Candidate], tally: Tally) -> None:
    """Plan the taking, unless somebody else could have the freed GPUs first."""
    waiting = claim.waiting
    of_owner = reasons.of_owner(making, claim)
    of_victim: list[str] = []
    for each in chosen:
        of_victim.append(reasons.of_victim(making, claim, each))
        if not tally.take(each):
            raise AssertionError(f"{each.workload.uid} may not be taken after those before it")
    rivals = rivals_of(making, claim, chosen)
    first = unbeaten(making, rivals)
    if first:
        tally.undo()
        making.answer(waiting, Verdict.UNSURE, f"{first}; so nobody is taken")
        return
    group = making.next_group()
    making.taken(tally)
    places = making.room.places(claim.ask)
    making.reserve(waiting, places, claim.parts)
    making.actions += [hold(making, claim, rival, group) for rival in rivals]
    for each, words in zip(chosen, of_victim, strict=True):
        why = (
            of_owner,
            words,
            f"Stopping it costs {each.harm.words()}.",
            reasons.of_choice(chosen, ripe),
            reasons.of_places(claim, places),
        )
        target, frees = target_of(each.workload), each.held_parts
        making.actions.append(
            Action(group, Act.STOP, Cause.OWNER, target, waiting.uid, frees, claim.parts, each.harm, why=why)
        )
    _starts(making, claim, group, "The GPUs that are taken for it are free then.")
    lost = sum(each.harm.lost_pms for each in chosen)
    making.answer(
        waiting,
        Verdict.TAKEN,
        f"{len(chosen)} of {len(ripe)} that may be taken give it {gpus(claim.parts)}, at {gpu_hours(lost)} of work",
        gains_parts=claim.parts,
        places=places,
        group=group,
        rejected=rejected(making, claim, chosen, ripe),
    )


def _binds_fewer(making: Making, claim: Claim) -> None:
    """As many of its pods as can run fit without anybody being taken; the rest has to wait."""
    places = making.room.places(claim.ask)
    making.reserve(claim.waiting, places, claim.parts)
    words = f"{gpus(claim.parts)} fit {claim.ask.count} of its {claim.waiting.count} pods; nothing fits the others"
    _has_room(making, claim, Verdict.RELEASED, places, words)


def _is_refused(
    making: Making, claim: Claim, everybody: Sequence[Candidate], ripe: Sequence[Candidate], tally: Tally
) -> None:
    """Nobody is taken; perhaps only because borrowers have not had their minimum runtime."""
    verdict, until_ms = Verdict.NONE_FITS, None
    words = f"of the {len(everybody)} that may be taken no choice makes {gpus(claim.parts)} fit where its pods may be"
    if making.snapshot.queues_reclaim:
        verdict, words = (
            Verdict.LEFT,
            "nothing idle fits it; what is borrowed is for the queue system to take back",
        )
    elif (until_ms := _enough_at_ms(claim, everybody, making.room, tally)) is not None:
        verdict = Verdict.YOUNG
        words = f"borrowers keep their GPUs until they have had their minimum runtime, at {to_iso(until_ms)}"
        making.count(claim.waiting, claim.parts)
    named = rejected(making, claim, (), ripe)
    making.answer(claim.waiting, verdict, words, until_ms=until_ms, rejected=named)


def _enough_at_ms(claim: Claim, everybody: Sequence[Candidate], room: Room, tally: Tally) -> int | None:
    """When enough of them will have had their minimum runtime; None where even all are not enough."""
    at_ms = None
    for each in sorted(everybody, key=lambda each: each.ripe_at_ms):
        if tally.take(each) and room.most(claim.ask) >= claim.fewest:
            at_ms = each.ripe_at_ms
            break
    tally.undo()
    return at_ms


def _has_room(
    making: Making, claim: Claim, verdict: Verdict, places: Places, words: str, *, until_ms: int | None = None
) -> None:
    """There is room for it without anybody being taken; it is started, where it is held back."""
    group = making.next_group() if claim.waiting.held_back and not making.snapshot.queues_order else None
    if group is not None:
        _starts(making, claim, group, "There is room for it without anybody being taken.")
    making.answer(
        claim.waiting, verdict, words, gains_parts=claim.parts, places=places, until_ms=until_ms, group=group
    )


def _starts(making: Making, claim: Claim, group: int, words: str) -> None:
    waiting = claim.waiting
    if waiting.held_back and not making.snapshot.queues_order:
        why = (f"Its guarantee covers the {gpus(claim.parts)} that it asks for.", words)
        target = target_of(waiting)
        making.actions.append(
            Action(group, Act.START, Cause.OWNER, target, waiting.uid, gains_parts=claim.parts, why=why)
        )

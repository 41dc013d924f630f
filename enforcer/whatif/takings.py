"""Takings: who was taken for whom, and who may be taken for an owner now, in which turn."""

from collections.abc import Iterable, Mapping

from enforcer.standing import Standing
from enforcer.whatif.asked import Asked
from enforcer.whatif.giving import Candidate
from enforcer.whatif.stay import Stay
from enforcer.whatif.terms import Terms


class Takings:
    """Those of one pool. `running` are each team's stays in the order of their binding, and change."""

    def __init__(self, terms: Terms, running: Mapping[str, Iterable[Stay]]) -> None:
        self._terms = terms
        self._running = running
        self._gave_way: dict[str, int] = {}
        self._takers: dict[str, set[str]] = {}

    def note(self, taken: Asked, owner: Asked, at_ms: int) -> int:
        """It gives way to the owner: until when it rests."""
        self._takers.setdefault(taken.uid, set()).add(owner.uid)
        self._gave_way[taken.uid] = at_ms
        return at_ms + self._terms.policy.back_off_ms

    def candidates(self, owner: Asked, standing: Standing, at_ms: int) -> list[Candidate]:
        """Those of borrowers' teams that may be taken, whether they had their minimum runtime or not."""
        circle = self._took_from(owner.uid)
        found: list[Candidate] = []
        for team, stays in self._running.items():
            if standing.borrowed(team, owner.team) <= 0:
                continue
            left = standing.promise(team).guaranteed_parts
            for stay in sorted(stays, key=lambda stay: stay.asked.preemptible):
                asked = stay.asked
                within, left = min(asked.parts, left), max(0, left - asked.parts)
                if not asked.preemptible or asked.uid in self._terms.untouchable or asked.uid in circle:
                    continue
                order = stay.lost_pms(at_ms), -stay.begun_ms, asked.uid
                found.append(Candidate(stay, self._tier(stay, within, at_ms), order))
        return found

    def _tier(self, stay: Stay, within_parts: int, at_ms: int) -> int:
        gave_way_ms = self._gave_way.get(stay.asked.uid)
        if at_ms < stay.asked.spared_until_ms or (
            gave_way_ms is not None and at_ms < gave_way_ms + self._terms.policy.back_off_ms
        ):
            return 5
        if stay.idle_at(at_ms):
            return 1
        return 2 if not within_parts else 3 if within_parts < stay.asked.parts else 4

    def _took_from(self, uid: str) -> set[str]:
        """Who took GPUs from it, or from one that did: GPUs do not go round in circles."""
        found, todo = {uid}, [uid]
        while todo:
            takers = self._takers.get(todo.pop(), set()) - found
            found |= takers
            todo += takers
        return found

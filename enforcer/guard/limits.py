"""Limits: how much may be taken at a time, in an hour, of a team, of a pool; counted over windows that slide.

What counts is what is stopped. A hold, a start and a warning take nothing from anybody.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from enforcer.guard.refused import Reason, Refused
from enforcer.guard.standing import Standing
from enforcer.plan import Act, Action
from quartermaster.clock import DAY_MS, HOUR_MS, to_iso
from quartermaster.config.acting import ActingPart
from quartermaster.fairshare.explain import gpus
from quartermaster.text import visible

Group = tuple[Action, ...]
_Key = tuple[Reason, str]  # which limit, of which team or pool


@dataclass(frozen=True, slots=True)
class _Draw:
    """What a group would take of one limit."""

    key: _Key
    wanted: int  # workloads or, of a pool, parts
    stops: int  # workloads


class Limits:
    """The limits of a cycle, and what is left of each. `pools` are the available parts of each pool."""

    def __init__(self, standing: Standing, acting: ActingPart, pools: Mapping[str, int]) -> None:
        self._now_ms = standing.now_ms
        self._acting = acting
        self._pools = pools
        self._taken: dict[_Key, list[tuple[int, int]]] = {}  # when, and how much
        self._kept: dict[_Key, str] = {}  # for whom what is left of a limit is kept
        for each in standing.done:
            if each.at_ms > self._now_ms - DAY_MS:
                self._note((Reason.POOL_A_DAY, each.pool), each.at_ms, each.parts)
            if each.at_ms > self._now_ms - HOUR_MS:
                self._note((Reason.AN_HOUR, ""), each.at_ms, 1)
                self._note((Reason.TEAM_AN_HOUR, each.team), each.at_ms, 1)

    def refuse(self, group: Group) -> Refused | None:
        """Why the group does not fit, by the first limit that it does not; None where it does.

        One that will fit when time has passed keeps its place: what is left of the limits that it waits for is taken by
        nobody after it. One that never fits keeps nobody waiting.
        """
        draws = list(_draws(group))
        before = next((self._kept[draw.key] for draw in draws if draw.key in self._kept), None)
        if before is not None:
            return Refused(Reason.BEFORE, visible(f"what is left to be taken is kept for {before}"))
        found = [(draw, refused) for draw in draws if (refused := self._refuse(draw)) is not None]
        if not found:
            return None
        lasting = next((refused for _, refused in found if refused.never_fits), None)
        if lasting is not None:
            return lasting
        stopped = next(each.target.title for each in group if each.act is Act.STOP)
        self._kept |= {draw.key: f"stopping {stopped}, whose turn is before" for draw, _ in found}
        return found[0][1]

    def take(self, group: Group) -> None:
        """The group is done."""
        for draw in _draws(group):
            self._note(draw.key, self._now_ms, draw.wanted)

    def _refuse(self, draw: _Draw) -> Refused | None:
        reason, most = draw.key[0], self._most(draw.key)
        taken = self._taken.get(draw.key, [])
        so_far = sum(amount for _, amount in taken)
        may_be_the_only_one = reason is Reason.POOL_A_DAY and draw.stops == 1
        if so_far + draw.wanted <= most or (may_be_the_only_one and not so_far):
            return None
        until_ms = None
        if draw.wanted <= most:
            until_ms = self._down_to(most - draw.wanted, draw.key)
        elif may_be_the_only_one:
            until_ms = self._down_to(0, draw.key)
        return Refused(reason, self._words(draw, so_far, most, until_ms), until_ms)

    def _down_to(self, amount: int, key: _Key) -> int:
        """When no more than the amount is left in the limit's window, if nothing is taken meanwhile."""
        until_ms, span_ms = self._now_ms, _SPANS_MS[key[0]]
        left = sum(each for _, each in self._taken[key])
        for at_ms, each in sorted(self._taken[key]):
            if left <= amount:
                break
            left -= each
            until_ms = max(self._now_ms, at_ms + span_ms)
        return until_ms

    def _most(self, key: _Key) -> int:
        match key[0]:
            case Reason.A_CYCLE:
                return self._acting.a_cycle
            case Reason.AN_HOUR:
                return self._acting.an_hour
            case Reason.TEAM_AN_HOUR:
                return self._acting.team_an_hour
            case _:
                return self._pools.get(key[1], 0) * self._acting.pool_share_a_day // 1000

    def _words(self, draw: _Draw, so_far: int, most: int, until_ms: int | None) -> str:
        reason, name = draw.key
        if until_ms is None:
            ends = f"; it never fits unless policy.acting.{_SETTINGS[reason]} is raised"
        else:
            ends = f"; it fits at {to_iso(until_ms)}" if until_ms > self._now_ms else ""
        if reason is Reason.POOL_A_DAY:
            may_be = f"{self._acting.pool_share_a_day / 10:g} % of its {gpus(self._pools.get(name, 0))}, {gpus(most)}"
            total = gpus(so_far + draw.wanted)
            return visible(
                f"taking {gpus(draw.wanted)} makes {total} of pool {name} in 24 hours; {may_be}, may be, or one "
                f"workload{ends}"
            )
        of = f" of team {name}" if name else ""
        when = "in this cycle" if reason is Reason.A_CYCLE else "in an hour"
        return visible(f"stopping {draw.wanted} makes {so_far + draw.wanted}{of} {when}; {most} may be{ends}")

    def _note(self, key: _Key, at_ms: int, amount: int) -> None:
        self._taken.setdefault(key, []).append((at_ms, amount))


_SPANS_MS = {
    Reason.A_CYCLE: 0,
    Reason.AN_HOUR: HOUR_MS,
    Reason.TEAM_AN_HOUR: HOUR_MS,
    Reason.POOL_A_DAY: DAY_MS,
}
_SETTINGS = {
    Reason.A_CYCLE: "a_cycle",
    Reason.AN_HOUR: "an_hour",
    Reason.TEAM_AN_HOUR: "team_an_hour",
    Reason.POOL_A_DAY: "pool_share_a_day",
}


def stops(group: Group) -> list[Action]:
    """What of a group counts."""
    return [each for each in group if each.act is Act.STOP]


def _draws(group: Group) -> Iterator[_Draw]:
    counted = stops(group)
    if not counted:
        return
    yield _Draw((Reason.A_CYCLE, ""), len(counted), len(counted))
    yield _Draw((Reason.AN_HOUR, ""), len(counted), len(counted))
    for team, theirs in _by(counted, lambda each: each.target.team):
        yield _Draw((Reason.TEAM_AN_HOUR, team), len(theirs), len(theirs))
    for pool, theirs in _by(counted, lambda each: each.target.pool):
        yield _Draw((Reason.POOL_A_DAY, pool), sum(each.frees_parts for each in theirs), len(theirs))


def _by(actions: Sequence[Action], name: Callable[[Action], str]) -> Iterable[tuple[str, list[Action]]]:
    found: dict[str, list[Action]] = {}
    for each in actions:
        found.setdefault(name(each), []).append(each)
    return sorted(found.items())

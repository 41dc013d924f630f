"""Limits: how many workloads a policy lets be stopped, over the same sliding windows as the guard's."""

from collections import Counter, deque
from collections.abc import Sequence

from quartermaster.clock import DAY_MS, HOUR_MS
from quartermaster.config.acting import ActingPart

Stop = tuple[str, int]  # the team from which, and how many parts


class Limits:
    """What was stopped in a pool so far: each pool counts by itself."""

    def __init__(self, acting: ActingPart) -> None:
        self._acting = acting
        self._done: deque[tuple[int, str, int]] = deque()

    def wait_until_ms(self, stops: Sequence[Stop], at_ms: int, pool_parts: int) -> int | None:
        """When these may be stopped together: at once, later if nothing else is stopped meanwhile, or never (None)."""
        if len(stops) > self._acting.a_cycle or len(stops) > self._acting.an_hour:
            return None
        by_team = Counter(team for team, _ in stops)
        if max(by_team.values()) > self._acting.team_an_hour:
            return None
        while self._done and self._done[0][0] <= at_ms - DAY_MS:
            self._done.popleft()
        lately = [(when, team) for when, team, _ in self._done if when > at_ms - HOUR_MS]
        until = [at_ms, _free_at(lately, self._acting.an_hour - len(stops), HOUR_MS)]
        for team, count in by_team.items():
            theirs = [each for each in lately if each[1] == team]
            until.append(_free_at(theirs, self._acting.team_an_hour - count, HOUR_MS))
        wanted, most = sum(parts for _, parts in stops), pool_parts * self._acting.pool_share_a_day // 1000
        if wanted > most and len(stops) > 1:
            return None
        until.append(self._room_at(max(0, most - wanted)))
        return max(until)

    def take(self, stops: Sequence[Stop], at_ms: int) -> None:
        """They are stopped."""
        self._done.extend((at_ms, team, parts) for team, parts in stops)

    def _room_at(self, most_parts: int) -> int:
        """When no more than so much was taken in the day before."""
        left, until_ms = sum(parts for _, _, parts in self._done), 0
        for when, _, parts in self._done:
            if left <= most_parts:
                break
            left -= parts
            until_ms = when + DAY_MS
        return until_ms


def _free_at(done: Sequence[tuple[int, str]], most: int, span_ms: int) -> int:
    """When no more than `most` of them were in the span before."""
    return done[len(done) - most - 1][0] + span_ms if len(done) > most else 0

"""Forecast: what the rest of a period will come to, from the weeks before, with an interval from its own past misses.

Each remaining day is taken for the mean of its weekday in the last four weeks. The same is then done as it would have
been one, two, … and up to eight weeks ago; the largest miss, scaled to the days that remain, is half of the interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass

WEEK = 7
MEAN_WEEKS = 4
REPLAYS = 8
_LEAST_DAYS = 2 * WEEK  # of history before a replay


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the remaining days come to, in millionths; low and high are None while there is too little history."""

    micros: int
    low_micros: int | None
    high_micros: int | None
    replays: int  # how many past misses the interval rests on


def forecast(history: Sequence[int], days: int) -> Forecast:
    """What the `days` after the history will come to. `history` is a team's cost a day in millionths, oldest first.

    Without history it is nothing, and nothing is known of how sure that is.
    """
    point = _expected(history, days)
    misses = [
        abs(sum(history[-back:]) - _expected(history[:-back], back)) * days // back
        for back in range(WEEK, WEEK * REPLAYS + 1, WEEK)
        if len(history) - back >= _LEAST_DAYS
    ]
    if not misses:
        return Forecast(point, None, None, 0)
    half = max(misses)
    return Forecast(point, max(0, point - half), point + half, len(misses))


def _expected(history: Sequence[int], days: int) -> int:
    recent = history[-MEAN_WEEKS * WEEK :]
    if not recent:
        return 0
    total = 0
    for ahead in range(days):
        alike = recent[(len(recent) + ahead) % WEEK :: WEEK] if len(recent) >= WEEK else recent
        total += sum(alike) // len(alike)
    return total

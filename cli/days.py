"""Days that somebody writes on the command line, in the business's time zone, and instants shown in it."""

from datetime import datetime, timedelta

from analytics.business import business_day, zone
from cli.instants import instant
from quartermaster.clock import to_datetime

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORTEST = 3
_DAY = "2026-12-14"


def day_or_instant(text: str, time_zone: str, at_ms: int) -> int:
    """Epoch milliseconds of `now`, of the midnight at which a day begins, or of an instant with its offset.

    A day is `2026-12-14`, or `fri`: the first Friday that has not begun. Raises InputError.
    """
    word = text.strip().lower()
    if word == "now":
        return at_ms
    if len(word) >= _SHORTEST:
        for number, name in enumerate(_WEEKDAYS):
            if name.startswith(word):
                today = _there(at_ms, time_zone).date()
                ahead = (number - today.weekday() - 1) % 7 + 1
                return business_day((today + timedelta(days=ahead)).isoformat(), time_zone).start_ms
    if len(word) == len(_DAY):
        return business_day(word, time_zone).start_ms
    return instant(text)


def shown(instant_ms: int, time_zone: str) -> str:
    """The instant there: `Mon 2026-12-14 00:00`."""
    return f"{_there(instant_ms, time_zone):%a %Y-%m-%d %H:%M}"


def _there(instant_ms: int, time_zone: str) -> datetime:
    return to_datetime(instant_ms).astimezone(zone(time_zone))

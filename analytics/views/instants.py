"""Instants and spans as the pages say them, in the business's time zone."""

from analytics.business import zone
from quartermaster.clock import DAY_MS, HOUR_MS, MINUTE_MS, to_datetime


def minute(at_ms: int | None, time_zone: str) -> str:
    """`29 Nov 2026, 14:05`; "–" where there is none."""
    if at_ms is None:
        return "–"
    moment = to_datetime(at_ms).astimezone(zone(time_zone))
    return f"{moment.day} {moment:%b %Y, %H:%M}"


def day(at_ms: int, time_zone: str) -> str:
    """The business day in which an instant lies: `2026-11-29`."""
    return to_datetime(at_ms).astimezone(zone(time_zone)).date().isoformat()


def lasting(span_ms: int) -> str:
    """How long, to the unit that matters: `3 d 4 h`, `2 h 5 min`, `12 min`, `less than a minute`."""
    days, rest = divmod(max(0, span_ms), DAY_MS)
    whole_hours, rest = divmod(rest, HOUR_MS)
    minutes = rest // MINUTE_MS
    if days:
        return f"{days} d {whole_hours} h" if whole_hours else f"{days} d"
    if whole_hours:
        return f"{whole_hours} h {minutes} min" if minutes else f"{whole_hours} h"
    return f"{minutes} min" if minutes else "less than a minute"

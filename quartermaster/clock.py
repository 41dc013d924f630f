"""Time: integer milliseconds since 1970-01-01T00:00Z inside the house, ISO 8601 at its doors."""

import time
from datetime import UTC, datetime

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


def now_ms() -> int:
    """The wall clock, in milliseconds since the epoch. Only commands and loops call it; the core is told the time."""
    return time.time_ns() // 1_000_000


def steady_s() -> float:
    """Seconds by a clock that nobody sets, and that goes on while the machine sleeps: for how long something is ago."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def from_iso(text: str) -> int:
    """Milliseconds since the epoch of an ISO 8601 instant; one without an offset is taken as UTC.

    Raises ValueError for text that is no instant.
    """
    moment = datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def to_datetime(instant_ms: int) -> datetime:
    """The same instant as an aware datetime in UTC."""
    return datetime.fromtimestamp(instant_ms // 1000, UTC).replace(microsecond=instant_ms % 1000 * 1000)


def to_iso(instant_ms: int) -> str:
    """The instant as `2026-11-30T12:00:00.000Z`."""
    return to_datetime(instant_ms).strftime("%Y-%m-%dT%H:%M:%S.") + f"{instant_ms % 1000:03d}Z"


def to_minute(instant_ms: int) -> str:
    """The instant as people read it, in UTC: `2026-11-30 12:00`."""
    return to_iso(instant_ms)[:16].replace("T", " ")

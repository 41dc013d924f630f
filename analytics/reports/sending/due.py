"""What is due: the last instant of each sending's schedule, and the span that is told then. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from cronsim import CronSim

from analytics.reports.span import Span, last_before
from quartermaster.clock import HOUR_MS, SECOND_MS, to_datetime
from quartermaster.config.reports import SendingPart

WAITS_MS = 12 * HOUR_MS  # for the roll-up to reach the span's end; then what is known is sent, as provisional


@dataclass(frozen=True, slots=True)
class Due:
    """A sending whose schedule came round at `at_ms`, and the span that was complete then."""

    sending: SendingPart
    at_ms: int
    span: Span


def last_due(sending: SendingPart, now_ms: int, time_zone: str) -> Due:
    """The last time until now that the sending was due, in the business's time zone."""
    now = to_datetime(now_ms + SECOND_MS).astimezone(ZoneInfo(time_zone))
    at_ms = int(next(CronSim(sending.schedule, now, reverse=True)).timestamp()) * SECOND_MS
    return Due(sending, at_ms, last_before(at_ms, sending.span, time_zone))


def next_due_ms(sending: SendingPart, now_ms: int, time_zone: str) -> int:
    """When it is due next, in epoch milliseconds."""
    now = to_datetime(now_ms).astimezone(ZoneInfo(time_zone))
    return int(next(CronSim(sending.schedule, now)).timestamp()) * SECOND_MS


def ready(due: Iterable[Due], known_until_ms: int | None, now_ms: int) -> list[Due]:
    """Those whose span is rolled up to its end, or that have waited for it long enough."""
    return [
        each
        for each in due
        if (known_until_ms is not None and known_until_ms >= each.span.end_ms)
        or now_ms >= each.at_ms + WAITS_MS
    ]

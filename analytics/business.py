"""Business days and ISO weeks: spans of a business's time zone as instants in epoch milliseconds."""

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from quartermaster.clock import to_datetime
from quartermaster.errors import InputError


@dataclass(frozen=True, slots=True)
class Day:
    """A business day, [start_ms, end_ms): 23 to 25 hours where clocks change."""

    day: str  # 2026-11-23
    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class Week:
    """An ISO week of seven business days, Monday first."""

    week: str  # 2026-W48
    days: tuple[Day, ...]

    @property
    def start_ms(self) -> int:
        """Monday's midnight."""
        return self.days[0].start_ms

    @property
    def end_ms(self) -> int:
        """The next Monday's midnight."""
        return self.days[-1].end_ms


def zone(name: str) -> ZoneInfo:
    """The time zone of that IANA name. Raises InputError when there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InputError(f"{name!r} is no time zone", "use an IANA name such as Europe/Berlin") from error


def business_day(text: str, time_zone: str) -> Day:
    """The day written `2026-11-23`. Raises InputError for text that is no day."""
    try:
        return _day(_billed(date.fromisoformat(text)), zone(time_zone))
    except ValueError as error:
        raise InputError(f"{text!r} is no day", "write it as 2026-11-23") from error


def days_between(start_ms: int, end_ms: int, time_zone: str) -> list[Day]:
    """Every business day that overlaps [start_ms, end_ms), in order."""
    where = zone(time_zone)
    days: list[Day] = []
    current = to_datetime(start_ms).astimezone(where).date()
    while start_ms < end_ms and (day := _day(current, where)).start_ms < end_ms:
        days.append(day)
        current += timedelta(days=1)
    return days


def iso_week(text: str, time_zone: str) -> Week:
    """The week written `2026-W48`. Raises InputError for text that is no ISO week."""
    try:
        if not re.fullmatch(r"\d{4}-W\d{2}", text, re.ASCII):
            raise ValueError(text)  # noqa: TRY301
        monday = _billed(date.fromisocalendar(int(text[:4]), int(text[6:]), 1))
    except ValueError as error:
        raise InputError(f"{text!r} is no ISO week", "write it as 2026-W48") from error
    return _week(text, monday, zone(time_zone))


def week_at(instant_ms: int, time_zone: str) -> Week:
    """The week in which the instant lies."""
    where = zone(time_zone)
    day = to_datetime(instant_ms).astimezone(where).date()
    year, week, weekday = day.isocalendar()
    return _week(f"{year:04d}-W{week:02d}", day - timedelta(days=weekday - 1), where)


def _week(text: str, monday: date, where: ZoneInfo) -> Week:
    return Week(text, tuple(_day(monday + timedelta(days=n), where) for n in range(7)))


def _billed(day: date) -> date:
    """The day. Raises InputError where it lies in a year that nobody bills."""
    if not 2000 <= day.year < 2200:
        raise InputError(
            f"the year {day.year} is not one that anybody bills", "name one of this century or the next"
        )
    return day


def _day(day: date, where: ZoneInfo) -> Day:
    def midnight(of: date) -> int:
        return int(datetime(of.year, of.month, of.day, tzinfo=where).timestamp()) * 1000

    return Day(day.isoformat(), midnight(day), midnight(day + timedelta(days=1)))

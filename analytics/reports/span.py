"""Spans: the week, month or period of the books that a report tells, and those before it that it is compared with."""

import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from analytics.business import Day, Week, business_day, days_between, iso_week, week_at, zone
from analytics.money.calendar import MONTH, Calendar
from quartermaster.clock import to_datetime
from quartermaster.errors import InputError

Regular = Literal["week", "month"]  # what every business has, whatever its calendar
Unit = Regular | Literal["period"]
PAST = {"week": 4, "month": 3, "period": 3}  # how many spans before it a change is measured against
_MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])", re.ASCII)


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive business days: an ISO week (`2026-W48`), a calendar month (`2026-11`), a period (`FY2026-P11`)."""

    name: str
    unit: Unit
    days: tuple[Day, ...]
    past: tuple[str, ...]  # the first day of each span before it, the earliest first

    @property
    def first(self) -> str:
        """The first day, as 2026-11-23."""
        return self.days[0].day

    @property
    def last(self) -> str:
        """The last day."""
        return self.days[-1].day

    @property
    def start_ms(self) -> int:
        """The first day's midnight."""
        return self.days[0].start_ms

    @property
    def end_ms(self) -> int:
        """The midnight after the last day."""
        return self.days[-1].end_ms


def span_of(text: str, time_zone: str) -> Span:
    """The week or month of that name. Raises InputError for text that is neither."""
    return month(text, time_zone) if _MONTH.fullmatch(text) else of_week(iso_week(text, time_zone))


def of_week(week: Week) -> Span:
    """The span of an ISO week."""
    monday = date.fromisoformat(week.days[0].day)
    past = tuple((monday - timedelta(weeks=back)).isoformat() for back in range(PAST["week"], 0, -1))
    return Span(week.week, "week", week.days, past)


def of_period(text: str, calendar: Calendar) -> Span:
    """The span of a period of the books. Raises InputError for a name that the calendar does not have."""
    found = calendar.named(text)
    if calendar.kind == MONTH:
        return month(text, calendar.time_zone)
    past: list[str] = []
    day = found.start_day
    for _ in range(PAST["period"]):
        day = calendar.of_day((date.fromisoformat(day) - timedelta(days=1)).isoformat()).start_day
        past.insert(0, day)
    return Span(found.period, "period", tuple(found.days), tuple(past))


def month(text: str, time_zone: str) -> Span:
    """The span of a calendar month (`2026-11`) of business days. Raises InputError for text that is none."""
    found = _MONTH.fullmatch(text)
    if found is None or found[1] == "0000":
        raise InputError(f"{text!r} is no month", "write it as 2026-11")
    begin = business_day(f"{text}-01", time_zone)
    first = date.fromisoformat(begin.day)
    end = business_day(_months_from(first, 1).isoformat(), time_zone)
    past = tuple(_months_from(first, -back).isoformat() for back in range(PAST["month"], 0, -1))
    return Span(text, "month", tuple(days_between(begin.start_ms, end.start_ms, time_zone)), past)


def last_before(instant_ms: int, unit: Regular, time_zone: str) -> Span:
    """The last span of the unit that had ended at the instant."""
    here = at(instant_ms, unit, time_zone)
    return at(here.start_ms - 1, unit, time_zone)


def at(instant_ms: int, unit: Regular, time_zone: str) -> Span:
    """The span in which the instant lies."""
    if unit == "week":
        return of_week(week_at(instant_ms, time_zone))
    return month(f"{to_datetime(instant_ms).astimezone(zone(time_zone)):%Y-%m}", time_zone)


def _months_from(first: date, months: int) -> date:
    number = first.year * 12 + first.month - 1 + months
    return date(number // 12, number % 12 + 1, 1)

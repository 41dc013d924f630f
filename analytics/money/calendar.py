"""The business's calendar: months, or fiscal quarters of four, four and five weeks, in its time zone. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

from analytics.business import Day, business_day, days_between, zone
from quartermaster.clock import to_datetime
from quartermaster.errors import InputError

MONTH, WEEKS = "month", "4-4-5"
_MONTH = re.compile(r"(\d{4})-(\d{2})", re.ASCII)
_FISCAL = re.compile(r"FY(\d{4})-P(\d{2})", re.ASCII)
_WEEKS = (4, 4, 5)  # of each quarter
_PERIODS = 12
_HALF_A_YEAR = timedelta(days=182)


@dataclass(frozen=True, slots=True)
class Period:
    """A span of business days [start_day, end_day) whose books close together; epoch ms [start_ms, end_ms)."""

    period: str  # 2026-11, or FY2026-P11
    start_day: str
    end_day: str
    start_ms: int
    end_ms: int
    time_zone: str

    @property
    def days(self) -> list[Day]:
        """Its business days, in order."""
        return days_between(self.start_ms, self.end_ms, self.time_zone)


@dataclass(frozen=True, slots=True)
class Calendar:
    """How the business counts its periods. `fiscal_year_start` is the first day of any one fiscal year of weeks."""

    time_zone: str = "UTC"
    kind: str = MONTH
    fiscal_year_start: date | None = None

    def named(self, name: str) -> Period:
        """The period of that name. Raises InputError for a name that this calendar does not have."""
        if self.kind == MONTH and (found := _MONTH.fullmatch(name)):
            year, month = int(found[1]), int(found[2])
            if 1 <= month <= _PERIODS:
                return self._period(name, date(max(year, 1), month, 1), _next_month(max(year, 1), month))
        if self.kind == WEEKS and (found := _FISCAL.fullmatch(name)):
            year, number = int(found[1]), int(found[2])
            if 1 <= number <= _PERIODS:
                edges = self._edges(year)
                return self._period(name, edges[number - 1], edges[number])
        example = "2026-11" if self.kind == MONTH else "FY2026-P11"
        raise InputError(f"{name!r} is no period of this calendar", f"write it as {example}")

    def of_day(self, day: str) -> Period:
        """The period in which the business day (`2026-11-23`) lies. Raises InputError for text that is no day."""
        business_day(day, self.time_zone)
        found = date.fromisoformat(day)
        if self.kind == MONTH:
            return self.named(f"{found:%Y-%m}")
        for year in (found.year - 1, found.year, found.year + 1):
            edges = self._edges(year)
            if edges[0] <= found < edges[-1]:
                number = sum(edge <= found for edge in edges)
                return self.named(f"FY{year:04d}-P{number:02d}")
        raise AssertionError(day)

    def at(self, instant_ms: int) -> Period:
        """The period in which the instant lies."""
        return self.of_day(to_datetime(instant_ms).astimezone(zone(self.time_zone)).date().isoformat())

    def between(self, first_day: str, last_day: str) -> Iterator[Period]:
        """Every period from that of the first day to that of the last, in order."""
        period = self.of_day(first_day)
        yield period
        while period.end_day <= last_day:
            period = self.of_day(period.end_day)
            yield period

    def _period(self, name: str, start: date, end: date) -> Period:
        days = [business_day(each.isoformat(), self.time_zone) for each in (start, end)]
        return Period(name, days[0].day, days[1].day, days[0].start_ms, days[1].start_ms, self.time_zone)

    def _edges(self, year: int) -> tuple[date, ...]:
        if self.fiscal_year_start is None:
            raise InputError(
                "a calendar of weeks needs the first day of a fiscal year", "set business.fiscal_year_start"
            )
        return _fiscal_edges(self.fiscal_year_start, year)


@cache
def _fiscal_edges(anchor: date, year: int) -> tuple[date, ...]:
    """The first days of a fiscal year's periods, and of the next year. A year is named after the calendar year in which
    its middle lies; where it has 53 weeks, the last period has the sixth."""
    start, end = _fiscal_start(anchor, year), _fiscal_start(anchor, year + 1)
    edges = [start]
    for period in range(_PERIODS - 1):
        edges.append(edges[-1] + timedelta(weeks=_WEEKS[period % len(_WEEKS)]))
    return (*edges, end)


def _fiscal_start(anchor: date, year: int) -> date:
    """The day with the anchor's weekday that lies nearest to its month and day, in the year that this makes `year`."""
    if not 2000 <= year < 2200:
        raise InputError(
            f"the year {year} is not one that anybody bills", "name one of this century or the next"
        )
    shift = (anchor + _HALF_A_YEAR).year - anchor.year
    near = date(year - shift, anchor.month, anchor.day)
    days = (anchor.weekday() - near.weekday() + 3) % 7 - 3
    return near + timedelta(days=days)


def _next_month(year: int, month: int) -> date:
    return date(year + month // _PERIODS, month % _PERIODS + 1, 1)

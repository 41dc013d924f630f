"""The business days that a file of finance is about, each in its billing period."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

import polars as pl

from analytics.business import Day, business_day
from analytics.money.calendar import Calendar, Period
from quartermaster.errors import InputError
from sql.ledger import Cursor

MOST_DAYS = 3_700  # ten years: no file of finance is about more


@dataclass(frozen=True, slots=True)
class Span:
    """Business days without a hole, and the billing periods in which they lie."""

    name: str  # the period's, or 2026-11-03..2026-11-09
    days: tuple[Day, ...]
    periods: tuple[Period, ...]  # in order

    @property
    def first_day(self) -> str:
        """The first business day."""
        return self.days[0].day

    @property
    def end_day(self) -> str:
        """The business day after the last."""
        return _after(self.days[-1].day)

    def steps(self, days: int) -> Iterator[tuple[str, str]]:
        """The span cut into pieces of so many days: each one's first day, and the day after its last."""
        firsts = [day.day for day in self.days[::days]]
        yield from zip(firsts, [*firsts[1:], self.end_day], strict=True)


def span_of(period: Period) -> Span:
    """All days of a billing period."""
    return Span(period.period, tuple(period.days), (period,))


def span_between(first_day: str, last_day: str, calendar: Calendar) -> Span:
    """The business days from the first to the last, both within.

    Raises InputError where they are no days, in the wrong order, or more than ten years.
    """
    first, last = (
        date.fromisoformat(business_day(day, calendar.time_zone).day) for day in (first_day, last_day)
    )
    count = (last - first).days + 1
    if count < 1:
        raise InputError(f"{first_day} is after {last_day}", "name the earlier day first")
    if count > MOST_DAYS:
        raise InputError(f"{count} days are too many for one file", "name at most ten years")
    days = ((first + timedelta(days=n)).isoformat() for n in range(count))
    return Span(
        f"{first}..{last}",
        tuple(business_day(day, calendar.time_zone) for day in days),
        tuple(calendar.between(first.isoformat(), last.isoformat())),
    )


def lay_days(cursor: Cursor, span: Span) -> None:
    """Give a query the span as `export_days`: each day's and its billing period's instants in epoch ms."""
    rows = [
        {
            "business_day": day.day,
            "start_ms": day.start_ms,
            "end_ms": day.end_ms,
            "period": period.period,
            "period_first_day": period.start_day,
            "period_start_ms": period.start_ms,
            "period_end_ms": period.end_ms,
        }
        for period in span.periods
        for day in span.days
        if period.start_day <= day.day < period.end_day
    ]
    cursor.register("export_days", pl.DataFrame(rows))


def _after(day: str) -> str:
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()

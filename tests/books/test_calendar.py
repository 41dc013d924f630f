"""Calendars: which days a period has, in which instants, in every time zone."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.business import iso_week
from analytics.money.calendar import Calendar
from quartermaster.clock import DAY_MS, HOUR_MS, to_iso
from quartermaster.errors import InputError

RETAIL = Calendar("UTC", "4-4-5", date(2026, 2, 1))  # Sundays nearest to 1 February
WINTER = Calendar("UTC", "4-4-5", date(2025, 12, 29))  # Mondays nearest to 29 December
ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
)


@pytest.mark.parametrize(
    ("name", "start_day", "end_day", "days"),
    [
        ("2026-11", "2026-11-01", "2026-12-01", 30),
        ("2026-12", "2026-12-01", "2027-01-01", 31),
        ("2028-02", "2028-02-01", "2028-03-01", 29),
    ],
)
def test_a_month_has_its_days(name: str, start_day: str, end_day: str, days: int) -> None:
    period = Calendar().named(name)
    assert (period.start_day, period.end_day) == (start_day, end_day)
    assert len(period.days) == days
    assert Calendar().of_day(start_day) == period != Calendar().of_day(end_day)


@pytest.mark.parametrize(
    ("calendar", "name", "start_day", "end_day"),
    [
        (RETAIL, "FY2026-P01", "2026-02-01", "2026-03-01"),  # four weeks
        (RETAIL, "FY2026-P03", "2026-03-29", "2026-05-03"),  # five
        (RETAIL, "FY2026-P12", "2026-12-27", "2027-01-31"),
        (RETAIL, "FY2023-P12", "2023-12-24", "2024-02-04"),  # 53 weeks: the last period has six
        (WINTER, "FY2026-P01", "2025-12-29", "2026-01-26"),
        (WINTER, "FY2026-P12", "2026-11-23", "2026-12-28"),
    ],
)
def test_a_fiscal_period_has_its_weeks(calendar: Calendar, name: str, start_day: str, end_day: str) -> None:
    period = calendar.named(name)
    assert (period.start_day, period.end_day) == (start_day, end_day)


@pytest.mark.parametrize(
    ("time_zone", "start", "hours"),
    [
        ("Europe/Berlin", "2026-09-30T22:00:00.000Z", 31 * 24 + 1),  # clocks go back on the 25th
        ("America/New_York", "2026-10-01T04:00:00.000Z", 31 * 24),
        ("Asia/Kolkata", "2026-09-30T18:30:00.000Z", 31 * 24),
        ("UTC", "2026-10-01T00:00:00.000Z", 31 * 24),
    ],
)
def test_october_begins_at_the_businesss_midnight(time_zone: str, start: str, hours: int) -> None:
    period = Calendar(time_zone).named("2026-10")
    assert to_iso(period.start_ms) == start
    assert period.end_ms - period.start_ms == hours * HOUR_MS


def test_half_an_hour_of_summer_time_is_half_an_hour() -> None:
    period = Calendar("Australia/Lord_Howe").named("2026-10")  # summer begins, by thirty minutes
    assert (period.end_ms - period.start_ms) * 2 == 31 * 48 * HOUR_MS - HOUR_MS


@given(
    st.sampled_from(ZONES),
    st.dates(date(2001, 1, 1), date(2190, 1, 1)),
    st.dates(date(2001, 3, 1), date(2190, 2, 27)).filter(lambda day: (day.month, day.day) != (2, 29)),
)
def test_periods_cover_every_day_once(time_zone: str, day: date, anchor: date) -> None:
    for calendar in (Calendar(time_zone), Calendar(time_zone, "4-4-5", anchor)):
        period = calendar.of_day(day.isoformat())
        assert period.start_day <= day.isoformat() < period.end_day
        assert calendar.named(period.period) == period
        following = calendar.of_day(period.end_day)
        assert (following.start_day, following.start_ms) == (period.end_day, period.end_ms)
        assert calendar.at(period.end_ms - 1) == period
        assert calendar.at(period.end_ms) == following


@given(st.dates(date(2001, 3, 1), date(2150, 2, 27)).filter(lambda day: (day.month, day.day) != (2, 29)))
def test_a_fiscal_year_has_52_or_53_weeks_and_the_one_that_was_named_begins_when_it_was(anchor: date) -> None:
    calendar = Calendar("UTC", "4-4-5", anchor)
    first = calendar.of_day(anchor.isoformat())
    assert first.start_day == anchor.isoformat()
    assert first.period.endswith("P01")
    year = int(first.period[2:6])
    weeks = [
        (
            calendar.named(f"FY{year}-P{number:02d}").end_ms
            - calendar.named(f"FY{year}-P{number:02d}").start_ms
        )
        // (7 * DAY_MS)
        for number in range(1, 13)
    ]
    assert weeks[:11] == [4, 4, 5, 4, 4, 5, 4, 4, 5, 4, 4]
    assert weeks[11] in {5, 6}


@pytest.mark.parametrize(
    "name", ["2026-13", "2026-00", "2026-1", "FY2026-P01", "", "november", "0000-01", "2026-W48"]
)
def test_what_is_no_month_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        Calendar().named(name)


@pytest.mark.parametrize("name", ["FY2026-P13", "FY2026-P00", "2026-11", "FY0001-P01"])
def test_what_is_no_fiscal_period_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        RETAIL.named(name)


def test_weeks_are_the_same_seven_days_whatever_month_they_lie_in() -> None:
    week = iso_week("2026-W53", "Europe/Berlin")  # a year of 53 weeks, over two months and two years
    assert [week.days[0].day, week.days[-1].day] == ["2026-12-28", "2027-01-03"]
    calendar = Calendar("Europe/Berlin")
    assert [calendar.of_day(day.day).period for day in week.days] == ["2026-12"] * 4 + ["2027-01"] * 3

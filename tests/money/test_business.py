"""Business days and ISO weeks in time zones."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.business import business_day, days_between, iso_week, week_at
from quartermaster.clock import HOUR_MS, from_iso
from quartermaster.errors import InputError

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "America/Sao_Paulo")


@pytest.mark.parametrize(
    ("day", "zone", "start", "hours"),
    [
        ("2026-11-23", "UTC", "2026-11-23T00:00:00Z", 24),
        ("2026-11-23", "Europe/Berlin", "2026-11-22T23:00:00Z", 24),
        ("2026-03-29", "Europe/Berlin", "2026-03-28T23:00:00Z", 23),
        ("2026-10-25", "Europe/Berlin", "2026-10-24T22:00:00Z", 25),
        ("2026-11-23", "Asia/Kolkata", "2026-11-22T18:30:00Z", 24),
        ("2018-11-04", "America/Sao_Paulo", "2018-11-04T03:00:00Z", 23),  # midnight itself was skipped
    ],
)
def test_a_day(day: str, zone: str, start: str, hours: int) -> None:
    found = business_day(day, zone)
    assert found.start_ms == from_iso(start)
    assert found.end_ms - found.start_ms == hours * HOUR_MS


def test_a_week_is_monday_to_sunday() -> None:
    week = iso_week("2026-W48", "Europe/Berlin")
    assert [day.day for day in week.days] == [f"2026-11-{day}" for day in range(23, 30)]
    assert (week.start_ms, week.end_ms) == (
        from_iso("2026-11-22T23:00:00Z"),
        from_iso("2026-11-29T23:00:00Z"),
    )


def test_a_week_may_lie_in_two_years() -> None:
    assert iso_week("2026-W53", "UTC").days[-1].day == "2027-01-03"
    assert week_at(from_iso("2027-01-02T00:00:00Z"), "UTC").week == "2026-W53"


@pytest.mark.parametrize(
    "text", ["", "2026", "2026-48", "2026-W54", "2026-W00", "2026-W4", "2026-W٤٨", "0000-W01", "x"]
)
def test_what_is_no_week_is_said(text: str) -> None:
    with pytest.raises(InputError, match="is no ISO week") as error:
        iso_week(text, "UTC")
    assert "2026-W48" in error.value.hint


def test_a_year_that_nobody_bills_is_said() -> None:
    for year in ("0001", "1999", "2200", "9999"):
        with pytest.raises(InputError, match="anybody bills"):
            iso_week(f"{year}-W52", "UTC")
        with pytest.raises(InputError, match="anybody bills"):
            business_day(f"{year}-12-31", "UTC")


def test_what_is_no_day_or_no_zone_is_said() -> None:
    with pytest.raises(InputError, match="is no day"):
        business_day("2026-11-31", "UTC")
    for zone in ("Europe/Berln", "", "../etc/passwd"):
        with pytest.raises(InputError, match="is no time zone"):
            business_day("2026-11-30", zone)


def test_no_span_has_no_days() -> None:
    assert days_between(5, 5, "UTC") == []


@given(st.integers(0, 4_000_000_000_000), st.integers(1, 90 * 24 * HOUR_MS), st.sampled_from(ZONES))
def test_days_follow_each_other_and_cover_the_span(start: int, length: int, zone: str) -> None:
    days = days_between(start, start + length, zone)
    assert days[0].start_ms <= start < days[0].end_ms
    assert days[-1].start_ms < start + length <= days[-1].end_ms
    for before, after in pairwise(days):
        assert before.end_ms == after.start_ms
        assert before.day < after.day


@given(st.integers(0, 4_000_000_000_000), st.sampled_from(ZONES))
def test_an_instant_lies_in_its_week(instant: int, zone: str) -> None:
    week = week_at(instant, zone)
    assert week.start_ms <= instant < week.end_ms
    assert len(week.days) == 7

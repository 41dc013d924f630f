"""Days as people write them, in the business's time zone."""

import pytest

from cli.days import day_or_instant, shown
from quartermaster.clock import from_iso, to_iso
from quartermaster.errors import InputError

TUESDAY = from_iso("2026-12-01T12:00:00Z")


@pytest.mark.parametrize(
    ("text", "zone", "instant"),
    [
        ("now", "Europe/Berlin", "2026-12-01T12:00:00.000Z"),
        ("2026-12-14", "Europe/Berlin", "2026-12-13T23:00:00.000Z"),
        ("2026-07-01", "Europe/Berlin", "2026-06-30T22:00:00.000Z"),
        ("2026-12-14", "UTC", "2026-12-14T00:00:00.000Z"),
        ("fri", "UTC", "2026-12-04T00:00:00.000Z"),
        ("Friday", "America/New_York", "2026-12-04T05:00:00.000Z"),
        ("tue", "UTC", "2026-12-08T00:00:00.000Z"),  # this one has begun
        ("mon", "UTC", "2026-12-07T00:00:00.000Z"),
        ("2026-12-03T08:00:00+01:00", "America/New_York", "2026-12-03T07:00:00.000Z"),
    ],
)
def test_a_day_begins_at_its_midnight_there(text: str, zone: str, instant: str) -> None:
    assert to_iso(day_or_instant(text, zone, TUESDAY)) == instant


def test_which_day_it_is_is_asked_where_the_business_is() -> None:
    wednesday_in_tokyo = from_iso("2026-12-01T16:00:00Z")
    assert to_iso(day_or_instant("wed", "Asia/Tokyo", wednesday_in_tokyo)) == "2026-12-08T15:00:00.000Z"
    assert to_iso(day_or_instant("wed", "UTC", wednesday_in_tokyo)) == "2026-12-02T00:00:00.000Z"


@pytest.mark.parametrize(
    "text", ["", "fr", "friend", "2026-12-32", "2026-12-03T08:00", "1999-12-03", "14.12."]
)
def test_what_is_no_day_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        day_or_instant(text, "UTC", TUESDAY)


def test_an_instant_is_shown_with_its_weekday() -> None:
    assert shown(from_iso("2026-12-13T23:00:00Z"), "Europe/Berlin") == "Mon 2026-12-14 00:00"

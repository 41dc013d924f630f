"""Bookings and offers: quotas with an end."""

import pytest

from enforcer.booking import Booking, in_force, shortages
from enforcer.snapshot import Promise
from quartermaster.clock import DAY_MS
from quartermaster.parts import GPU_PARTS
from tests.enforcer.scenes import POOL, promise

G = GPU_PARTS
A, B = promise("a", 8, limit_parts=16 * G), promise("b", 4)


def _booking(team: str, gpus: int, start: int, end: int, *, offer: bool = False) -> Booking:
    return Booking(team, POOL, gpus * G, start * DAY_MS, end * DAY_MS, offer)


def _guarantees(day: int, *bookings: Booking) -> dict[str, int]:
    return {each.team: each.guaranteed_parts // G for each in in_force((A, B), bookings, day * DAY_MS)}


def test_a_booking_holds_from_its_start_until_its_end() -> None:
    booked = _booking("a", 64, 3, 14)
    assert [_guarantees(day, booked)["a"] for day in (2, 3, 13, 14)] == [8, 72, 72, 8]
    (a, _) = in_force((A, B), [booked], 3 * DAY_MS)
    assert a.limit_parts == 80 * G


def test_an_offer_takes_off_and_never_below_nothing() -> None:
    assert _guarantees(1, _booking("a", 5, 0, 9, offer=True)) == {"a": 3, "b": 4}
    assert _guarantees(1, _booking("b", 9, 0, 9, offer=True)) == {"a": 8, "b": 0}
    both = _booking("b", 9, 0, 9, offer=True), _booking("b", 9, 0, 9)
    assert _guarantees(1, *both) == _guarantees(1, *reversed(both)) == {"a": 8, "b": 4}


def test_a_team_without_a_promise_can_book() -> None:
    assert _guarantees(1, _booking("c", 2, 0, 9)) == {"a": 8, "b": 4, "c": 2}


def test_what_does_not_fit_is_told_with_its_span() -> None:
    there = [_booking("b", 8, 5, 7), _booking("a", 4, 0, 99, offer=True)]
    found = shortages((A, B), there, _booking("a", 8, 0, 10), 16 * G)
    assert [(each.start_at // DAY_MS, each.end_at // DAY_MS, each.promised_parts // G) for each in found] == [
        (5, 7, 24)
    ]
    assert found[0].words() == (
        "From 1970-01-06T00:00:00.000Z to 1970-01-08T00:00:00.000Z 24 GPUs would be promised in pool whole, which has "
        "16 GPUs."
    )
    assert shortages((A, B), there, _booking("a", 8, 7, 10), 16 * G) == []


def test_other_pools_are_not_counted() -> None:
    elsewhere = Booking("b", "other", 99 * G, 0, DAY_MS)
    assert shortages((A, B, Promise("a", "other", 99 * G)), [elsewhere], _booking("a", 4, 0, 1), 16 * G) == []


@pytest.mark.parametrize(
    ("wished", "words"),
    [
        (_booking("a", 1, 2, 2), "it ends before it begins"),
        (_booking("a", 0, 1, 2), "it is about no GPUs"),
        (
            _booking("b", 5, 0, 9, offer=True),
            "b is promised 4 GPUs from 1970-01-01T00:00:00.000Z and offers 5 GPUs",
        ),
    ],
)
def test_what_cannot_be_is_refused(wished: Booking, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        shortages((A, B), [], wished, 99 * G)

"""What may be taken back: an offer that nobody has booked; and that no order of wishes promises more than there is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enforcer.booking import Booking, in_force, shortages, shortages_without
from enforcer.snapshot import Promise

POOL, HAS = "p", 10
A, B = Promise("a", POOL, 6), Promise("b", POOL, 4)
OFFERED = Booking("a", POOL, 3, 0, 10, offer=True)


def test_an_offer_that_nobody_booked_is_taken_back() -> None:
    assert shortages_without([A, B], [], OFFERED, HAS) == []
    earlier = Booking("b", POOL, 3, -5, 0), Booking("b", POOL, 3, 10, 12)
    assert shortages_without([A, B], earlier, OFFERED, HAS) == []


def test_one_that_others_booked_is_not_and_it_says_when() -> None:
    (found,) = shortages_without([A, B], [Booking("b", POOL, 2, 4, 20)], OFFERED, HAS)
    assert (found.start_at, found.end_at, found.promised_parts, found.available_parts) == (4, 10, 12, HAS)
    assert shortages_without([A, B], [Booking("b", POOL, 2, 4, 20)], OFFERED, 12) == []
    assert shortages_without([A, B], [Booking("b", "other", 2, 4, 20)], OFFERED, HAS) == []


def test_too_many_guarantees_or_lost_nodes_keep_nobody_from_taking_back() -> None:
    assert shortages_without([A, B], [], OFFERED, 8) == []
    booked = Booking("b", POOL, 3, 0, 10)
    assert shortages_without([A, B], [OFFERED], booked, 5) == []


@st.composite
def wishes(draw: st.DrawFn) -> Booking:
    start = draw(st.integers(0, 8))
    end = start + draw(st.integers(1, 8))
    return Booking(
        draw(st.sampled_from("abc")), POOL, draw(st.integers(1, 6)), start, end, draw(st.booleans())
    )


@settings(max_examples=300, deadline=None)
@given(st.lists(wishes() | st.integers(0, 5), min_size=6, max_size=12), st.integers(9, 11))
@pytest.mark.patient
def test_no_order_of_wishes_and_cancellings_promises_more_than_there_is(
    steps: list[Booking | int], has: int
) -> None:
    there: list[Booking] = []
    for step in steps:
        if isinstance(step, int):
            if there:
                number = step % len(there)
                rest = there[:number] + there[number + 1 :]
                if not shortages_without([A, B], rest, there[number], has):
                    there = rest
            continue
        try:
            fits = not shortages([A, B], there, step, has)
        except ValueError:
            fits = False
        if fits:
            there.append(step)
    for at in range(6):
        promised = sum(each.guaranteed_parts for each in in_force([A, B], there, at))
        assert promised <= max(has, A.guaranteed_parts + B.guaranteed_parts)

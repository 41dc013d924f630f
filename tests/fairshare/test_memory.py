"""Past borrowing, halved with every half-life, in whole numbers."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quartermaster.clock import DAY_MS, HOUR_MS
from quartermaster.fairshare.memory import remembered_parts
from quartermaster.parts import GPU_PARTS

NOW = 1_800_000_000_000


def _hours(first: int, count: int, parts: int) -> list[tuple[int, int, int]]:
    """Rows of `count` hours that ended `first` hours ago and before, each with `parts` borrowed."""
    return [
        (NOW - (hour + 1) * HOUR_MS, NOW - hour * HOUR_MS, parts * HOUR_MS)
        for hour in range(first, first + count)
    ]


def test_what_was_always_so_is_remembered_as_it_was() -> None:
    remembered = remembered_parts(_hours(0, 24 * 100, 8 * GPU_PARTS), NOW, 2 * DAY_MS, 1000)
    assert remembered == pytest.approx(8 * GPU_PARTS, rel=1e-3)


def test_it_halves_with_every_half_life() -> None:
    figures = [
        remembered_parts(_hours(24 * days, 1, 8 * GPU_PARTS), NOW, DAY_MS, 1000) for days in (0, 1, 2, 3, 40)
    ]
    for newer, older in pairwise(figures[:4]):
        assert older == pytest.approx(newer / 2, rel=1e-4)
    assert figures[4] == 0


def test_it_counts_as_much_as_the_policy_says() -> None:
    whole, half = (remembered_parts(_hours(0, 48, GPU_PARTS), NOW, DAY_MS, much) for much in (1000, 500))
    assert half == whole // 2


def test_the_future_and_empty_spans_do_not_count() -> None:
    spans = [(NOW - 1, NOW + HOUR_MS, 10**15), (NOW, NOW, 10**15)]
    assert remembered_parts(spans, NOW, DAY_MS, 1000) == 0


@given(
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 64 * GPU_PARTS)), max_size=30),
    st.integers(1, 60 * DAY_MS),
    st.integers(0, 1000),
)
def test_never_below_zero_nor_above_the_most_that_was_borrowed(
    hours: list[tuple[int, int]], half_life: int, counts: int
) -> None:
    spans = [
        (NOW - (hour + 1) * HOUR_MS, NOW - hour * HOUR_MS, parts * HOUR_MS)
        for hour, parts in dict(hours).items()
    ]
    remembered = remembered_parts(spans, NOW, half_life, counts)
    assert remembered >= 0
    if half_life >= 2 * HOUR_MS:
        assert remembered <= max((parts for _, parts in hours), default=0) * 11 // 10


def test_a_half_life_is_longer_than_zero() -> None:
    with pytest.raises(ValueError, match="longer than zero"):
        remembered_parts([], NOW, 0, 1000)

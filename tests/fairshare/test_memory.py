"""Past borrowing, halved with every half-life, in whole numbers: the slow way, and the ledger's that equals it."""

from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enforcer.past_use import past_use
from quartermaster.clock import DAY_MS, HOUR_MS
from quartermaster.config.policy import PastUsePart
from quartermaster.parts import GPU_PARTS
from tests.fairshare.memory import remembered_parts
from tests.usage.toy import insert, toy

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


CONNECTION = toy()
SPAN_MS = st.sampled_from((HOUR_MS, HOUR_MS // 2, 7, 61_001))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("a", "b")),
            st.integers(-2, 300),
            SPAN_MS,
            st.integers(0, 1000 * GPU_PARTS * HOUR_MS),
        ),
        max_size=8,
    ),
    st.integers(1, 60 * DAY_MS),
    st.integers(0, 1000),
)
@settings(max_examples=40)
def test_the_ledgers_way_equals_the_slow_one(
    told: list[tuple[str, int, int, int]], half_life_ms: int, counts: int
) -> None:
    CONNECTION.execute("delete from quota_hourly")
    spans = [
        (team, NOW - hours * HOUR_MS, NOW - hours * HOUR_MS + span, borrowed)
        for team, hours, span, borrowed in told
    ]
    if spans:
        insert(
            CONNECTION,
            "quota_hourly",
            pl.DataFrame(
                {
                    "cluster": ["c"] * len(spans),
                    "pool": ["p"] * len(spans),
                    **{
                        name: [each[place] for each in spans]
                        for place, name in enumerate(("team", "row_start_at", "row_end_at", "borrowed_pms"))
                    },
                }
            ),
        )
    terms = PastUsePart.model_construct(half_life_ms=half_life_ms, counts=counts)
    expected = {
        team: remembered_parts([each[1:] for each in spans if each[0] == team], NOW, half_life_ms, counts)
        for team in ("a", "b")
    }
    found = past_use(CONNECTION, "c", NOW, terms)
    assert {team: found.get((team, "p"), 0) for team in expected} == expected
    assert past_use(CONNECTION, "other", NOW, terms) == past_use(CONNECTION, "c", NOW, None) == {}

"""Timelines: what a declaration changes, and what it leaves."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quartermaster.timeline import BEGINNING_MS, Span, Wish, order, settle

CASES = {
    "the first declaration holds for all the past": (
        [],
        [Wish(None, None, "a")],
        100,
        True,
        [Span(0, None, "a")],
    ),
    "a later one begins now": ([], [Wish(None, None, "a")], 100, False, [Span(100, None, "a")]),
    "what is unchanged keeps its start": (
        [Span(0, None, "a")],
        [Wish(None, None, "a")],
        100,
        False,
        [Span(0, None, "a")],
    ),
    "a change begins now and leaves what was": (
        [Span(0, None, "a")],
        [Wish(None, None, "b")],
        100,
        False,
        [Span(0, 100, "a"), Span(100, None, "b")],
    ),
    "what is gone ends now": ([Span(0, None, "a")], [], 100, False, [Span(0, 100, "a")]),
    "a change from a later instant: the old one goes on until then": (
        [Span(0, None, "a")],
        [Wish(150, None, "b")],
        100,
        False,
        [Span(0, 150, "a"), Span(150, None, "b")],
    ),
    "a stated start in the past holds as stated": (
        [Span(0, None, "a")],
        [Wish(50, None, "b")],
        100,
        False,
        [Span(0, 50, "a"), Span(50, None, "b")],
    ),
    "a stated span in the past cuts one in two": (
        [Span(0, None, "a")],
        [Wish(20, 40, "b")],
        100,
        False,
        [Span(0, 20, "a"), Span(20, 40, "b"), Span(40, 100, "a")],
    ),
    "an end is added": ([Span(0, None, "a")], [Wish(None, 150, "a")], 100, False, [Span(0, 150, "a")]),
    "two in a row stay when the first is over": (
        [Span(0, 50, "a"), Span(50, None, "b")],
        [Wish(None, 50, "a"), Wish(50, None, "b")],
        100,
        False,
        [Span(0, 50, "a"), Span(50, None, "b")],
    ),
    "what comes back begins anew": (
        [Span(0, 50, "a")],
        [Wish(None, None, "a")],
        100,
        False,
        [Span(0, 50, "a"), Span(100, None, "a")],
    ),
    "a future span that is no longer wished never was": ([Span(150, None, "a")], [], 100, False, []),
    "a wish that ended before it was first made writes nothing": ([], [Wish(None, 50, "a")], 100, False, []),
}


@pytest.mark.parametrize("case", CASES)
def test_settling(case: str):
    held, wishes, now_ms, first, expected = CASES[case]
    assert settle(held, wishes, now_ms, first=first) == expected


@st.composite
def wish_lists(draw: st.DrawFn) -> list[Wish[str]]:
    edges = sorted(draw(st.sets(st.integers(1, 200), max_size=6)))
    edges = edges[: len(edges) // 2 * 2]
    spans = [
        Wish(start, end, draw(st.sampled_from("abc")))
        for start, end in zip(edges[::2], edges[1::2], strict=True)
    ]
    if spans and draw(st.booleans()):
        spans[0] = Wish(None, spans[0].end_at, spans[0].content)
    if spans and draw(st.booleans()):
        spans[-1] = Wish(spans[-1].start_at, None, spans[-1].content)
    return spans


@given(st.lists(st.tuples(st.integers(0, 80), wish_lists()), min_size=1, max_size=5))
def test_declarations_in_a_row(declarations: list[tuple[int, list[Wish[str]]]]):
    held: list[Span[str]] = []
    now_ms = 0
    for number, (later_ms, wishes) in enumerate(declarations):
        now_ms += later_ms
        settled = settle(held, wishes, now_ms, first=number == 0)
        for before, after in itertools.pairwise(settled):
            assert before.end_at is not None, "only the last is open"
            assert before.end_at <= after.start_at, "spans do not overlap"
        assert all(span.end_at is None or span.start_at < span.end_at for span in settled)
        for wish in wishes:
            if wish.start_at is not None:
                assert Span(wish.start_at, wish.end_at, wish.content) in settled, (
                    "what is stated holds as stated"
                )
        if all(wish.start_at is None for wish in wishes) and number:
            end = min((wish.end_at or now_ms for wish in wishes), default=now_ms)
            for instant in range(min(now_ms, end)):
                assert at(settled, instant) == at(held, instant), "history is left alone"
        assert settle(settled, wishes, now_ms, first=False) == settled, "twice is once"
        held = settled


def at(spans: list[Span[str]], instant: int) -> str | None:
    return next(
        (s.content for s in spans if s.start_at <= instant and (s.end_at is None or instant < s.end_at)), None
    )


@given(st.lists(st.none() | st.integers(-5000, 5000), max_size=12))
def test_positions_rise_and_stay_where_they_can(wished: list[int | None]):
    places = order(wished)
    assert places == sorted(set(places))
    assert len(places) == len(wished)
    assert order(list(places)) == places


def test_a_rule_put_between_moves_no_other():
    assert order([1024, None, 2048]) == [1024, 1536, 2048]
    assert order([None, 1024]) == [0, 1024]
    assert order([3072, 1024, 2048])[0] == 3072
    assert BEGINNING_MS == 0

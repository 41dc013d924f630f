"""Gaps as a table of histories: what is told at each visit, and what the last versions say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector import gaps
from collector.gaps import Clocks, Watch
from collector.targets import Target
from quartermaster.records import Gap

WATCH = Watch(Target("c", "http://n1:9400/metrics"), "dcgm")
Visit = tuple[int, str] | tuple[int, str, int]


def walk(visits: list[Visit]) -> list[Gap]:
    watch, told = WATCH, []
    for visit in visits:
        at, reason = visit[0], visit[1]
        since = visit[2] if len(visit) == 3 else None
        watch, new = (
            gaps.observed(watch, at, ("n1",)) if reason == "ok" else gaps.missed(watch, at, reason, since)
        )
        told += new
    return told


def last(told: list[Gap]) -> list[tuple[int, int | None, str, int]]:
    newest = {gap.gap_id: gap for gap in sorted(told, key=lambda gap: gap.revision)}
    return sorted(((gap.start_at, gap.end_at, gap.reason, gap.revision) for gap in newest.values()), key=str)


HISTORIES: dict[str, tuple[list[Visit], int, list[tuple[int, int | None, str, int]]]] = {
    "all is well": ([(0, "ok"), (30, "ok")], 0, []),
    "one page missing": ([(0, "ok"), (30, "timeout"), (60, "ok")], 2, [(30, 60, "timeout", 1)]),
    "open while it lasts, told once": (
        [(0, "ok"), (30, "refused"), (60, "refused"), (90, "refused")],
        1,
        [(30, None, "refused", 0)],
    ),
    "a second reason is a version": (
        [(30, "timeout"), (60, "status 502"), (90, "timeout"), (120, "ok")],
        3,
        [(30, 120, "timeout, status 502", 2)],
    ),
    "reasons are bounded": (
        [(i, f"status {500 + i}") for i in range(30)],
        4,
        [(0, None, "status 500, status 501, status 502, status 503", 3)],
    ),
    "two gaps": (
        [(0, "timeout"), (30, "ok"), (60, "timeout"), (90, "ok")],
        4,
        [(0, 30, "timeout", 1), (60, 90, "timeout", 1)],
    ),
    "frozen from the last change on": (
        [(0, "ok"), (30, "ok"), (120, "frozen", 30), (150, "ok")],
        2,
        [(30, 150, "frozen", 1)],
    ),
    "frozen before it fell silent": (
        [(0, "ok"), (60, "timeout"), (90, "frozen", 0), (120, "ok")],
        4,
        [(0, 60, "frozen", 0), (60, 120, "timeout, frozen", 2)],
    ),
}


@pytest.mark.parametrize(("visits", "count", "expected"), HISTORIES.values(), ids=HISTORIES.keys())
def test_histories(visits: list[Visit], count: int, expected: list[tuple[int, int | None, str, int]]) -> None:
    told = walk(visits)
    assert len(told) == count
    assert last(told) == sorted(expected, key=str)
    assert {(gap.node, gap.target, gap.covers) for gap in told} <= {
        ("n1", "http://n1:9400/metrics", "telemetry")
    }


@given(st.lists(st.sampled_from(["ok", "timeout", "refused", "status 500"]), max_size=40))
def test_every_visit_is_either_seen_or_in_a_gap(outcomes: list[str]) -> None:
    told = walk([(30 * i, outcome) for i, outcome in enumerate(outcomes)])
    spans = [(start, 10**9 if end is None else end) for start, end, _, _ in last(told)]
    for i, outcome in enumerate(outcomes):
        assert any(start <= 30 * i < end for start, end in spans) == (outcome != "ok")
    assert len({(gap.gap_id, gap.revision) for gap in told}) == len(told), "no version is told twice"


def test_a_gap_never_covers_the_cluster_by_accident() -> None:
    _, told = gaps.missed(WATCH, 0, "refused")
    assert [gap.node for gap in told] == ["n1"], "the address's host, as long as no page has named the node"
    named, _ = gaps.observed(WATCH, 0, ("gpu-1", "gpu-2"))
    _, told = gaps.missed(named, 30, "refused")
    assert [gap.node for gap in told] == ["gpu-1", "gpu-2"], (
        "a page that spoke of two nodes is missing for both"
    )
    assert gaps.of_cluster("c", "dcgm", 0, 30, gaps.DOWN).node == ""


def test_who_is_watched_no_more_leaves_no_open_gap() -> None:
    watch, told = gaps.missed(WATCH, 30, "refused")
    assert last([*told, *gaps.ended(watch, 90)]) == [(30, 90, "refused", 1)]
    assert gaps.ended(WATCH, 90) == ()


@pytest.mark.parametrize(
    ("wall_ms", "monotonic_ms", "span"),
    [
        (30_000, 30_000, None),
        (30_900, 30_000, None),
        (3_630_000, 30_000, (30_000, 3_630_000)),
        (-3_570_000, 30_000, (-3_570_000, 30_000)),
    ],
    ids=["steady", "slewed", "forward, or asleep", "backward"],
)
def test_a_clock_that_jumps_leaves_an_unknown_span(
    wall_ms: int, monotonic_ms: int, span: tuple[int, int] | None
) -> None:
    assert gaps.jumped(Clocks(0, 0), Clocks(wall_ms, monotonic_ms)) == span

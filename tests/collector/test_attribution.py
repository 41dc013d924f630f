"""Attribution by labels: a table of histories, and what holds for any history."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.attribution import VANISH_MS, Attributed, Change, Holder, Known, attribute
from quartermaster.records import Allocation, Holding

A, B, C = Holder("vision", "a-0"), Holder("nlp", "b-0"), Holder("nlp", "c-0", "uid-c")
PAGE = 30_000
PARTS = {1: 168_000, 2: 168_000}
LATER = VANISH_MS + PAGE


def history(device: int, *pages: tuple[int, tuple[Holder, ...]]) -> list[Change]:
    return [Change(device, at, at - PAGE, frozenset(holders)) for at, holders in pages]


def after(known: Known, said: Attributed) -> Known:
    """What the ledger knows after these records, as its views show it."""
    allocations = {allocation.allocation_id: (holder, allocation) for holder, allocation in known.allocations}
    holders = {(h.namespace, h.pod, h.pod_uid): h for h in (A, B, C)}
    for allocation in said.allocations:
        holder = holders[allocation.namespace, allocation.pod, allocation.pod_uid]
        allocations[allocation.allocation_id] = (holder, allocation)
    holdings = {(holding.holding_id, holding.start_at): holding for holding in known.holdings}
    spent = dict(known.spent)
    for holding in said.holdings:
        key = (holding.holding_id, holding.start_at)
        assert holding.revision > spent.get(key, -1), "a version is above those before it"
        spent[key] = holding.revision
        holdings[key] = holding
    held = [
        holding
        for holding in holdings.values()
        if holding.end_at is None or holding.end_at > holding.start_at
    ]
    return Known(tuple(allocations.values()), tuple(held), spent)


def told(changes: list[Change], ended_ms: int | None = None) -> Known:
    return after(Known(), attribute("c", "n1", PARTS, changes, Known(), ended_ms=ended_ms))


def spans(known: Known, device: int = 1) -> list[tuple[str, int, int | None, int]]:
    pods = {allocation.allocation_id: allocation.pod for _, allocation in known.allocations}
    rows = [
        (pods[h.allocation_id], h.start_at, h.end_at, h.parts)
        for h in known.holdings
        if h.device_id == device
    ]
    return sorted(rows, key=lambda row: (row[1], row[0]))


WHOLE = 168_000
HISTORIES: dict[str, tuple[list[Change], list[tuple[str, int, int | None, int]], int]] = {
    "a pod comes and stays": (history(1, (60_000, (A,))), [("a-0", 60_000, None, WHOLE)], 1),
    "it goes": (history(1, (60_000, (A,)), (120_000, ())), [("a-0", 60_000, 120_000, WHOLE)], 1),
    "another follows at once": (
        history(1, (60_000, (A,)), (120_000, (B,))),
        [("a-0", 60_000, 120_000, WHOLE), ("b-0", 120_000, None, WHOLE)],
        2,
    ),
    "its label vanishes for a while": (
        history(1, (60_000, (A,)), (120_000, ()), (600_000, (A,)), (900_000, ())),
        [("a-0", 60_000, 900_000, WHOLE)],
        1,
    ),
    "it comes back much later: another pod of the same name": (
        history(1, (60_000, (A,)), (120_000, ()), (120_000 + LATER, (A,))),
        [("a-0", 60_000, 120_000, WHOLE), ("a-0", 120_000 + LATER, None, WHOLE)],
        2,
    ),
    "somebody else was there meanwhile": (
        history(1, (60_000, (A,)), (120_000, (B,)), (180_000, (A,))),
        [("a-0", 60_000, 120_000, WHOLE), ("b-0", 120_000, 180_000, WHOLE), ("a-0", 180_000, None, WHOLE)],
        2,
    ),
    "two share a device": (
        history(1, (60_000, (A,)), (120_000, (A, B)), (180_000, (B,))),
        [
            ("a-0", 60_000, 120_000, WHOLE),
            ("a-0", 120_000, 180_000, WHOLE // 2),
            ("b-0", 120_000, 180_000, WHOLE // 2),
            ("b-0", 180_000, None, WHOLE),
        ],
        2,
    ),
    "of three that share, one's label vanishes": (
        history(1, (60_000, (A, B, C)), (120_000, (A, B)), (180_000, (A, B, C))),
        [
            ("a-0", 60_000, None, WHOLE // 3),
            ("b-0", 60_000, None, WHOLE // 3),
            ("c-0", 60_000, None, WHOLE // 3),
        ],
        3,
    ),
}


@pytest.mark.parametrize(("changes", "expected", "allocations"), HISTORIES.values(), ids=HISTORIES.keys())
def test_histories(
    changes: list[Change], expected: list[tuple[str, int, int | None, int]], allocations: int
) -> None:
    known = told(changes)
    assert spans(known) == sorted(expected, key=lambda row: (row[1], row[0]))
    assert len(known.allocations) == allocations


def test_a_pod_on_two_devices_is_one_allocation_until_the_last_one() -> None:
    changes = history(1, (60_000, (A,)), (120_000, ())) + history(2, (60_000, (A,)), (180_000, ()))
    ((_, allocation),) = told(changes).allocations
    assert (allocation.start_at, allocation.end_at, allocation.gpu_parts) == (60_000, 180_000, 2 * WHOLE)
    assert (allocation.source, allocation.end_evidence) == ("labels", "label gone")


def test_time_after_the_last_sight_is_not_sure() -> None:
    changes = [Change(1, 60_000, 30_000, frozenset({A})), Change(1, 900_000, 300_000, frozenset({B}))]
    first, second = sorted(
        (allocation for _, allocation in told(changes).allocations), key=lambda a: a.start_at
    )
    assert (first.end_at, first.sure_end_at, first.end_evidence) == (900_000, 300_000, "label replaced")
    assert (second.end_at, second.sure_end_at) == (None, None)


def test_where_the_node_has_ended_nothing_is_held() -> None:
    known = told(history(1, (60_000, (A, B))), ended_ms=90_000_000)
    assert spans(known) == [("a-0", 60_000, 90_000_000, WHOLE // 2), ("b-0", 60_000, 90_000_000, WHOLE // 2)]
    assert {allocation.end_evidence for _, allocation in known.allocations} == {"node gone"}


def test_a_slurm_job_is_held_by_its_job() -> None:
    job = Holder("", "", "", "4711")
    said = attribute("c", "n1", PARTS, history(1, (60_000, (job,))), Known())
    assert [(w.api_group, w.kind, w.name) for w in said.workloads] == [("slurm", "Job", "4711")]
    assert said.allocations[0].pod == "4711"


PAGES = st.lists(
    st.tuples(st.integers(1, 2), st.integers(1, 90), st.sets(st.sampled_from([A, B, C]))),
    min_size=1,
    max_size=14,
    unique_by=lambda p: (p[0], p[1]),
)


def changes_of(pages: list[tuple[int, int, set[Holder]]]) -> list[Change]:
    return [
        Change(device, minute * 60_000, minute * 60_000 - PAGE, frozenset(holders))
        for device, minute, holders in pages
    ]


@given(PAGES, st.sets(st.integers(1, 90), max_size=5))
def test_step_by_step_says_the_same_as_at_once(
    pages: list[tuple[int, int, set[Holder]]], cuts: set[int]
) -> None:
    changes = changes_of(pages)
    known = Known()
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), 10**6], strict=True):
        step = [change for change in changes if start * 60_000 < change.at_ms <= end * 60_000]
        known = after(known, attribute("c", "n1", PARTS, step, known))
    once = told(changes)
    assert {replace(h, revision=0) for h in known.holdings} == {replace(h, revision=0) for h in once.holdings}
    assert {replace(a, revision=0) for _, a in known.allocations} == {
        replace(a, revision=0) for _, a in once.allocations
    }
    assert attribute("c", "n1", PARTS, [], once) == Attributed((), (), ())


@given(PAGES)
def test_at_each_page_the_holders_it_names_hold_the_device_in_equal_parts(
    pages: list[tuple[int, int, set[Holder]]],
) -> None:
    known = told(changes_of(pages))
    pods = {allocation.allocation_id: holder for holder, allocation in known.allocations}
    by_id: dict[int, Allocation] = {
        allocation.allocation_id: allocation for _, allocation in known.allocations
    }
    for device, minute, holders in pages:
        here = [h for h in known.holdings if h.device_id == device and in_force(h, minute * 60_000)]
        assert holders <= {pods[holding.allocation_id] for holding in here}, "who is named holds"
        assert len({holding.allocation_id for holding in here}) == len(here)
        assert {holding.parts for holding in here} <= {WHOLE // max(1, len(here))}
    for holding in known.holdings:
        allocation = by_id[holding.allocation_id]
        assert allocation.start_at <= holding.start_at
        assert allocation.end_at is None or (
            holding.end_at is not None and holding.end_at <= allocation.end_at
        )


def in_force(holding: Holding, at_ms: int) -> bool:
    return holding.start_at <= at_ms and (holding.end_at is None or holding.end_at > at_ms)

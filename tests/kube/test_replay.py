"""The week's stream, recorded on a real control plane, replayed: the same in any batches, late, and twice.

recorded.jsonl is what test_week.py left in its folder once: first what the script did, by the pod's uid (name, parts,
binding, the two instants that its end lies between, or null); then the events (receipt, kind, type, object).
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.kubernetes.picture import Picture
from collector.kubernetes.stream import BEGIN, SYNCED, Event
from quartermaster.clock import HOUR_MS
from quartermaster.records import Allocation
from sql.ledger import memory_ledger
from tests.kube.accountant import Accountant, Line
from tests.kube.raws import SETTINGS
from tests.kube.replaying import into_ledger, lives_of, measured, picture_of, written
from tests.kube.walk import Walk

FILE = (Path(__file__).parent / "recorded.jsonl").read_text(encoding="utf-8").splitlines()
RECORD: dict[str, Any] = json.loads(FILE[0])
LINES: list[Line] = [tuple(json.loads(line)) for line in FILE[1:]]
EVENTS = [Event(*line) for line in LINES]
END_MS = EVENTS[-1].received_at + 60_000


def last(rows: list[Allocation]) -> dict[str, Allocation]:
    found: dict[str, Allocation] = {}
    for row in rows:
        if row.pod_uid not in found or row.revision > found[row.pod_uid].revision:
            found[row.pod_uid] = row
    return found


def replay(events: list[Event], takes: frozenset[int] = frozenset()) -> dict[str, Allocation]:
    """The last version of each allocation, handed on after the given events and at the end."""
    picture = Picture(SETTINGS)
    rows: list[Any] = []
    for number, event in enumerate(events):
        picture.apply(event)
        if number in takes:
            rows += picture.take(event.received_at).get("allocations_versions", ())
    rows += picture.take(END_MS).get("allocations_versions", ())
    return last(rows)


WHOLE = replay(EVENTS)


def as_told(rows: dict[str, Allocation]) -> dict[str, tuple[Any, ...]]:
    """All but the revision, which counts how often something was told."""
    return {
        pod: (
            row.start_at,
            row.started_at,
            row.end_at,
            row.sure_end_at,
            row.gpu_parts,
            row.workload_id,
            row.labels,
        )
        for pod, row in rows.items()
    }


def test_it_is_what_was_done():
    assert set(WHOLE) == set(RECORD)
    for uid, (name, parts, bound, end) in RECORD.items():
        row = WHOLE[uid]
        assert (row.pod, row.gpu_parts, row.start_at) == (name, parts, bound)
        if end is None:
            assert row.end_at is None, name
        else:
            assert row.end_at is not None
            assert end[0] <= row.end_at <= end[1], name


def test_it_is_what_the_accountant_says():
    assert lives_of(picture_of(LINES)) == written(Accountant().read(LINES))


@pytest.mark.patient
def test_its_usage_is_the_accountants_to_the_millisecond():
    """Rule 1: capacity = held + unallocated + unavailable + unobserved, each of them as the walk has it."""
    told = picture_of(LINES, frozenset({30}))
    begun = told["authority_versions"][0].start_at
    span = (LINES[0][0] // HOUR_MS * HOUR_MS, END_MS)
    with memory_ledger() as ledger:
        into_ledger(ledger, "c", told, END_MS)
        sums, held = measured(ledger, "c", *span)
    walk = Walk(Accountant().read(LINES), span, begun, [(begun, END_MS)])
    assert sums == walk.sums
    assert held == {name: pms for name, pms in walk.held.items() if pms}
    assert sums["capacity"] == sum(
        sums[name] for name in ("held", "unallocated", "unavailable", "unobserved")
    )
    assert min(sums[name] for name in ("held", "unallocated", "unavailable", "unobserved")) > 0


@given(st.frozensets(st.integers(0, len(EVENTS))))
@pytest.mark.patient
def test_it_is_the_same_in_any_batches(takes: frozenset[int]):
    assert as_told(replay(EVENTS, takes)) == as_told(WHOLE)


@given(st.integers(0, len(EVENTS)))
@pytest.mark.patient
def test_it_is_the_same_when_a_part_comes_twice(until: int):
    twice = [event for event in EVENTS[:until] if event.type not in {BEGIN, SYNCED}]
    assert as_told(replay([*EVENTS[:until], *twice, *EVENTS[until:]])) == as_told(WHOLE)


@pytest.mark.parametrize("kind", ["pods", "nodes", "jobs"])
def test_streams_may_be_late_one_against_the_other(kind: str):
    """But for how sure an end is: that is what was known of its node then."""
    late = sorted(EVENTS, key=lambda event: event.kind == kind)
    found, whole = as_told(replay(late)), as_told(WHOLE)
    if kind == "nodes":
        found, whole = ({uid: row[:3] + row[4:] for uid, row in each.items()} for each in (found, whole))
    assert found == whole

"""A stream that was recorded on a real control plane, replayed: the same in any batches, late, and twice.

recorded.jsonl: first what was done, by the recorder's own reading of the API (pod → binding and end; of a forced
deletion the two instants it lies between); then the events (receipt, kind, type, object).
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.kubernetes.picture import Picture
from collector.kubernetes.stream import BEGIN, SYNCED, Event
from quartermaster.parts import GPU_PARTS
from quartermaster.records import Allocation
from tests.kube.raws import SETTINGS

LINES = (Path(__file__).parent / "recorded.jsonl").read_text(encoding="utf-8").splitlines()
RECORD: dict[str, Any] = json.loads(LINES[0])
EVENTS = [Event(*json.loads(line)) for line in LINES[1:]]
END_MS = EVENTS[-1].received_at + 60_000
PARTS = {"short": 1, "force": 4, "big": 8}


def last(rows: list[Allocation]) -> dict[str, Allocation]:
    found: dict[str, Allocation] = {}
    for row in rows:
        if row.pod not in found or row.revision > found[row.pod].revision:
            found[row.pod] = row
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
    for pod, (bound, ended) in RECORD.items():
        row = WHOLE[pod]
        assert row.start_at == bound, pod
        assert row.end_at is not None
        if isinstance(ended, list):
            assert ended[0] <= row.end_at <= ended[1], pod
        else:
            assert row.end_at == ended, pod
        assert row.gpu_parts == PARTS.get(pod, 2) * GPU_PARTS
    assert len({row.workload_id for pod, row in WHOLE.items() if pod.startswith("gang")}) == 1


@given(st.frozensets(st.integers(0, len(EVENTS))))
def test_it_is_the_same_in_any_batches(takes: frozenset[int]):
    assert as_told(replay(EVENTS, takes)) == as_told(WHOLE)


@given(st.integers(0, len(EVENTS)))
def test_it_is_the_same_when_a_part_comes_twice(until: int):
    twice = [event for event in EVENTS[:until] if event.type not in {BEGIN, SYNCED}]
    assert as_told(replay([*EVENTS[:until], *twice, *EVENTS[until:]])) == as_told(WHOLE)


@pytest.mark.parametrize("kind", ["pods", "nodes", "jobs"])
def test_streams_may_be_late_one_against_the_other(kind: str):
    late = sorted(EVENTS, key=lambda event: event.kind == kind)
    assert as_told(replay(late)) == as_told(WHOLE)

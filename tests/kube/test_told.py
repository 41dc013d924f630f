"""`why --sources` on a stream that a real API server gave: each claim's own times, evidence and versions."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analytics.sources import Claim, instant, sources
from collector.kubernetes import allocations
from sql.ledger import Ledger, memory_ledger
from tests.kube.accountant import Line
from tests.kube.replaying import into_ledger, picture_of

FILE = (Path(__file__).parent / "recorded.jsonl").read_text(encoding="utf-8").splitlines()
RECORD: dict[str, Any] = json.loads(FILE[0])
LINES: list[Line] = [tuple(json.loads(line)) for line in FILE[1:]]
END_MS = LINES[-1][0] + 60_000
ENDS = {
    allocations.FINISHED,
    allocations.STATUS,
    allocations.PHASE,
    allocations.DELETED,
    allocations.MISSED,
    allocations.JOB_ENDED,
    allocations.KILLED,
}


@pytest.fixture(scope="module")
def ledger() -> Iterator[Ledger]:
    with memory_ledger() as opened:
        every_tenth = frozenset(range(0, len(LINES), 10))
        into_ledger(opened, "c", picture_of(LINES, every_tenth), END_MS)
        yield opened


def claim_of(ledger: Ledger, uid: str) -> Claim:
    """The claim of one pod; a name may have been given twice."""
    found = sources(ledger, RECORD[uid][0], "UTC", END_MS)[1]
    (mine,) = (each for each in found if each.tellings[0].pod_uid == uid)
    return mine


@pytest.mark.parametrize("uid", RECORD, ids=lambda uid: RECORD[uid][0])
@pytest.mark.patient
def test_from_which_facts_its_interval_was_made(ledger: Ledger, uid: str) -> None:
    _, parts, bound, end = RECORD[uid]
    claim = claim_of(ledger, uid)
    assert [each.revision for each in claim.tellings] == sorted(each.revision for each in claim.tellings)
    (last,) = (each for each in claim.tellings if each.in_force)
    assert last is claim.tellings[-1]
    assert (last.source, last.gpu_parts, last.bound_ms) == ("kubernetes", parts, bound)
    assert f"from {instant(bound)} (bound)" in claim.sentence
    if end is None:
        assert last.ended_ms is None
        assert "and still does" in claim.sentence
        return
    assert last.ended_ms is not None
    assert end[0] <= last.ended_ms <= end[1]
    assert last.evidence in ENDS
    assert f"to {instant(last.ended_ms)} ({last.evidence})" in claim.sentence
    assert last.sure_until_ms is not None
    assert ("estimated from" in claim.sentence) == (last.sure_until_ms < last.ended_ms)


@pytest.mark.patient
def test_a_device_that_counts_is_of_the_best_evidence(ledger: Ledger) -> None:
    named = [device for uid in RECORD for device in claim_of(ledger, uid).devices]
    counting = {device.evidence for device in named if device.counts}
    assert counting <= {"dra", "kubelet"}
    assert "dra" in counting
    assert all(device.place for device in named if device.counts)

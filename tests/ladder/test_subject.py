"""Which workload is meant by a name or a UID: only what holds GPUs now, in the clusters that are asked."""

import json
from typing import Any
from uuid import uuid4

import polars as pl
import pytest

from enforcer.ladder.subject import Subject, find, limit
from enforcer.ladder.told import record
from quartermaster.clock import now_ms
from sql.ledger import Ledger
from tests.enforcer.clusters import NOW
from tests.ladder.idlers import MIN, POLICY, H
from tests.ladder.test_told import delivery


def tell(
    frames: dict[str, list[dict[str, Any]]],
    number: int,
    named: tuple[str, str, str, str],
    idle_h: float | None = None,
    *,
    holds: bool = True,
    finding: str = "idle workload",
) -> None:
    """Rows of a workload (kind, name, UID, cluster) in namespace `lab` that holds GPUs, or does no more."""
    kind, name, uid, cluster = named
    common: dict[str, Any] = {"cluster": cluster, "start_at": 0, "revision": 0}
    workload = common | {"workload_id": number, "namespace": "lab", "kind": kind, "name": name, "uid": uid}
    frames.setdefault("workloads_versions", []).append(workload)
    held = common | {"workload_id": number, "allocation_id": number, "end_at": None if holds else 1}
    frames.setdefault("allocations_versions", []).append(held)
    if idle_h is not None:
        idle = common | {
            "finding_id": number,
            "kind": finding,
            "state": "open",
            "evidence": json.dumps({"uid": uid}),
        }
        frames.setdefault("findings_versions", []).append(idle | {"start_at": now_ms() - round(idle_h * H)})


@pytest.fixture
def told(ledger: Ledger) -> Ledger:
    frames: dict[str, list[dict[str, Any]]] = {}
    tell(frames, 1, ("Notebook", "drafts", "uid-1", "main"), 2)
    tell(frames, 2, ("Job", "drafts", "uid-2", "main"))
    tell(frames, 3, ("Notebook", "drafts", "uid-3", "other"), 5, finding="forgotten workspace")
    tell(frames, 4, ("Job", "gone", "uid-4", "main"), 5, holds=False)
    tell(frames, 5, ("Job", "stalled", "uid-5", "main"), 5, finding="stalled workload")
    tell(frames, 6, ("Pod", "", "", "main"))
    ledger.append(f"test/{uuid4().hex}", {table: pl.DataFrame(rows) for table, rows in frames.items()})
    return ledger


@pytest.mark.patient
def test_who_is_meant(told: Ledger) -> None:
    both = ["main", "other"]
    with told.reading() as cursor:
        for wanted, clusters, uids in (
            ("Notebook/lab/drafts", ["main"], ["uid-1"]),
            ("Notebook/lab/drafts", both, ["uid-1", "uid-3"]),
            ("lab/drafts", ["main"], ["uid-2", "uid-1"]),
            ("uid-3", both, ["uid-3"]),
            ("uid-3", ["main"], []),
            ("Job/lab/gone", both, []),
            ("drafts", both, []),
            ("notebook/lab/drafts", both, []),
            ("", both, []),
            ("lab/", both, []),
            ("' or 1=1 --", both, []),
            ("%", both, []),
        ):
            assert [each.uid for each in find(cursor, clusters, wanted)] == uids, wanted


def test_since_when_it_is_idle_and_until_when_it_may_be_kept(told: Ledger) -> None:
    with told.reading() as cursor:
        (two,), (five,), (stalled,) = (
            find(cursor, ["main", "other"], f"uid-{number}") for number in (1, 3, 5)
        )
        assert two.title == "Notebook lab/drafts"
        for found, hours in ((two, 2), (five, 5)):
            assert found.since_ms == pytest.approx(now_ms() - hours * H, abs=MIN)
            assert limit(cursor, found, POLICY, NOW) == (found.since_ms or 0) + 8 * H + 72 * H
        assert stalled.since_ms is None
        assert limit(cursor, stalled, POLICY, NOW) == NOW + 2 * H + 24 * H
        serving = Subject("main", "serving", "lab", "x", "uid-9", None)
        assert limit(cursor, serving, POLICY, NOW) is None


def test_the_first_warning_of_this_spell_counts(told: Ledger) -> None:
    record(told, (delivery("uid-9", ago=5 * H), delivery("uid-9", ago=H)), NOW)
    with told.reading() as cursor:
        for idle_h, due_h in ((4, 5), (6, 2)):  # taken 6 h after the first warning, 8 h after it fell idle
            found = Subject("main", "Notebook", "lab", "x", "uid-9", NOW - idle_h * H)
            assert limit(cursor, found, POLICY, NOW) == NOW + due_h * H + 72 * H

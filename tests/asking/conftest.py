"""A cluster with a workload of two teams each, plans, and what was stopped."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import polars as pl
import pytest

from analytics.asking.wish import Asker
from analytics.scope import ALL, Scope
from quartermaster.clock import HOUR_MS
from quartermaster.person import person_id, pseudonym
from quartermaster.role import Role
from sql.ledger import Ledger, memory_ledger

NOW = 1_795_000_000_000
KEY = b"k" * 32
HASH = "3f8a07c2" * 8
OLD_HASH = "aaaa0000" * 8


def asker(name: str, *roles: Role, teams: tuple[str, ...] | None = ()) -> Asker:
    """Somebody with roles, and teams (None: all)."""
    scope = ALL if teams is None else Scope(frozenset(teams))
    return Asker(pseudonym(person_id(KEY, name)), frozenset(roles), scope)


@pytest.fixture(scope="module")
def opened() -> Iterator[Ledger]:
    """Notebook/lab/drafts is vision's and alice's, Job/nlp/train language's and bob's, Job/lab/new of no team yet."""
    with memory_ledger() as ledger:
        ledger.append("test/asking", {table: pl.DataFrame(rows) for table, rows in _rows().items()})
        yield ledger


@pytest.fixture
def ledger(opened: Ledger) -> Ledger:
    """The same, of which nothing was asked."""
    if opened.query("select count(*) as n from requests")["n"][0]:
        opened.write(f"test/{uuid4().hex}", lambda cursor: cursor.execute("delete from requests") and None)
    return opened


def _rows() -> dict[str, list[dict[str, Any]]]:
    named = (
        (1, "Notebook", "lab", "drafts", "uid-1", "alice", "vision"),
        (2, "Job", "nlp", "train", "uid-2", "bob", "language"),
        (3, "Job", "lab", "new", "uid-3", "carol", None),
    )
    common = {"cluster": "main", "revision": 0, "start_at": NOW - HOUR_MS}
    pms = ("capacity", "held", "computing", "idle", "unknown", "unallocated", "unavailable", "unobserved")
    rows: dict[str, list[dict[str, Any]]] = {
        "workloads_versions": [
            common
            | {"workload_id": each[0], "kind": each[1], "namespace": each[2], "name": each[3], "uid": each[4]}
            | {"person_id": person_id(KEY, each[5])}
            for each in named
        ],
        "allocations_versions": [
            common | {"allocation_id": each[0], "workload_id": each[0]} for each in named
        ],
        "usage_hourly": [
            {"cluster": "main", "pool": "p", "model": "m", "node": "n", "device_id": each[0]}
            | {"row_start_at": NOW - HOUR_MS, "row_end_at": NOW, "team": each[6], "workload_id": each[0]}
            | {f"{state}_pms": 0 for state in pms}
            for each in named
            if each[6]
        ],
        "plans": [
            {"cluster": "main", "mode": "plan", "actions": 1, "body": "{}", "snapshot_hash": "s"}
            | {"plan_hash": plan_hash, "planned_at": at_ms}
            for plan_hash, at_ms in ((OLD_HASH, NOW - HOUR_MS), (HASH, NOW - 60_000))
        ],
    }
    deed = {"cluster": "main", "kind": "Job", "namespace": "nlp", "phase": "intent", "act": "stop"}
    rows["deeds"] = [
        deed | {"number": 1, "row_hash": "h1", "name": "stopped", "object_uid": "uid-9", "told_at": NOW},
        deed
        | {"number": 2, "row_hash": "h2", "name": "back", "object_uid": "uid-8", "told_at": NOW}
        | {"act": "stop"},
        deed
        | {"number": 3, "row_hash": "h3", "name": "back", "object_uid": "uid-8", "told_at": NOW}
        | {"act": "restore"},
        deed
        | {"number": 4, "row_hash": "h4", "intent": "h3", "phase": "outcome", "result": "done"}
        | {"name": "back", "object_uid": "uid-8", "told_at": NOW, "act": "restore"},
    ]
    return rows

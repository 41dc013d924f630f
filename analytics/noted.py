"""Noting findings in the ledger: one stays open while it is found, and ends when it is found no more."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import sql
from analytics.found import Found, Kind
from quartermaster.clock import HOUR_MS
from quartermaster.ids import content_id
from sql.ledger import Ledger

# What grows (its cost, its figures) is written anew so often; a changed doubt at once.
_ANEW_MS = HOUR_MS
# Idleness begins when a workload computed last: a later beginning is another finding. The others are judged over a
# window that moves, and go on as long as they are found.
_HAS_BEGINNING = frozenset({Kind.idle, Kind.forgotten, Kind.partly_idle, Kind.never_started})
_SCHEMA = {
    "cluster": pl.String,
    "finding_id": pl.Int64,
    "start_at": pl.Int64,
    "end_at": pl.Int64,
    "kind": pl.String,
    "subject": pl.String,
    "team": pl.String,
    "signals": pl.String,
    "coverage_permille": pl.Int64,
    "cost": pl.Decimal(18, 6),
    "currency": pl.String,
    "evidence": pl.String,
    "state": pl.String,
    "revision": pl.Int64,
}


@dataclass(frozen=True)
class Noted:
    """How many findings are new, and how many have ended."""

    new: int
    ended: int


def complete_until(ledger: Ledger, cluster: str) -> int | None:
    """Up to when (epoch ms) all sources of a cluster have told; None where none has."""
    return ledger.query(_text("complete"), {"cluster": cluster}).item()


def note(ledger: Ledger, cluster: str, found: Sequence[Found], at_ms: int) -> Noted:
    """Write what is found now beside what was open: one process at a time. Raises LedgerError."""
    with ledger.exclusive("findings"):
        known = ledger.query(
            _text("known"), {"cluster": cluster, "kinds": [kind.value for kind in Kind]}
        ).to_dicts()
        rows = versions(cluster, known, found, at_ms)
        frame = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
        ledger.append(f"findings/{cluster}/{at_ms}", {"findings_versions": frame}, recorded_at=at_ms)
    open_before = {(row["finding_id"], row["start_at"]) for row in known}
    new = sum(
        row["end_at"] is None and (row["finding_id"], row["start_at"]) not in open_before for row in rows
    )
    return Noted(new, sum(row["end_at"] is not None for row in rows))


def versions(
    cluster: str, known: Iterable[Mapping[str, Any]], found: Iterable[Found], at_ms: int
) -> list[dict[str, Any]]:
    """The rows of findings_versions to append, given those that are open (`recorded_ms`: when they were written)."""
    still = {row["finding_id"]: row for row in known}
    rows: list[dict[str, Any]] = []
    for each in found:
        row = _row(cluster, each)
        was = still.pop(row["finding_id"], None)
        if was is None:
            rows.append(row)
        elif _begins_anew(each, was["start_at"]):
            rows += [_ended(cluster, was, each.since_ms), row]
        elif at_ms - was["recorded_ms"] >= _ANEW_MS or _doubts(was["evidence"]) != list(each.doubts):
            rows.append(row | {"start_at": was["start_at"], "revision": was["revision"] + 1})
    return rows + [_ended(cluster, was, at_ms) for was in still.values()]


def _begins_anew(found: Found, start_ms: int) -> bool:
    """Beginnings that are long ago are known by the hour alone."""
    return found.kind in _HAS_BEGINNING and found.since_ms > -(-start_ms // HOUR_MS) * HOUR_MS


def _row(cluster: str, found: Found) -> dict[str, Any]:
    return {
        "cluster": cluster,
        "finding_id": content_id("finding", cluster, found.kind.value, found.subject),
        "start_at": found.since_ms,
        "end_at": None,
        "kind": found.kind.value,
        "subject": found.subject,
        "team": found.team,
        "signals": json.dumps(list(found.signals)),
        "coverage_permille": found.coverage_permille,
        "cost": found.cost,
        "currency": found.currency,
        "evidence": json.dumps({"pool": found.pool} | dict(found.evidence), ensure_ascii=False),
        "state": "open",
        "revision": 0,
    }


def _ended(cluster: str, was: Mapping[str, Any], end_ms: int) -> dict[str, Any]:
    kept = {name: was[name] for name in _SCHEMA if name in was}
    ends = {"end_at": max(end_ms, was["start_at"] + 1), "state": "resolved", "revision": was["revision"] + 1}
    return {"cluster": cluster} | kept | ends


def _doubts(evidence: str) -> list[str]:
    return list(json.loads(evidence).get("doubts", []))


def _text(name: str) -> str:
    return (Path(sql.__file__).parent / "queries" / "findings" / f"{name}.sql").read_text(encoding="utf-8")

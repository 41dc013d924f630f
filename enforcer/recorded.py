"""Recorded plans: put into the ledger once for as long as they do the same, and read as they were written down."""

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from enforcer.book import rows
from enforcer.plan import Plan
from enforcer.written import SHADOW, write
from quartermaster.clock import MINUTE_MS
from quartermaster.config.acting import Mode
from sql.ledger import Ledger

_PLAN = {
    "cluster": pl.String,
    "plan_hash": pl.String,
    "planned_at": pl.Int64,
    "mode": pl.String,
    "snapshot_hash": pl.String,
    "policy_hash": pl.String,
    "actions": pl.Int64,
    "body": pl.String,
}
_ACTION = {
    "cluster": pl.String,
    "plan_hash": pl.String,
    "planned_at": pl.Int64,
    "mode": pl.String,
    "position": pl.Int64,
    "group_number": pl.Int64,
    "act": pl.String,
    "cause": pl.String,
    "stage": pl.String,
    "kind": pl.String,
    "namespace": pl.String,
    "name": pl.String,
    "object_uid": pl.String,
    "object_version": pl.String,
    "workload_id": pl.Int64,
    "team": pl.String,
    "pool": pl.String,
    "for_uid": pl.String,
    "frees_parts": pl.Int64,
    "lost_pms": pl.Decimal(38, 0),
}


def record(ledger: Ledger, planned: Plan, ids: Mapping[str, int], mode: Mode = SHADOW) -> bool:
    """Put a plan into the ledger; False where the last one recorded has the same actions. Raises LedgerError.

    `ids` are the ledger's of the workloads that it names, by UID. One that waits for approval is recorded again every
    minute, so that who approves it sees that it still stands.
    """
    with ledger.reading() as cursor:
        last = rows(cursor, "recorded", {"cluster": planned.cluster, "prefix": ""})
    if last.height and _stands(last.row(0, named=True), planned, mode):
        return False
    common = {
        "cluster": planned.cluster,
        "plan_hash": planned.hash,
        "planned_at": planned.at_ms,
        "mode": mode,
    }
    body = json.dumps(write(planned, mode), ensure_ascii=False)
    whole = common | {
        "snapshot_hash": planned.snapshot_hash,
        "policy_hash": planned.policy_hash,
        "actions": len(planned.actions),
        "body": body,
    }
    actions = [
        common
        | {
            "position": position,
            "group_number": each.group,
            "act": each.act.value,
            "cause": each.cause.value,
            "stage": each.stage,
            "kind": each.target.kind,
            "namespace": each.target.namespace,
            "name": each.target.name,
            "object_uid": each.target.uid,
            "object_version": each.target.version,
            "workload_id": ids.get(each.target.uid),
            "team": each.target.team,
            "pool": each.target.pool,
            "for_uid": each.for_uid,
            "frees_parts": each.frees_parts,
            "lost_pms": None if each.harm is None else each.harm.lost_pms,
        }
        for position, each in enumerate(planned.actions)
    ]
    frames = {"plans": pl.DataFrame([whole], schema=_PLAN), "actions": pl.DataFrame(actions, schema=_ACTION)}
    key = f"{mode}/{planned.at_ms}/{planned.hash}"
    return ledger.append(key, frames, recorded_at=planned.at_ms)


def _stands(last: Mapping[str, Any], planned: Plan, mode: Mode) -> bool:
    """Whether the row says the same, and lately enough."""
    if last["plan_hash"] != planned.hash or last["mode"] != mode:
        return False
    return mode != "plan" or not planned.actions or planned.at_ms - last["planned_ms"] < MINUTE_MS


def read(ledger: Ledger, prefix: str, cluster: str | None) -> Mapping[str, Any] | None:
    """The last plan whose hash begins so, of one cluster or of any; None where there is none. Raises LedgerError."""
    with ledger.reading() as cursor:
        found = rows(cursor, "recorded", {"cluster": cluster, "prefix": prefix})
    return json.loads(found["body"][0]) if found.height else None

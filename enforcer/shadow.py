"""Shadow mode: a plan is made of what the ledger knows, and recorded. Nothing is ever done."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from zoneinfo import ZoneInfo

import polars as pl

from analytics.findings import Priced, look
from analytics.judged import Terms
from analytics.measure import Cursor
from analytics.money.rates import read_prices
from enforcer.book import Book, Told, rows
from enforcer.freshness import Refusal, heard_ms, stale, thin
from enforcer.heard import hear
from enforcer.idleness import Findings
from enforcer.memory import Memory
from enforcer.plan import Plan
from enforcer.planner import plan
from enforcer.snapshot import Snapshot
from enforcer.written import SHADOW, write
from quartermaster.clock import DAY_MS
from quartermaster.config.findings import FindingsPart
from quartermaster.config.policy import PolicyPart
from sql.ledger import Ledger

_REMEMBERED_MS = 90 * DAY_MS
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


@dataclass(frozen=True)
class Ruling:
    """By what shadow plans are made: the configuration's two parts, and the business's time zone."""

    policy: PolicyPart
    findings: FindingsPart
    time_zone: str

    @property
    def zone(self) -> ZoneInfo:
        """The time zone as the planner wants it."""
        return ZoneInfo(self.time_zone)


@dataclass(frozen=True)
class Shadow:
    """A plan that nobody carries out, and the ledger's ids of the workloads it names, by UID."""

    plan: Plan
    ids: Mapping[str, int]


def cycle(ledger: Ledger, cluster: str, at_ms: int, terms: Ruling) -> tuple[Shadow | Refusal, bool]:
    """Make the plan of this instant and record it, unless the last one recorded would do the same to the same.

    The plan, or why there is none; and whether it was recorded. Raises LedgerError.
    """
    with ledger.exclusive("shadow"):
        with ledger.reading() as cursor:
            made = make(cursor, cluster, at_ms, terms)
        return made, isinstance(made, Shadow) and record(ledger, made)


def make(cursor: Cursor, cluster: str, at_ms: int, terms: Ruling) -> Shadow | Refusal:
    """The plan of an instant that is now, as a cursor sees the ledger; or why there is none."""
    book = Book(cursor, cluster, at_ms, at_ms)
    lags = book.lags(at_ms)
    reasons = list(stale(lags, terms.policy))
    if reasons:
        return Refusal(cluster, at_ms, tuple(reasons), heard_ms(lags, at_ms))
    priced = Priced(read_prices(cursor), at_ms)
    found = look(cursor, cluster, Terms(at_ms, terms.findings, terms.policy, priced.of), terms.time_zone)
    measured = rows(cursor, "coverage_now", {}).row(0, named=True)
    reasons = list(thin(measured["held_pms"], measured["known_pms"]))
    if reasons:
        return Refusal(cluster, at_ms, tuple(reasons), heard_ms(lags, at_ms))
    computing = rows(cursor, "computing_now", {})["pool"].to_list()
    memory = Memory()
    span = {"cluster": cluster, "since_ms": at_ms - _REMEMBERED_MS, "at_ms": at_ms}
    memory.recall(rows(cursor, "remembered", span).iter_rows(named=True))
    told = book.told(at_ms, memory.as_takings())
    return shadow(told, hear(found, computing, {}, {}), memory, _computed(cursor, told, memory, span), terms)


def shadow(
    told: Told, findings: Findings, memory: Memory, computed_ms: Mapping[str, int], terms: Ruling
) -> Shadow:
    """The plan for an instant, with what was noticed then, what is remembered, and who computed last when."""
    heard = memory.hear(past_grace(findings, told.snapshot, terms.policy.grace_ms), computed_ms)
    return Shadow(plan(told.snapshot, heard, terms.policy, terms.zone), told.ids)


def _computed(cursor: Cursor, told: Told, memory: Memory, span: Mapping[str, object]) -> dict[str, int]:
    """When those whom plans have taken computed last."""
    uids = {told.ids[uid]: uid for uid in memory.takings if uid in told.ids}
    if not uids:
        return {}
    seen = rows(cursor, "computed_now", {**span, "workloads": list(uids)})
    return {uids[number]: at_ms for number, at_ms in seen.iter_rows()}


def past_grace(findings: Findings, snapshot: Snapshot, grace_ms: int) -> Findings:
    """The findings with idleness counted from a grace after the last start: what never computed is idle from then."""
    started = {
        each.uid: max(pod.started_at_ms for pod in each.pods if pod.started_at_ms is not None)
        for each in snapshot.workloads
        if any(pod.started_at_ms is not None for pod in each.pods)
    }
    return Findings(
        tuple(
            replace(each, since_ms=max(each.since_ms, started.get(each.uid, 0) + grace_ms))
            for each in findings.idle
        ),
        findings.computing,
    )


def record(ledger: Ledger, made: Shadow) -> bool:
    """Put the plan into the ledger; False where the last one recorded is of the same deeds. Raises LedgerError."""
    planned = made.plan
    with ledger.reading() as cursor:
        given = {"cluster": planned.cluster, "prefix": "", "most": 1}
        last = rows(cursor, "recorded", given)
    if last.height and last["plan_hash"][0] == planned.hash:
        return False
    common = {
        "cluster": planned.cluster,
        "plan_hash": planned.hash,
        "planned_at": planned.at_ms,
        "mode": SHADOW,
    }
    body = json.dumps(write(planned), ensure_ascii=False)
    whole = common | {
        "snapshot_hash": planned.snapshot_hash,
        "policy_hash": planned.policy_hash,
        "actions": len(planned.actions),
        "body": body,
    }
    deeds = [
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
            "workload_id": made.ids.get(each.target.uid),
            "team": each.target.team,
            "pool": each.target.pool,
            "for_uid": each.for_uid,
            "frees_parts": each.frees_parts,
            "lost_pms": None if each.harm is None else each.harm.lost_pms,
        }
        for position, each in enumerate(planned.actions)
    ]
    frames = {"plans": pl.DataFrame([whole], schema=_PLAN), "actions": pl.DataFrame(deeds, schema=_ACTION)}
    key = f"shadow/{planned.at_ms}/{planned.hash}"
    return ledger.append(key, frames, recorded_at=planned.at_ms)

"""The enforcer as the ledger has it: plan and whys, regret, findings, deeds, requests, the audit's state."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

from analytics.regret import Watched, recorded, watch
from analytics.scope import Scope
from analytics.views.rows import Row, rows
from analytics.wonback import Stop, won_back
from quartermaster.clock import DAY_MS
from sql.ledger import Cursor, Ledger

LOOKED_BACK_MS = 28 * DAY_MS
_FOR_ANOTHER = "An owner in its pool waits for GPUs of its guarantee."


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that a plan would do. GPUs and GPU-hours are decimal texts, as the plan has them."""

    act: str
    stage: str
    cause: str
    title: str
    team: str
    pool: str
    frees_gpus: str
    lost_gpu_hours: str
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Planned:
    """The last plan of a cluster, with the actions that a reader may see; `hidden` counts the others."""

    plan_hash: str
    mode: str
    planned_ms: int
    actions: tuple[Action, ...]
    hidden: int
    doing_nothing: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is noticed and open."""

    kind: str
    subject: str
    team: str
    since_ms: int
    cost: Decimal | None
    currency: str
    doubts: int


@dataclass(frozen=True, slots=True)
class Deed:
    """What was meant for an object, and what came of it ("": nothing is told yet)."""

    told_ms: int
    act: str
    kind: str
    namespace: str
    name: str
    team: str
    parts: int
    cause: str
    result: str
    words: str


@dataclass(frozen=True, slots=True)
class Refused:
    """What the guard did not let through, by its reason."""

    reason: str
    times: int
    last_ms: int


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody asked for, and what became of it ("": no deed answers it)."""

    asked_ms: int
    asked_by: str
    kind: str
    subject: str
    until_ms: int | None
    words: str
    result: str
    answer: str


@dataclass(frozen=True, slots=True)
class Audit:
    """A cluster's chain of deeds, as far as its links tell; `quartermaster audit verify` computes each hash anew."""

    rows: int
    last: int
    unlinked: int
    last_ms: int | None
    head: int
    head_hash: str
    last_hash: str

    @property
    def is_linked(self) -> bool:
        """Whether no number is missing, each row follows on the one before it, and the last is the noted head."""
        return self.rows == self.last == self.head and not self.unlinked and self.head_hash == self.last_hash


@dataclass(frozen=True, slots=True)
class Stopped:
    """A workload that was stopped and not started again: what `restore` takes."""

    title: str
    uid: str
    team: str
    stopped_ms: int


@dataclass(frozen=True)
class Enforced:
    """What a reader may see of the enforcer's work in one cluster, and of the 28 days before an instant."""

    cluster: str
    at_ms: int
    whole: bool
    planned: Planned | None
    watched: tuple[Watched, ...]
    findings: tuple[Finding, ...]
    done: tuple[Deed, ...]
    refused: tuple[Refused, ...]
    won: tuple[Stop, ...]
    stopped: tuple[Stopped, ...]
    asked: tuple[Asked, ...]
    frozen_ms: int | None  # since when; None: it is not frozen by a command
    frozen_words: str
    audit: Audit | None  # None: not the reader's to see


def clusters(ledger: Ledger) -> tuple[str, ...]:
    """The clusters that are measured, planned for or acted on. Raises LedgerError."""
    with ledger.reading() as cursor:
        return tuple(row["cluster"] for row in rows(cursor, "enforced", "clusters"))


def enforced(ledger: Ledger, scope: Scope, cluster: str, asker: str, now_ms: int) -> Enforced:
    """The enforcer's work in a cluster at `now_ms` (epoch ms); `asker`: the reader's pseudonym. Raises LedgerError."""
    given = {
        "cluster": cluster,
        "teams": scope.bound,
        "asker": asker,
        "now_ms": now_ms,
        "from_ms": now_ms - LOOKED_BACK_MS,
    }
    with ledger.reading() as cursor:
        plan = rows(cursor, "enforced", "plan", **given)
        frozen = next(iter(rows(cursor, "enforced", "frozen", **given)), None)
        is_frozen = frozen is not None and frozen["frozen"]
        victims = [each for each in recorded(cursor, cluster) if scope.admits(each.team)]
        won = won_back(cursor, now_ms - LOOKED_BACK_MS, now_ms, cluster)
        return Enforced(
            cluster,
            now_ms,
            scope.whole,
            _planned(plan[0], scope) if plan else None,
            tuple(watch(cursor, victims)) if victims else (),
            tuple(Finding(**row) for row in rows(cursor, "enforced", "findings", **given)),
            tuple(Deed(**row) for row in rows(cursor, "enforced", "done", **given)),
            tuple(Refused(**row) for row in rows(cursor, "enforced", "refused", **given)),
            tuple(stop for stop in won if scope.admits(stop.team)),
            _stopped(cursor, cluster) if scope.whole else (),
            tuple(Asked(**row) for row in rows(cursor, "enforced", "requests", **given)),
            frozen["at_ms"] if frozen is not None and is_frozen else None,
            frozen["words"] if frozen is not None and is_frozen else "",
            Audit(**rows(cursor, "enforced", "audit", **given)[0]) if scope.whole else None,
        )


def _planned(row: Row, scope: Scope) -> Planned:
    body = cast(dict[str, Any], json.loads(row["body"]))
    actions = cast(list[dict[str, Any]], body.get("actions", []))
    seen = [_action(each, scope) for each in actions if scope.admits(str(each.get("team", "")))]
    nothing = cast(dict[str, Any], body.get("doing_nothing", {}))
    return Planned(
        row["plan_hash"],
        row["mode"],
        row["planned_ms"],
        tuple(seen),
        len(actions) - len(seen),
        str(nothing.get("words", "")) if scope.whole else "",
        tuple(map(str, body.get("notes", []))) if scope.whole else (),
    )


def _action(each: Mapping[str, Any], scope: Scope) -> Action:
    harm = cast(dict[str, Any], each.get("harm") or {})
    told = tuple(map(str, each.get("why", [])))
    return Action(
        *(str(each.get(name, "")) for name in ("act", "stage", "cause", "workload", "team", "pool")),
        frees_gpus=str(each.get("frees_gpus", "")),
        lost_gpu_hours=str(harm.get("lost_gpu_hours", "")),
        why=told if scope.whole or not each.get("for") else (_FOR_ANOTHER,),
    )


def _stopped(cursor: Cursor, cluster: str) -> tuple[Stopped, ...]:
    return tuple(
        Stopped(
            f"{row['kind']}/{row['namespace']}/{row['name']}",
            row["object_uid"],
            row["team"],
            row["told_at"] // 1000,
        )
        for row in rows(cursor, "enforce", "audit_stopped", cluster=cluster, from_ms=0)
    )

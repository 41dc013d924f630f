"""Approving: which recorded plan is meant, and whether it may be approved now."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analytics.asking.request import rows
from quartermaster.clock import MINUTE_MS, to_iso
from quartermaster.config.acting import ActingPart
from quartermaster.errors import InputError
from sql.catalog import Cursor

SHORTEST = 8  # signs of a hash; by fewer a plan would be approved that nobody has looked at
_AGAIN = "quartermaster plan show has the last that was recorded"


@dataclass(frozen=True)
class Recorded:
    """A plan as it was recorded last; `body` is as `enforcer.written` writes it. `replaced`: another took its place."""

    cluster: str
    plan_hash: str
    planned_ms: int
    mode: str
    actions: int
    body: Mapping[str, Any]
    replaced: bool


def find(cursor: Cursor, prefix: str, cluster: str | None) -> Recorded:
    """The one plan whose hash begins so. Raises InputError where there is none, or more than one."""
    if len(prefix) < SHORTEST:
        raise InputError(
            f"{prefix!r} is too short to approve a plan by", f"give {SHORTEST} signs of its hash"
        )
    found = rows(cursor, "approvable", {"prefix": prefix, "cluster": cluster}).to_dicts()
    if not found:
        raise InputError(f"no recorded plan begins with {prefix!r}", _AGAIN)
    if len(found) > 1:
        named = ", ".join(f"{each['plan_hash'][:16]} of cluster {each['cluster']}" for each in found[:5])
        raise InputError(
            f"{len(found)} recorded plans begin with {prefix!r}: {named}",
            "give more of its hash, or name one with --cluster",
        )
    return Recorded(**found[0] | {"body": json.loads(found[0]["body"])})


def check(plan: Recorded, acting: ActingPart, now_ms: int) -> None:
    """Raise InputError where approving the plan now would do nothing, or nobody can tell any more what it would do."""
    name = f"plan {plan.plan_hash[:12]}"
    if acting.mode == "shadow":
        raise InputError(
            "policy.acting.mode is shadow: nothing is done, approved or not", "set it to plan or act"
        )
    if plan.mode == "shadow":
        raise InputError(
            f"{name} is a shadow plan: nobody carries it out", "quartermaster enforce --plan makes others"
        )
    if not plan.actions:
        raise InputError(f"{name} does nothing to anybody", "there is nothing to approve")
    if plan.replaced:
        raise InputError(
            f"{name} of {to_iso(plan.planned_ms)} is not the last: another took its place", _AGAIN
        )
    if now_ms - plan.planned_ms >= acting.approval_lasts_ms:
        raise InputError(
            f"{name} is of {to_iso(plan.planned_ms)}, longer ago than the {acting.approval_lasts_ms // MINUTE_MS} min "
            "of policy.acting.approval_lasts",
            "while quartermaster enforce --plan --watch runs, a plan that still stands is recorded every minute",
        )

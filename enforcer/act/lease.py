"""The Lease as a value: who may act, since when, and what one who would like to is to write. Pure.

A leader trusts its lease for a shorter time than others wait before they take it, and each counts on its own clock
alone: a wall clock that jumps changes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from collector.kubernetes.values import Json, mapping, text, whole
from enforcer.act.wire import CONNECT_S, READ_S

NAME = "quartermaster-enforcer"
AUDIT_HEAD = "quartermaster/audit-head"
DURATION_S, RENEW_S = 15, 5.0
# What is sent in the last moment of trust is answered, or given up, before anybody else acts.
TRUST_S = DURATION_S - CONNECT_S - READ_S - 2.0


@dataclass(frozen=True, slots=True)
class Held:
    """A Lease as it was read."""

    holder: str  # "" for nobody
    renewed: str  # when, by the holder's clock: only whether it changes counts
    duration_s: int
    epoch: int  # leaseTransitions


@dataclass(frozen=True, slots=True)
class Watched:
    """Since when, on our own clock, a lease has not been renewed."""

    held: Held
    since_s: float


def held_of(lease: Json) -> Held:
    """What a Lease says."""
    spec = mapping(lease.get("spec"))
    return Held(
        text(spec.get("holderIdentity")),
        text(spec.get("renewTime")),
        whole(spec.get("leaseDurationSeconds")) or DURATION_S,
        whole(spec.get("leaseTransitions")),
    )


def watched(held: Held, before: Watched | None, now_s: float) -> Watched:
    """The lease as it is read now, after it was watched before."""
    return before if before is not None and before.held == held else Watched(held, now_s)


def is_free(seen: Watched, identity: str, now_s: float) -> bool:
    """Whether it may be taken, or renewed: it is nobody's, ours, or was not renewed for as long as it lasts."""
    return seen.held.holder in {"", identity} or now_s - seen.since_s > seen.held.duration_s


def taken(lease: Json | None, identity: str, wall_ms: int, least_epoch: int, head: str) -> Json:
    """The Lease as it is written to take it, or to renew it. A change of holder raises its epoch.

    `least_epoch` is the highest that any deed has: a Lease that was deleted begins above it.
    """
    lease = lease or {"metadata": {"name": NAME}}
    now = datetime.fromtimestamp(wall_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    held = held_of(lease)
    spec: dict[str, Any] = mapping(lease.get("spec")) | {
        "renewTime": now,
        "leaseDurationSeconds": DURATION_S,
    }
    if held.holder != identity:
        epoch = max(held.epoch, least_epoch) + 1
        spec |= {"holderIdentity": identity, "acquireTime": now, "leaseTransitions": epoch}
    metadata = mapping(lease.get("metadata"))
    notes: Mapping[str, Any] = mapping(metadata.get("annotations")) | ({AUDIT_HEAD: head} if head else {})
    return _lease(metadata | {"annotations": notes}, spec)


def released(lease: Json) -> Json:
    """The Lease as it is written to give it up, so that the next one need not wait."""
    spec = {key: value for key, value in mapping(lease.get("spec")).items() if key != "holderIdentity"}
    return _lease(mapping(lease.get("metadata")), spec)


def _lease(metadata: Json, spec: Json) -> Json:
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}

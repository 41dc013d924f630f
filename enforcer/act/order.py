"""Orders: the actions of one group as they are carried out, and the deeds that tell of them. Pure."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from enforcer.act.change import Change
from enforcer.audit.deed import Deed, Phase, Result
from enforcer.guard.refused import Refused
from enforcer.plan import Action, Plan
from enforcer.snapshot import Snapshot

RESTORE = "restore"
# What the audit has room for of a gang's pods; after a restart the others are left to their controllers.
_LONGEST_PODS = 48 * 1024


@dataclass(frozen=True, slots=True)
class Order:
    """One action of a plan, its place in it, and the names of its target's pods by UID."""

    position: int
    action: Action
    pods: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Under:
    """What all deeds of a group have in common."""

    cluster: str
    plan_hash: str
    epoch: int  # of the lease
    actor: str


def orders_of(plan: Plan, group: int, snapshot: Snapshot) -> tuple[Order, ...]:
    """The orders of one group of a plan, with the names that the plan's own snapshot has."""
    names = {each.uid: {pod.uid: pod.name for pod in each.pods} for each in snapshot.workloads}
    return tuple(
        Order(position, each, {uid: names[each.target.uid][uid] for uid, _, _ in each.target.pods})
        for position, each in enumerate(plan.actions)
        if each.group == group
    )


def intended(order: Order, under: Under, change: Change, at_ms: int) -> Deed:
    """The intent. Its `after` also names the pods, so that a restart can see what became of them."""
    pods = dict(_within(order.pods))
    after = dict(change.after) | ({"pods": pods} if pods else {})
    deed = _deed(order, under, at_ms)
    return replace(deed, phase=Phase.INTENT, before=written(change.before), after=written(after))


def refused(order: Order, under: Under, why: Refused, at_ms: int) -> Deed:
    """That nothing of it was begun, and why."""
    return replace(_deed(order, under, at_ms), phase=Phase.REFUSED, result=why.reason.value, words=why.words)


def came_of(intent: Deed, row_hash: str, result: Result, words: str, at_ms: int) -> Deed:
    """The outcome of an intent."""
    return replace(
        intent,
        phase=Phase.OUTCOME,
        at_ms=at_ms,
        result=result.value,
        words=words,
        intent=row_hash,
        before="",
        after="",
    )


def pods_of(intent: Deed) -> dict[str, str]:
    """The pods that an intent names: their names by UID."""
    told: object = json.loads(intent.after or "{}").get("pods", {})
    return {str(uid): str(name) for uid, name in told.items()} if isinstance(told, dict) else {}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def written(fields: Mapping[str, object]) -> str:
    """Fields as the audit has them."""
    return json.dumps(fields, sort_keys=True, separators=(",", ":"))


def _within(pods: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    length = 0
    for uid, name in sorted(pods.items()):
        length += len(json.dumps([uid, name]))
        if length > _LONGEST_PODS:
            return
        yield uid, name


def _deed(order: Order, under: Under, at_ms: int) -> Deed:
    action, target = order.action, order.action.target
    return Deed(
        cluster=under.cluster,
        at_ms=at_ms,
        phase=Phase.INTENT,
        act=action.act.value,
        plan_hash=under.plan_hash,
        position=order.position,
        group=action.group,
        kind=target.kind,
        namespace=target.namespace,
        name=target.name,
        object_uid=target.uid,
        object_version=target.version,
        team=target.team,
        pool=target.pool,
        for_uid=action.for_uid,
        frees_parts=action.frees_parts,
        cause=action.cause.value,
        epoch=under.epoch,
        actor=under.actor,
        words=" ".join(action.why),
    )

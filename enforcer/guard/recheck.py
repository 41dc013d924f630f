"""The second look: an action checked again at the moment of acting, against its objects as they are read then. Pure."""

from collections.abc import Iterator

from enforcer.act.seen import Seen
from enforcer.book import spared_until_ms
from enforcer.guard.general import to_frozen, to_stale, to_unapproved
from enforcer.guard.refused import ORDER, Reason, Refused
from enforcer.guard.special import to_found, to_opted_out, to_protected
from enforcer.guard.standing import Standing
from enforcer.plan import Act, Action, Cause, Plan
from quartermaster.config.policy import PolicyPart
from quartermaster.text import visible


def recheck(action: Action, plan: Plan, seen: Seen, standing: Standing, policy: PolicyPart) -> Refused | None:
    """Why the action is not done after all, by the first reason; None where nothing speaks against it.

    `standing` is of this moment: its clock, its switches, its telemetry. Limits were counted when the plan was judged.
    """
    return min(
        _objections(action, plan, seen, standing, policy), key=lambda each: ORDER[each.reason], default=None
    )


def _objections(
    action: Action, plan: Plan, seen: Seen, standing: Standing, policy: PolicyPart
) -> Iterator[Refused]:
    target = action.target
    yield from to_frozen(standing)
    yield from to_stale("what was read of it", seen.at_ms, standing, policy.behind_ms)
    yield from to_unapproved(plan.hash, plan.snapshot_hash, standing)
    yield from _to_difference(action, seen)
    if action.act in {Act.STOP, Act.HOLD}:
        for labels in (seen.labels, *(pod.labels for pod in seen.pods)):
            yield from to_protected(target, 0, labels, policy.protected)
    if action.act is Act.STOP:
        yield from _to_budgets(seen)
        if action.cause is Cause.IDLE:
            yield from to_opted_out(_spared_until_ms(seen), standing.now_ms)
            yield from to_found(standing.idle.get(target.uid), standing.now_ms)


def _to_difference(action: Action, seen: Seen) -> Iterator[Refused]:
    target = action.target
    if seen.uid != target.uid:
        words = "is gone" if not seen.uid else "is another object of the same name"
        yield _differs(f"{target.title} {words}")
    elif seen.version != target.version:
        yield _differs(f"{target.title} has changed: it was version {target.version}, and is {seen.version}")
    if action.act is Act.STOP:
        staying = {pod.uid for pod in seen.pods if not pod.going}
        gone = {uid for uid, _, _ in target.pods} - staying
        if gone:
            yield _differs(f"{len(gone)} of its {len(target.pods)} pods are gone or going")
        if staying - {uid for uid, _, _ in target.pods}:
            yield _differs("it has pods that the plan does not know")


def _to_budgets(seen: Seen) -> Iterator[Refused]:
    for each in seen.budgets:
        if each.covers > each.allowed:
            words = f"{each.name} lets {each.allowed} pods go now, and this takes {each.covers}"
            yield Refused(Reason.DISRUPTION_BUDGET, visible(words))


def _spared_until_ms(seen: Seen) -> int:
    """The opt-out of the owner or of any of its pods, by label or annotation."""
    told = [seen.labels, seen.annotations]
    told += [each for pod in seen.pods for each in (pod.labels, pod.annotations)]
    return max(spared_until_ms(each) for each in told)


def _differs(words: str) -> Refused:
    return Refused(Reason.DIFFERS, visible(words))

"""Special objections: why one action is not done to its target, as the cluster is seen now."""

from collections.abc import Iterator, Mapping
from zoneinfo import ZoneInfo

from enforcer.guard.general import to_coverage
from enforcer.guard.refused import Reason, Refused
from enforcer.guard.standing import Standing
from enforcer.idleness import Idle, at_work, doubts_of_device
from enforcer.making import target_of
from enforcer.plan import Act, Action, Cause, Target
from enforcer.snapshot import Snapshot, Waiting, Workload
from quartermaster.clock import to_iso
from quartermaster.config.policy import PolicyPart, ProtectedPart
from quartermaster.team import glob_matches
from quartermaster.text import visible


class Objections:
    """Of one cycle: the cluster as it is seen, what stands beside it, and the policy."""

    def __init__(self, snapshot: Snapshot, standing: Standing, policy: PolicyPart, zone: ZoneInfo) -> None:
        self._standing = standing
        self._policy = policy
        self._at_work = at_work(policy.business_hours, standing.now_ms, zone)
        self._workloads = {each.uid: each for each in snapshot.workloads}
        self._waiting = {each.uid: each for each in snapshot.waiting}
        self._in_vain = {each.uid for each in snapshot.takings if each.in_vain}

    def to(self, action: Action) -> Iterator[Refused]:
        """Why the action is not done, every reason."""
        target = action.target
        if action.act in {Act.HOLD, Act.START}:
            yield from self._to_one_that_waits(action, self._waiting.get(target.uid))
            return
        workload = self._workloads.get(target.uid)
        yield from _to_difference(target, workload)
        if workload is None:
            return
        yield from to_coverage(
            f"pool {target.pool}", self._standing.coverage_of_pools.get(target.pool), self._policy.acting
        )
        yield from to_protected(target, workload.priority, workload.labels, self._policy.protected)
        if not workload.way_down or target.kind == "Pod":
            yield Refused(Reason.NO_WAY, "nothing is known that would start it again")
        if target.uid in self._in_vain:
            yield Refused(Reason.IN_VAIN, "it was stopped before, and nothing came of it")
        if action.cause is Cause.IDLE:
            yield from self._to_idle(action, workload)

    def _to_one_that_waits(self, action: Action, waiting: Waiting | None) -> Iterator[Refused]:
        yield from _to_difference(action.target, waiting)
        if waiting is not None and action.act is Act.HOLD:
            yield from to_protected(action.target, waiting.priority, {}, self._policy.protected)
            if not waiting.way_down:
                yield Refused(Reason.NO_WAY, "nothing is known that would start it again")

    def _to_idle(self, action: Action, workload: Workload) -> Iterator[Refused]:
        now_ms, found = self._standing.now_ms, self._standing.idle.get(workload.uid)
        rule = self._policy.idle_rule(workload.kind, serving=workload.serving)
        if rule is None or rule.take_ms is None:
            yield Refused(Reason.REPORTED_ONLY, "policy.idle has no ladder for it")
        yield from to_opted_out(workload.spared_until_ms, now_ms)
        if action.act is Act.STOP:
            if rule is not None and not rule.in_business_hours and self._at_work:
                hours = self._policy.business_hours
                until = f"{hours.end_minute // 60:02d}:{hours.end_minute % 60:02d}"
                yield Refused(Reason.BUSINESS_HOURS, f"business hours last until {until}")
            yield from _to_untold(found)
        yield from to_found(found, now_ms)


def to_protected(
    target: Target, priority: int, labels: Mapping[str, str], protected: ProtectedPart
) -> Iterator[Refused]:
    """By its namespace, priority, labels or owner."""
    of_namespace = _matching(protected.namespaces, target.namespace)
    path = f"{target.kind}/{target.namespace}/{target.name}"
    of_owner = _matching(protected.owners, path)
    of_label = next(
        (
            key
            for key, pattern in protected.labels.items()
            if key in labels and glob_matches(pattern, labels[key])
        ),
        None,
    )
    if of_namespace is not None:
        yield _protected(f"namespace {target.namespace} is one of {of_namespace}")
    if priority >= protected.priority_from:
        yield _protected(f"its priority is {priority}; {protected.priority_from} and above is protected")
    if of_label is not None:
        yield _protected(f"its label {of_label} is {labels[of_label][:63]!r}")
    if of_owner is not None:
        yield _protected(f"{path} is one of {of_owner}")


def to_opted_out(until_ms: int, now_ms: int) -> Iterator[Refused]:
    """By its people's opt-out."""
    if now_ms < until_ms:
        yield Refused(Reason.OPTED_OUT, "it is not to be taken for standing idle")


def to_found(found: Idle | None, now_ms: int) -> Iterator[Refused]:
    """By what is noticed of it: its people keep it, or it is not surely idle. Nothing noticed is no idleness."""
    if found is None:
        yield Refused(Reason.NOT_IDLE, "nothing is noticed of it any more")
        return
    if now_ms < found.keep_until_ms:
        yield Refused(Reason.KEPT, f"it is kept until {to_iso(found.keep_until_ms)}", found.keep_until_ms)
    if not found.evidence:
        yield Refused(Reason.NOT_IDLE, "no telemetry tells of its devices")
    for doubt in found.doubts:
        yield Refused(Reason.NOT_IDLE, visible(doubt))
    for each in found.evidence:
        for wrong in doubts_of_device(each, now_ms):
            yield Refused(Reason.NOT_IDLE, visible(f"{each.device}: {wrong}"))


def _to_untold(found: Idle | None) -> Iterator[Refused]:
    told = {each.stage for each in found.notices if each.at_ms > found.since_ms} if found else set[str]()
    for stage, which in (("warn", "first"), ("again", "second")):
        if stage not in told:
            words = f"no message of its {which} warning was accepted for its owner or team since it is idle"
            yield Refused(Reason.UNTOLD, words)


def _to_difference(target: Target, there: Workload | Waiting | None) -> Iterator[Refused]:
    if there is None:
        yield Refused(Reason.DIFFERS, visible(f"{target.title} is not there as the plan has it"))
        return
    now = target_of(there)
    if now.version != target.version:
        words = f"{target.title} has changed: it was version {target.version}, and is {now.version}"
        yield Refused(Reason.DIFFERS, visible(words))
    elif now.pods != target.pods:
        yield Refused(Reason.DIFFERS, visible(f"the pods of {target.title} are others"))
    elif now != target:
        yield Refused(Reason.DIFFERS, visible(f"{target.title} is not what the plan takes it for"))


def _protected(words: str) -> Refused:
    return Refused(Reason.PROTECTED, visible(words))


def _matching(patterns: tuple[str, ...], name: str) -> str | None:
    return next((pattern for pattern in patterns if glob_matches(pattern, name)), None)

"""Idleness as grounds for acting: what analysis found, judged again by the strictest reading of "idle"."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from enforcer.snapshot import Snapshot, Workload
from quartermaster.clock import MINUTE_MS, to_datetime, to_iso
from quartermaster.config.policy import BusinessHoursPart, IdleRulePart, PolicyPart

KNOWN_PERMILLE = 950  # of the window, for every single device
FRESH_INTERVALS = 2
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What telemetry tells of one device of the workload over the window."""

    device: str
    known_permille: int
    idle_by: tuple[str, ...]  # the signals that show it idle: gr_engine, power, …
    active_by: tuple[str, ...]  # those that show it active at any time of the window
    sampled_at_ms: int
    interval_ms: int
    frozen: bool = False  # the same values, bit for bit, for too long


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning that was accepted for the owner or the team."""

    stage: str  # warn | again
    at_ms: int


@dataclass(frozen=True, slots=True)
class Idle:
    """A workload that is idle since `since_ms`; evidence for each of its devices."""

    uid: str
    since_ms: int
    evidence: tuple[Evidence, ...]
    doubts: tuple[str, ...] = ()  # why analysis itself doubts it: any is enough
    notices: tuple[Notice, ...] = ()
    keep_until_ms: int = 0


@dataclass(frozen=True, slots=True)
class Findings:
    """What analysis noticed. `computing` are the pools in which some device is seen to compute."""

    idle: tuple[Idle, ...] = ()
    computing: frozenset[str] = field(default_factory=frozenset[str])


@dataclass(frozen=True, slots=True)
class Due:
    """What is due to an idle workload: the stage, or why nothing is; `words` has the figures."""

    stage: str  # "" | warn | again | take
    words: str


def doubt(found: Idle, workload: Workload, findings: Findings, snapshot: Snapshot, policy: PolicyPart) -> str:
    """Why the finding is no ground for acting; "" where it is."""
    return next(_doubts(found, workload, findings, snapshot, policy), "")


def due(found: Idle, workload: Workload, snapshot: Snapshot, policy: PolicyPart, zone: ZoneInfo) -> Due:
    """The next stage of the ladder for a finding that is beyond doubt.

    A stage counts when a notice of it was accepted after the workload fell idle; the next comes no sooner after it
    than the rule has between the two.
    """
    rule = policy.idle_rule(workload.kind, serving=workload.serving)
    if rule is None or rule.warn_ms is None or rule.again_ms is None or rule.take_ms is None:
        return Due("", "workloads of its kind are reported only")
    if snapshot.at_ms < found.keep_until_ms:
        return Due("", f"its people keep it until {to_iso(found.keep_until_ms)}")
    if snapshot.at_ms < workload.spared_until_ms:
        return Due("", "it opted out")
    idle_ms = snapshot.at_ms - found.since_ms
    told = {
        notice.stage: notice.at_ms
        for notice in sorted(found.notices, key=_when)
        if notice.at_ms > found.since_ms
    }
    stage, after_ms, before = _stage(rule, told)
    wait_ms = max(
        after_ms - idle_ms, before + _between(rule, stage) - snapshot.at_ms if before is not None else 0
    )
    words = f"idle for {_minutes(idle_ms)}; {stage} is due after {_minutes(after_ms)}"
    if wait_ms > 0:
        return Due("", f"{words}, in {_minutes(wait_ms)}")
    if (
        stage == "take"
        and not rule.in_business_hours
        and at_work(policy.business_hours, snapshot.at_ms, zone)
    ):
        return Due("", f"{words}, but not in business hours")
    return Due(stage, words)


def at_work(hours: BusinessHoursPart, at_ms: int, zone: ZoneInfo) -> bool:
    """Whether the instant lies in business hours there."""
    local: datetime = to_datetime(at_ms).astimezone(zone)
    minute = local.hour * 60 + local.minute
    return _DAYS[local.weekday()] in hours.days and hours.start_minute <= minute < hours.end_minute


def by_uid(findings: Sequence[Idle]) -> Mapping[str, Idle]:
    """The findings by workload; of two about one the shorter idleness counts."""
    found: dict[str, Idle] = {}
    for each in sorted(findings, key=lambda each: (each.since_ms, each.uid)):
        found[each.uid] = each
    return found


def _doubts(
    found: Idle, workload: Workload, findings: Findings, snapshot: Snapshot, policy: PolicyPart
) -> Iterator[str]:
    yield from found.doubts
    if not found.evidence:
        yield "no telemetry names its devices"
    for each in found.evidence:
        yield from (f"{each.device}: {wrong}" for wrong in doubts_of_device(each, snapshot.at_ms))
    started = [pod.started_at_ms for pod in workload.pods if pod.started_at_ms is not None]
    if len(started) < len(workload.pods):
        yield "a pod of it has not started"
    if started and max(started) + policy.grace_ms > found.since_ms:
        since = to_iso(found.since_ms)
        yield f"it is counted idle from {since}, less than {_minutes(policy.grace_ms)} after its start"
    if workload.pool not in findings.computing:
        yield f"nothing at all computes in pool {workload.pool}: a fault of telemetry until shown otherwise"


def doubts_of_device(each: Evidence, at_ms: int) -> Iterator[str]:
    """Why a device is not surely idle at the instant."""
    if each.frozen:
        yield "its exporter is frozen"
    if at_ms - each.sampled_at_ms > FRESH_INTERVALS * each.interval_ms:
        yield f"its last sample is {(at_ms - each.sampled_at_ms) // 1000} s old"
    if each.sampled_at_ms > at_ms + each.interval_ms:
        yield "its last sample is from the future"
    if each.known_permille < KNOWN_PERMILLE:
        yield f"it is known for {each.known_permille / 10:g} % of the window; {KNOWN_PERMILLE / 10:g} % are needed"
    if each.active_by:
        yield f"{', '.join(each.active_by)} shows it active"
    if len(set(each.idle_by)) < 2:
        yield f"{', '.join(each.idle_by) or 'no signal'} alone shows it idle; two signals are needed"


def _stage(rule: IdleRulePart, told: Mapping[str, int]) -> tuple[str, int, int | None]:
    assert rule.warn_ms is not None  # noqa: S101
    assert rule.again_ms is not None  # noqa: S101
    assert rule.take_ms is not None  # noqa: S101
    if "warn" not in told:
        return "warn", rule.warn_ms, None
    if "again" not in told:
        return "again", rule.again_ms, told["warn"]
    return "take", rule.take_ms, told["again"]


def _between(rule: IdleRulePart, stage: str) -> int:
    warn, again, take = rule.warn_ms or 0, rule.again_ms or 0, rule.take_ms or 0
    return again - warn if stage == "again" else take - again


def _when(notice: Notice) -> int:
    return notice.at_ms


def _minutes(span_ms: int) -> str:
    minutes = max(0, span_ms) // MINUTE_MS
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours and rest else f"{hours} h" if hours else f"{rest} min"

"""A rung of the ladder: an idle workload, the warning that is due to it, and when it would be taken. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from enforcer.idleness import Findings, Idle, Notice, at_work, by_uid
from enforcer.plan import Act, Action
from enforcer.snapshot import Snapshot, Workload
from quartermaster.clock import MINUTE_MS, to_datetime
from quartermaster.config.policy import BusinessHoursPart, IdleRulePart, PolicyPart

WARN, AGAIN = "warn", "again"
_DAYS_LOOKED = 8


@dataclass(frozen=True, slots=True)
class Rung:
    """An idle workload of a cluster, and the stage of the warning that is due to it: warn or again."""

    cluster: str
    stage: str
    workload: Workload
    found: Idle


@dataclass(frozen=True, slots=True)
class Steps:
    """The ladder of a kind, in milliseconds after a workload fell idle."""

    warn_ms: int
    again_ms: int
    take_ms: int
    keep_at_most_ms: int
    in_business_hours: bool


def rungs(actions: Iterable[Action], snapshot: Snapshot, findings: Findings) -> tuple[Rung, ...]:
    """The rungs of a plan's warnings, in its order."""
    workloads = {each.uid: each for each in snapshot.workloads}
    found = by_uid(findings.idle)
    return tuple(
        Rung(snapshot.cluster, each.stage, workloads[each.target.uid], found[each.target.uid])
        for each in actions
        if each.act is Act.WARN and each.target.uid in workloads and each.target.uid in found
    )


def steps_of(policy: PolicyPart, kind: str, *, serving: bool) -> Steps | None:
    """The ladder of a kind; None where such workloads are reported only."""
    return _steps(policy.idle_rule(kind, serving=serving))


def taken_from_ms(
    rung: Rung, steps: Steps, at_ms: int, hours: BusinessHoursPart, zone: ZoneInfo
) -> int | None:
    """The earliest instant at which it is taken, when the warning that is due is accepted at `at_ms`.

    None: never, where it may not be taken in business hours and those never end.
    """
    before_ms = steps.warn_ms if rung.stage == WARN else steps.again_ms
    due_ms = max(rung.found.since_ms + steps.take_ms, at_ms + steps.take_ms - before_ms)
    return due_ms if steps.in_business_hours else _after_work(hours, due_ms, zone)


def keepable_until_ms(steps: Steps, since_ms: int, notices: Iterable[Notice]) -> int:
    """Until when, at most, people may keep what is idle since `since_ms`.

    That is `keep_at_most` after it would have been taken without their asking: counted from when it fell idle, or from
    the first warning that was accepted since, so that who is told late has as much time as others. Keeping holds up the
    second warning, so that one moves nothing: nobody keeps for ever by asking again.
    """
    warned = [each.at_ms for each in notices if each.stage == WARN and each.at_ms > since_ms]
    due_ms = since_ms + steps.take_ms
    if warned:
        due_ms = max(due_ms, min(warned) + steps.take_ms - steps.warn_ms)
    return due_ms + steps.keep_at_most_ms


def _steps(rule: IdleRulePart | None) -> Steps | None:
    if rule is None or rule.warn_ms is None or rule.again_ms is None or rule.take_ms is None:
        return None
    return Steps(rule.warn_ms, rule.again_ms, rule.take_ms, rule.keep_at_most_ms, rule.in_business_hours)


def _after_work(hours: BusinessHoursPart, at_ms: int, zone: ZoneInfo) -> int | None:
    """The first instant from `at_ms` on that is not in business hours."""
    for _ in range(_DAYS_LOOKED):
        if not at_work(hours, at_ms, zone):
            return at_ms
        day = to_datetime(at_ms).astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
        at_ms = max(at_ms + MINUTE_MS, _epoch_ms(day + timedelta(minutes=hours.end_minute)))
    return None


def _epoch_ms(local: datetime) -> int:
    return int(local.timestamp() * 1000)

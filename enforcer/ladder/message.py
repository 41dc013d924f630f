"""The message to people: what stands idle and why it is said, what comes, what is lost, and how to keep it. Pure."""

import re
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from enforcer.harm import harm_of, held_parts
from enforcer.idleness import Evidence, Notice
from enforcer.ladder.rung import AGAIN, Rung, Steps, keepable_until_ms, steps_of, taken_from_ms
from quartermaster.clock import HOUR_MS, MINUTE_MS, to_datetime
from quartermaster.config.policy import PolicyPart
from quartermaster.fairshare.explain import gpus
from quartermaster.plain import plain

KEEP_UNTIL = "quartermaster/keep-until"
_TITLE = re.compile(r"[A-Za-z0-9]+(/[a-z0-9-]+){2}")  # fit to be pasted into a shell
_UID = re.compile(r"[A-Za-z0-9-]{1,64}")
_CLUSTER = re.compile(r"[A-Za-z0-9._-]{1,63}")
_ASKED_FOR_MS = 4 * HOUR_MS


@dataclass(frozen=True, slots=True)
class Message:
    """Plain text for a person; `brief` is the same in at most 1,000 bytes, for an Event."""

    title: str
    body: str
    brief: str


def message(rung: Rung, policy: PolicyPart, zone: ZoneInfo, at_ms: int) -> Message:
    """The warning. Names in it are made plain; instants are told in the business's time zone.

    Raises ValueError for a workload that the policy reports only: there is nothing to warn of.
    """
    workload = rung.workload
    steps = steps_of(policy, workload.kind, serving=workload.serving)
    if steps is None:
        raise ValueError(f"workloads of kind {workload.kind} are reported only")
    who = f"{plain(workload.kind, 40)} {plain(workload.namespace, 63)}/{plain(workload.name)}"
    idle = _span(at_ms - rung.found.since_ms)
    which = "second warning" if rung.stage == AGAIN else "first warning"
    title = f"Quartermaster, {which}: {who} is idle for {idle}"
    comes = _what_comes(rung, steps, policy, zone, at_ms)
    asking = _asking(rung, steps, zone, at_ms)
    paragraphs = (
        f"{who} of team {plain(workload.team)} in pool {plain(workload.pool)} of cluster {plain(rung.cluster)} holds "
        f"{gpus(held_parts(workload))} and computes nothing.",
        f"Why this is said: it is idle for {idle}, since {_when(rung.found.since_ms, zone)}. "
        f"{_evidence(rung.found.evidence)}",
        f"What comes: {comes} Others are given its GPUs.",
        f"What is lost then: {harm_of(workload, at_ms).words()}. What was there is recorded first, and quartermaster "
        "restore starts it again.",
        f"How to keep it: let it compute, and all this begins anew. {asking}",
        "If nobody needs it any more, please end it: others wait for GPUs.",
    )
    brief = " ".join(f"{title}. {comes[0].upper()}{comes[1:]} {asking}".split())
    return Message(title, "\n\n".join(paragraphs), brief)


def _evidence(evidence: tuple[Evidence, ...]) -> str:
    signals = sorted(set[str]().union(*(each.idle_by for each in evidence)))
    known = min((each.known_permille for each in evidence), default=0)
    devices = "Its one device is" if len(evidence) == 1 else f"Each of its {len(evidence)} devices is"
    return f"{devices} known for at least {known / 10:g} % of that time, and idle by {' and '.join(signals)}."


def _what_comes(rung: Rung, steps: Steps, policy: PolicyPart, zone: ZoneInfo, at_ms: int) -> str:
    taken_ms = taken_from_ms(rung, steps, at_ms, policy.business_hours, zone)
    hours = "" if steps.in_business_hours else ", not in business hours"
    when = "never, as business hours never end" if taken_ms is None else _when(taken_ms, zone)
    first = "it is stopped" if rung.stage == AGAIN else "it is warned of once more, then stopped"
    return f"while it stays idle, {first}: at the earliest {when}{hours}."


def _asking(rung: Rung, steps: Steps, zone: ZoneInfo, at_ms: int) -> str:
    """How people ask for time, and until when at most they can."""
    notices = (*rung.found.notices, Notice(rung.stage, at_ms))  # as if this one is accepted
    until_ms = keepable_until_ms(steps, rung.found.since_ms, notices)
    asked_ms = min(_ASKED_FOR_MS, (until_ms - at_ms) // MINUTE_MS * MINUTE_MS)
    if asked_ms <= 0:
        return "It has been kept for as long as the policy allows."
    command = _command(rung, asked_ms)
    example = to_datetime(at_ms + asked_ms).strftime("%Y-%m-%dT%H:%M:00Z")
    told = f"the annotation {KEEP_UNTIL} on it, with an instant such as {example}"
    ways = f"by this command,\n\n    {command}\n\nor by {told}" if command else f"by {told}"
    return f"Or ask for time, until {_when(until_ms, zone)} at most, {ways}."


def _command(rung: Rung, asked_ms: int) -> str:
    """The command that keeps it; by its UID where its name is not fit for a shell, and "" where neither is."""
    workload = rung.workload
    title = f"{workload.kind}/{workload.namespace}/{workload.name}"
    subject = next((text for text, fit in ((title, _TITLE), (workload.uid, _UID)) if fit.fullmatch(text)), "")
    if not subject or not _CLUSTER.fullmatch(rung.cluster):
        return ""
    asked = f"{asked_ms // HOUR_MS}h" if asked_ms % HOUR_MS == 0 else f"{asked_ms // MINUTE_MS}m"
    return f"quartermaster keep {asked} {subject} --cluster {rung.cluster}"


def _when(at_ms: int, zone: ZoneInfo) -> str:
    return f"{to_datetime(at_ms).astimezone(zone):%Y-%m-%d %H:%M} ({zone.key})"


def _span(span_ms: int) -> str:
    minutes = max(0, span_ms) // MINUTE_MS
    days, rest = divmod(minutes, 24 * 60)
    hours, some = divmod(rest, 60)
    parts = ((days, "d"), (hours, "h"), (some, "min"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or "0 min"

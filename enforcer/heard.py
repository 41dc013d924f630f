"""What analysis found, as the planner hears it: idle workloads with the evidence of each device."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from analytics.found import Found, Kind
from enforcer.idleness import Evidence, Findings, Idle, Notice

_IDLE = {Kind.idle, Kind.forgotten}


def hear(
    found: Iterable[Found],
    computing: Iterable[str],
    notices: Mapping[str, Sequence[Notice]],
    kept_until_ms: Mapping[str, int],
) -> Findings:
    """The findings of a plan. `computing` are the pools in which telemetry shows some device to compute.

    Notices and until when people keep a workload are by its UID. A finding without a UID is nobody's. What analysis
    doubts stays doubted; what it does not is judged again all the same.
    """
    idle = [
        _idle(each, notices, kept_until_ms)
        for each in found
        if each.kind in _IDLE and each.evidence.get("uid")
    ]
    return Findings(tuple(idle), frozenset(computing))


def _idle(each: Found, notices: Mapping[str, Sequence[Notice]], kept_until_ms: Mapping[str, int]) -> Idle:
    uid = str(each.evidence["uid"])
    devices = cast(Sequence[Mapping[str, Any]], each.evidence["devices"])
    return Idle(
        uid,
        each.since_ms,
        tuple(map(_evidence, devices)),
        each.doubts,
        tuple(notices.get(uid, ())),
        kept_until_ms.get(uid, 0),
    )


def _evidence(device: Mapping[str, Any]) -> Evidence:
    """A device that was never sampled was last sampled in 1970."""
    return Evidence(
        device=str(device["device"]),
        known_permille=int(device["known_permille"]),
        idle_by=tuple(device["idle_by"]),
        active_by=tuple(device["active_by"]),
        sampled_at_ms=int(device["sampled_at_ms"] or 0),
        interval_ms=int(device["interval_ms"] or 0),
    )

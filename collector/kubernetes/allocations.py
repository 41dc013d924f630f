"""Allocations: from a pod, its node and its claims to the interval it holds GPUs, and the devices it holds."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from collector.kubernetes.claims import Given, memory_share
from collector.kubernetes.nodes import Machine
from collector.kubernetes.owners import labels_without_people, user_of
from collector.kubernetes.pods import Pod, Share
from collector.kubernetes.settings import SOURCE, Settings, mig_profile
from quartermaster.clock import MINUTE_MS
from quartermaster.ids import content_id, device_id
from quartermaster.parts import GPU_PARTS, mig_parts
from quartermaster.records import Allocation, Holding
from quartermaster.team import user_pattern_ids

# By how much a node's clock may be ahead of ours before its times are no evidence.
SKEW_MS = 10 * MINUTE_MS
FINISHED, STATUS, PHASE, DELETED = "containers finished", "status written", "phase seen", "deletion seen"
MISSED, JOB_ENDED, KILLED = "missed", "missed, job ended", "missed, killing seen"


@dataclass(frozen=True, slots=True)
class End:
    """When an allocation ended (epoch ms), by what evidence, and until when it held for sure."""

    at_ms: int
    evidence: str
    sure_ms: int


@dataclass(frozen=True, slots=True)
class Hint:
    """What else bounds an end that nobody saw: its Job ended, or the kubelet said that it kills it."""

    at_ms: int
    evidence: str


def start_of(pod: Pod) -> int | None:
    """When the pod began to hold: its binding; None while it is not bound.

    A pod created with its node's name has no binding: the kubelet's start, or its creation, stands for it.
    """
    if not pod.bound:
        return None
    return next((at for at in (pod.scheduled_at, pod.start_time_at, pod.created_at) if at is not None), None)


def end_seen(pod: Pod, start_ms: int, received_ms: int, lost_ms: int | None, *, gone: bool) -> End | None:
    """The end of a pod that is over by its phase, or whose object is `gone`; None while it holds.

    A deletionTimestamp is a deadline, not an end: who is being deleted holds on. `lost_ms` is since when the
    node has not been heard of, if so: what is after it is not sure.
    """
    if not (pod.ended or gone):
        return None
    finished = pod.finished_at
    if finished is not None and start_ms <= finished <= received_ms + SKEW_MS:
        return End(finished, FINISHED, finished)
    sure_ms = received_ms if lost_ms is None else max(start_ms, min(lost_ms, received_ms))
    if pod.ended:
        written = pod.status_written_at
        if written is not None and start_ms <= written <= received_ms + SKEW_MS:
            return End(written, STATUS, min(sure_ms, written))
        return End(max(received_ms, start_ms), PHASE, min(sure_ms, max(received_ms, start_ms)))
    at_ms = max(received_ms, start_ms)
    return End(at_ms, DELETED, min(max(sure_ms, start_ms), at_ms))


def end_missed(pod: Pod, start_ms: int, seen_ms: int, missing_ms: int, hint: Hint | None) -> End:
    """The end of a pod that was there at `seen_ms` and is not at `missing_ms`: in between, so estimated.

    Of what bounds it the last possible instant is taken: GPUs that may have been held are not called free.
    """
    if pod.finished_at is not None and start_ms <= pod.finished_at <= missing_ms:
        return End(pod.finished_at, FINISHED, pod.finished_at)
    sure_ms = max(start_ms, min(seen_ms, missing_ms))
    if hint is not None and sure_ms <= hint.at_ms <= missing_ms:
        return End(hint.at_ms, hint.evidence, sure_ms)
    return End(max(missing_ms, start_ms), MISSED, sure_ms)


class Asking(Protocol):
    """What asks for GPUs: a pod, or the template of one."""

    @property
    def requests(self) -> tuple[tuple[str, int], ...]:
        """The GPU resources, and how many of each."""
        ...

    @property
    def fraction(self) -> Share | None:
        """KAI's part of a GPU."""
        ...


def requested_parts(pod: Asking, machine: Machine | None) -> int:
    """The parts that the pod's requests and fraction are on its node; claims not counted."""
    total = 0
    for resource, count in pod.requests:
        total += machine.parts_of(resource, count) if machine else _parts_anywhere(resource) * count
    if pod.fraction is not None and not total:
        share = pod.fraction.share
        each = (
            int(GPU_PARTS * share)
            if share is not None
            else memory_share(pod.fraction.memory_mib, machine.gpu_memory_mib if machine else 0)
        )
        total += each * pod.fraction.devices
    return total


def _parts_anywhere(resource: str) -> int:
    profile = mig_profile(resource)
    if profile is None:
        return GPU_PARTS
    try:
        return mig_parts("", profile)
    except ValueError:
        return GPU_PARTS // 7


def allocation_of(
    pod: Pod, span: tuple[int, int | None, End | None], gpu_parts: int, workload_id: int, settings: Settings
) -> Allocation:
    """The record; `span` is start, start of the containers (None: not started), and end."""
    start_ms, started_ms, end = span
    end_ms = end.at_ms if end else None
    if started_ms is not None:
        started_ms = max(start_ms, started_ms if end_ms is None else min(started_ms, end_ms))
    who = user_of(pod.labels, pod.annotations, settings)
    return Allocation(
        cluster=settings.cluster,
        allocation_id=allocation_id(settings, pod.uid),
        start_at=start_ms,
        started_at=started_ms,
        end_at=end_ms,
        source=SOURCE,
        workload_id=workload_id,
        node=pod.node,
        namespace=pod.namespace,
        pod=pod.name,
        pod_uid=pod.uid,
        end_evidence=end.evidence if end else "",
        sure_start_at=start_ms,
        sure_end_at=end.sure_ms if end else None,
        priority=pod.priority,
        preemptible=pod.preemptible,
        gpu_parts=gpu_parts,
        cpu_milli=pod.cpu_milli,
        memory_mib=pod.memory_mib,
        labels=labels_without_people(pod.labels, settings),
        user_patterns=json.dumps(user_pattern_ids(settings.rules, user=who or None)),
    )


def allocation_id(settings: Settings, pod_uid: str) -> int:
    """The id of a pod's allocation."""
    return content_id("allocation", settings.cluster, SOURCE, pod_uid)


def holdings_of(
    pod: Pod,
    allocation: Allocation,
    given: Iterable[Given],
    machine: Machine | None,
    settings: Settings,
) -> list[Holding]:
    """The devices that the API names for the pod: by its claims (dra), or as its kubelet said (kubelet).

    Only where they are all that it asked for: an allocation of which a part is named is laid as a whole.
    """
    named: dict[int, int] = {}
    evidence = "dra"
    for each in given:
        for unit, parts in each.units:
            device = unit.device(settings, 0).device_id
            named[device] = named.get(device, 0) + parts
    if not named and machine is not None:
        evidence = "kubelet"
        for uuid, _ in pod.device_ids:
            if uuid and not uuid.startswith("MIG-"):
                device = device_id(settings.cluster, uuid)
                named[device] = named.get(device, 0) + machine.unit_parts
    if not named or sum(named.values()) != allocation.gpu_parts:
        return []
    return [
        Holding(
            cluster=settings.cluster,
            holding_id=content_id("holding", settings.cluster, allocation.allocation_id, device),
            start_at=allocation.start_at,
            end_at=allocation.end_at,
            allocation_id=allocation.allocation_id,
            device_id=device,
            parts=parts,
            evidence=evidence,
        )
        for device, parts in sorted(named.items())
    ]

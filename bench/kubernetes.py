"""A full picture of many pods, and then changes: CPU and memory of reading lines and understanding them.

The objects are as large as an API server's (5.8 kB each, half of it managedFields); nothing is sent over a network.
"""

import resource
import time
from collections.abc import Iterator
from typing import Any

import orjson

from bench.machine import Result
from collector.kubernetes.picture import Picture
from collector.kubernetes.settings import Settings
from collector.kubernetes.stream import ADDED, BEGIN, MODIFIED, SYNCED, Event
from quartermaster.clock import from_iso

NOON = from_iso("2026-11-30T12:00:00Z")
CHANGES = 1500


def pod(number: int, phase: str) -> bytes:
    """A line of a watch: a pod of one GPU."""
    state: dict[str, Any] = {"running": {"startedAt": "2026-11-30T11:00:03Z"}}
    if phase == "Succeeded":
        state = {"terminated": {"startedAt": "2026-11-30T11:00:03Z", "finishedAt": "2026-11-30T12:00:00Z"}}
    fields: dict[str, Any] = {
        f"f:field-{index}": {".": {}, "f:name": {}, "f:value": {}} for index in range(60)
    }
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": f"j{number // 8}", "uid": f"job-{number // 8}"}
    gpu = {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"}
    container = {"name": "main", "image": "x", "resources": {"requests": gpu, "limits": gpu}}
    env = [{"name": f"VARIABLE_{index}", "value": "v" * 20} for index in range(20)]
    bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-30T11:00:00Z"}
    managed = [
        {"manager": "kubelet", "time": "2026-11-30T11:00:04Z", "subresource": "status", "fieldsV1": fields}
    ]
    return orjson.dumps(
        {
            "metadata": {
                "name": f"p{number}",
                "namespace": f"team-{number % 20}",
                "uid": f"pod-{number}",
                "creationTimestamp": "2026-11-30T11:00:00Z",
                "labels": {"team": f"t{number % 20}", "job-name": f"j{number // 8}"},
                "ownerReferences": [{**owner, "controller": True}],
                "managedFields": managed * 2,
            },
            "spec": {"nodeName": f"n{number // 8}", "containers": [{**container, "env": env}]},
            "status": {
                "phase": phase,
                "conditions": [bound],
                "containerStatuses": [{"name": "main", "state": state}],
            },
        }
    )


def node(number: int) -> dict[str, Any]:
    """A node of eight GPUs."""
    has = {"nvidia.com/gpu": "8", "cpu": "128", "memory": "1Ti", "pods": "250"}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-30T10:00:00Z"}
    return {
        "metadata": {"name": f"n{number}", "uid": f"node-{number}"},
        "status": {"capacity": has, "allocatable": has, "conditions": [ready]},
    }


def events(lines: list[bytes], how: str) -> Iterator[Event]:
    """One at a time, as a stream is read."""
    for line in lines:
        yield Event(NOON, "pods", how, orjson.loads(line))


def peak_mib() -> float:
    """The most memory that the process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(pods: int = 5000) -> list[Result]:
    """The picture's figures against the goals."""
    lines = [pod(number, "Running") for number in range(pods)]
    changes = [pod(number, "Succeeded") for number in range(min(CHANGES, pods))]
    size_mb = sum(map(len, lines)) / 1e6
    before_mib = peak_mib()
    began = time.process_time()
    picture = Picture(Settings("c"))
    for number in range(pods // 8 + 1):
        picture.apply(Event(NOON, "nodes", ADDED, node(number)))
    picture.apply(Event(NOON, "pods", BEGIN))
    for event in events(lines, ADDED):
        picture.apply(event)
    picture.apply(Event(NOON, "pods", SYNCED))
    told = picture.take(NOON)
    full_s = time.process_time() - began
    began = time.process_time()
    for event in events(changes, MODIFIED):
        picture.apply(event)
    picture.take(NOON + 30_000)
    change_ms = (time.process_time() - began) / len(changes) * 1000
    rise_mib = peak_mib() - before_mib
    what = f"{pods:,} pods of {size_mb:.0f} MB"
    found = f"{len(told['allocations_versions']):,} allocations"
    return [
        Result(f"a full picture of {what}", "≤ 1 s of CPU", f"{full_s:.2f} s", full_s <= 1, found),
        Result(f"memory for {what}", "≤ 150 MB of all", f"{rise_mib:.0f} MB more", rise_mib <= 75),
        Result("50 pod changes a second", "≤ 5 % of a core", f"{change_ms * 5:.1f} %", change_ms <= 1),
    ]

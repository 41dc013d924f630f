"""A live cluster of a thousand nodes as the enforcer keeps it, and how long a look at it takes.

The objects are as large as an API server's; nothing is sent over a network.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from bench.kubernetes import NOON, node, pod
from bench.machine import Result
from collector.kubernetes.settings import Settings
from collector.kubernetes.stream import ADDED, MODIFIED, Event
from enforcer.live.reading import Reading
from enforcer.live.scene import Scene

WAITING, LABELS = 64, 80
LATER = NOON + 10_000


def run(nodes: int = 1000, pods: int = 8000) -> list[Result]:
    """The figures against the goals."""
    before_mib, full_s = _resident_mib(), 0.0
    scene = Scene(Settings("c"))
    for kind, line in _cluster(nodes, pods):  # one at a time, as a stream is read
        began = time.process_time()
        scene.apply(Event(NOON, kind, ADDED, orjson.loads(line)))
        full_s += time.process_time() - began
    first_s, found = _look(scene)
    for number in range(100):  # what a busy cluster changes between two looks
        changed = orjson.loads(pod(number, "Running"))
        changed["metadata"]["resourceVersion"] = "changed"
        scene.apply(Event(NOON, "pods", MODIFIED, changed))
    again_s, _ = _look(scene)
    rise_mib = _resident_mib() - before_mib
    what = f"{nodes:,} nodes and {pods:,} pods"
    return [
        Result(f"a live picture of {what}", "≤ 3 s of CPU", f"{full_s:.2f} s", full_s <= 3, found),
        Result(f"memory for {what}", "≤ 200 MB more", f"{rise_mib:.0f} MB", rise_mib <= 200),
        Result(
            "a look at them",
            "≤ 0.1 s of CPU",
            f"{again_s:.3f} s",
            again_s <= 0.1,
            f"after 100 changes; the first {first_s:.2f} s",
        ),
    ]


def _look(scene: Scene) -> tuple[float, str]:
    began = time.process_time()
    found = Reading(scene, LATER).snapshot(LATER, (), ())
    took_s = time.process_time() - began
    return took_s, f"{len(found.workloads):,} workloads, {len(found.waiting)} wait"


def _resident_mib() -> float:
    """The memory that the process has now."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024


def _cluster(nodes: int, pods: int) -> Iterator[tuple[str, bytes]]:
    """Its objects: a Job for eight pods, and pods that wait."""
    for number in range(nodes):
        yield "nodes", orjson.dumps(_node(number))
    for number in range(pods // 8):
        yield "jobs", orjson.dumps(_job(number, orjson.loads(pod(number * 8, "Running"))["spec"]))
    for number in range(pods):
        yield "pods", pod(number, "Running")
    for number in range(WAITING):
        yield "pods", orjson.dumps(_waiting(pods + number))


def _node(number: int) -> dict[str, Any]:
    made = node(number)
    features = {f"feature.node.kubernetes.io/x{each}": "true" for each in range(LABELS)}
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "kubernetes.io/hostname": f"n{number}"}
    return {**made, "metadata": {**made["metadata"], "labels": features | labels}}


def _job(number: int, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": f"j{number}", "namespace": f"team-{number * 8 % 20}", "uid": f"job-{number}"}
    return {
        "metadata": {**metadata, "resourceVersion": "5"},
        "spec": {"parallelism": 8, "template": {"spec": spec}},
        "status": {"active": 8},
    }


def _waiting(number: int) -> dict[str, Any]:
    made = orjson.loads(pod(number, "Pending"))
    made["metadata"]["ownerReferences"] = []
    del made["spec"]["nodeName"]
    made["status"] = {"phase": "Pending"}
    return made

"""Kueue admits a Job within its queue's quota, and holds another back until there is room."""

import time
from typing import Any

from tests.servers.fleet import GROUND, Ground
from tests.servers.process import Process
from tests.servers.stages import ENDS_AFTER

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"


def queue(ground: Ground, gpus: int) -> None:
    """A queue of the test's namespace with a quota of GPUs, on the test's nodes."""
    name = ground.namespace
    made: list[tuple[str, str, str, dict[str, Any]]] = []
    made.append(("resourceflavors", "ResourceFlavor", name, {"nodeLabels": {GROUND: name}}))
    quota = {"name": name, "resources": [{"name": "nvidia.com/gpu", "nominalQuota": gpus}]}
    group = {"coveredResources": ["nvidia.com/gpu"], "flavors": [quota]}
    spec = {"namespaceSelector": {}, "resourceGroups": [group]}
    made.append(("clusterqueues", "ClusterQueue", name, spec))
    made.append((f"namespaces/{name}/localqueues", "LocalQueue", "queue", {"clusterQueue": name}))
    for path, kind, called, spec in made:
        body = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": kind,
            "metadata": {"name": called},
            "spec": spec,
        }
        ground.plane.call("POST", f"{KUEUE}/{path}", body)


def job(ground: Ground, name: str, gpus: int, ends_after_s: float) -> str:
    """The API's path of a new Job of one pod."""
    path = f"/apis/batch/v1/namespaces/{ground.namespace}/jobs"
    limits = {"nvidia.com/gpu": str(gpus)}
    container: dict[str, Any] = {
        "name": "main",
        "image": "example.test/work",
        "resources": {"limits": limits},
    }
    body = {
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "queue"}},
        "spec": {
            "suspend": True,
            "template": {
                "metadata": {"annotations": {ENDS_AFTER: f"{ends_after_s:g}"}},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            },
        },
    }
    ground.plane.call("POST", path, body)
    return f"{path}/{name}"


def test_a_job_is_admitted_and_another_waits_for_it(kueue: Process, ground: Ground) -> None:
    assert kueue.alive
    ground.node(gpus=8)
    queue(ground, 4)
    first = job(ground, "first", 4, ends_after_s=2)
    ground.wait(first, lambda found: found["status"].get("active", 0) == 1)
    second = job(ground, "second", 4, ends_after_s=1)
    time.sleep(0.5)
    assert ground.plane.call("GET", second)["spec"]["suspend"]
    ground.wait(first, lambda found: found["status"].get("succeeded", 0) == 1)
    done = ground.wait(second, lambda found: found["status"].get("succeeded", 0) == 1)
    assert not done["spec"]["suspend"]

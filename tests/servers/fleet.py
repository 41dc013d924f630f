"""Fake GPU nodes and pods of a test: as a device plugin and GPU feature discovery would announce them."""

import itertools
import time
import urllib.error
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.servers.controlplane import ControlPlane
from tests.servers.stages import ENDS_AFTER, EXIT_CODE, LOST, PREFIX

GROUND = f"{PREFIX}ground"
H100 = "NVIDIA-H100-80GB-HBM3"
_names = itertools.count(1)


@dataclass
class Ground:
    """A namespace of a test's own on the control plane, and the nodes that the test has made."""

    plane: ControlPlane
    namespace: str
    nodes: list[str] = field(default_factory=list)

    def node(
        self,
        gpus: int = 8,
        *,
        model: str = H100,
        replicas: int = 1,
        resources: Mapping[str, int] | None = None,
        labels: Mapping[str, str] | None = None,
        name: str = "",
    ) -> str:
        """A new node's name, once it is Ready: `gpus` GPUs of a model, each offered as `replicas` time-slices.

        `resources` are offered beside them (MIG instances: `{"nvidia.com/mig-1g.10gb": 7}`).
        """
        name = name or f"{self.namespace}-n{len(self.nodes) + 1}"
        own = {GROUND: self.namespace} | dict(labels or {})
        node = gpu_node(name, gpus, model=model, replicas=replicas, resources=resources, labels=own)
        self.plane.call("POST", "/api/v1/nodes", node)
        self.nodes.append(name)
        path = f"/api/v1/nodes/{name}"
        self.wait(path, lambda found: conditions(found).get("Ready") == "True" and not tainted(found))
        return name

    def pod(
        self,
        name: str,
        gpus: int = 1,
        *,
        resource: str = "nvidia.com/gpu",
        ends_after_s: float | None = None,
        exit_code: int = 0,
        annotations: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> dict[str, Any]:
        """Make a pod that asks for GPUs, on this test's nodes alone; more of its spec by name."""
        notes = dict(annotations or {})
        if ends_after_s is not None:
            notes |= {ENDS_AFTER: f"{ends_after_s:g}", EXIT_CODE: str(exit_code)}
        wanted = {resource: str(gpus)} if gpus else {}
        container = {"name": "main", "image": "example.test/work", "resources": {"limits": wanted}}
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": notes, "labels": dict(labels or {})},
            "spec": self.on_own_nodes({"containers": [container], "restartPolicy": "Never"} | spec),
        }
        return self.plane.call("POST", f"{self.path}/pods", body)

    def on_own_nodes(self, spec: dict[str, Any]) -> dict[str, Any]:
        """A pod's spec that only nodes of this test fit."""
        return {"nodeSelector": {GROUND: self.namespace}} | spec

    def lose(self, node: str) -> None:
        """A node's kubelet falls silent, and the node is known as such: Ready is Unknown.

        While another node is Ready, its pods are deleted when their toleration of that ends (300 s unless they say so).
        """
        path = f"/api/v1/nodes/{node}"
        self.plane.call(
            "PATCH", path, {"metadata": {"labels": {LOST: "yes"}}}, "application/merge-patch+json"
        )
        unknown = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
        patch = {"status": {"conditions": [unknown]}}
        self.plane.call("PATCH", f"{path}/status", patch, "application/strategic-merge-patch+json")
        self.wait(path, tainted)

    @property
    def path(self) -> str:
        """The API's path of the namespace."""
        return f"/api/v1/namespaces/{self.namespace}"

    def wait(self, path: str, holds: Callable[[dict[str, Any]], bool], seconds: float = 30) -> dict[str, Any]:
        """What is at the API's path, once the condition holds of it. Raises TimeoutError with what is there instead."""
        end = time.monotonic() + seconds
        while True:
            found = self.plane.call("GET", path)
            if holds(found):
                return found
            if time.monotonic() > end:
                raise TimeoutError(f"{path} is, after {seconds:.0f} s: {found.get('status', found)}")
            time.sleep(0.05)

    def wait_for_pod(self, name: str, phase: str = "Running", seconds: float = 30) -> dict[str, Any]:
        """The pod, once it is in the phase."""
        return self.wait(f"{self.path}/pods/{name}", lambda pod: pod["status"]["phase"] == phase, seconds)

    def remove(self) -> None:
        """Take the namespace's pods, the namespace and the nodes away. What is left of them ends by itself."""
        self._delete(f"{self.path}/pods?gracePeriodSeconds=0")
        self._delete(self.path)
        for name in self.nodes:
            self._delete(f"/api/v1/nodes/{name}")

    def _delete(self, path: str) -> None:
        try:
            self.plane.call("DELETE", path)
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise


def make_ground(plane: ControlPlane) -> Ground:
    """A new namespace on the control plane."""
    name = f"test-{next(_names)}"
    plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    return Ground(plane, name)


def gpu_node(
    name: str,
    gpus: int = 8,
    *,
    model: str = H100,
    replicas: int = 1,
    resources: Mapping[str, int] | None = None,
    labels: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A Node object: the capacity that a device plugin gives it, the labels of GPU feature discovery."""
    shared = "-SHARED" if replicas > 1 else ""
    found = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": model + shared,
        "nvidia.com/gpu.count": str(gpus),
        "nvidia.com/gpu.replicas": str(replicas),
        "nvidia.com/mig.capable": "true",
        "nvidia.com/mig.strategy": "mixed" if resources else "single",
    }
    offered = {"cpu": "128", "memory": "1Ti", "pods": "250", "nvidia.com/gpu": str(gpus * replicas)}
    offered |= {resource: str(count) for resource, count in (resources or {}).items()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": found | dict(labels or {})},
        "status": {"capacity": offered, "allocatable": offered},
    }


def conditions(thing: Mapping[str, Any]) -> dict[str, str]:
    """{type: status} of an object's conditions."""
    return {each["type"]: each["status"] for each in thing.get("status", {}).get("conditions", [])}


def tainted(node: Mapping[str, Any]) -> bool:
    """Whether a node still repels pods (`not-ready`, until the controllers have seen it Ready)."""
    return bool(node["spec"].get("taints"))

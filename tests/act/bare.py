"""An API server without controllers and kubelets: what is written stays as it is, so that every step is ours."""

import itertools
import urllib.error
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from collector.kubernetes.values import Json
from enforcer.act.order import Order
from enforcer.act.way import WAYS, Ways
from enforcer.plan import Act, Action, Cause, Target
from tests.act.line import Line
from tests.servers.controlplane import ControlPlane

_numbers = itertools.count(1)


@dataclass
class Bare:
    """A namespace of a test's own on it."""

    plane: ControlPlane
    namespace: str
    line: Line
    ways: Ways = field(default_factory=lambda: WAYS)

    def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        return self.line.call(self.plane.token, method, path, body, kind)

    def at(self, kind: str, name: str = "") -> str:
        way = self.ways[kind]
        base = f"/apis/{way.group}/{way.versions[0]}/namespaces/{self.namespace}/{way.plural}"
        return f"{base}/{name}" if name else base

    def pod_at(self, name: str) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods/{name}"

    def get(self, kind: str, name: str) -> Json:
        return self.call("GET", self.at(kind, name))

    def pod(self, name: str) -> Json:
        return self.call("GET", self.pod_at(name))

    def owner(self, kind: str, name: str, **spec: Any) -> Json:
        """An owner; of a set or a Job with all that the API asks for."""
        labels = {"of": name}
        container = {"name": "main", "image": "i"}
        template: Json = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        if kind == "Job":
            template["spec"]["restartPolicy"] = "Never"
            spec = {"backoffLimit": 0, "template": template} | spec
        elif kind in {"StatefulSet", "Deployment", "ReplicaSet"}:
            spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template} | spec
        way = self.ways[kind]
        body = {
            "apiVersion": f"{way.group}/{way.versions[0]}",
            "kind": kind,
            "metadata": {"name": name},
            "spec": spec,
        }
        return self.call("POST", self.at(kind), body)

    def owned(self, owner: Json, name: str, finalizers: tuple[str, ...] = ()) -> Json:
        """A running, ready pod of an owner."""
        metadata = owner["metadata"]
        reference = {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": metadata["name"],
            "uid": metadata["uid"],
            "controller": True,
        }
        told = {
            "name": name,
            "labels": {"of": metadata["name"]},
            "ownerReferences": [reference],
            "finalizers": list(finalizers),
        }
        spec = {"nodeName": "n1", "containers": [{"name": "main", "image": "i"}]}
        self.call("POST", self.pod_at("").rstrip("/"), {"metadata": told, "spec": spec})
        ready = [{"type": "Ready", "status": "True"}]
        status = {"status": {"phase": "Running", "conditions": ready}}
        return self.patch(f"{self.pod_at(name)}/status", status)

    def patch(self, path: str, body: Json) -> Json:
        return self.call("PATCH", path, body, "application/merge-patch+json")

    def budget(self, name: str, allowed: int, labels: Mapping[str, str]) -> None:
        """A PodDisruptionBudget that lets so many go."""
        path = f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets"
        spec = {"minAvailable": 1, "selector": {"matchLabels": dict(labels)}}
        self.call("POST", path, {"metadata": {"name": name}, "spec": spec})
        told = {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
        self.patch(f"{path}/{name}/status", {"status": told | {"observedGeneration": 1}})

    def order(
        self, act: Act, kind: str, name: str, *pods: str, position: int = 0, by: Json | None = None
    ) -> Order:
        """The action that a plan would have for an owner and its pods as they are now; `by` is patched instead."""
        metadata = self.get(kind, name)["metadata"]
        version = metadata["resourceVersion"] if by is None else by["metadata"]["resourceVersion"]
        found = {each: self.pod(each)["metadata"] for each in pods}
        told = tuple(sorted((each["uid"], each["resourceVersion"], "n1") for each in found.values()))
        target = Target(metadata["uid"], version, kind, self.namespace, name, "b", "pool", "way", told)
        action = Action(1, act, Cause.OWNER, target, for_uid="w", frees_parts=8)
        return Order(position, action, {each["uid"]: each["name"] for each in found.values()})

    def clear(self) -> None:
        """Take away what is in it, and the enforcer's lease: commands look through the whole server."""
        for kind in self.ways:  # a Job would wait for a collector of garbage, which is not here
            self._delete(f"{self.at(kind)}?propagationPolicy=Background")
        self._delete(f"/apis/kueue.x-k8s.io/v1beta1/namespaces/{self.namespace}/workloads")
        self._delete(f"{self.pod_at('').rstrip('/')}?gracePeriodSeconds=0")
        self._delete("/apis/coordination.k8s.io/v1/namespaces/quartermaster/leases")

    def _delete(self, path: str) -> None:
        try:
            self.call("DELETE", path)
        except urllib.error.HTTPError as error:
            if error.code != 404:  # this server does not have that kind
                raise

    def is_going(self, name: str) -> bool:
        try:
            return bool(self.pod(name)["metadata"].get("deletionTimestamp"))
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return True


def make_bare(plane: ControlPlane, line: Line) -> Bare:
    """A new namespace."""
    made = Bare(plane, f"bare-{next(_numbers)}", line)
    made.call("POST", "/api/v1/namespaces", {"metadata": {"name": made.namespace}})
    return made

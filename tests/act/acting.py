"""For tests of acting: a journal in memory, hands on a control plane, and orders for objects that are really there."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from collector.kubernetes.talk import client_of
from collector.kubernetes.values import Json
from enforcer.act.clearing import Pace
from enforcer.act.crew import HANDS
from enforcer.act.doing import Doing
from enforcer.act.hands import Hands
from enforcer.act.order import Order, Under
from enforcer.act.seen import Seen
from enforcer.act.way import WAYS
from enforcer.act.wire import Wire
from enforcer.audit.deed import Deed, Phase
from enforcer.guard.refused import Refused
from enforcer.plan import Act, Action, Cause, Target
from quartermaster.clock import now_ms
from quartermaster.config.clusters import KubernetesPart
from tests.servers.controlplane import ControlPlane
from tests.servers.fleet import Ground
from tests.servers.objects import make

ROLES = Path(__file__).parents[2] / "deploy" / "rbac" / "enforcer-native.yaml"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_PLACES = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/quartermaster/serviceaccounts",
    "ClusterRole": f"{_RBAC}/clusterroles",
    "ClusterRoleBinding": f"{_RBAC}/clusterrolebindings",
    "Role": f"{_RBAC}/namespaces/quartermaster/roles",
    "RoleBinding": f"{_RBAC}/namespaces/quartermaster/rolebindings",
}
UNDER = Under("c", "p" * 64, 3, "enforcer-1")
QUICK = Pace(head_start_s=0.1, patience_s=20)


@dataclass
class Paper:
    """A journal of a list: the hash of a row is its number."""

    rows: list[Deed] = field(default_factory=list)
    commits: int = 0

    def write(self, deeds: Sequence[Deed]) -> tuple[str, ...]:
        begin = len(self.rows)
        self.rows += deeds
        self.commits += 1
        return tuple(str(number) for number in range(begin, len(self.rows)))

    def open(self) -> dict[str, Deed]:
        told = {each.intent for each in self.rows if each.phase is Phase.OUTCOME}
        return {
            str(number): each
            for number, each in enumerate(self.rows)
            if each.phase is Phase.INTENT and str(number) not in told
        }

    def outcomes(self) -> list[tuple[str, str, str]]:
        return [(each.act, each.name, each.result) for each in self.rows if each.phase is Phase.OUTCOME]


def enforcers_token(plane: ControlPlane) -> str:
    """A token of the service account that deploy/rbac makes, with the rights that it gives."""
    for each in yaml.safe_load_all(ROLES.read_text(encoding="utf-8")):
        make(plane, _PLACES[each["kind"]], each)
    path = f"{_PLACES['ServiceAccount']}/enforcer/token"
    return plane.call("POST", path, {"spec": {}})["status"]["token"]


def wire(plane: ControlPlane, token: str = "", url: str = "", read_s: float = 3.0) -> Wire:
    """As the command has it: the official client of a kubeconfig, which may name another address."""
    path = plane.kubeconfig_of(token or plane.token)
    if url:
        path.write_text(path.read_text(encoding="utf-8").replace(plane.url, url), encoding="utf-8")
    part = KubernetesPart.model_construct(kubeconfig=path, context=None, in_cluster=False)
    return Wire(client_of(part, "c", HANDS + 4), read_s)


def doing(
    plane: ControlPlane,
    journal: Paper,
    may: Callable[[int], str] = lambda epoch: "",
    pace: Pace = QUICK,
    **more: Any,
) -> Doing:
    return Doing(Hands(wire(plane, **more)), journal, may, now_ms, pace)


def fine(action: Action, seen: Seen) -> Refused | None:
    return None


def owner_path(ground: Ground, kind: str, name: str) -> str:
    way = WAYS[kind]
    return f"/apis/{way.group}/{way.versions[0]}/namespaces/{ground.namespace}/{way.plural}/{name}"


def order(
    ground: Ground, act: Act, kind: str, name: str, *, position: int = 0, pods: Sequence[Json] = ()
) -> Order:
    """The action that a plan would have for an owner as it is now."""
    metadata = ground.plane.call("GET", owner_path(ground, kind, name))["metadata"]
    told = tuple(sorted((pod["metadata"]["uid"], pod["metadata"]["resourceVersion"], "n") for pod in pods))
    target = Target(
        metadata["uid"], metadata["resourceVersion"], kind, ground.namespace, name, "b", "pool", "way", told
    )
    names = {pod["metadata"]["uid"]: pod["metadata"]["name"] for pod in pods}
    return Order(position, Action(1, act, Cause.OWNER, target, for_uid="w", frees_parts=8), names)


def pods_of(ground: Ground, label: str) -> list[Json]:
    return ground.plane.call("GET", f"{ground.path}/pods?labelSelector={label}")["items"]


def running(ground: Ground, label: str, count: int, seconds: float = 30) -> list[Json]:
    """The pods with a label, once as many run, and their owners' status has come to rest."""
    ground.wait(
        f"{ground.path}/pods?labelSelector={label}",
        lambda found: [pod["status"].get("phase") for pod in found["items"]] == ["Running"] * count,
        seconds,
    )
    return pods_of(ground, label)


def at_rest(ground: Ground, path: str, seconds: float = 0.4, *, ready: int | None = None) -> Json:
    """An object, once its version has not changed for a while; a Job once it counts so many ready pods.

    A Job's controller counts what has become of its pods a second later.
    """
    if ready is not None:
        ground.wait(path, lambda found: found["status"].get("ready") == ready)
    found, since = ground.plane.call("GET", path), time.monotonic()
    while time.monotonic() - since < seconds:
        time.sleep(0.05)
        again = ground.plane.call("GET", path)
        if again["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"]:
            found, since = again, time.monotonic()
    return found


def template(ground: Ground, label: str, gpus: int = 1, **notes: str) -> Json:
    """A pod template on the test's own nodes."""
    container = {"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    key, _, value = label.partition("=")
    return {
        "metadata": {"labels": {key: value}, "annotations": notes},
        "spec": ground.on_own_nodes({"containers": [container]}),
    }


def make_job(ground: Ground, name: str, pods: int = 1, **spec: Any) -> None:
    body: Json = {
        "metadata": {"name": name},
        "spec": {"parallelism": pods, "completions": pods, "backoffLimit": 0} | spec,
    }
    body["spec"]["template"] = template(ground, f"of={name}")
    body["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    ground.plane.call("POST", f"/apis/batch/v1/namespaces/{ground.namespace}/jobs", body)


def make_set(ground: Ground, kind: str, name: str, replicas: int) -> None:
    """A Deployment, a ReplicaSet or a StatefulSet."""
    selector = {"matchLabels": {"of": name}}
    spec: Json = {"replicas": replicas, "selector": selector, "template": template(ground, f"of={name}")}
    if kind == "StatefulSet":
        spec["serviceName"] = name
    ground.plane.call(
        "POST", owner_path(ground, kind, "").rstrip("/"), {"metadata": {"name": name}, "spec": spec}
    )

"""A scene that is told objects, for tests; times in seconds after the tests' noon."""

from dataclasses import replace
from typing import Any

from collector.kubernetes.settings import Settings
from collector.kubernetes.stream import ADDED, BEGIN, GONE, MODIFIED, SYNCED, Event
from enforcer.act.way import WAYS, Ways
from enforcer.live.reading import Reading
from enforcer.live.scene import Scene
from enforcer.shape import Shape
from enforcer.snapshot import Promise, Snapshot, Taking, Waiting, Workload
from quartermaster.team import Rule
from tests.kube.raws import at, gpu_container, iso

SETTINGS = Settings("c", rules=(Rule("vision", namespace="ns"), Rule("speech", namespace="speech")))
NOW = 1000.0  # seconds after noon


class Told:
    """A scene, and what it says."""

    def __init__(
        self,
        ways: Ways = WAYS,
        *,
        hubs: frozenset[str] = frozenset(),
        has_nodes: bool = True,
        **settings: Any,
    ) -> None:
        self.scene = Scene(replace(SETTINGS, **settings), ways, hubs, has_nodes=has_nodes)
        self.mattered: list[bool] = []

    def see(self, kind: str, *raws: dict[str, Any], how: str = MODIFIED, seconds: float = 900) -> "Told":
        self.mattered = [self.scene.apply(Event(at(seconds), kind, how, raw)) for raw in raws]
        return self

    def gone(self, kind: str, *raws: dict[str, Any]) -> "Told":
        return self.see(kind, *raws, how=GONE)

    def listing(self, kind: str, *raws: dict[str, Any]) -> "Told":
        self.scene.apply(Event(at(900), kind, BEGIN))
        self.see(kind, *raws, how=ADDED)
        self.scene.apply(Event(at(900), kind, SYNCED))
        return self

    def reading(self, seconds: float = NOW) -> Reading:
        return Reading(self.scene, at(seconds))

    def snapshot(
        self, *takings: Taking, promises: tuple[Promise, ...] = (), seconds: float = NOW
    ) -> Snapshot:
        return self.reading(seconds).snapshot(at(seconds), promises, takings)

    def workload(self, *takings: Taking) -> Workload:
        (only,) = self.snapshot(*takings).workloads
        return only

    def waiting(self, *takings: Taking) -> Waiting:
        (only,) = self.snapshot(*takings).waiting
        return only

    def shape(self) -> Shape:
        """The shape of what waits."""
        ((shape, _, _),) = self.waiting().pods
        return shape


def owner(
    name: str,
    gpus: object = 1,
    *,
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    template: dict[str, Any] | None = None,
    labels: dict[str, str] | None = None,
    **metadata: Any,
) -> dict[str, Any]:
    """A Job, Deployment or the like, with a template of one GPU container."""
    pod = {"containers": [gpu_container(gpus)] if gpus else [{"name": "main"}], **(template or {})}
    return {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"uid-{name}",
            "resourceVersion": "7",
            "creationTimestamp": iso(0),
            **metadata,
        },
        "spec": {"template": {"metadata": {"labels": labels or {}}, "spec": pod}, **(spec or {})},
        "status": status or {},
    }


def owned(kind: str, name: str, api_version: str = "batch/v1") -> tuple[str, str, str, str]:
    """The owner of a pod, for `tests.kube.raws.pod`."""
    return api_version, kind, name, f"uid-{name}"


def above(kind: str, name: str, api_version: str) -> dict[str, Any]:
    """The owner reference of an owner."""
    keys = ("apiVersion", "kind", "name", "uid")
    told = dict(zip(keys, owned(kind, name, api_version), strict=True))
    return {"ownerReferences": [{**told, "controller": True}]}


def cover(name: str, selector: Any, *, namespace: str = "ns", **status: Any) -> dict[str, Any]:
    """A PodDisruptionBudget or, with a plain selector, a Service."""
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "generation": 1},
        "spec": {"selector": selector},
        "status": {"observedGeneration": 1, **status},
    }

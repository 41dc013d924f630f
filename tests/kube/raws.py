"""Objects as the API server sends them, for tests: pods, nodes, claims, slices, with the fields that are read."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from collector.kubernetes.picture import Picture
from collector.kubernetes.settings import Settings
from collector.kubernetes.stream import ADDED, BEGIN, GONE, MODIFIED, SYNCED, Event
from quartermaster import records
from quartermaster.clock import from_iso, to_iso
from quartermaster.parts import GPU_PARTS

T0 = from_iso("2026-11-30T12:00:00Z")
G = GPU_PARTS
SETTINGS = Settings("c", person_key=b"k" * 32, telemetry=False)


def at(seconds: float) -> int:
    """Epoch ms, so many seconds after the tests' noon."""
    return T0 + int(seconds * 1000)


def iso(seconds: float) -> str:
    """The same as the API writes it: whole seconds, floored."""
    return to_iso(at(seconds))[:19] + "Z"


def gpu_container(gpus: object, name: str = "main", **more: Any) -> dict[str, Any]:
    resources = {"limits": {"nvidia.com/gpu": str(gpus)}, "requests": {"nvidia.com/gpu": str(gpus)}}
    return {"name": name, "resources": resources, **more}


def pod(
    name: str = "p",
    gpus: object = 1,
    *,
    node: str = "n1",
    bound: float | None = 1,
    phase: str = "Running",
    started: float | None = None,
    finished: float | None = None,
    labels: dict[str, str] | None = None,
    owner: tuple[str, str, str, str] | None = None,
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    **metadata: Any,
) -> dict[str, Any]:
    """A pod with one GPU container; `bound` None: not scheduled. Times are seconds after noon."""
    state: dict[str, Any] = {"waiting": {"reason": "ContainerCreating"}}
    if started is not None:
        state = {"running": {"startedAt": iso(started)}}
    if finished is not None:
        state = {"terminated": {"startedAt": iso(started or bound or 0), "finishedAt": iso(finished)}}
    conditions = [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
    ]
    if bound is not None:
        conditions = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": iso(bound)}]
    owners = []
    if owner is not None:
        keys = ("apiVersion", "kind", "name", "uid")
        owners = [{**dict(zip(keys, owner, strict=True)), "controller": True}]
    meta = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "creationTimestamp": iso(0)}
    return {
        "metadata": {**meta, "labels": labels or {}, "ownerReferences": owners, **metadata},
        "spec": {
            "containers": [gpu_container(gpus)] if gpus else [{"name": "main"}],
            **({"nodeName": node} if bound is not None else {}),
            **(spec or {}),
        },
        "status": {
            "phase": "Pending" if bound is None else phase,
            "conditions": conditions,
            **({"containerStatuses": [{"name": "main", "state": state}]} if bound is not None else {}),
            **(status or {}),
        },
    }


def node(
    name: str = "n1",
    gpus: int = 8,
    *,
    labels: dict[str, str] | None = None,
    ready: str = "True",
    ready_at: float = -100,
    allocatable: int | None = None,
    capacity: dict[str, str] | None = None,
    spec: dict[str, Any] | None = None,
) -> dict[str, Any]:
    has = {
        "cpu": "64",
        "memory": "512Gi",
        **({"nvidia.com/gpu": str(gpus)} if gpus else {}),
        **(capacity or {}),
    }
    can = {**has, **({} if allocatable is None else {"nvidia.com/gpu": str(allocatable)})}
    told = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"} if gpus else {}
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": iso(ready_at)}
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "creationTimestamp": iso(-1000),
            "labels": {**told, **(labels or {})},
        },
        "spec": spec or {},
        "status": {"capacity": has, "allocatable": can, "conditions": [condition]},
    }


def device(index: int, uuid: str = "", **attributes: str) -> dict[str, Any]:
    told = {
        "type": "gpu",
        "uuid": uuid or f"GPU-{index}",
        "productName": "NVIDIA H100 80GB HBM3",
        **attributes,
    }
    return {
        "name": f"gpu-{index}",
        "attributes": {key: {"string": value} for key, value in told.items() if value},
        "capacity": {"memory": {"value": "80Gi"}},
    }


def mig(index: int, profile: str, place: str, uuid: str = "") -> dict[str, Any]:
    attributes = {"type": "mig", "profile": profile, "parentUUID": f"GPU-{index}", "uuid": uuid}
    told = {key: {"string": value} for key, value in attributes.items() if value}
    return {"name": f"gpu-{index}-mig-{place}", "attributes": told, "capacity": {}}


def resource_slice(
    devices: list[dict[str, Any]], *, name: str = "s1", node: str = "n1", generation: int = 1, **spec: Any
) -> dict[str, Any]:
    pool = {"name": node, "generation": generation, "resourceSliceCount": 1}
    given: dict[str, Any] = {"driver": "gpu.nvidia.com", "nodeName": node, "pool": pool, "devices": devices}
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": {**given, **spec}}


def claim(
    name: str, devices: Iterable[str] = (), pods: Iterable[str] = (), *, node: str = "n1", **result: Any
) -> dict[str, Any]:
    """A claim, allocated where it has devices, and reserved for pods (by name)."""
    results = [
        {"request": "gpus", "driver": "gpu.nvidia.com", "pool": node, "device": each, **result}
        for each in devices
    ]
    status: dict[str, Any] = {}
    if results:
        status = {
            "allocation": {"allocationTimestamp": iso(1), "devices": {"results": results}},
            "reservedFor": [{"resource": "pods", "name": each, "uid": f"uid-{each}"} for each in pods],
        }
    return {"metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}"}, "status": status}


def with_claims(*names: str) -> dict[str, Any]:
    return {"resourceClaims": [{"name": each, "resourceClaimName": each} for each in names]}


class Told:
    """A picture, and everything that it told: the last version of each thing."""

    def __init__(self, settings: Settings = SETTINGS) -> None:
        self.picture = Picture(settings)
        self.rows: dict[str, list[Any]] = {}

    def see(self, seconds: float, kind: str, raw: dict[str, Any], how: str = MODIFIED) -> "Told":
        self.picture.apply(Event(at(seconds), kind, how, raw))
        return self

    def gone(self, seconds: float, kind: str, raw: dict[str, Any]) -> "Told":
        return self.see(seconds, kind, raw, GONE)

    def listing(self, seconds: float, kind: str, *raws: dict[str, Any]) -> "Told":
        self.picture.apply(Event(at(seconds), kind, BEGIN))
        for raw in raws:
            self.see(seconds, kind, raw, ADDED)
        self.picture.apply(Event(at(seconds), kind, SYNCED))
        return self

    def take(self, seconds: float = 1000) -> "Told":
        for table, rows in self.picture.take(at(seconds)).items():
            self.rows.setdefault(table, []).extend(rows)
        return self

    def _last(self, table: str, key: str) -> list[Any]:
        last: dict[Any, Any] = {}
        for row in self.rows.get(table, []):
            name = (getattr(row, key), None if table == "allocations_versions" else row.start_at)
            assert name not in last or last[name].revision < row.revision, "a version is told once"
            last[name] = row
        return [row for row in last.values() if row.end_at is None or row.end_at > row.start_at]

    def allocation(self) -> records.Allocation:
        (only,) = self.allocations()
        return only

    def allocations(self) -> list[records.Allocation]:
        return sorted(self.take()._last("allocations_versions", "allocation_id"), key=lambda each: each.pod)

    def holdings(self) -> list[records.Holding]:
        rows = self.take()._last("holdings_versions", "holding_id")
        return sorted(rows, key=lambda each: (each.start_at, each.allocation_id, each.device_id))

    def devices(self) -> list[records.Device]:
        rows = self.take()._last("devices_versions", "device_id")
        return sorted(rows, key=lambda each: (each.start_at, each.device_index, each.gi_id))

    def nodes(self) -> list[records.Node]:
        return sorted(
            self.take()._last("nodes_versions", "node"), key=lambda each: (each.node, each.start_at)
        )

    def demand(self) -> list[records.Demand]:
        return sorted(self.take()._last("demand_versions", "demand_id"), key=lambda each: each.start_at)

    def quotas(self, seconds: float = 1000) -> list[records.Quota]:
        rows = self.take(seconds)._last("quotas_versions", "quota_id")
        return sorted(rows, key=lambda each: (each.start_at, each.source_object, each.pool))

    def workload(self) -> records.Workload:
        return self.take().rows["workloads_versions"][-1]

    def uuids(self) -> list[str]:
        names = {
            each.device_id: each.gpu_uuid + (f"/{each.gi_id}" if each.gi_id else "")
            for each in self.devices()
        }
        return [names[each.device_id] for each in self.holdings()]


def replaced(settings: Settings = SETTINGS, **changes: Any) -> Settings:
    return replace(settings, **changes)

"""The brute-force accountant of API streams: docs/kubernetes.md said once more, from nothing but what the server sent.

A stream is (received_ms, kind, type, object) in the order of its receipt. Nothing here is shared with the collector.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import Any

GPU = 168_000
FOREVER = 253_402_300_800_000
SKEW_MS = 600_000
Raw = dict[str, Any]
Line = tuple[int, str, str, Raw]


@dataclass
class Life:
    """What one pod held, from when to when, and until when for sure; of which devices, by UUID."""

    name: str
    node: str
    start_ms: int
    started_ms: int | None = None
    end_ms: int | None = None
    sure_ms: int | None = None
    parts: int = 0
    devices: dict[str, int] = field(default_factory=dict[str, int])


@dataclass
class Machine:
    """A node while it is so."""

    start_ms: int
    end_ms: int | None
    gpus: int
    usable: bool
    sick: int


@dataclass
class Books:
    """The whole of a stream: lives by the pod's uid, and machines by name, each in order."""

    lives: dict[str, Life]
    machines: dict[str, list[Machine]]


def ms(written: Any) -> int | None:
    """Epoch milliseconds of the API's time, floored as it is."""
    return int(datetime.fromisoformat(written).timestamp() * 1000) if written else None


def get(raw: Any, *path: str) -> Any:
    for name in path:
        raw = (raw or {}).get(name)
    return raw


# the shares of one resource on a node: whole GPUs, time-slices, or MIG by the seventh
def worth(resource: str, labels: Mapping[str, str]) -> int:
    if resource.startswith("nvidia.com/mig-"):
        return GPU * int(resource.removeprefix("nvidia.com/mig-")[0]) // 7
    return GPU // max(1, int(labels.get("nvidia.com/gpu.replicas", 1)))


def request(pod: Raw) -> dict[str, int]:
    """max(Σ containers + Σ sidecars, the highest init container with the sidecars before it), by resource."""

    def of(container: Raw) -> dict[str, int]:
        asked = {
            **(get(container, "resources", "limits") or {}),
            **(get(container, "resources", "requests") or {}),
        }
        return {name: int(Fraction(count)) for name, count in asked.items() if name.startswith("nvidia.com/")}

    total: dict[str, int] = defaultdict(int)
    peak: dict[str, int] = defaultdict(int)
    sidecars: dict[str, int] = defaultdict(int)
    for each in get(pod, "spec", "initContainers") or ():
        own = of(each)
        if each.get("restartPolicy") == "Always":
            for name, count in own.items():
                sidecars[name] += count
            own = {}
        for name in {*own, *sidecars}:
            peak[name] = max(peak[name], own.get(name, 0) + sidecars[name])
    for each in get(pod, "spec", "containers") or ():
        for name, count in of(each).items():
            total[name] += count
    for name, count in sidecars.items():
        total[name] += count
    return {name: max(total[name], peak[name]) for name in {*total, *peak}}


def claims_of(pod: Raw) -> tuple[list[str], set[str]]:
    """The names of its claims, and the resources that a claim stands for."""
    made = {
        each["name"]: each.get("resourceClaimName")
        for each in get(pod, "status", "resourceClaimStatuses") or ()
    }
    names = [
        each.get("resourceClaimName") or made.get(each["name"])
        for each in get(pod, "spec", "resourceClaims") or ()
    ]
    extended = get(pod, "status", "extendedResourceClaimStatus") or {}
    names.append(extended.get("resourceClaimName"))
    return [name for name in names if name], {
        each["resourceName"] for each in extended.get("requestMappings") or ()
    }


def states(pod: Raw) -> list[Raw]:
    kinds = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
    return [each for kind in kinds for each in get(pod, "status", kind) or ()]


class Accountant:
    """Reads a stream line by line."""

    def __init__(self) -> None:
        self.lives: dict[str, Life] = {}
        self.machines: dict[str, list[Machine]] = defaultdict(list)
        self.nodes: dict[str, Raw] = {}
        self.lost: dict[str, int] = {}
        self.last: dict[str, Raw] = {}
        self.bound: set[str] = set()  # uids of pods whose binding is known
        self.weighed: set[str] = set()  # uids of pods whose node was known
        self.devices: dict[str, dict[tuple[str, str], tuple[int, str]]] = {}
        self.given: dict[tuple[str, str], tuple[set[str], dict[str, int]]] = {}
        self.heard: dict[str, int] = {}
        self.listed: dict[str, tuple[int, set[str]]] = {}

    def read(self, stream: Iterable[Line]) -> Books:
        for at, kind, how, raw in stream:
            if how == "BEGIN":
                self.listed[kind] = (self.heard.get(kind, at), set())
            elif how == "SYNCED":
                self.synced(at, kind)
            elif how in {"ADDED", "MODIFIED", "DELETED"}:
                readers = {
                    "pods": self.pod,
                    "nodes": self.node,
                    "resourceslices": self.devices_of,
                    "resourceclaims": self.claim,
                }
                if kind in readers:
                    readers[kind](at, how, raw)
            self.heard[kind] = at
        return Books(self.lives, dict(self.machines))

    def synced(self, at: int, kind: str) -> None:
        seen, names = self.listed.pop(kind)
        for uid in self.last.keys() - names if kind == "pods" else ():
            self.last.pop(uid)
            life = self.lives.get(uid)
            if life is not None and life.end_ms is None:
                life.end_ms, life.sure_ms = max(at, life.start_ms), max(life.start_ms, min(seen, at))
        for name in self.nodes.keys() - names if kind == "nodes" else ():
            self.node(at, "DELETED", self.nodes[name])

    def pod(self, at: int, how: str, raw: Raw) -> None:
        uid, node = get(raw, "metadata", "uid"), get(raw, "spec", "nodeName")
        if "pods" in self.listed and how != "DELETED":
            self.listed["pods"][1].add(uid)
        if how == "DELETED":
            self.last.pop(uid, None)
        else:
            self.last[uid] = raw
        if not node or not (request(raw) or claims_of(raw)[0]):
            return
        conditions = {each["type"]: each for each in get(raw, "status", "conditions") or ()}
        bound = conditions.get("PodScheduled", {})
        bound_ms = ms(bound.get("lastTransitionTime")) if bound.get("status") == "True" else None
        start = (
            bound_ms
            or ms(get(raw, "status", "startTime"))
            or ms(get(raw, "metadata", "creationTimestamp"))
            or at
        )
        life = self.lives.setdefault(uid, Life(get(raw, "metadata", "name"), node, start))
        if bound_ms is None and uid not in self.bound:
            life.start_ms = start  # the kubelet's word, once there is one
        elif bound_ms is not None and uid not in self.bound:
            self.bound.add(uid)
            life.start_ms = bound_ms
        self.hold(life, uid, raw)
        began = [
            ms(get(each, *path, "startedAt"))
            for each in get(raw, "status", "containerStatuses") or ()
            for path in (("state", "running"), ("state", "terminated"), ("lastState", "terminated"))
        ]
        life.started_ms = min([t for t in (life.started_ms, *began) if t is not None], default=None)
        if how == "DELETED" or get(raw, "status", "phase") in {"Succeeded", "Failed"}:
            self.end(life, uid, at, raw, gone=how == "DELETED")

    def end(self, life: Life, uid: str, at: int, raw: Raw, *, gone: bool) -> None:
        ran = [each.get("state") or {} for each in states(raw)]
        ends = [t for each in ran if (t := ms(get(each, "terminated", "finishedAt"))) is not None]
        last = max(ends, default=None)
        if (
            last is not None
            and not any("running" in each for each in ran)
            and life.start_ms <= last <= at + SKEW_MS
        ):
            life.end_ms = life.sure_ms = last
            return
        if life.end_ms is not None:
            return
        written = [
            ms(each.get("time"))
            for each in get(raw, "metadata", "managedFields") or ()
            if each.get("subresource") == "status"
        ]
        status_ms = max([t for t in written if t is not None], default=None)
        over = get(raw, "status", "phase") in {"Succeeded", "Failed"}
        usable = over and status_ms is not None and life.start_ms <= status_ms <= at + SKEW_MS
        life.end_ms = status_ms if usable and status_ms is not None else max(at, life.start_ms)
        heard = min(at, self.lost.get(life.node, at))
        life.sure_ms = min(max(heard, life.start_ms), life.end_ms)

    def hold(self, life: Life, uid: str, raw: Raw) -> None:
        """What it holds: its claims' devices; and what it asks for beside them, by its node's labels at the binding."""
        names, through = claims_of(raw)
        namespace = get(raw, "metadata", "namespace")
        claimed: dict[str, int] = defaultdict(int)
        for name in names:
            pods, devices = self.given.get((namespace, name), (set[str](), {}))
            for device, parts in devices.items() if uid in pods else ():
                claimed[device] += parts
        if claimed:
            life.devices = dict(claimed)
        labels = get(self.nodes.get(life.node, {}), "metadata", "labels") or {}
        weighed = uid in self.weighed
        self.weighed |= {uid} if life.node in self.nodes else set()
        asked = {name: count for name, count in request(raw).items() if name not in through}
        if not weighed or not asked:
            life.parts = sum(worth(name, labels) * count for name, count in asked.items()) + sum(
                life.devices.values()
            )
        told = [
            (each["resourceID"].partition("::")[0], worth("nvidia.com/gpu", labels))
            for container in get(raw, "status", "containerStatuses") or ()
            for given in container.get("allocatedResourcesStatus") or ()
            if given["name"] == "nvidia.com/gpu"
            for each in given["resources"]
        ]
        if told and not claimed and sum(parts for _, parts in told) == life.parts:
            life.devices = {uuid: sum(parts for other, parts in told if other == uuid) for uuid, _ in told}

    def claim(self, at: int, how: str, raw: Raw) -> None:
        del at
        results = get(raw, "status", "allocation", "devices", "results") or ()
        results = [
            each for each in results if each["driver"] == "gpu.nvidia.com" and not each.get("adminAccess")
        ]
        if how == "DELETED" or not results:
            return  # what it gave stays given
        pods = {each["uid"] for each in get(raw, "status", "reservedFor") or ()}
        pods |= {
            each["uid"] for each in get(raw, "metadata", "ownerReferences") or () if each["kind"] == "Pod"
        }
        place = (get(raw, "metadata", "namespace"), get(raw, "metadata", "name"))
        known = {key: uuid for every in self.devices.values() for key, (_, uuid) in every.items()}
        before = self.given.get(place, (set[str](), {}))
        devices = before[1] or {known[each["pool"], each["device"]]: GPU for each in results}
        self.given[place] = (before[0] | pods, devices)
        for uid in pods & self.last.keys():
            life = self.lives.get(uid)
            if life is not None:
                self.hold(life, uid, self.last[uid])

    def devices_of(self, at: int, how: str, raw: Raw) -> None:
        name, pool = get(raw, "metadata", "name"), get(raw, "spec", "pool") or {}
        self.devices.pop(name, None)
        if how != "DELETED":
            self.devices[name] = {
                (pool["name"], each["name"]): (pool["generation"], each["attributes"]["uuid"]["string"])
                for each in get(raw, "spec", "devices") or ()
            }
        if pool["name"] in self.nodes:
            self.node(at, "MODIFIED", self.nodes[pool["name"]])

    def node(self, at: int, how: str, raw: Raw) -> None:
        name = get(raw, "metadata", "name")
        if "nodes" in self.listed and how != "DELETED":
            self.listed["nodes"][1].add(name)
        before, theirs = self.nodes.get(name), self.machines[name]
        if how == "DELETED":
            self.nodes.pop(name, None)
            self.lost.setdefault(name, at)
            if theirs and theirs[-1].end_ms is None:
                theirs[-1].end_ms = max(at, theirs[-1].start_ms)
            return
        self.nodes[name] = raw
        for uid, life in self.lives.items():
            if life.node == name and uid in self.last and uid not in self.weighed:
                self.hold(life, uid, self.last[uid])
        now, changed_ms = self.machine(at, before, raw)
        if not theirs or theirs[-1].end_ms is not None:
            theirs.append(now)
        elif (now.gpus, now.usable, now.sick) != (theirs[-1].gpus, theirs[-1].usable, theirs[-1].sick):
            changed_ms = max(changed_ms, theirs[-1].start_ms)
            theirs[-1].end_ms = changed_ms
            theirs.append(Machine(changed_ms, None, now.gpus, now.usable, now.sick))

    def machine(self, at: int, before: Raw | None, raw: Raw) -> tuple[Machine, int]:
        """The node as it is, and since when: by the API's own times of its readiness and its cordon."""
        name, labels = get(raw, "metadata", "name"), get(raw, "metadata", "labels") or {}
        ready = next((each for each in get(raw, "status", "conditions") or () if each["type"] == "Ready"), {})
        cordon = next(
            (each for each in get(raw, "spec", "taints") or () if each["key"].endswith("unschedulable")), {}
        )
        is_ready, open_ = ready.get("status") == "True", get(raw, "spec", "unschedulable") is not True
        if is_ready:
            self.lost.pop(name, None)
        else:
            since = ms(ready.get("lastHeartbeatTime")) or ms(ready.get("lastTransitionTime")) or at
            self.lost[name] = min(since, at)
        units = int(get(raw, "status", "capacity", "nvidia.com/gpu") or 0)
        usable_units = int(get(raw, "status", "allocatable", "nvidia.com/gpu") or 0)
        replicas = max(1, int(labels.get("nvidia.com/gpu.replicas", 1)))
        gpus = int(labels.get("nvidia.com/gpu.count", -(-units // replicas)))
        gpus = max(
            gpus,
            len(
                {
                    uuid
                    for every in self.devices.values()
                    for (pool, _), (_, uuid) in every.items()
                    if pool == name
                }
            ),
        )
        sick = -(-max(0, units - usable_units) // replicas)
        if before is None:
            return Machine(at // 1000 * 1000, None, gpus, is_ready and open_, sick), at
        was_ready = next(
            (each for each in get(before, "status", "conditions") or () if each["type"] == "Ready"), {}
        )
        times = [at]
        if (was_ready.get("status") == "True") != is_ready:
            times.append(ms(ready.get("lastTransitionTime")) or at)
        if get(before, "spec", "unschedulable") is not True and not open_:
            times.append(ms(cordon.get("timeAdded")) or at)
        return Machine(at, None, gpus, is_ready and open_, sick), min(times)

"""For tests of quotas: objects as the API has them, small snapshots, and what the audit remembers."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from collector.kubernetes.lent import QUOTA
from collector.kubernetes.settings import Settings
from enforcer.act.effects import Patch
from enforcer.audit.deed import Deed, Phase
from enforcer.quotas.backends import read_cap
from enforcer.quotas.cap import Cap
from enforcer.quotas.change import QuotaChange, patch_of
from enforcer.quotas.kai import KAI_QUEUE
from enforcer.quotas.kueue import CLUSTER_QUEUE
from enforcer.quotas.last import Last
from enforcer.quotas.native import RESOURCE_QUOTA
from enforcer.quotas.volcano import VOLCANO_QUEUE
from enforcer.shape import Shape
from enforcer.snapshot import Node, Pod, Promise, Snapshot, Waiting, Workload
from quartermaster.clock import HOUR_MS
from quartermaster.parts import GPU_PARTS

NOW = 1_796_000_400_000
G = GPU_PARTS
GPU = "nvidia.com/gpu"
KEY = "requests.nvidia.com/gpu"
SETTINGS = Settings("c")
Raw = dict[str, Any]


def quota(namespace: str, gpus: int | str, **spec: Any) -> Raw:
    """A ResourceQuota."""
    metadata = {"name": "gpus", "namespace": namespace, "uid": f"uid-{namespace}", "resourceVersion": "1"}
    return {"metadata": metadata, "spec": {"hard": {KEY: str(gpus), "pods": "100"}} | spec}


def queue(name: str, *flavors: Mapping[str, Any], **spec: Any) -> Raw:
    """A ClusterQueue; each flavor has its name and its GPUs' quotas."""
    groups = [
        {
            "coveredResources": [GPU, "cpu"],
            "flavors": [
                {
                    "name": each["name"],
                    "resources": [
                        {"name": "cpu", "nominalQuota": "64"},
                        {"name": GPU} | {key: value for key, value in each.items() if key != "name"},
                    ],
                }
            ],
        }
        for each in flavors
    ]
    metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": "1"}
    return {"metadata": metadata, "spec": {"cohortName": "all", "resourceGroups": groups} | spec}


def flavor(nominal: str, name: str = "h100", **limits: str) -> Mapping[str, Any]:
    """A flavor of a ClusterQueue."""
    return {"name": name, "nominalQuota": nominal} | limits


def kai_queue(name: str, above: str = "", /, *, fixed: int = 0, **gpu: float) -> Raw:
    """A Queue of KAI; its GPUs' fields, and how many its non-preemptible work holds."""
    cpu = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "1"},
        "spec": {"resources": {"cpu": cpu, "gpu": gpu}} | ({"parentQueue": above} if above else {}),
        "status": {"allocatedNonPreemptible": {GPU: str(fixed)}} if fixed else {},
    }


def volcano_queue(name: str, above: str = "root", /, **gpus: str) -> Raw:
    """A Queue of Volcano: `deserved`, `capability` and `guarantee` in GPUs."""
    told: Raw = {part: {"cpu": "64", GPU: value} for part, value in gpus.items()}
    if "guarantee" in told:
        told["guarantee"] = {"resource": told["guarantee"]}
    metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": "1"}
    return {"metadata": metadata, "spec": {"reclaimable": True, "weight": 1, "parent": above} | told}


def cap(raw: Raw) -> Cap:
    """As it is read."""
    found = read_cap(raw, kind_of(raw), SETTINGS)
    assert found is not None
    return found


def kind_of(raw: Raw) -> str:
    """The kind of an object, by what its spec has."""
    told = {
        "hard": RESOURCE_QUOTA,
        "resourceGroups": CLUSTER_QUEUE,
        "resources": KAI_QUEUE,
        "reclaimable": VOLCANO_QUEUE,
    }
    (kind,) = (kind for field, kind in told.items() if field in raw["spec"])
    return kind


def applied(raw: Raw, change: QuotaChange, at_ms: int = NOW) -> Raw:
    """The object after the change's patch, by RFC 6902."""
    patch = patch_of(change, "/path", raw, SETTINGS, at_ms)
    assert patch is not None
    return after(raw, patch)


def after(raw: Raw, patch: Patch) -> Raw:
    """The object after a JSON patch; a test that does not hold raises."""
    now = copy.deepcopy(raw)
    for each in patch.body():
        *path, last = [name.replace("~1", "/").replace("~0", "~") for name in each["path"].split("/")[1:]]
        inside: Any = now
        for name in path:
            inside = inside[int(name) if isinstance(inside, list) else name]
        if each["op"] == "test":
            assert inside[last] == each["value"]
        elif each["op"] == "add":
            inside[last] = each["value"]
        else:
            del inside[last]
    now["metadata"]["resourceVersion"] = str(int(now["metadata"]["resourceVersion"]) + 1)
    return now


def last(
    change: QuotaChange, at_ms: int = NOW - 2 * HOUR_MS, result: str = "done", act: str = "quota"
) -> Last:
    """What the audit remembers of a change."""
    from enforcer.act.order import written

    deed = Deed(
        "c",
        at_ms,
        Phase.INTENT,
        act,
        kind=change.cap.kind,
        object_uid=change.cap.uid,
        before=written(change.before),
        after=written(change.after),
    )
    return Last(deed, "hash", result)


def marked(raw: Raw) -> bool:
    """Whether our annotation is on it."""
    return QUOTA in raw["metadata"].get("annotations", {})


def node(name: str = "n1", gpus: int = 16, pool: str = "p", parts: int = G) -> Node:
    """A node of a pool."""
    return Node(name, pool, ((GPU, gpus),), ((GPU, parts),))


def holds(team: str, gpus: int, *, namespace: str = "", pool: str = "p", **more: Any) -> Workload:
    """A workload that holds GPUs on n1."""
    uid = f"w-{team}-{namespace}-{gpus}-{more.get('preemptible', True)}"
    pod = Pod(f"{uid}-0", namespace or team, f"{uid}-0", "n1", Shape(((GPU, gpus),)), gpus * G, NOW - HOUR_MS)
    return Workload(uid, "Job", namespace or team, uid, team, pool, (pod,), **more)


def waits(team: str, gpus: int, *, namespace: str = "", pool: str = "p", **more: Any) -> Waiting:
    """A workload that waits for GPUs."""
    pods = ((Shape(((GPU, gpus),)), 1, gpus * G),)
    uid = f"q-{team}-{namespace}-{gpus}-{more.get('preemptible', True)}"
    return Waiting(uid, "Job", namespace or team, uid, team, pool, pods, NOW - 60_000, **more)


def picture(
    workloads: Iterable[Workload] = (),
    waiting: Iterable[Waiting] = (),
    promises: Iterable[Promise] = (),
    nodes: Iterable[Node] = (node(),),
    at_ms: int = NOW,
) -> Snapshot:
    """A snapshot."""
    return Snapshot("c", at_ms, at_ms, tuple(nodes), tuple(workloads), tuple(waiting), tuple(promises))

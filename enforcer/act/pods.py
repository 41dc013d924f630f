"""Pods of a stopped owner: when one may be evicted, and the patch that binds its eviction to the leader. Pure."""

from urllib.parse import quote

from collector.kubernetes.owners import Reference, controller_of
from collector.kubernetes.values import Json, mapping, text, whole
from enforcer.act.effects import Operation, Patch, pointer
from enforcer.act.hands import pod_path

EPOCH = "quartermaster/epoch"
_EPOCH_AT = pointer(("metadata", "annotations", EPOCH))
_TRACKING = "batch.kubernetes.io/job-tracking"
_GROUPS = {"Job": "batch", "ReplicaSet": "apps", "StatefulSet": "apps"}


def controller_path(pod: Json) -> str:
    """Where the pod's own controller is, if it is one that would make another pod; else empty."""
    owner, namespace = _controller(pod), text(mapping(pod.get("metadata")).get("namespace"))
    if owner is None or _GROUPS.get(owner.kind) != owner.group:
        return ""
    version, name = quote(owner.api_version), quote(owner.name, safe="")
    return f"/apis/{version}/namespaces/{namespace}/{owner.kind.lower()}s/{name}"


def may_be_evicted(pod: Json, controller: Json | None) -> bool:
    """Whether nothing would bring the pod back: its own controller (None: it is gone) is stopped as well.

    Pods of other controllers are left to those: to many of them an evicted pod is a failed one.
    """
    owner = _controller(pod)
    if owner is None or not controller_path(pod):
        return False
    if controller is None:
        return True
    spec = mapping(controller.get("spec"))
    stopped = spec.get("suspend") is True if owner.kind == "Job" else spec.get("replicas") == 0
    return stopped and mapping(controller.get("metadata")).get("uid") == owner.uid


def pods_told(owner: Json) -> int:
    """How many pods an owner's status still counts, bound or not; 0 where it counts none."""
    status = mapping(owner.get("status"))
    ranks = mapping(status.get("replicaStatuses")).values()  # of Kubeflow's training jobs
    return sum(whole(each) for each in (status.get("active"), status.get("replicas"))) + sum(
        whole(mapping(each).get("active")) for each in ranks
    )


def fence(pod: Json, epoch: int) -> Patch:
    """The patch after which only this leader's eviction is valid: it names the version that the patch gives.

    A Job counts each pod of its own that goes as a failure, unless its finalizer is off: it is taken off here, as the
    Job's own controller does before it deletes the pods of a suspended Job.
    """
    metadata = mapping(pod.get("metadata"))
    proof = Operation("add", _EPOCH_AT, str(epoch))
    bare = () if metadata.get("annotations") else (Operation("add", "/metadata/annotations", {}),)
    told = metadata.get("finalizers")
    at = [index for index, each in enumerate(told if isinstance(told, list) else []) if each == _TRACKING]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    off = tuple(Operation("remove", f"/metadata/finalizers/{index}") for index in reversed(at))
    path = pod_path(text(metadata.get("namespace")), text(metadata.get("name")))
    version = text(metadata.get("resourceVersion"))
    return Patch(path, text(metadata.get("uid")), version, (*bare, proof, *off), proof)


def _controller(pod: Json) -> Reference | None:
    return controller_of(mapping(pod.get("metadata")))

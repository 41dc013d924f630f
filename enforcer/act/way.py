"""Ways: where the owner of each kind is served, and the one field by which it is stopped. A table."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from typing_extensions import override

from collector.kubernetes.resources import KUEUE
from quartermaster.clock import to_iso
from quartermaster.config.kinds import KindPart, Stated

NOTEBOOK_STOPPED = "kubeflow-resource-stopped"
SERVICE_STOPPED = "serving.kserve.io/stop"
PAUSED_AT = "autoscaling.keda.sh/paused-replicas"
_LONGEST_KEPT = 256
_MOST_REPLICAS = 1_000_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where objects of a kind are served."""

    group: str  # "" for the core
    versions: tuple[str, ...]  # the newest first; the first that the server serves is used
    plural: str


@dataclass(frozen=True, slots=True)
class Way(Place):
    """How an owner is stopped: `field` is the path of the field, in which its kind of value stands."""

    field: tuple[str, ...]

    @property
    def words(self) -> str:
        """How that is said to people."""
        return _WORDS[self.field[-1]]

    def down(self, at_ms: int) -> object:
        """What the field is set to."""
        if self.field[-1] == NOTEBOOK_STOPPED:
            return to_iso(at_ms // 1000 * 1000).replace(".000Z", "Z")
        return _DOWN.get(self.field[-1], True)

    def is_down(self, value: object) -> bool:
        """Whether a field with this value (None: absent) says that the owner is stopped."""
        if self.field[-1] == NOTEBOOK_STOPPED:
            return value is not None
        down = _DOWN.get(self.field[-1], True)
        return type(value) is type(down) and value == down

    def is_kept(self, value: object) -> bool:
        """Whether the value may have stood there while the owner ran, so that it can be put back."""
        if value is None:
            return True
        if self.field[-1] == "replicas":
            return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST_REPLICAS
        if self.field[0] == "metadata":
            return isinstance(value, str) and len(value) <= _LONGEST_KEPT and not self.is_down(value)
        return value is (self.field[-1] == "active")


@dataclass(frozen=True, slots=True)
class StatedWay(Way):
    """How an owner of a custom kind is stopped, as the configuration states it.

    `up_value` is what stands in the field while the owner runs; None: any other value of the same sort.
    """

    down_value: Stated
    up_value: Stated | None

    @property
    @override
    def words(self) -> str:
        return f"set {'.'.join(self.field)} to {json.dumps(self.down_value, ensure_ascii=False)}"

    @override
    def down(self, at_ms: int) -> object:
        return self.down_value

    @override
    def is_down(self, value: object) -> bool:
        return type(value) is type(self.down_value) and value == self.down_value

    @override
    def is_kept(self, value: object) -> bool:
        if value is None:
            return True
        if not isinstance(value, Stated) or type(value) is not type(self.down_value) or self.is_down(value):
            return False
        if self.up_value is not None:
            return value == self.up_value
        return len(value) <= _LONGEST_KEPT if isinstance(value, str) else value <= _MOST_REPLICAS


@dataclass(frozen=True, slots=True)
class RunWay(Way):
    """How an owner is stopped whose runs are objects of their own: the one that runs is patched, never the owner."""

    @property
    @override
    def words(self) -> str:
        return "suspend its run; the next begins at its time, unless concurrencyPolicy is Forbid"


Ways = Mapping[str, Way]  # by kind
_DOWN: Mapping[str, object] = {"active": False, "replicas": 0, PAUSED_AT: "0", SERVICE_STOPPED: "true"}
_WORDS = {
    "suspend": "suspend",
    "replicas": "scale to zero",
    "active": "deactivate in its queue",
    NOTEBOOK_STOPPED: "stop the notebook",
    SERVICE_STOPPED: "stop the service",
    PAUSED_AT: "have KEDA scale it to zero",
}
SCALE = ("spec", "replicas")
_SUSPEND, _RUN_POLICY = ("spec", "suspend"), ("spec", "runPolicy", "suspend")
_KUBEFLOW, _RAY, _V1 = "kubeflow.org", "ray.io", ("v1",)

WAYS: Ways = {
    "Job": Way("batch", _V1, "jobs", _SUSPEND),
    "CronJob": RunWay("batch", _V1, "cronjobs", _SUSPEND),
    "JobSet": Way("jobset.x-k8s.io", ("v1", "v1beta1", "v1alpha2"), "jobsets", _SUSPEND),
    "TrainJob": Way("trainer.kubeflow.org", ("v1", "v1beta1", "v1alpha1"), "trainjobs", _SUSPEND),
    "RayCluster": Way(_RAY, ("v1", "v1alpha1"), "rayclusters", _SUSPEND),
    "RayJob": Way(_RAY, ("v1", "v1alpha1"), "rayjobs", _SUSPEND),
    "RayService": Way(_RAY, ("v1", "v1alpha1"), "rayservices", _SUSPEND),
    "PyTorchJob": Way(_KUBEFLOW, _V1, "pytorchjobs", _RUN_POLICY),
    "TFJob": Way(_KUBEFLOW, _V1, "tfjobs", _RUN_POLICY),
    "MPIJob": Way(_KUBEFLOW, ("v2beta1", "v1"), "mpijobs", _RUN_POLICY),
    "XGBoostJob": Way(_KUBEFLOW, _V1, "xgboostjobs", _RUN_POLICY),
    "PaddleJob": Way(_KUBEFLOW, _V1, "paddlejobs", _RUN_POLICY),
    "JAXJob": Way(_KUBEFLOW, _V1, "jaxjobs", _RUN_POLICY),
    "Deployment": Way("apps", _V1, "deployments", SCALE),
    "ReplicaSet": Way("apps", _V1, "replicasets", SCALE),
    "StatefulSet": Way("apps", _V1, "statefulsets", SCALE),
    "LeaderWorkerSet": Way("leaderworkerset.x-k8s.io", _V1, "leaderworkersets", SCALE),
    "Rollout": Way("argoproj.io", ("v1alpha1",), "rollouts", SCALE),
    "Notebook": Way(
        _KUBEFLOW, ("v1", "v1beta1", "v1alpha1"), "notebooks", ("metadata", "annotations", NOTEBOOK_STOPPED)
    ),
    "InferenceService": Way(
        "serving.kserve.io", ("v1beta1",), "inferenceservices", ("metadata", "annotations", SERVICE_STOPPED)
    ),
}
# What Kueue manages is stopped by Kueue's own object for it (`enforcer.act.grip`): it starts a suspended Job again.
IN_QUEUE = "Workload"
QUEUED_WAY = Way("kueue.x-k8s.io", KUEUE, "workloads", ("spec", "active"))
# What KEDA scales is stopped by KEDA's: it would scale up again what somebody else has scaled to zero.
SCALED = "ScaledObject"
SCALED_WAY = Way("keda.sh", ("v1alpha1",), "scaledobjects", ("metadata", "annotations", PAUSED_AT))
# The kinds that are patched in an owner's stead.
INSTEAD: Ways = {IN_QUEUE: QUEUED_WAY, SCALED: SCALED_WAY}
# Quota objects, which are moved and never stopped (`enforcer.quotas`).
QUOTAS: Mapping[str, Place] = {
    "ResourceQuota": Place("", _V1, "resourcequotas"),
    "ClusterQueue": Place("kueue.x-k8s.io", KUEUE, "clusterqueues"),
    "Queue.scheduling.run.ai": Place("scheduling.run.ai", ("v2",), "queues"),
    "Queue.scheduling.volcano.sh": Place("scheduling.volcano.sh", ("v1beta1",), "queues"),
}
# Why these have no way, for whoever asks.
WITHOUT_A_WAY: Mapping[str, str] = {
    "DaemonSet": "nothing stops a DaemonSet but taking it from its nodes",
    "Pod": "nothing brings a bare pod back",
    "Node": "a static pod is its node's own",
}


def ways_of(kinds: Iterable[KindPart]) -> Ways:
    """All ways: those that are built in, and those of the kinds that the configuration states."""
    stated = {
        each.kind: StatedWay(
            each.group, each.versions, each.plural, tuple(each.field.split("/")[1:]), each.down, each.up
        )
        for each in kinds
    }
    return {**WAYS, **stated}

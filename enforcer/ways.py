"""Ways: how a workload of each kind is stopped so that it can be started again, and what no restart brings back."""

_SUSPEND, _SCALE, _DEACTIVATE = "suspend", "scale to zero", "deactivate in its queue"
_WAYS = {
    "Job": _SUSPEND,
    "JobSet": _SUSPEND,
    "TrainJob": _SUSPEND,
    "PyTorchJob": _SUSPEND,
    "TFJob": _SUSPEND,
    "MPIJob": _SUSPEND,
    "XGBoostJob": _SUSPEND,
    "PaddleJob": _SUSPEND,
    "JAXJob": _SUSPEND,
    "RayJob": _SUSPEND,
    "RayCluster": _SUSPEND,
    "RayService": _SUSPEND,
    "Deployment": _SCALE,
    "ReplicaSet": _SCALE,
    "StatefulSet": _SCALE,
    "LeaderWorkerSet": _SCALE,
    "Rollout": _SCALE,
    "Notebook": "stop the notebook",
    "InferenceService": "stop the service",
}
_LOST = {
    "Notebook": ("what its processes have in memory", "work that is not saved"),
    "StatefulSet": ("what its processes have in memory",),
    "RayCluster": ("what its processes have in memory",),
    "RayJob": ("the whole run: it starts over",),
}


def way_down(kind: str, *, queued: bool = False) -> str:
    """How the owner of such a workload is stopped; "" where nothing is known that would bring it back.

    `queued`: Kueue manages it, and is told to take it out of its queue.
    """
    return _DEACTIVATE if queued and kind in _WAYS else _WAYS.get(kind, "")


def lost_for_good(kind: str) -> tuple[str, ...]:
    """What a restart does not bring back, in words."""
    return _LOST.get(kind, ())

"""What owners of custom kinds would make: their pod templates, and how many pods of each. A table of kinds."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from collector.kubernetes.settings import Settings
from collector.kubernetes.values import Json, mapping, objects, text, whole
from enforcer.live.alike import Alike
from enforcer.live.seen import Template, read_template

MOST_PODS = 1_000_000
_OVER = {"Succeeded", "Failed", "Complete", "Completed", "Finished"}
Part = tuple[object, object]  # a pod template, and how many there are (absent: one)


@dataclass(frozen=True, slots=True)
class Batch:
    """Pods that an owner would make: so many of one template."""

    template: Template
    count: int


def batches_of(kind: str, raw: Json, settings: Settings, alike: Alike) -> tuple[Batch, ...]:
    """The GPU pods that an owner of such a kind makes while it runs; of what has replicas, those of one."""
    parts = MAKES[kind](mapping(raw.get("spec"))) if kind in MAKES else ()
    found: list[Batch] = []
    for each, count in parts:
        template = read_template(mapping(each), settings, alike)
        many = min(whole(count), MOST_PODS) if count is not None else 1
        if template is not None and many:
            found.append(Batch(template, many))
    return tuple(found)


def is_over(raw: Json) -> bool:
    """Whether an owner has run to its end."""
    conditions = objects(mapping(raw.get("status")).get("conditions"))
    return any(text(each.get("type")) in _OVER and each.get("status") == "True" for each in conditions)


def _training(spec: Json) -> Iterator[Part]:
    for name, roles in spec.items():
        if name.endswith("ReplicaSpecs"):
            for role in mapping(roles).values():
                yield mapping(role).get("template"), mapping(role).get("replicas")


def _ray_cluster(spec: Json) -> Iterator[Part]:
    yield mapping(spec.get("headGroupSpec")).get("template"), None
    for group in objects(spec.get("workerGroupSpecs")):
        many = whole(group.get("replicas", 1)) * whole(group.get("numOfHosts", 1))
        yield group.get("template"), many


def _ray_job(spec: Json) -> Iterator[Part]:
    return _ray_cluster(mapping(spec.get("rayClusterSpec")))


def _ray_service(spec: Json) -> Iterator[Part]:
    return _ray_cluster(mapping(spec.get("rayClusterConfig")))


def _leader_worker_set(spec: Json) -> Iterator[Part]:
    told = mapping(spec.get("leaderWorkerTemplate"))
    worker = told.get("workerTemplate")
    yield told.get("leaderTemplate") or worker, None
    yield worker, max(0, whole(told.get("size", 1)) - 1)


def _plain(spec: Json) -> Iterator[Part]:
    yield spec.get("template"), None


MAKES: Mapping[str, Callable[[Json], Iterator[Part]]] = {
    **dict.fromkeys(("JAXJob", "MPIJob", "PaddleJob", "PyTorchJob", "TFJob", "XGBoostJob"), _training),
    "LeaderWorkerSet": _leader_worker_set,
    "Notebook": _plain,
    "RayCluster": _ray_cluster,
    "RayJob": _ray_job,
    "RayService": _ray_service,
    "Rollout": _plain,
}

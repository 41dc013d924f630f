"""Owners: from a pod up its controller references to the workload, and what labels tell of user and experiment."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collector.kubernetes.settings import SOURCE, Settings
from collector.kubernetes.values import Json, objects, text
from quartermaster.ids import content_id
from quartermaster.person import person_id
from quartermaster.records import Workload

# Users, as the systems that start pods label them; the configuration may add others.
USER_LABELS = ("hub.jupyter.org/username", "user", "username", "submitter", "com.coder.user.username")
# What a pod belongs to; the first that is there names the experiment.
EXPERIMENT_LABELS = (
    *("mlflow.org/run-id", "mlflow-run-id", "mlflow-experiment", "wandb.ai/run-id", "wandb-run-id"),
    *("wandb-project", "pipeline/runid", "run_id", "dag_id", "training.kubeflow.org/job-name"),
    *("ray.io/cluster", "spark-app-selector", "serving.kserve.io/inferenceservice"),
)
TAG_LABELS = (
    *EXPERIMENT_LABELS,
    *("task_id", "spark-role", "kueue.x-k8s.io/queue-name", "kai.scheduler/queue"),
)
# Labels of places where people write code by hand.
_WORKSPACES = (
    *("hub.jupyter.org/username", "controller.devfile.io/devworkspace_id", "com.coder.workspace.name"),
    *("jetbrains.com/workspace", "gateway.jetbrains.com/workspace"),
)
_EDITORS = ("code-server", "coder-workspace", "jupyterhub", "openvscode-server", "pycharm", "theia")
# Longer chains are a ring, or somebody's joke.
_LONGEST_CHAIN = 12


@dataclass(frozen=True, slots=True)
class Reference:
    """An owner, as a controller reference names it."""

    api_version: str
    kind: str
    name: str
    uid: str

    @property
    def group(self) -> str:
        """The API group; empty for the core."""
        group, slash, _ = self.api_version.rpartition("/")
        return group if slash else ""


@dataclass(frozen=True, slots=True)
class Owner:
    """What is known of an owner: its own controller; none where it has none, may not be read, or is gone."""

    controller: Reference | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """The owners of a pod, from the nearest up; `missing` is the one that has to be asked for to go on."""

    owners: tuple[Reference, ...]
    missing: Reference | None = None


def controller_of(metadata: Json) -> Reference | None:
    """The controller reference among the owners, None without one."""
    for each in objects(metadata.get("ownerReferences")):
        if each.get("controller") is True:
            return Reference(
                text(each.get("apiVersion")),
                text(each.get("kind")),
                text(each.get("name")),
                text(each.get("uid")),
            )
    return None


def chain_of(first: Reference | None, known: Mapping[str, Owner]) -> Chain:
    """Walk from a pod's controller up as far as is known; where an owner may not be read, the walk ends at it."""
    owners: list[Reference] = []
    seen: set[str] = set()
    now = first
    while now is not None and now.uid not in seen and len(owners) < _LONGEST_CHAIN:
        owners.append(now)
        seen.add(now.uid)
        told = known.get(now.uid)
        if told is None:
            return Chain(tuple(owners), now)
        now = told.controller
    return Chain(tuple(owners))


@dataclass(frozen=True, slots=True)
class Subject:
    """What belongs to a workload: a pod, or an object that would make pods."""

    namespace: str
    name: str
    uid: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    created_at: int


def workload_of(
    subject: Subject, owners: Sequence[Reference], settings: Settings, *, kind: str = "Pod", minimum: int = 1
) -> Workload:
    """The workload: the top owner; a Spark application by its label, so that driver and executors are one."""
    told = {**subject.annotations, **subject.labels}
    top = owners[-1] if owners else Reference("v1", kind, subject.name, subject.uid)
    group, kind, name, uid = top.group, top.kind, top.name, top.uid
    spark = told.get("spark-app-selector")
    if spark and kind in {"Pod", "SparkApplication"}:
        group, kind, name, uid = "spark", "SparkApplication", spark, ""
    elif kind in {"Pod", "StatefulSet", "Deployment"} and _is_workspace(told):
        kind = "workspace"
    key = (uid,) if uid else (group, kind, subject.namespace, name)
    tags = {each: told[each] for each in (*TAG_LABELS, *settings.tag_labels) if each in told}
    who = user_of(subject.labels, subject.annotations, settings)
    key_of_people = settings.person_key
    return Workload(
        cluster=settings.cluster,
        workload_id=content_id("workload", settings.cluster, SOURCE, *key),
        start_at=subject.created_at,
        end_at=None,
        api_group=group,
        kind=kind,
        namespace=subject.namespace,
        name=name,
        uid=uid,
        owner_chain=json.dumps([f"{each.kind}/{each.name}" for each in owners], ensure_ascii=False),
        person_id=person_id(key_of_people, who) if who and key_of_people is not None else None,
        experiment=next((tags[each] for each in EXPERIMENT_LABELS if tags.get(each)), ""),
        tags=json.dumps(tags, ensure_ascii=False, sort_keys=True),
        gang_minimum=minimum,
    )


def user_of(labels: Mapping[str, str], annotations: Mapping[str, str], settings: Settings) -> str:
    """The name of the person whose pod it is, empty where no label says it. It is matched and hashed, never kept."""
    for key in (*settings.user_labels, *USER_LABELS):
        name = labels.get(key) or annotations.get(key)
        if name:
            return name
    return ""


def labels_without_people(labels: Mapping[str, str], settings: Settings) -> str:
    """The labels as JSON, without those whose value is a person's name."""
    hidden = {*settings.user_labels, *USER_LABELS}
    kept = {key: value for key, value in labels.items() if key not in hidden}
    return json.dumps(kept, ensure_ascii=False, sort_keys=True)


def _is_workspace(told: Mapping[str, str]) -> bool:
    names = (told.get("app.kubernetes.io/name", ""), told.get("app", ""), told.get("component", ""))
    return any(key in told for key in _WORKSPACES) or any(name in _EDITORS for name in names)

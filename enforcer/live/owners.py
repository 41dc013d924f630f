"""Owners: what makes pods, as a plan needs it: its version, its own owner, what its people wish, what it lacks."""

from dataclasses import dataclass

import orjson

from collector.kubernetes.demand import Maker, read_maker, read_queued
from collector.kubernetes.owners import Reference, controller_of
from collector.kubernetes.settings import Settings
from collector.kubernetes.values import Json, instant_ms, mapping, objects, text, texts, whole
from enforcer.live.alike import Alike
from enforcer.live.seen import STOPPED, Template, ours, read_template
from enforcer.live.selector import Labels, labels_of

# The watched kinds whose objects are read whole: kind and API version of each resource.
WHOLE = {
    "jobs": ("Job", "batch/v1"),
    "replicasets": ("ReplicaSet", "apps/v1"),
    "statefulsets": ("StatefulSet", "apps/v1"),
    "deployments": ("Deployment", "apps/v1"),
}
QUEUED = "workloads"
_LONGEST_NOTE = 64 * 1024
_MOST_PODS = 1_000_000


@dataclass(frozen=True, slots=True)
class Stopped:
    """What the enforcer wrote on what it stopped or held back: when, by which act, and how many replicas there were."""

    at_ms: int | None
    act: str
    replicas: int | None


@dataclass(frozen=True, slots=True)
class Batch:
    """Pods that an owner would make: so many of one template."""

    template: Template
    count: int


@dataclass(frozen=True, slots=True)
class Lack:
    """What an owner of GPU pods lacks: how many are missing, and what it would make."""

    missing: int
    minimum: int
    suspended: bool
    over: bool
    queue: str
    refused_at: int | None  # a condition says since when a quota refuses its pods
    batches: tuple[Batch, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """What is kept of an owner."""

    reference: Reference
    namespace: str
    version: str
    controller: Reference | None
    created_at: int | None
    labels: Labels
    notes: Labels
    marks: Labels
    stopped: Stopped | None
    lack: Lack | None = None


def read_owner(raw: Json, reference: Reference, alike: Alike, lack: Lack | None = None) -> Known:
    """An owner, of which the metadata may be all that there is."""
    metadata = mapping(raw.get("metadata"))
    annotations = mapping(metadata.get("annotations"))
    return Known(
        reference,
        alike.one(text(metadata.get("namespace"))),
        text(metadata.get("resourceVersion")),
        controller_of(metadata),
        instant_ms(metadata.get("creationTimestamp")),
        alike.one(labels_of(texts(metadata.get("labels")))),
        alike.one(ours(annotations)),
        alike.one(ours(mapping(metadata.get("labels")))),
        _stopped(annotations.get(STOPPED)),
        lack,
    )


def read_whole(raw: Json, resource: str, settings: Settings, alike: Alike) -> Known | None:
    """A Job, ReplicaSet, StatefulSet or Deployment; None for what is none."""
    kind, version = WHOLE[resource]
    metadata, spec = mapping(raw.get("metadata")), mapping(raw.get("spec"))
    uid = text(metadata.get("uid"))
    if not uid:
        return None
    maker = read_maker({**raw, "kind": kind}, settings)
    template = read_template(mapping(spec.get("template")), settings, alike) if maker else None
    lack = _lack(maker, (Batch(template, maker.missing),)) if maker and template else None
    return read_owner(raw, Reference(version, kind, text(metadata.get("name")), uid), alike, lack)


def read_in_queue(raw: Json, settings: Settings, alike: Alike) -> Known | None:
    """A Kueue Workload: its controller is the job that it queues."""
    maker = read_queued(raw, settings)
    if maker is None or not maker.uid:
        return None
    batches: list[Batch] = []
    for each in objects(mapping(raw.get("spec")).get("podSets")):
        template = read_template(mapping(each.get("template")), settings, alike)
        if template is not None:
            batches.append(Batch(template, min(max(1, whole(each.get("count") or 1)), _MOST_PODS)))
    reference = Reference(maker.api_version, maker.kind, maker.name, maker.uid)
    return read_owner(raw, reference, alike, _lack(maker, tuple(batches)))


def _lack(maker: Maker, batches: tuple[Batch, ...]) -> Lack:
    return Lack(
        maker.missing,
        maker.minimum,
        maker.suspended,
        maker.ended_at is not None,
        maker.queue,
        maker.refused_at,
        batches,
    )


def _stopped(note: object) -> Stopped | None:
    """What stands in the annotation; None without one, or where nobody could have meant it so."""
    if not isinstance(note, str) or len(note) > _LONGEST_NOTE:
        return None
    try:
        told = mapping(orjson.loads(note))
    except ValueError:
        return None
    act = text(told.get("act"), 20)
    before = mapping(told.get("before"))
    replicas = before.get("replicas", mapping(before.get("spec")).get("replicas"))
    count = min(whole(replicas), _MOST_PODS) if replicas is not None else None
    return Stopped(instant_ms(told.get("at")), act, count) if act else None

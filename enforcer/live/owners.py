"""Owners: what makes pods, as a plan needs it: its version, its own owner, what its people wish, what it lacks."""

from dataclasses import dataclass, replace

from collector.kubernetes.demand import Maker, read_maker, read_queued
from collector.kubernetes.owners import Reference, controller_of
from collector.kubernetes.settings import Settings
from collector.kubernetes.values import Json, instant_ms, mapping, objects, text, texts, whole
from enforcer.act.mark import Mark, mark_of
from enforcer.act.way import INSTEAD, WAYS
from enforcer.live.alike import Alike
from enforcer.live.makes import MOST_PODS, Batch, batches_of, is_over
from enforcer.live.seen import ours, read_template
from enforcer.live.selector import Labels, labels_of

# The watched kinds whose objects are read whole: kind and API version of each resource.
WHOLE = {
    "jobs": ("Job", "batch/v1"),
    "replicasets": ("ReplicaSet", "apps/v1"),
    "statefulsets": ("StatefulSet", "apps/v1"),
    "deployments": ("Deployment", "apps/v1"),
}
QUEUED = "workloads"


@dataclass(frozen=True, slots=True)
class Lack:
    """What an owner of GPU pods lacks: how many are missing, and what it would make."""

    missing: int
    minimum: int
    suspended: bool
    over: bool
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
    stopped: Mark | None  # what the enforcer wrote on it
    down: bool  # it is stopped, by whomever
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
        mark_of(raw),
        _is_down(reference.kind, raw),
        lack,
    )


def read_above(raw: Json, reference: Reference, settings: Settings, alike: Alike) -> Known:
    """An owner of a kind above the watched ones; what it makes is known where its kind is, and it came whole."""
    batches = batches_of(reference.kind, raw, settings, alike)
    lack = Lack(0, 1, False, is_over(raw), None, batches) if batches else None
    return read_owner(raw, reference, alike, lack)


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
            batches.append(Batch(template, min(max(1, whole(each.get("count") or 1)), MOST_PODS)))
    reference = Reference(maker.api_version, maker.kind, maker.name, maker.uid)
    lack = replace(_lack(maker, tuple(batches)), over=is_over(raw))
    return read_owner(raw, reference, alike, lack)


def _is_down(kind: str, raw: Json) -> bool:
    way = WAYS.get(kind) or INSTEAD.get(kind)
    value: object = raw
    for name in way.field if way is not None else ():
        value = mapping(value).get(name)
    return way is not None and way.is_down(value)


def _lack(maker: Maker, batches: tuple[Batch, ...]) -> Lack:
    return Lack(
        maker.missing,
        maker.minimum,
        maker.suspended,
        maker.ended_at is not None,
        maker.refused_at,
        batches,
    )

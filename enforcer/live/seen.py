"""A pod as a plan needs it: what it asks for, where it is, whose it is, and what its people wish."""

from dataclasses import dataclass

from collector.kubernetes.allocations import start_of
from collector.kubernetes.owners import Reference, user_of
from collector.kubernetes.pods import RESERVATIONS, Pod, read_pod
from collector.kubernetes.settings import Settings
from collector.kubernetes.values import Json, mapping, objects, text, texts
from enforcer.act.mark import STOPPED
from enforcer.live.alike import Alike
from enforcer.live.asked import Asked, read_asked
from enforcer.live.selector import Labels, labels_of
from quartermaster.team import user_pattern_ids

PREFIX = "quartermaster/"
BORROWABLE = f"{PREFIX}borrowable"
CHECKPOINT_AT = f"{PREFIX}checkpoint-at"
KEEP_UNTIL = f"{PREFIX}keep-until"


@dataclass(frozen=True, slots=True)
class Seen:
    """What is kept of a pod that is not over. Times are epoch milliseconds; `node` is empty while it is not bound.

    `notes` and `marks` are its annotations and labels of ours; `user_patterns` what the team rules need of its person.
    """

    uid: str
    namespace: str
    name: str
    version: str
    node: str
    created_at: int | None
    bound_at: int | None
    started_at: int | None
    terminating: bool
    gated: bool
    priority: int
    preemptible: bool
    asked: Asked
    claims: tuple[str, ...]
    group: str
    labels: Labels
    notes: Labels
    marks: Labels
    user_patterns: tuple[int, ...]
    owner: Reference | None

    @property
    def asks_for_gpus(self) -> bool:
        """Whether it holds GPUs, or will. KAI's reservations hold them for others, who are counted."""
        asked = self.asked
        return self.namespace != RESERVATIONS and bool(asked.requests or self.claims or asked.fraction)

    @property
    def waits(self) -> bool:
        """Whether the scheduler is to bind it, and it asks for GPUs."""
        return not (self.node or self.terminating or self.gated) and self.asks_for_gpus


@dataclass(frozen=True, slots=True)
class Template:
    """What the pods of an object would be; `labels` are the pods', `class_name` is their priority class."""

    asked: Asked
    labels: Labels
    user_patterns: tuple[int, ...]
    class_name: str
    preemptible: bool


def read_seen(raw: Json, settings: Settings, alike: Alike) -> Seen | None:
    """The pod; None for one that is over, or is none. `alike` are values that objects share."""
    metadata, spec = mapping(raw.get("metadata")), mapping(raw.get("spec"))
    found = read_pod(raw, settings, with_gpus=False)
    if found is None or found.ended:
        return None
    owner = found.owner
    return Seen(
        uid=found.uid,
        namespace=alike.one(found.namespace),
        name=found.name,
        version=text(metadata.get("resourceVersion")),
        node=alike.one(found.node),
        created_at=found.created_at,
        bound_at=start_of(found),
        started_at=found.started_at,
        terminating=bool(metadata.get("deletionTimestamp")),
        gated=next(objects(spec.get("schedulingGates")), None) is not None,
        priority=found.priority,
        preemptible=_preemptible(found),
        asked=alike.one(_asked(spec, found, settings)),
        claims=alike.one(found.claims),
        group=alike.one(found.group),
        labels=alike.one(labels_of(found.labels)),
        notes=alike.one(ours(mapping(metadata.get("annotations")))),
        marks=alike.one(ours(mapping(metadata.get("labels")))),
        user_patterns=alike.one(_patterns(found, settings)),
        owner=alike.one(owner) if owner else None,
    )


def read_template(raw: Json, settings: Settings, alike: Alike) -> Template | None:
    """A pod template; None where its pods ask for no GPUs."""
    metadata, spec = mapping(raw.get("metadata")), mapping(raw.get("spec"))
    found = read_pod({"metadata": {**metadata, "uid": "template"}, "spec": spec}, settings)
    if found is None:
        return None
    return Template(
        alike.one(_asked(spec, found, settings)),
        alike.one(labels_of(found.labels)),
        alike.one(_patterns(found, settings)),
        text(spec.get("priorityClassName")),
        _preemptible(found),
    )


def ours(told: Json) -> Labels:
    """The annotations or labels that are ours, but the note on what was stopped, which is read where it stands."""
    return labels_of(texts({key: told[key] for key in told if key.startswith(PREFIX) and key != STOPPED}))


def _asked(spec: Json, found: Pod, settings: Settings) -> Asked:
    return read_asked(spec, settings, found.requests, found.fraction, claims=bool(found.claims))


def _preemptible(found: Pod) -> bool:
    told = found.labels.get(BORROWABLE, "").lower()
    return told == "true" if told in {"true", "false"} else found.preemptible


def _patterns(found: Pod, settings: Settings) -> tuple[int, ...]:
    who = user_of(found.labels, found.annotations, settings)
    return tuple(user_pattern_ids(settings.rules, user=who or None))

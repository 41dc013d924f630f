"""Demand beyond pods: what controllers would run and may not, because a quota refuses it or a queue holds it."""

from dataclasses import dataclass

from collector.kubernetes.owners import Reference, controller_of
from collector.kubernetes.pods import read_pod
from collector.kubernetes.settings import Settings
from collector.kubernetes.values import Json, instant_ms, mapping, objects, text, texts, whole

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
_QUOTA = "exceeded quota"
_MOST_PODS = 1_000_000
REFUSAL_REASONS = {"FailedCreate", "FailedResourceClaimCreation"}


@dataclass(frozen=True, slots=True)
class Maker:
    """A controller with a template that asks for GPUs: how many of its pods are missing."""

    kind: str
    api_version: str
    namespace: str
    name: str
    uid: str
    created_at: int | None
    missing: int
    minimum: int  # of its pods must run at once
    requests: tuple[tuple[str, int], ...]
    refused_at: int | None  # a condition says since when a quota refuses
    message: str
    suspended: bool
    queue: str
    ended_at: int | None
    labels: dict[str, str]
    node_selector: tuple[tuple[str, str], ...]
    owner: Reference | None


@dataclass(frozen=True, slots=True)
class Note:
    """What an Event tells: of which object, why, when, in which words."""

    uid: str
    kind: str
    reason: str
    at_ms: int | None
    message: str

    @property
    def refused(self) -> bool:
        """Whether a quota refused a pod or its claim."""
        return self.reason in REFUSAL_REASONS and _QUOTA in self.message


def read_maker(raw: Json, settings: Settings) -> Maker | None:
    """A Job, ReplicaSet or StatefulSet; None where its pods ask for no GPUs."""
    metadata, spec, status = (
        mapping(raw.get("metadata")),
        mapping(raw.get("spec")),
        mapping(raw.get("status")),
    )
    kind = text(raw.get("kind"))
    template = mapping(spec.get("template"))
    pod = _template_pod(template, settings)
    if pod is None:
        return None
    conditions = {text(each.get("type")): each for each in objects(status.get("conditions"))}
    failure = conditions.get("ReplicaFailure", {})
    refused = failure.get("status") == "True" and _QUOTA in text(failure.get("message"))
    labels = texts(metadata.get("labels"))
    suspended = spec.get("suspend") is True
    return Maker(
        kind=kind,
        api_version=text(raw.get("apiVersion")) or ("batch/v1" if kind == "Job" else "apps/v1"),
        namespace=text(metadata.get("namespace")),
        name=text(metadata.get("name")),
        uid=text(metadata.get("uid")),
        created_at=instant_ms(metadata.get("creationTimestamp")),
        missing=_missing_of_job(spec, status) if kind == "Job" else _missing_of_set(spec, status),
        minimum=1,
        requests=pod,
        refused_at=instant_ms(failure.get("lastTransitionTime")) if refused else None,
        message=text(failure.get("message")) if refused else "",
        suspended=suspended,
        queue=labels.get(QUEUE_LABEL, ""),
        ended_at=_ended(status, conditions),
        labels=labels | texts(mapping(template.get("metadata")).get("labels")),
        node_selector=tuple(sorted(texts(mapping(template.get("spec")).get("nodeSelector")).items())),
        owner=controller_of(metadata),
    )


def read_queued(raw: Json, settings: Settings) -> Maker | None:
    """A Kueue Workload: what waits for admission, as a maker whose owner is the job; None without GPUs."""
    metadata, spec, status = (
        mapping(raw.get("metadata")),
        mapping(raw.get("spec")),
        mapping(raw.get("status")),
    )
    conditions = {text(each.get("type")): each for each in objects(status.get("conditions"))}
    amounts: dict[str, int] = {}
    pods = minimum = 0
    labels: dict[str, str] = {}
    for pod_set in objects(spec.get("podSets")):
        template = mapping(pod_set.get("template"))
        asked = _template_pod(template, settings)
        count = min(max(1, whole(pod_set.get("count") or 1)), _MOST_PODS)
        for name, amount in asked or ():
            amounts[name] = amounts.get(name, 0) + amount * count
        pods += count if asked else 0
        minimum += min(count, whole(pod_set.get("minCount") or count)) if asked else 0
        labels |= texts(mapping(template.get("metadata")).get("labels"))
    if not amounts:
        return None
    over = any(conditions.get(each, {}).get("status") == "True" for each in ("Admitted", "Finished"))
    waiting = conditions.get("QuotaReserved", {})
    return Maker(
        kind="Workload",
        api_version=text(raw.get("apiVersion")),
        namespace=text(metadata.get("namespace")),
        name=text(metadata.get("name")),
        uid=text(metadata.get("uid")),
        created_at=instant_ms(metadata.get("creationTimestamp")),
        missing=0 if over or spec.get("active") is False else pods,
        minimum=max(1, minimum),
        requests=tuple((name, -(-amount // max(1, pods))) for name, amount in sorted(amounts.items())),
        refused_at=None,
        message=text(waiting.get("message")),
        suspended=True,
        queue=text(spec.get("queueName")) or "?",
        ended_at=None,
        labels=labels,
        node_selector=(),
        owner=controller_of(metadata),
    )


def read_note(raw: Json) -> Note | None:
    """An Event (v1 or events.k8s.io/v1); None where it names no object."""
    about = mapping(raw.get("involvedObject")) or mapping(raw.get("regarding"))
    uid = text(about.get("uid"))
    if not uid:
        return None
    times = (
        raw.get("eventTime"),
        raw.get("firstTimestamp"),
        mapping(raw.get("metadata")).get("creationTimestamp"),
    )
    return Note(
        uid,
        text(about.get("kind")),
        text(raw.get("reason")),
        next((at for each in times if (at := instant_ms(each)) is not None), None),
        text(raw.get("message")) or text(raw.get("note")),
    )


def _template_pod(template: Json, settings: Settings) -> tuple[tuple[str, int], ...] | None:
    """What one pod of the template asks for."""
    metadata = {**mapping(template.get("metadata")), "uid": "template"}
    pod = read_pod({"metadata": metadata, "spec": mapping(template.get("spec"))}, settings)
    return pod.requests if pod is not None and pod.requests else None


def _missing_of_job(spec: Json, status: Json) -> int:
    """parallelism − active, no more than completions leave; a Job whose pods a quota refuses has no condition."""
    wanted = whole(spec["parallelism"]) if "parallelism" in spec else 1
    if "completions" in spec:
        wanted = min(wanted, max(0, whole(spec.get("completions")) - whole(status.get("succeeded"))))
    return min(max(0, wanted - whole(status.get("active"))), _MOST_PODS)


def _missing_of_set(spec: Json, status: Json) -> int:
    wanted = whole(spec["replicas"]) if "replicas" in spec else 1
    return min(max(0, wanted - whole(status.get("replicas"))), _MOST_PODS)


def _ended(status: Json, conditions: dict[str, Json]) -> int | None:
    told = instant_ms(status.get("completionTime"))
    if told is not None:
        return told
    for kind in ("Complete", "Failed"):
        if conditions.get(kind, {}).get("status") == "True":
            return instant_ms(conditions[kind].get("lastTransitionTime"))
    return None

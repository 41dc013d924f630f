"""A pod as far as it matters here: what it asks for, where it is bound, and what its times say."""

import math
from dataclasses import dataclass
from fractions import Fraction

from collector.kubernetes.owners import Reference, controller_of
from collector.kubernetes.requests import effective_request
from collector.kubernetes.settings import Settings
from collector.kubernetes.values import Json, instant_ms, mapping, objects, quantity, text, texts, whole

# KAI's reservation pods hold whole GPUs for the fractions of others.
RESERVATIONS = "kai-resource-reservation"
_ENDED = {"Succeeded", "Failed"}
MIB = 1024 * 1024
_INTEGER_LIMIT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Share:
    """KAI's part of a GPU: a share (`gpu-fraction`) or memory (`gpu-memory`), on so many GPUs."""

    share: Fraction | None
    memory_mib: int
    devices: int


@dataclass(frozen=True, slots=True)
class Pod:
    """What is kept of a pod. Times are epoch milliseconds of the API's clock, or of the node's (started, finished)."""

    uid: str
    namespace: str
    name: str
    node: str
    phase: str
    created_at: int | None
    scheduled_at: int | None  # PodScheduled turned True: the binding
    start_time_at: int | None  # the kubelet saw it
    started_at: int | None  # the first main container started
    finished_at: int | None  # the last container ended, if none runs
    status_written_at: int | None  # somebody last wrote the status
    reason: str  # why it waits, or is not started
    message: str
    priority: int
    preemptible: bool
    requests: tuple[tuple[str, int], ...]
    fraction: Share | None
    cpu_milli: int
    memory_mib: int
    claims: tuple[str, ...]
    device_ids: tuple[tuple[str, bool], ...]  # as the kubelet gave them, and whether they are healthy
    node_selector: tuple[tuple[str, str], ...]
    group: str  # the KAI pod group
    labels: dict[str, str]
    annotations: dict[str, str]
    owner: Reference | None

    @property
    def ended(self) -> bool:
        """Whether its phase says that it is over: then it holds nothing, even while the object stays."""
        return self.phase in _ENDED

    @property
    def bound(self) -> bool:
        """Whether it is bound to a node (a nominated one is none)."""
        return bool(self.node)


def read_pod(raw: Json, settings: Settings, *, with_gpus: bool = True) -> Pod | None:
    """The pod, or None where it has nothing to do with GPUs (nor with claims that may be of GPUs).

    Unless `with_gpus` it is given also then.
    """
    metadata, spec, status = (
        mapping(raw.get("metadata")),
        mapping(raw.get("spec")),
        mapping(raw.get("status")),
    )
    namespace, uid = text(metadata.get("namespace")), text(metadata.get("uid"))
    annotations = mapping(metadata.get("annotations"))
    fraction = _fraction(annotations)
    amounts = effective_request(spec, lambda name: name in {"cpu", "memory"} or settings.counts(name))
    gpus = {name: amount for name, amount in amounts.items() if name not in {"cpu", "memory"}}
    claims, through_claim = _claims(spec, status)
    if not uid:
        return None
    if with_gpus and (namespace == RESERVATIONS or not (gpus or claims or fraction)):
        return None
    conditions = {text(each.get("type")): each for each in objects(status.get("conditions"))}
    scheduled = conditions.get("PodScheduled", {})
    labels = texts(metadata.get("labels"))
    started, finished, waiting = _containers(status)
    bound = text(spec.get("nodeName"))
    why = waiting if bound else (text(scheduled.get("reason")), text(scheduled.get("message")))
    priority = whole(spec.get("priority"))
    return Pod(
        uid=uid,
        namespace=namespace,
        name=text(metadata.get("name")),
        node=bound,
        phase=text(status.get("phase")),
        created_at=instant_ms(metadata.get("creationTimestamp")),
        scheduled_at=instant_ms(scheduled.get("lastTransitionTime"))
        if scheduled.get("status") == "True"
        else None,
        start_time_at=instant_ms(status.get("startTime")),
        started_at=started,
        finished_at=finished,
        status_written_at=_status_written(metadata),
        reason=why[0],
        message=why[1],
        priority=min(priority, _INTEGER_LIMIT),
        preemptible=_preemptible(labels, spec, priority),
        requests=tuple(sorted((n, int(a)) for n, a in gpus.items() if n not in through_claim and a >= 1)),
        fraction=fraction,
        cpu_milli=math.ceil(amounts.get("cpu", 0) * 1000),
        memory_mib=math.ceil(amounts.get("memory", 0) / MIB),
        claims=claims,
        device_ids=_device_ids(status, settings),
        node_selector=tuple(sorted(texts(spec.get("nodeSelector")).items())),
        group=text(annotations.get("pod-group-name")),
        labels=labels,
        annotations={key: text(annotations[key]) for key in settings.tag_labels if key in annotations}
        | {key: text(annotations[key]) for key in settings.user_labels if key in annotations},
        owner=controller_of(metadata),
    )


def _claims(spec: Json, status: Json) -> tuple[tuple[str, ...], set[str]]:
    """The names of the pod's ResourceClaims, and the resources that one of them stands for.

    An extended resource that DRA serves is in the spec as a request and beside it as a claim: the claim counts.
    """
    made = {
        text(each.get("name")): text(each.get("resourceClaimName"))
        for each in objects(status.get("resourceClaimStatuses"))
    }
    names = [
        text(each.get("resourceClaimName")) or made.get(text(each.get("name")), "")
        for each in objects(spec.get("resourceClaims"))
    ]
    extended = mapping(status.get("extendedResourceClaimStatus"))
    names.append(text(extended.get("resourceClaimName")))
    through = {text(each.get("resourceName")) for each in objects(extended.get("requestMappings"))}
    return tuple(dict.fromkeys(name for name in names if name)), through


def _containers(status: Json) -> tuple[int | None, int | None, tuple[str, str]]:
    """When the first main container started, when the last of all ended (if none runs), and why one waits."""
    started: list[int] = []
    finished: list[int] = []
    waiting = ("", "")
    running = False
    for key in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for each in objects(status.get(key)):
            state, last = mapping(each.get("state")), mapping(each.get("lastState"))
            now, before = mapping(state.get("terminated")), mapping(last.get("terminated"))
            running = running or "running" in state
            ended = instant_ms(now.get("finishedAt"))
            if ended is not None:
                finished.append(ended)
            if key == "containerStatuses":
                begun = (mapping(state.get("running")), now, before)
                started += [at for each in begun if (at := instant_ms(each.get("startedAt"))) is not None]
            stuck = mapping(state.get("waiting"))
            if stuck and not waiting[0]:
                waiting = (text(stuck.get("reason")), text(stuck.get("message")))
    return min(started, default=None), None if running else max(finished, default=None), waiting


def _status_written(metadata: Json) -> int | None:
    times = [
        instant_ms(each.get("time"))
        for each in objects(metadata.get("managedFields"))
        if each.get("subresource") == "status"
    ]
    return max((at for at in times if at is not None), default=None)


def _device_ids(status: Json, settings: Settings) -> tuple[tuple[str, bool], ...]:
    """What the kubelet says it gave (gate ResourceHealthStatus): a UUID, of a time-slice with `::n` behind it."""
    found: list[tuple[str, bool]] = []
    for container in objects(status.get("containerStatuses")):
        for resource in objects(container.get("allocatedResourcesStatus")):
            if settings.counts(text(resource.get("name"))):
                found += [
                    (text(each.get("resourceID")).partition("::")[0], each.get("health") != "Unhealthy")
                    for each in objects(resource.get("resources"))
                ]
    return tuple(found)


def _fraction(annotations: Json) -> Share | None:
    share = quantity(annotations.get("gpu-fraction"))
    memory = whole(annotations.get("gpu-memory"))
    devices = min(max(1, whole(annotations.get("gpu-fraction-num-devices"))), 1024)
    if share is not None and 0 < share < 1:
        return Share(share, 0, devices)
    return Share(None, memory, devices) if memory else None


def _preemptible(labels: dict[str, str], spec: Json, priority: int) -> bool:
    told = labels.get("kai.scheduler/preemptibility")
    if told:
        return told != "non-preemptible"
    if spec.get("schedulerName") == "kai-scheduler":
        return priority < 100
    return priority < 2_000_000_000  # the system's own classes begin there

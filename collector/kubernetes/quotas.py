"""Quota objects as they are read: ResourceQuotas, Kueue's ClusterQueues and Cohorts, queues of KAI and Volcano."""

from collections.abc import Iterator
from dataclasses import dataclass

from collector.kubernetes.lent import Lent, before, lent_of
from collector.kubernetes.settings import Settings
from collector.kubernetes.values import Json, mapping, objects, quantity, text, texts
from quartermaster.parts import GPU_PARTS

# How fields of a queue are called in the enforcer's annotation: KAI's of its GPUs, Volcano's before the resource.
KAI_QUOTA, KAI_LIMIT, KAI_WEIGHT = "gpu/quota", "gpu/limit", "gpu/overQuotaWeight"
DESERVED, CAPABILITY, GUARANTEE = "deserved", "capability", "guarantee"
_MOST_GPUS = 10_000_000


@dataclass(frozen=True, slots=True)
class Promise:
    """One object's promise of GPUs (in parts) to whoever it is for, in a flavor of its own naming (or none)."""

    source_object: str  # ResourceQuota/<namespace>/<name>, ClusterQueue/<name>, Cohort/<name>, Queue/<name>
    subject: str  # the namespace, or the queue's name
    flavor: str
    guaranteed_parts: int
    limit_parts: int | None
    weight: int = 1
    above: str = ""  # the queue whose promise this one is a part of, as its `source_object`


def read_resource_quota(raw: Json, settings: Settings) -> list[Promise]:
    """A ResourceQuota: `requests.nvidia.com/gpu` alone is enforced (`limits.` is accepted and ignored).

    DRA's own keys count too: of a class whose extended resource is quota'd as well, the higher one stands,
    because the API counts a claim of it in both. Promised is what its people wrote, the limit is what is there now:
    the enforcer may have raised it (`collector.kubernetes.lent`).
    """
    metadata, hard = mapping(raw.get("metadata")), mapping(mapping(raw.get("spec")).get("hard"))
    wanted = {f"requests.{name}" for name in settings.resources}
    classes = {f"{name}.deviceclass.resource.k8s.io/devices" for name in settings.drivers}
    keys = [key for key in sorted(hard) if key in wanted or key in classes]
    told = [each for key in keys if (each := _parts(hard[key])) is not None]
    if not told:
        return []
    lent = lent_of(raw)
    promised = [_parts(before(lent, key, hard[key])) or 0 for key in keys]
    namespace = text(metadata.get("namespace"))
    name = f"ResourceQuota/{namespace}/{text(metadata.get('name'))}"
    return [Promise(name, namespace, "", max(promised), max(told))]


def read_cluster_queue(raw: Json, settings: Settings) -> list[Promise]:
    """A Kueue ClusterQueue (v1beta1 and v1beta2): a promise for each flavor; without borrowingLimit no limit.

    Told is what its people wrote: bookings, which the enforcer may have moved it by, are promises of their own.
    """
    name, spec = text(mapping(raw.get("metadata")).get("name")), mapping(raw.get("spec"))
    alone = not (text(spec.get("cohortName")) or text(spec.get("cohort")))
    return [
        Promise(
            f"ClusterQueue/{name}",
            name,
            flavor,
            nominal,
            nominal if alone else None if borrowing is None else nominal + borrowing,
            _weight(mapping(spec.get("fairSharing"))),
        )
        for flavor, nominal, borrowing in _flavors(spec, settings, lent_of(raw))
    ]


def read_cohort(raw: Json, settings: Settings) -> list[Promise]:
    """A Kueue Cohort: what it promises to all its queues together, beside what each of them is promised."""
    name, spec = text(mapping(raw.get("metadata")).get("name")), mapping(raw.get("spec"))
    weight = _weight(mapping(spec.get("fairSharing")))
    return [
        Promise(f"Cohort/{name}", name, flavor, nominal, None, weight)
        for flavor, nominal, _ in _flavors(spec, settings)
        if nominal
    ]


def field_of(flavor: str, resource: str, name: str) -> str:
    """How a field of a flavor's resource is called in the enforcer's annotation."""
    return f"{flavor}/{resource}/{name}"


def volcano_field(part: str, resource: str) -> str:
    """How a field of a resource in a queue of Volcano is called there."""
    return f"{part}/{resource}"


def _flavors(
    spec: Json, settings: Settings, lent: Lent | None = None
) -> Iterator[tuple[str, int, int | None]]:
    """Of each flavor with GPUs: its name, nominalQuota and borrowingLimit in parts, as its people wrote them."""
    for group in objects(spec.get("resourceGroups")):
        for flavor in objects(group.get("flavors")):
            for resource in objects(flavor.get("resources")):
                name, of = text(flavor.get("name")), text(resource.get("name"))
                nominal, borrowing = (
                    _parts(before(lent, field_of(name, of, each), resource.get(each)))
                    for each in ("nominalQuota", "borrowingLimit")
                )
                if of in settings.resources and nominal is not None:
                    yield name, nominal, borrowing


def read_flavor(raw: Json) -> tuple[tuple[str, str], ...]:
    """A Kueue ResourceFlavor: the labels of the nodes that it is of."""
    return tuple(sorted(texts(mapping(raw.get("spec")).get("nodeLabels")).items()))


def read_kai_queue(raw: Json, settings: Settings) -> list[Promise]:
    """A KAI Queue: GPUs as numbers, whatever their resource is; −1 is unlimited, and what is not set is 0.

    Told is what its people wrote, as of a ClusterQueue.
    """
    del settings
    name = text(mapping(raw.get("metadata")).get("name"))
    gpu = mapping(mapping(mapping(raw.get("spec")).get("resources")).get("gpu"))
    if not gpu:
        return []
    lent = lent_of(raw)
    quota, limit = (before(lent, each, gpu.get(each.rpartition("/")[2])) for each in (KAI_QUOTA, KAI_LIMIT))
    weight = quantity(gpu.get("overQuotaWeight"))
    most = quantity(limit)
    return [
        Promise(
            f"Queue/{name}",
            name,
            "",
            _parts(quota) or 0,
            None if most is not None and most < 0 else _parts(limit) or 0,
            int(weight) if weight is not None and 1 <= weight <= 1_000_000 else 1,
            above=_queue(mapping(raw.get("spec")).get("parentQueue")),
        )
    ]


def read_volcano_queue(raw: Json, settings: Settings) -> list[Promise]:
    """A Volcano Queue: `deserved` is promised, `capability` the limit. Told is what its people wrote."""
    name, spec = text(mapping(raw.get("metadata")).get("name")), mapping(raw.get("spec"))
    lent = lent_of(raw)
    found: list[Promise] = []
    for resource in settings.resources:
        deserved, limit = (
            _parts(before(lent, volcano_field(each, resource), mapping(spec.get(each)).get(resource)))
            for each in (DESERVED, CAPABILITY)
        )
        if deserved is not None or limit is not None:
            weight = quantity(spec.get("weight"))
            told = int(weight) if weight is not None and 1 <= weight <= 1_000_000 else 1
            above = _queue(spec.get("parent"))
            found.append(Promise(f"Queue/{name}", name, resource, deserved or 0, limit, told, above))
    return found


def _queue(name: object) -> str:
    return f"Queue/{text(name)}" if text(name) else ""


def _parts(value: object) -> int | None:
    amount = quantity(value)
    return int(amount * GPU_PARTS) if amount is not None and 0 <= amount <= _MOST_GPUS else None


def _weight(fair: Json) -> int:
    told = quantity(fair.get("weight"))
    return int(told) if told is not None and 1 <= told <= 1_000_000 else 1

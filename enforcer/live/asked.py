"""What a pod asks of a node, from its spec: a shape, what binds it to other pods, and its volumes."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from collector.kubernetes.pods import MIB, Share
from collector.kubernetes.requests import effective_request
from collector.kubernetes.settings import Settings
from collector.kubernetes.values import Json, mapping, objects, text, texts, whole
from enforcer.live.selector import Selector, read_need, read_selector, words
from enforcer.shape import NAME, Need, Shape, Toleration
from quartermaster.text import visible

# What nobody has: it fits nowhere, and no sum of it is too long for the ledger.
MOST_UNITS = 100_000
_MOST_MILLI = 10**12
_IN_MIB = ("ephemeral-storage", "hugepages-")
_NODE_OPERATORS = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}
# Volumes that every node can give. A claim's volume may be on some nodes alone.
_ANYWHERE = {
    *("configMap", "csi", "downwardAPI", "emptyDir", "hostPath", "image", "nfs", "persistentVolumeClaim"),
    *("projected", "secret"),
}
_SCHEDULER = "default-scheduler"


@dataclass(frozen=True, slots=True)
class Relation:
    """That a pod must (or must not: `apart`) be where pods are that a selector means. No namespace: its own."""

    apart: bool
    on: str  # the node label whose value says where
    selector: Selector
    namespaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """What one pod asks for. Pods of one template share one value.

    `requests` are the GPU resources alone, `fraction` is KAI's part of a GPU, `volumes` are the claims for volumes by
    name.
    """

    shape: Shape
    requests: tuple[tuple[str, int], ...] = ()
    fraction: Share | None = None
    relations: tuple[Relation, ...] = ()
    volumes: tuple[str, ...] = ()


def read_asked(
    spec: Json, settings: Settings, gpus: Iterable[tuple[str, int]], fraction: Share | None, *, claims: bool
) -> Asked:
    """What the spec asks for. `gpus` are the GPU resources that no claim stands for; `claims`: it has such claims."""
    amounts = effective_request(spec, lambda name: not settings.counts(name))
    cpu, memory = amounts.pop("cpu", Fraction()), amounts.pop("memory", Fraction())
    counted = tuple(sorted((name, min(count, MOST_UNITS)) for name, count in gpus))
    others = ((name, needed) for name, amount in amounts.items() if (needed := _needed(name, amount)))
    terms, doubts = _affinity(spec)
    relations, more = _relations(spec)
    tolerations = tuple(map(_toleration, objects(spec.get("tolerations"))))
    unsure = [*doubts, *more, *_doubts(spec, tolerations)]
    unsure += ["a part of a GPU"] if fraction is not None else []
    unsure += ["devices by claims of dynamic resource allocation"] if claims else []
    shape = Shape(
        units=tuple(sorted([*counted, *others])),
        cpu_milli=min(math.ceil(cpu * 1000), _MOST_MILLI),
        memory_mib=min(math.ceil(memory / MIB), _MOST_MILLI),
        selector=tuple(sorted(texts(spec.get("nodeSelector")).items())),
        affinity=terms,
        tolerations=tolerations,
        unsure=tuple(dict.fromkeys(unsure)),
    )
    volumes = (
        text(mapping(each.get("persistentVolumeClaim")).get("claimName"))
        for each in objects(spec.get("volumes"))
    )
    return Asked(shape, counted, fraction, relations, tuple(sorted({each for each in volumes if each})))


def units_of(name: str, amount: Fraction) -> Fraction:
    """An amount of an extended resource as it is counted here: what is counted in bytes, in MiB."""
    return amount / MIB if name.startswith(_IN_MIB) else amount


def read_terms(raw: object) -> tuple[tuple[Need, ...], ...] | None:
    """The terms of a node selector, any of which is enough; None where they cannot be read."""
    terms: list[tuple[Need, ...]] = []
    for each in objects(raw):
        labels = tuple(map(read_need, objects(each.get("matchExpressions"))))
        fields = tuple(map(read_need, objects(each.get("matchFields"))))
        if not all(need.key and need.operator in _NODE_OPERATORS for need in labels):
            return None
        if not all(need.key == NAME and need.operator in {"In", "NotIn"} for need in fields):
            return None
        if any(need.key == NAME for need in labels):  # a label of that name, which is not the field
            return None
        terms.append(labels + fields)
    return tuple(terms) or None


def _needed(name: str, amount: Fraction) -> int:
    return min(math.ceil(units_of(name, amount)), MOST_UNITS if not name.startswith(_IN_MIB) else _MOST_MILLI)


def _affinity(spec: Json) -> tuple[tuple[tuple[Need, ...], ...], list[str]]:
    node = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    required = node.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return (), []
    terms = read_terms(mapping(required).get("nodeSelectorTerms"))
    return (terms, []) if terms is not None else ((), ["a node affinity that is not understood"])


def _relations(spec: Json) -> tuple[tuple[Relation, ...], list[str]]:
    found: list[Relation] = []
    doubts: list[str] = []
    affinity = mapping(spec.get("affinity"))
    for name, apart in (("podAffinity", False), ("podAntiAffinity", True)):
        told = mapping(affinity.get(name)).get("requiredDuringSchedulingIgnoredDuringExecution")
        for each in objects(told):
            selector, on = read_selector(each.get("labelSelector")), text(each.get("topologyKey"))
            beyond = each.keys() & {"namespaceSelector", "matchLabelKeys", "mismatchLabelKeys"}
            if not on or beyond or (selector is not None and not selector.readable):
                doubts.append("places by where other pods are that are not understood")
            elif selector is None:
                doubts += [] if apart else ["a place beside pods that no selector names"]
            else:
                named = tuple(sorted(set(words(each.get("namespaces")))))
                found.append(Relation(apart, on, selector, named))
    return tuple(found), doubts


def _toleration(raw: Json) -> Toleration:
    return Toleration(
        text(raw.get("key")),
        text(raw.get("operator")) or "Equal",
        text(raw.get("value")),
        text(raw.get("effect")),
    )


def _doubts(spec: Json, tolerations: tuple[Toleration, ...]) -> Iterator[str]:
    """What else decides where the pod may be, in words."""
    scheduler = text(spec.get("schedulerName"), 60)
    if scheduler not in {"", _SCHEDULER}:
        yield f"the scheduler {visible(scheduler)}"
    if any(each.operator not in {"Equal", "Exists"} for each in tolerations):
        yield "a toleration that is not understood"
    if any(
        each.get("whenUnsatisfiable") != "ScheduleAnyway"
        for each in objects(spec.get("topologySpreadConstraints"))
    ):
        yield "a spread over the nodes"
    if any(
        whole(port.get("hostPort"))
        for key in ("containers", "initContainers")
        for container in objects(spec.get(key))
        for port in objects(container.get("ports"))
    ):
        yield "a port of the node"
    if any(each.keys() - {"name"} - _ANYWHERE for each in objects(spec.get("volumes"))):
        yield "a volume that is not understood"
    if spec.get("workloadRef") or spec.get("schedulingGroup"):
        yield "a gang that the scheduler forms"

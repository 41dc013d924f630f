"""Shapes: what a pod asks of a node, as Kubernetes states it, and whether a node can ever meet it.

What is not understood stands in `unsure`, in words; nobody is taken for a pod of such a shape.
"""

from collections.abc import Mapping
from dataclasses import dataclass

NAME = "metadata.name"  # the field of a node that an affinity may ask for beside its labels
_BLOCKING = {"NoSchedule", "NoExecute"}


@dataclass(frozen=True, slots=True)
class Taint:
    """What keeps pods off a node, unless they tolerate it."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"


@dataclass(frozen=True, slots=True)
class Toleration:
    """What a pod puts up with. No key tolerates every key, no effect every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Need:
    """One requirement of a node affinity: `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """What one pod asks for. Pods of one template share one value."""

    units: tuple[
        tuple[str, int], ...
    ]  # extended resources, as nodes count them: ("nvidia.com/mig-1g.10gb", 2)
    cpu_milli: int = 0
    memory_mib: int = 0
    selector: tuple[tuple[str, str], ...] = ()
    affinity: tuple[tuple[Need, ...], ...] = ()  # any of these terms, of a term everything; () asks nothing
    tolerations: tuple[Toleration, ...] = ()
    apart_on: str = ""  # a node label: no two pods of the workload where its value is the same
    together_on: str = ""  # a node label: all pods of the workload where its value is the same
    unsure: tuple[str, ...] = ()


def allowed(shape: Shape, name: str, labels: Mapping[str, str], taints: tuple[Taint, ...]) -> bool:
    """Whether such a pod may be on the node at all, by its selector, affinity and tolerations."""
    return (
        all(labels.get(key) == value for key, value in shape.selector)
        and (not shape.affinity or any(_meets_all(term, name, labels) for term in shape.affinity))
        and all(_tolerated(taint, shape.tolerations) for taint in taints if taint.effect in _BLOCKING)
    )


def _meets_all(term: tuple[Need, ...], name: str, labels: Mapping[str, str]) -> bool:
    """A term without requirements matches nothing, as in Kubernetes."""
    return bool(term) and all(
        _meets(need, name if need.key == NAME else labels.get(need.key)) for need in term
    )


def _meets(need: Need, value: str | None) -> bool:
    match need.operator:
        case "In":
            return value in need.values
        case "NotIn":
            return value not in need.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(need, value)
        case _:
            return False


def _compares(need: Need, value: str | None) -> bool:
    if value is None or len(need.values) != 1:
        return False
    try:
        there, bound = int(value), int(need.values[0])
    except ValueError:
        return False
    return there > bound if need.operator == "Gt" else there < bound


def _tolerated(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    return any(
        each.effect in {"", taint.effect}
        and (
            (each.operator == "Exists" and each.key in {"", taint.key})
            or (each.operator == "Equal" and each.key == taint.key and each.value == taint.value)
        )
        for each in tolerations
    )

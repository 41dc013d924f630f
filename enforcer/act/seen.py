"""Seen: what is there at the moment of acting, of one action's target, as values: what the guard checks again."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from collector.kubernetes.values import Json, mapping, objects, text, texts, whole

_ENDED = {"Succeeded", "Failed"}


@dataclass(frozen=True, slots=True)
class SeenPod:
    """A pod of the target that the plan knows. One that is not there any more is not in `Seen`."""

    uid: str
    version: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    going: bool  # it ends, or has ended


@dataclass(frozen=True, slots=True)
class SeenBudget:
    """A PodDisruptionBudget that covers pods of the target, and whether it lets all of them go now."""

    name: str  # namespace/name
    covers: int  # of the target's pods that are not going
    allowed: int


@dataclass(frozen=True, slots=True)
class Seen:
    """The target's owner and its pods, as the API server has them at `at_ms`; without `uid` the owner is gone."""

    at_ms: int
    uid: str
    version: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    pods: tuple[SeenPod, ...] = ()
    budgets: tuple[SeenBudget, ...] = ()


def seen_of(at_ms: int, owner: Json | None, pods: Iterable[Json], budgets: Iterable[Json]) -> Seen:
    """What an owner (None: it is gone), its pods and its namespace's budgets say."""
    metadata = mapping((owner or {}).get("metadata"))
    there = tuple(pods)
    return Seen(
        at_ms,
        text(metadata.get("uid")),
        text(metadata.get("resourceVersion")),
        texts(metadata.get("labels")),
        texts(metadata.get("annotations")),
        tuple(_pod(each) for each in there),
        tuple(
            SeenBudget(name_of(each), covered, whole(mapping(each.get("status")).get("disruptionsAllowed")))
            for each in budgets
            if (covered := sum(covers(each, pod) and not is_going(pod) for pod in there))
        ),
    )


def is_going(pod: Json) -> bool:
    """Whether a pod is on its way out, or has ended: its GPUs are free, or will be without anybody's doing."""
    metadata, status = mapping(pod.get("metadata")), mapping(pod.get("status"))
    return bool(metadata.get("deletionTimestamp")) or status.get("phase") in _ENDED


def covers(budget: Json, pod: Json) -> bool:
    """Whether a PodDisruptionBudget covers a pod of its namespace. A selector that is not understood covers all."""
    selector = mapping(budget.get("spec")).get("selector")
    if selector is None:
        return False
    labels = texts(mapping(pod.get("metadata")).get("labels"))
    told = mapping(selector)
    wanted = texts(told.get("matchLabels"))
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _meets(each, labels) for each in objects(told.get("matchExpressions"))
    )


def name_of(budget: Json) -> str:
    """`namespace/name`."""
    metadata = mapping(budget.get("metadata"))
    return f"{text(metadata.get('namespace'))}/{text(metadata.get('name'))}"


def _meets(expression: Json, labels: Mapping[str, str]) -> bool:
    value = labels.get(text(expression.get("key")))
    told = expression.get("values")
    values = cast(list[object], told) if isinstance(told, list) else []
    match expression.get("operator"):
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "In":
            return value in values
        case _:
            return True


def _pod(pod: Json) -> SeenPod:
    metadata = mapping(pod.get("metadata"))
    return SeenPod(
        text(metadata.get("uid")),
        text(metadata.get("resourceVersion")),
        texts(metadata.get("labels")),
        texts(metadata.get("annotations")),
        is_going(pod),
    )

"""Selectors: which labels an object means, as Kubernetes states it; of one that cannot be read that is known."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from collector.kubernetes.values import Json, mapping, objects, text, texts
from enforcer.shape import Need

Labels = tuple[tuple[str, str], ...]
_OPERATORS = {"In", "NotIn", "Exists", "DoesNotExist"}
# No selector of a person's is longer; one that is counts as one that cannot be read.
_MOST = 100


@dataclass(frozen=True, slots=True)
class Selector:
    """A label selector. Without any requirement it means everything."""

    equal: Labels = ()
    needs: tuple[Need, ...] = ()
    readable: bool = True

    def means(self, labels: Mapping[str, str]) -> bool:
        """Whether it means an object with such labels. One that cannot be read is taken to mean everything."""
        if not self.readable:
            return True
        return all(labels.get(key) == value for key, value in self.equal) and all(
            _meets(need, labels.get(need.key)) for need in self.needs
        )


def read_selector(raw: object) -> Selector | None:
    """A LabelSelector; None where there is none, which means nothing."""
    told = mapping(raw)
    if told is not raw:
        return None
    equal = texts(told.get("matchLabels"))
    needs = tuple(map(read_need, objects(told.get("matchExpressions"))))
    readable = (
        len(equal) + sum(1 + len(need.values) for need in needs) <= _MOST
        and len(equal) == len(mapping(told.get("matchLabels")))
        and all(need.key and need.operator in _OPERATORS for need in needs)
    )
    return Selector(labels_of(equal), needs) if readable else Selector(readable=False)


def read_need(raw: Json) -> Need:
    """A requirement, of a label selector or of a node selector's term."""
    return Need(text(raw.get("key")), text(raw.get("operator")), words(raw.get("values")))


def words(raw: object) -> tuple[str, ...]:
    """The texts of a list."""
    return tuple(text(each) for each in cast(list[object], raw)) if isinstance(raw, list) else ()


def labels_of(told: Mapping[str, str]) -> Labels:
    """Labels as a value that many objects can share."""
    return tuple(sorted(told.items()))


def _meets(need: Need, value: str | None) -> bool:
    match need.operator:
        case "In":
            return value in need.values
        case "NotIn":
            return value not in need.values
        case "Exists":
            return value is not None
        case _:
            return value is None

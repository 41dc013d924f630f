"""What covers pods by their labels: PodDisruptionBudgets, which say how many may go, and Services before them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from collector.kubernetes.values import Json, mapping, text, texts, whole
from enforcer.live.selector import Labels, Selector, labels_of, read_selector


@dataclass(frozen=True, slots=True)
class Cover:
    """An object that means pods of its namespace. `allowed`: how many of them a PodDisruptionBudget lets go now."""

    namespace: str
    name: str
    selector: Selector
    allowed: int = 0


def read_budget(raw: Json) -> Cover | None:
    """A PodDisruptionBudget; None for one that means no pod.

    Until its controller has seen its last change, none may go.
    """
    metadata, spec, status = (
        mapping(raw.get("metadata")),
        mapping(raw.get("spec")),
        mapping(raw.get("status")),
    )
    selector = read_selector(spec.get("selector"))
    if selector is None:
        return None
    seen = whole(status.get("observedGeneration")) >= whole(metadata.get("generation"))
    allowed = whole(status.get("disruptionsAllowed")) if seen else 0
    return Cover(text(metadata.get("namespace")), text(metadata.get("name")), selector, min(allowed, 10**6))


def read_service(raw: Json) -> Cover | None:
    """A Service; None for one that stands before no pods."""
    metadata, spec = mapping(raw.get("metadata")), mapping(raw.get("spec"))
    wanted = texts(spec.get("selector"))
    if not wanted or spec.get("type") == "ExternalName":
        return None
    return Cover(text(metadata.get("namespace")), text(metadata.get("name")), Selector(labels_of(wanted)))


class Covers:
    """All objects of one sort. Pods with the same labels are looked at once, until one of the objects changes."""

    def __init__(self, covers: Mapping[str, Cover]) -> None:
        self._of: dict[str, list[Cover]] = {}
        self._found: dict[tuple[str, Labels], tuple[str, ...]] = {}
        for each in covers.values():
            self._of.setdefault(each.namespace, []).append(each)

    def __iter__(self) -> Iterator[Cover]:
        """Every one of them."""
        return (each for theirs in self._of.values() for each in theirs)

    def over(self, namespace: str, labels: Labels) -> tuple[str, ...]:
        """Those that cover a pod with such labels, as namespace/name, in order."""
        theirs = self._of.get(namespace)
        if theirs is None:
            return ()
        key = namespace, labels
        found = self._found.get(key)
        if found is None:
            told = dict(labels)
            names = (f"{namespace}/{each.name}" for each in theirs if each.selector.means(told))
            found = self._found[key] = tuple(sorted(names))
        return found

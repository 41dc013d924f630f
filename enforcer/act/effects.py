"""Effects: what is done to a cluster, as values that one place carries out; and what came of one.

Each names the object as it was seen, by UID and resourceVersion: on any other object, or the same one changed
meanwhile, it is refused by the API server itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from collector.kubernetes.values import Json, mapping
from enforcer.act.server import Server


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a JSON patch (RFC 6902)."""

    op: str  # test, add or remove
    path: str
    value: object = None

    def as_json(self) -> Json:
        """As it is sent."""
        told: Json = {"op": self.op, "path": self.path}
        return told if self.op == "remove" else told | {"value": self.value}


@dataclass(frozen=True, slots=True)
class Patch:
    """Change an object. `version` is empty where any version will do, as for a warning.

    `proof` is the operation by which it can be told afterwards, from the object alone, that it was this patch.
    """

    path: str  # of the object, on the API server
    uid: str
    version: str
    operations: tuple[Operation, ...]
    proof: Operation

    def body(self) -> list[Json]:
        """The JSON patch, its tests first."""
        tests = [Operation("test", "/metadata/uid", self.uid)]
        if self.version:
            tests.append(Operation("test", "/metadata/resourceVersion", self.version))
        return [each.as_json() for each in (*tests, *self.operations)]


@dataclass(frozen=True, slots=True)
class Evict:
    """Evict a pod by the eviction API, which asks its PodDisruptionBudget."""

    namespace: str
    name: str
    uid: str
    version: str

    def body(self) -> Json:
        """The Eviction, as policy/v1 has it."""
        preconditions = {"uid": self.uid, "resourceVersion": self.version}
        return {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "deleteOptions": {"preconditions": preconditions},
        }


@dataclass(frozen=True, slots=True)
class Create:
    """Make an object, such as an Event, in a collection."""

    path: str
    body: Json


@dataclass(frozen=True, slots=True)
class Serve:
    """Have a Hub start a server (`up`), or stop it while its pod, at `path`, is the one that was seen."""

    server: Server
    up: bool
    path: str = ""
    uid: str = ""
    version: str = ""


Effect = Patch | Evict | Create | Serve


class How(StrEnum):
    """What came of an effect."""

    HAPPENED = "it happened"
    DIFFERS = "the object is not as it was seen"
    GONE = "the object is gone"
    REFUSED = "it was refused"
    BUDGET = "a PodDisruptionBudget refuses"
    HELD = "it was not to be done any more"  # frozen, or no longer the leader
    UNKNOWN = "it is not known whether it happened"


@dataclass(frozen=True, slots=True)
class Came:
    """What came of an effect: the object as it was answered, where it happened; else why not, in words."""

    how: How
    object: Json = field(default_factory=dict[str, Any])
    words: str = ""


def pointer(path: Sequence[str]) -> str:
    """A path of names as a JSON pointer (RFC 6901)."""
    return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in path)


def annotate(path: str, seen: Json, key: str, value: str) -> Patch:
    """The patch that gives an object an annotation, whatever else has changed of it since it was seen."""
    metadata = seen.get("metadata", {})
    bare = () if metadata.get("annotations") else (Operation("add", "/metadata/annotations", {}),)
    there = Operation("add", pointer(("metadata", "annotations", key)), value)
    # Where annotations were absent, another's that came since would be lost: so the version has to be the same.
    return Patch(
        path,
        str(metadata.get("uid", "")),
        str(metadata["resourceVersion"]) if bare else "",
        (*bare, there),
        there,
    )


def shows(seen: Json, operation: Operation) -> bool:
    """Whether an object looks as it does after the operation."""
    inside: object = seen
    for name in operation.path.split("/")[1:]:
        key = name.replace("~1", "/").replace("~0", "~")
        inside = mapping(inside).get(key)
    return inside is None if operation.op == "remove" else inside == operation.value

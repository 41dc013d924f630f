"""Servers of a JupyterHub: whose a pod is, and how that stands in the audit, where people are pseudonyms. Pure.

A pod of KubeSpawner has no owner that would carry our mark, and goes with its server: so the audit alone knows what was
stopped. It has the person's pseudonym and the server's name; the Hub knows by which name to ask for it.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from collector.kubernetes.owners import controller_of
from collector.kubernetes.values import Json, mapping, text, texts
from quartermaster.person import person_id, pseudonym, pseudonym_of

WORKSPACE = "workspace"  # the kind of what has these labels, as the collector names it
WORDS = "stop its server through the Hub"
AT = "/hub/server"
_USER, _NAME = "hub.jupyter.org/username", "hub.jupyter.org/servername"
_COMPONENT = ("component", "singleuser-server")
_LONGEST = 255


class State(StrEnum):
    """What a Hub says of a server."""

    UP = "it runs, or is being started"
    STOPPING = "it is being stopped"
    DOWN = "it is stopped"
    NOBODY = "the Hub has no such user, or knows the person by another name now"


@dataclass(frozen=True, slots=True)
class Server:
    """One of a person's servers; `name` is "" for the first. Its pods are in `namespace`."""

    namespace: str
    person: int  # the pseudonym
    name: str

    def before(self) -> dict[str, object]:
        """What was there, as the audit has it."""
        return {AT: {"person": pseudonym(self.person), "name": self.name}}


def is_of_a_hub(labels: Mapping[str, str], namespace: str, hubs: Collection[str]) -> bool:
    """Whether a pod with such labels is one that a Hub has started, whose pods are in one of these namespaces."""
    return namespace in hubs and labels.get(_COMPONENT[0]) == _COMPONENT[1] and bool(labels.get(_USER))


def user_of(pod: Json) -> str:
    """The name by which the Hub knows the user. Labels have it in an alphabet of their own; "" where it is not told."""
    told = texts(mapping(pod.get("metadata")).get("annotations"))
    user = told.get(_USER, "")
    return user if len(user) <= _LONGEST else ""


def server_of(pod: Json, key: bytes) -> Server | None:
    """The server whose pod it is; None for any other pod."""
    metadata = mapping(pod.get("metadata"))
    namespace, user = text(metadata.get("namespace")), user_of(pod)
    labels = texts(metadata.get("labels"))
    if not user or controller_of(metadata) is not None or not is_of_a_hub(labels, namespace, {namespace}):
        return None
    name = texts(metadata.get("annotations")).get(_NAME, "")
    return Server(namespace, person_id(key, user), name) if len(name) <= _LONGEST else None


def recorded(namespace: str, fields: str) -> Server | None:
    """The server that `before` of a deed names (or `after`, of one that starts it again); None where it names none."""
    told = mapping(mapping(json.loads(fields or "{}")).get(AT))
    person = pseudonym_of(text(told.get("person")))
    return None if person is None else Server(namespace, person, text(told.get("name")))

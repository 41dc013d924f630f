"""Grips: by which object a workload is stopped. Its owner itself or, where Kueue manages it, Kueue's object for it."""

from dataclasses import dataclass
from urllib.parse import quote

from collector.kubernetes.demand import QUEUE_LABEL
from collector.kubernetes.owners import Reference, controller_of
from collector.kubernetes.values import Json, mapping, objects, text
from enforcer.act.served import NoWay, Served
from enforcer.act.way import IN_QUEUE, Way

_OF_JOB = "kueue.x-k8s.io/job-uid"


@dataclass(frozen=True, slots=True)
class Grip:
    """A workload's owner, and the object that is patched to stop it, with where that is and how."""

    owner: Json
    way: Way
    path: str
    object: Json

    @property
    def uid(self) -> str:
        """The owner's."""
        return text(mapping(self.owner.get("metadata")).get("uid"))

    @property
    def kind(self) -> str:
        """Of the object that is patched."""
        return text(self.object.get("kind"))


def grip(served: Served, kind: str, namespace: str, name: str) -> Grip | None:
    """What a workload is to be stopped and started by; None where it is gone. Raises NoWay, or Silence."""
    way, path = served.way(kind), served.path(kind, namespace, name)
    owner = served.hands.look(path)
    if owner is None:
        return None
    labels = mapping(mapping(owner.get("metadata")).get("labels"))
    if QUEUE_LABEL not in labels or not served.serves(IN_QUEUE):
        return Grip(owner, way, path, owner)
    found = _in_queue(served, owner, namespace)
    place = served.path(IN_QUEUE, namespace, text(mapping(found.get("metadata")).get("name")))
    # Objects of a list do not say what they are.
    return Grip(owner, served.way(IN_QUEUE), place, found | {"kind": IN_QUEUE})


def way_of(served: Served, kind: str, seen: Json) -> Way:
    """How an object that was patched for a workload of this kind is stopped. Raises NoWay."""
    return served.way(IN_QUEUE if seen.get("kind") == IN_QUEUE else kind)


def stands_for(kind: str, seen: Json) -> Reference:
    """The workload that an object stands for: itself, or the owner of Kueue's object."""
    metadata = mapping(seen.get("metadata"))
    owner = controller_of(metadata) if kind == IN_QUEUE else None
    return owner or Reference("", kind, text(metadata.get("name")), text(metadata.get("uid")))


def _in_queue(served: Served, owner: Json, namespace: str) -> Json:
    uid = text(mapping(owner.get("metadata")).get("uid"))
    selector = quote(f"{_OF_JOB}={uid}", safe="")
    page = served.hands.look(f"{served.collection(IN_QUEUE, namespace)}?labelSelector={selector}")
    found = [
        each
        for each in objects((page or {}).get("items"))
        if (by := controller_of(mapping(each.get("metadata")))) is not None and by.uid == uid
    ]
    if len(found) != 1:
        raise NoWay(
            f"Kueue manages it, and has {len(found) or 'no'} Workloads of it where there is to be one"
        )
    return found[0]

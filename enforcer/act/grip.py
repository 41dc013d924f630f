"""Grips: by which object a workload is stopped. Its owner itself or, where Kueue manages it, Kueue's object for it."""

from dataclasses import dataclass
from urllib.parse import quote

from collector.kubernetes.demand import QUEUE_LABEL
from collector.kubernetes.owners import Reference, controller_of
from collector.kubernetes.values import Json, mapping, objects, text
from enforcer.act.change import Change, Meant, NoChange, start, stop
from enforcer.act.effects import Serve
from enforcer.act.hands import pod_path
from enforcer.act.served import NoWay, Served
from enforcer.act.server import AT, WORKSPACE, Server, State, server_of, user_of
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

    def stop(self, meant: Meant) -> Change | NoChange:
        """The change that stops it."""
        return stop(self.way, self.path, self.object, meant)

    def start(self) -> Change | NoChange:
        """The change that puts back what our stop found."""
        return start(self.way, self.path, self.object)


@dataclass(frozen=True, slots=True)
class ServerGrip:
    """A pod that a Hub started, and its server there. What is stopped has no pod: the audit alone knows of it."""

    object: Json
    path: str
    server: Server
    state: State

    @property
    def owner(self) -> Json:
        """The pod: it has no other owner."""
        return self.object

    @property
    def uid(self) -> str:
        """The pod's."""
        return text(mapping(self.object.get("metadata")).get("uid"))

    def stop(self, meant: Meant) -> Change | NoChange:
        """The change that stops it."""
        del meant  # there is nothing that could carry a mark
        if self.state is not State.UP:
            return NoChange(self.state.value)
        version = text(mapping(self.object.get("metadata")).get("resourceVersion"))
        effect = Serve(self.server, up=False, path=self.path, uid=self.uid, version=version)
        return Change(effect, self.server.before(), {AT: None})

    def start(self) -> Change | NoChange:
        """Nothing: while its pod is there it is not started again."""
        return NoChange("its pod is there")


def grip(served: Served, kind: str, namespace: str, name: str) -> Grip | ServerGrip | None:
    """What a workload is to be stopped and started by; None where it is gone. Raises NoWay, or Silence."""
    if kind == WORKSPACE:
        return _of_a_hub(served, namespace, name)
    return owners_grip(served, kind, namespace, name)


def owners_grip(served: Served, kind: str, namespace: str, name: str) -> Grip | None:
    """The same, of one that has an owner of a kind with a way."""
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


def start_of(server: Server, state: State) -> Change | NoChange:
    """The change that has a server run again."""
    if state is State.NOBODY:
        return NoChange(state.value)
    return Change(Serve(server, up=True), {AT: None}, server.before())


def way_of(served: Served, kind: str, seen: Json) -> Way:
    """How an object that was patched for a workload of this kind is stopped. Raises NoWay."""
    return served.way(IN_QUEUE if seen.get("kind") == IN_QUEUE else kind)


def stands_for(kind: str, seen: Json) -> Reference:
    """The workload that an object stands for: itself, or the owner of Kueue's object."""
    metadata = mapping(seen.get("metadata"))
    owner = controller_of(metadata) if kind == IN_QUEUE else None
    return owner or Reference("", kind, text(metadata.get("name")), text(metadata.get("uid")))


def _of_a_hub(served: Served, namespace: str, name: str) -> ServerGrip | None:
    hubs, path = served.hands.hubs, pod_path(namespace, name)
    if namespace not in hubs.of:
        raise NoWay(f"no Hub is configured for the pods of {namespace}")
    pod = served.hands.look(path)
    if pod is None:
        return None
    server = server_of(pod, hubs.key)
    if server is None:
        raise NoWay("it is no pod that a Hub has started, or it does not say for whom")
    hubs.of[namespace].learn(user_of(pod))
    return ServerGrip(pod, path, server, served.hands.state(server))


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

"""Grips: by which object a workload is stopped: its owner, or what Kueue or KEDA has for it, or a CronJob's run."""

from dataclasses import dataclass, replace
from urllib.parse import quote

from collector.kubernetes.demand import QUEUE_LABEL
from collector.kubernetes.owners import Reference, controller_of
from collector.kubernetes.values import Json, mapping, objects, text
from enforcer.act.change import Change, Meant, NoChange, start, stop
from enforcer.act.effects import Serve
from enforcer.act.hands import pod_path
from enforcer.act.keda import scaled_by, target_of
from enforcer.act.mark import mark_of
from enforcer.act.run import cronjob_of, run_of
from enforcer.act.served import NoWay, Served
from enforcer.act.server import AT, WORKSPACE, Server, State, server_of, user_of
from enforcer.act.way import IN_QUEUE, SCALE, SCALED, RunWay, Way

_OF_JOB = "kueue.x-k8s.io/job-uid"
_RUN = "Job"


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

    @property
    def maker(self) -> Json:
        """What makes its pods, and counts them."""
        return self.object if self.kind == _RUN else self.owner

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


def owners_grip(served: Served, kind: str, namespace: str, name: str, run: str = "") -> Grip | None:
    """The same, of one that has an owner of a kind with a way; by the run of that UID, where it is known which."""
    way, path = served.way(kind), served.path(kind, namespace, name)
    owner = served.hands.look(path)
    if owner is None:
        return None
    if isinstance(way, RunWay):
        return _of_a_run(served, owner, namespace, run)
    if _is_in_queue(served, owner):
        return _by(served, owner, IN_QUEUE, namespace, _in_queue(served, owner, namespace))
    # What carries our mark itself was stopped before KEDA knew it.
    if way.field == SCALE and mark_of(owner) is None and served.serves(SCALED):
        found = _scaler(served, owner, namespace)
        if found is not None:
            return _by(served, owner, SCALED, namespace, found)
    return Grip(owner, way, path, owner)


def start_of(server: Server, state: State) -> Change | NoChange:
    """The change that has a server run again."""
    if state is State.NOBODY:
        return NoChange(state.value)
    return Change(Serve(server, up=True), {AT: None}, server.before())


def way_of(served: Served, kind: str, seen: Json) -> Way:
    """How an object that was patched for a workload of this kind is stopped. Raises NoWay."""
    told = text(seen.get("kind"))
    return served.way(told if told in served.kinds else kind)


def stands_for(kind: str, seen: Json) -> Reference:
    """The workload that an object stands for: itself, the owner of Kueue's object, a run's CronJob, or what KEDA
    scales, whose UID it does not say."""
    if kind == SCALED:
        return target_of(seen)
    metadata = mapping(seen.get("metadata"))
    owner = controller_of(metadata) if kind == IN_QUEUE else cronjob_of(seen) if kind == _RUN else None
    return owner or Reference("", kind, text(metadata.get("name")), text(metadata.get("uid")))


def workload_of(served: Served, kind: str, seen: Json) -> Reference:
    """The same, with the UID that what KEDA scales has now; "" where it is gone. Raises Silence."""
    told = stands_for(kind, seen)
    if kind != SCALED:
        return told
    namespace = text(mapping(seen.get("metadata")).get("namespace"))
    try:
        owner = served.hands.look(served.path(told.kind, namespace, told.name))
    except NoWay:  # a stranger's, with our mark copied onto it
        return told
    return replace(told, uid=text(mapping((owner or {}).get("metadata")).get("uid")))


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


def _by(served: Served, owner: Json, kind: str, namespace: str, found: Json) -> Grip:
    """By an object of a list, which does not say what it is."""
    place = served.path(kind, namespace, text(mapping(found.get("metadata")).get("name")))
    return Grip(owner, served.way(kind), place, found | {"kind": kind})


def _of_a_run(served: Served, owner: Json, namespace: str, run: str) -> Grip | None:
    found = run_of(_listed(served, _RUN, namespace), owner, run)
    if found is None:
        return None
    if _is_in_queue(served, found):
        raise NoWay("Kueue manages its run")
    return _by(served, owner, _RUN, namespace, found)


def _scaler(served: Served, owner: Json, namespace: str) -> Json | None:
    found = scaled_by(_listed(served, SCALED, namespace), owner)
    if len(found) > 1:
        raise NoWay(f"{len(found)} ScaledObjects of KEDA scale it, where there is to be one")
    return found[0] if found else None


def _listed(served: Served, kind: str, namespace: str) -> list[Json]:
    page = served.hands.look(served.collection(kind, namespace))
    return list(objects((page or {}).get("items")))


def _is_in_queue(served: Served, owner: Json) -> bool:
    labels = mapping(mapping(owner.get("metadata")).get("labels"))
    return QUEUE_LABEL in labels and served.serves(IN_QUEUE)


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

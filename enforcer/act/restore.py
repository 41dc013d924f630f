"""Restoring: what we stopped is started again as it was, because a person asks for it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from collector.kubernetes.owners import Reference
from collector.kubernetes.values import Json, mapping, text
from enforcer.act.carrying import Carrier, Carriers, carrying
from enforcer.act.change import Change, NoChange, start
from enforcer.act.doing import Doing
from enforcer.act.effects import Patch, Serve
from enforcer.act.grip import owners_grip, start_of, workload_of
from enforcer.act.mark import STOPPED, mark_of
from enforcer.act.order import RESTORE, written
from enforcer.act.server import WORKSPACE
from enforcer.act.server import recorded as server_recorded
from enforcer.act.way import RunWay
from enforcer.act.wire import Silence
from enforcer.audit.deed import Deed, Phase
from quartermaster.errors import InputError


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks for it, on which cluster, and why."""

    cluster: str
    actor: str  # a pseudonym
    words: str = ""
    request_id: int | None = None


@dataclass(frozen=True, slots=True)
class Restored:
    """The deeds that tell of it; and of what could not be begun why not, by its title."""

    deeds: tuple[Deed, ...]
    left: Mapping[str, str]


def named(doing: Doing, subject: str, stopped: Iterable[Deed] = ()) -> Carrier:
    """The owner that `Kind/namespace/name` names; of what a Hub serves the last of that name among those `stopped`.

    Raises InputError where there is none; NoWay, Silence."""
    kind, slash, place = subject.partition("/")
    namespace, another, name = place.partition("/")
    if not (slash and another and name) or "/" in name:
        raise InputError(f"{subject!r} is no workload", "write it as Kind/namespace/name: Job/vision/train")
    agreed = doing.served.namespaces
    if agreed and namespace not in agreed:
        raise InputError(
            f"namespace {namespace} is not one of those that agreed",
            "clusters.kubernetes.namespaces has them",
        )
    if kind == WORKSPACE:
        servers = [
            each for each in stopped if (each.kind, each.namespace, each.name) == (kind, namespace, name)
        ]
        if not servers:
            raise InputError(f"{subject} was not stopped", "quartermaster actions says what was stopped")
        return _of_a_hub(servers[-1])
    found = owners_grip(doing.served, kind, namespace, name)
    if found is None:
        or_run = ", or no run of it" if isinstance(doing.served.way(kind), RunWay) else ""
        raise InputError(
            f"there is no {subject} in the cluster{or_run}",
            "quartermaster actions says what was stopped",
        )
    workload = workload_of(doing.served, found.kind, found.object)
    return Carrier(found.kind, found.path, found.object, workload)


def stopped_since(doing: Doing, since_ms: int, stopped: Iterable[Deed] = ()) -> Carriers:
    """All owners that carry a mark of their own from since then; also one whose mark cannot be read.

    What a Hub serves carries none: of these, those that are among `stopped`, as the audit has them.
    """
    carriers = carrying(doing, {STOPPED}, doing.served.kinds)
    marked = tuple(each for each in carriers.found if _is_since(each.object, since_ms))
    served = tuple(_of_a_hub(each) for each in stopped if each.kind == WORKSPACE and each.at_ms >= since_ms)
    return Carriers((*marked, *served), carriers.unseen)


def restore(doing: Doing, carriers: Sequence[Carrier], asked: Asked, recorded: Mapping[str, str]) -> Restored:
    """Start them again; `recorded` has by UID what the audit has of each as it was before. Raises LedgerError."""
    intents: list[Deed] = []
    patches: list[Patch | Serve] = []
    left: dict[str, str] = {}
    for each in carriers:
        before = recorded.get(each.workload.uid)
        change = _back(doing, each, before or "")
        if isinstance(change, NoChange):
            left[each.title] = change.words
            continue
        intents.append(_intent(each, change, asked, doing.wall()))
        patches.append(change.patch)
    if not intents:
        return Restored((), left)
    done = doing.do(doing.begin(intents, patches), epoch=0)
    return Restored((*intents, *doing.finish(done, epoch=0)), left)


def _back(doing: Doing, carrier: Carrier, before: str) -> Change | NoChange:
    if carrier.kind != WORKSPACE:
        way = doing.served.way(carrier.kind)
        return start(way, carrier.path, carrier.object, mapping(json.loads(before)) if before else None)
    server = server_recorded(text(mapping(carrier.object.get("metadata")).get("namespace")), before)
    if server is None:
        return NoChange("the audit does not say of which server it is")
    try:
        return start_of(server, doing.hands.state(server))
    except Silence as silence:  # the others are started all the same
        return NoChange(str(silence))


def _of_a_hub(deed: Deed) -> Carrier:
    metadata = {"namespace": deed.namespace, "name": deed.name, "uid": deed.object_uid}
    workload = Reference("", WORKSPACE, deed.name, deed.object_uid)
    return Carrier(WORKSPACE, "", {"metadata": metadata}, workload)


def _is_since(seen: Json, since_ms: int) -> bool:
    mark = mark_of(seen)
    if mark is not None:
        return mark.at_ms >= since_ms
    # Not a copy that a controller made of its owner's.
    return not mapping(seen.get("metadata")).get("ownerReferences")


def _intent(carrier: Carrier, change: Change, asked: Asked, at_ms: int) -> Deed:
    metadata, mark = mapping(carrier.object.get("metadata")), mark_of(carrier.object)
    return Deed(
        cluster=asked.cluster,
        at_ms=at_ms,
        phase=Phase.INTENT,
        act=RESTORE,
        plan_hash="" if mark is None else mark.plan_hash,
        kind=carrier.workload.kind,
        namespace=text(metadata.get("namespace")),
        name=carrier.workload.name,
        object_uid=carrier.workload.uid,
        object_version=text(metadata.get("resourceVersion")),
        before=written(change.before),
        after=written(change.after),
        actor=asked.actor,
        words=asked.words,
        request_id=asked.request_id,
    )

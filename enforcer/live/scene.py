"""The scene: what is there of one cluster, object by object, kept from a stream of events; pure.

What it knows depends on the objects that are there, not on the order in which they were told.
"""

from collections.abc import Callable
from typing import TypeVar

from collector.kubernetes.claims import read_slice
from collector.kubernetes.demand import read_note
from collector.kubernetes.fleet import Fleet
from collector.kubernetes.grants import Grants
from collector.kubernetes.owners import Chain, Owner, Reference, chain_of
from collector.kubernetes.settings import Settings
from collector.kubernetes.stream import ADDED, BEGIN, GONE, MODIFIED, SYNCED, Event
from collector.kubernetes.values import Json, mapping, text, whole
from enforcer.act.way import WAYS, Ways
from enforcer.live.alike import Alike
from enforcer.live.coming import Ordered, ScaleUp, read_ordered, read_scaled
from enforcer.live.covers import Cover, Covers, read_budget, read_service
from enforcer.live.hosts import Host, read_host
from enforcer.live.listed import Listed
from enforcer.live.naming import Naming
from enforcer.live.owners import QUEUED, WHOLE, Known, read_above, read_in_queue, read_whole
from enforcer.live.scalers import Scaler, read_scaler
from enforcer.live.seen import Seen, read_seen
from enforcer.live.volumes import Claimed, Volume, read_claimed, read_volume
from enforcer.snapshot import Workload
from quartermaster.clock import HOUR_MS

ABOVE = "above "  # what owners above the watched kinds come as: `above kubeflow.org/v1 PyTorchJob`
_BY_NAME = {
    *(
        "nodes",
        "priorityclasses",
        "persistentvolumes",
        "persistentvolumeclaims",
        "resourceslices",
        "nodeclaims",
    ),
    "podgroups",
}
# Of events that explain something, for so long and so many.
_NOTES_MS, _NOTES = HOUR_MS, 20_000
_MOST_GANG = 1_000_000
_MOST_PRIORITY = 2**31 - 1
Kind = tuple[str, str]  # group, kind
Thing = TypeVar("Thing")
WATCHED_KINDS: set[Kind] = {
    ("", "Pod"),
    *((version.rpartition("/")[0], kind) for kind, version in WHOLE.values()),
}


class Scene:
    """One cluster's objects. `apply` each event in order. `has_nodes`: its nodes may be seen."""

    def __init__(
        self,
        settings: Settings,
        ways: Ways = WAYS,
        hubs: frozenset[str] = frozenset(),
        *,
        has_nodes: bool = True,
    ) -> None:
        self.settings, self.ways, self.hubs, self.has_nodes = settings, ways, hubs, has_nodes
        self.pods: dict[str, Seen] = {}
        self.hosts: dict[str, Host] = {}
        self.known: dict[str, Known] = {}
        self.queued: dict[str, Known] = {}
        self.scalers: dict[str, Scaler] = {}
        self.claimed: dict[str, Claimed] = {}
        self.volumes: dict[str, Volume] = {}
        self._classes: dict[str, tuple[int, bool]] = {}
        self.ordered: dict[str, Ordered] = {}
        self.scale_ups: dict[str, ScaleUp] = {}
        self.gangs: dict[str, int] = {}
        self.refused: dict[str, int] = {}  # since when, by the uid of what a quota refuses pods
        self.wanted: dict[Kind, Reference] = {}  # kinds above, of which nothing is known yet
        self.unreadable: set[Kind] = {("", "Node"), ("", "ReplicationController")}
        self._budgets: dict[str, Cover] = {}
        self._services: dict[str, Cover] = {}
        self.budgets, self.services = Covers({}), Covers({})
        self._owners: dict[str, Owner] = {}
        self.named = Naming(settings)
        self.kept: dict[str, tuple[tuple[object, ...], Workload]] = {}  # workloads as they were read last
        self.fleet = Fleet(settings)
        self.grants = Grants(settings, self.fleet)
        self._alike = Alike()
        self._listed = Listed()
        self._takers: dict[str, Callable[[Event, str], bool]] = {
            "pods": self._pod,
            "nodes": self._node,
            "poddisruptionbudgets": self._budget,
            "services": self._service,
            "persistentvolumes": self._volume,
            "persistentvolumeclaims": self._claimed,
            "priorityclasses": self._class,
            "resourceslices": self._slice,
            "resourceclaims": self._claim,
            "nodeclaims": self._ordered,
            "podgroups": self._gang,
            "events": self._note,
            "scaleups": self._scaled,
            "scaledobjects": self._scaler,
            QUEUED: self._in_queue,
            **dict.fromkeys(WHOLE, self._whole),
        }

    def apply(self, event: Event) -> bool:
        """Take one event into account; whether it may change a plan. What cannot be read is passed over."""
        if event.type == BEGIN:
            self._listed.begin(event)
            return False
        if event.type == SYNCED:
            for key in self._listed.missing(event):
                self._take(Event(event.received_at, event.kind, GONE), key)
            return True
        if event.type not in {ADDED, MODIFIED, GONE}:
            return False
        key = _key(event)
        self._listed.note(event, key)
        return self._take(event, key)

    def chain(self, first: Reference | None, namespace: str) -> Chain:
        """The owners from the nearest up, as far as they may be read; `missing` is one that is not known yet.

        Who names an owner of another namespace has none: nobody gets into another's workload by saying so.
        """
        found = chain_of(first, self._owners)
        for at, each in enumerate(found.owners):
            known = self.known.get(each.uid) or self.pods.get(each.uid)
            if known is not None and known.namespace not in {"", namespace}:
                return Chain(found.owners[:at])
        if found.missing is not None and (found.missing.group, found.missing.kind) in self.unreadable:
            return Chain(found.owners)
        return found

    @property
    def has_kueue(self) -> bool:
        """Whether Kueue is there: without it, the label of a queue is a label."""
        return self._listed.has(QUEUED)

    def priority(self, class_name: str) -> int:
        """The priority that a class gives; of no class, the one that is the default."""
        if class_name:
            return self._classes.get(class_name, (0, False))[0]
        return max((value for value, default in self._classes.values() if default), default=0)

    def _take(self, event: Event, key: str) -> bool:
        taker = self._above if event.kind.startswith(ABOVE) else self._takers.get(event.kind)
        return taker(event, key) if taker is not None else False

    def _pod(self, event: Event, key: str) -> bool:
        before = self.pods.pop(key, None)
        now = read_seen(event.object, self.settings, self._alike) if event.type != GONE else None
        if now is None:
            self._owners.pop(key, None)
            return before is not None and before.asks_for_gpus
        self.pods[key] = now
        self._owners[key] = Owner(now.owner)
        if now.asks_for_gpus:
            self._want(now.owner, now.namespace)
        begins = now.waits and not (before is not None and before.waits)
        ends = now.terminating and before is not None and not before.terminating and before.asks_for_gpus
        return begins or ends

    def _node(self, event: Event, key: str) -> bool:
        before = self.hosts.pop(key, None)
        now = read_host(event.object, self.settings, self._alike) if event.type != GONE else None
        if now is None:
            return before is not None and bool(before.node.unit_parts)
        self.hosts[key] = now
        return before is None or _offers(before) != _offers(now)

    def _whole(self, event: Event, key: str) -> bool:
        gone = event.type == GONE
        return self._know(
            key, None if gone else read_whole(event.object, event.kind, self.settings, self._alike)
        )

    def _above(self, event: Event, key: str) -> bool:
        if event.type == GONE:
            return self._know(key, None)
        version, _, kind = event.kind.removeprefix(ABOVE).partition(" ")
        name = text(mapping(event.object.get("metadata")).get("name"))
        reference = Reference(version, kind, name, key)
        return self._know(key, read_above(event.object, reference, self.settings, self._alike))

    def _know(self, key: str, now: Known | None) -> bool:
        before = self.known.pop(key, None)
        if now is None:
            self._owners.pop(key, None)
            self.refused.pop(key, None)
            return False
        self.known[key] = now
        self._owners[key] = Owner(now.controller)
        self._want(now.controller, now.namespace)
        if now.lack is not None and not now.lack.missing:
            self.refused.pop(key, None)
        if before is None:
            return True
        return (before.stopped, before.lack is None or before.lack.suspended) != (
            now.stopped,
            now.lack is None or now.lack.suspended,
        )

    def _want(self, first: Reference | None, namespace: str) -> None:
        """Note the kind of an owner above of which nothing is known: it is watched from then on."""
        missing = self.chain(first, namespace).missing
        if missing is not None and (missing.group, missing.kind) not in WATCHED_KINDS:
            self.wanted.setdefault((missing.group, missing.kind), missing)

    def _in_queue(self, event: Event, key: str) -> bool:
        before = self.queued.pop(key, None)
        now = read_in_queue(event.object, self.settings, self._alike) if event.type != GONE else None
        if now is not None:
            self.queued[key] = now
        return (before and before.lack) != (now and now.lack)

    def _scaler(self, event: Event, key: str) -> bool:
        return _put(self.scalers, key, None if event.type == GONE else read_scaler(event.object, self._alike))

    def _budget(self, event: Event, key: str) -> bool:
        changed = _put(self._budgets, key, None if event.type == GONE else read_budget(event.object))
        if changed:
            self.budgets = Covers(self._budgets)
        return False

    def _service(self, event: Event, key: str) -> bool:
        changed = _put(self._services, key, None if event.type == GONE else read_service(event.object))
        if changed:
            self.services = Covers(self._services)
        return False

    def _volume(self, event: Event, key: str) -> bool:
        return _put(self.volumes, key, None if event.type == GONE else read_volume(event.object))

    def _claimed(self, event: Event, key: str) -> bool:
        return _put(self.claimed, key, None if event.type == GONE else read_claimed(event.object))

    def _class(self, event: Event, key: str) -> bool:
        value, default = event.object.get("value"), event.object.get("globalDefault") is True
        there = isinstance(value, int) and event.type != GONE
        capped = max(-_MOST_PRIORITY, min(int(value or 0), _MOST_PRIORITY)) if there else 0
        return _put(self._classes, key, (capped, default) if there else None)

    def _slice(self, event: Event, key: str) -> bool:
        new = read_slice(event.object, self.settings) if event.type != GONE else None
        if new is None:
            self.fleet.remove_slice(key, event.received_at)
        else:
            self.fleet.put_slice(new, event.received_at)
            self.grants.look_again()
        return False

    def _claim(self, event: Event, key: str) -> bool:
        self.grants.claim(event, key)
        return False

    def _ordered(self, event: Event, key: str) -> bool:
        gone = event.type == GONE
        return _put(
            self.ordered, key, None if gone else read_ordered(event.object, self.settings, self._alike)
        )

    def _gang(self, event: Event, key: str) -> bool:
        minimum = whole(mapping(event.object.get("spec")).get("minMember"))
        return _put(self.gangs, key, None if event.type == GONE else min(max(1, minimum), _MOST_GANG))

    def _note(self, event: Event, key: str) -> bool:
        del key
        note = read_note(event.object) if event.type != GONE else None
        if note is None or not note.refused:
            return False
        at_ms = min(note.at_ms or event.received_at, event.received_at)
        if event.received_at - at_ms > _NOTES_MS:
            return False
        new = note.uid not in self.refused
        self.refused[note.uid] = min(self.refused.get(note.uid, at_ms), at_ms)
        if len(self.refused) > _NOTES:
            self.refused.pop(next(iter(self.refused)))
        return new

    def _scaled(self, event: Event, key: str) -> bool:
        del key
        for each in read_scaled(event.object, event.received_at) if event.type != GONE else ():
            known = self.scale_ups.get(each.group)
            if known is None or known.at_ms <= each.at_ms:
                self.scale_ups[each.group] = each
        return False


def _put(table: dict[str, Thing], key: str, now: Thing | None) -> bool:
    """Put it in its place, or take away what was there; whether that is a change."""
    before = table.pop(key, None)
    if now is not None:
        table[key] = now
    return before != now


def _offers(host: Host) -> tuple[object, ...]:
    node = host.node
    return node.units, node.ready, node.schedulable, node.taints


def _key(event: Event) -> str:
    """How an object is known: by its uid, or by its name where others name it."""
    metadata: Json = mapping(event.object.get("metadata"))
    namespace, name = text(metadata.get("namespace")), text(metadata.get("name"))
    if event.kind in _BY_NAME:
        return f"{namespace}/{name}" if namespace else name
    return text(metadata.get("uid"))

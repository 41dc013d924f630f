"""The picture of a cluster: a stream of (time, object) in, records out; pure. A recorded stream replays."""

from collections.abc import Callable, Sequence

from collector.kubernetes.claims import read_slice
from collector.kubernetes.demand import Maker, read_maker, read_note, read_queued
from collector.kubernetes.fleet import Fleet
from collector.kubernetes.growth import Growths
from collector.kubernetes.nodes import read_node
from collector.kubernetes.owners import (
    Chain,
    Owner,
    Reference,
    Subject,
    chain_of,
    controller_of,
    user_of,
    workload_of,
)
from collector.kubernetes.promises import QUOTA_KINDS, Promises
from collector.kubernetes.seats import Seats
from collector.kubernetes.settings import RANK, SOURCE, Settings, mig_profile
from collector.kubernetes.stream import ADDED, BEGIN, GONE, MODIFIED, OWNERS, SYNCED, Event
from collector.kubernetes.values import Json, mapping, text
from collector.kubernetes.waiting import Waiting, waiter_of_maker
from quartermaster.clock import HOUR_MS
from quartermaster.ids import content_id
from quartermaster.parts import GPU_PARTS, mig_parts
from quartermaster.records import Authority, Person, Workload

# Of events that bound or explain something, for so long and so many.
_NOTES_MS, _NOTES = HOUR_MS, 20_000
MAKERS = ("jobs", "replicasets", "statefulsets")


class Picture:
    """What is known of one cluster. `apply` each event in order; `take` what is new of it, as records."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.fleet = Fleet(settings)
        self._owners: dict[str, Owner] = {}
        self._wanted: dict[str, tuple[Reference, str]] = {}
        self.waiting = Waiting(settings, self.fleet.candidates)
        self.seats = Seats(settings, self.fleet, self.waiting, self.workload)
        self._makers: dict[str, Maker] = {}
        self._refused: dict[str, tuple[int, str]] = {}
        self._people: dict[int, Person | None] = {}
        self._workloads: dict[int, Workload | None] = {}
        self._promises = Promises(settings, self.fleet)
        self._growths = Growths(settings, self.fleet)
        self._present: dict[str, set[str]] = {}
        self._listing: dict[str, set[str]] = {}
        self._heard: dict[str, int] = {}
        self._before: dict[str, int] = {}
        self._queued: dict[str, str] = {}
        self._authority_told = False
        self._readers: dict[str, Callable[[Event, str], None]] = {
            "pods": self.seats.pod,
            "nodes": self._node,
            "resourceclaims": self.seats.claim,
            "resourceslices": self._slice,
            "events": self._note,
            "killings": self._note,
            "podgroups": self.seats.group,
            "scaleups": self._scaled,
            "nodepools": self._growths.node_pool,
            "nodeclaims": self._growths.node_claim,
            "workloads": self._maker,
            "resourceflavors": self._promises.flavor,
            **dict.fromkeys(MAKERS, self._maker),
            **dict.fromkeys(QUOTA_KINDS, self._promises.promise),
        }

    def apply(self, event: Event) -> None:
        """Take one event into account. What cannot be read is passed over, never an exception."""
        if event.kind == OWNERS:
            self._owner(event)
        elif event.type == BEGIN:
            if event.kind not in self._listing:  # else a list that broke off begins again
                self._before[event.kind] = self._heard.get(event.kind, event.received_at)
            self._listing[event.kind] = set()
        elif event.type == SYNCED:
            self._synced(event)
        elif event.type in {ADDED, MODIFIED, GONE} and event.kind in self._readers:
            self._object(event)
        self._heard[event.kind] = event.received_at

    def heard(self, kind: str) -> int | None:
        """When a stream last said anything."""
        return self._heard.get(kind)

    def _object(self, event: Event) -> None:
        metadata = mapping(event.object.get("metadata"))
        key = _key(event.kind, metadata)
        if event.type == GONE:
            self._present.get(event.kind, set()).discard(key)
        else:
            self._present.setdefault(event.kind, set()).add(key)
            self._listing.get(event.kind, set()).add(key)
        uid = text(metadata.get("uid"))
        if uid and event.kind in {"pods", *MAKERS} and (event.kind != "pods" or uid in self._wanted):
            self._learn(uid, Owner(controller_of(metadata)), event.received_at)
        self._readers[event.kind](event, key)

    def _synced(self, event: Event) -> None:
        listed = self._listing.pop(event.kind, None)
        if listed is None:
            return
        missing = self._present.get(event.kind, set()) - listed
        for key in sorted(missing):
            self._present[event.kind].discard(key)
            if event.kind == "pods":
                self.seats.missed(key, self._before["pods"], event.received_at)
            else:
                self._readers[event.kind](Event(event.received_at, event.kind, GONE, {}), key)
        self._present.setdefault(event.kind, set())

    def _node(self, event: Event, key: str) -> None:
        machine = read_node(event.object, self.settings) if event.type != GONE else None
        if machine is None:
            self.fleet.remove_machine(key, event.received_at)
        elif self.fleet.put_machine(machine, event.received_at):
            self.seats.node_changed(machine.name)

    def _slice(self, event: Event, key: str) -> None:
        new = read_slice(event.object, self.settings) if event.type != GONE else None
        if new is None:
            self.fleet.remove_slice(key, event.received_at)
        else:
            self.fleet.put_slice(new, event.received_at)
            self.seats.slices_changed()

    def _note(self, event: Event, key: str) -> None:
        del key
        note = read_note(event.object) if event.type != GONE else None
        if note is None:
            return
        at_ms = min(note.at_ms or event.received_at, event.received_at)
        if event.received_at - at_ms > _NOTES_MS:
            return
        if note.refused:
            self._refused[note.uid] = (self._refused.get(note.uid, (at_ms, ""))[0], note.message)
            self.seats.refused(note.uid, note.message, event.received_at)
            if note.uid in self._makers:
                self._weigh(self._makers[note.uid], event.received_at)
        elif note.reason == "Killing" and note.kind == "Pod":
            self.seats.killed[note.uid] = at_ms
        for bounded in (self._refused, self.seats.killed):
            if len(bounded) > _NOTES:
                bounded.pop(next(iter(bounded)))

    def _maker(self, event: Event, key: str) -> None:
        read = read_queued if event.kind == "workloads" else read_maker
        kind = {"jobs": "Job", "replicasets": "ReplicaSet", "statefulsets": "StatefulSet"}.get(event.kind)
        given = {**event.object, "kind": kind} if kind else event.object
        maker = read(given, self.settings) if event.type != GONE else None
        if maker is None:
            self._makers.pop(key, None)
            self._refused.pop(key, None)
            self._queued.pop(key, None)
            self.waiting.remove(key, event.received_at)
            return
        self._makers[key] = maker
        if maker.ended_at is not None:
            self.seats.job_ended[maker.uid] = maker.ended_at
            if len(self.seats.job_ended) > _NOTES:
                self.seats.job_ended.pop(next(iter(self.seats.job_ended)))
        if maker.kind == "Workload" and maker.owner is not None:
            self._queued[key] = maker.owner.uid  # it tells of the job's waiting from now on
            self.waiting.remove(maker.owner.uid, event.received_at)
        self._weigh(maker, event.received_at)

    def _weigh(self, maker: Maker, at_ms: int) -> None:
        """Whether a controller waits: its pods are refused by a quota, or a queue holds it back."""
        told_at, words = self._refused.get(maker.uid, (maker.refused_at, maker.message))
        why, since = "", maker.created_at
        if maker.missing and maker.ended_at is None:
            if maker.suspended and maker.queue and maker.uid not in self._queued.values():
                why = f"queued: {maker.queue}" + (f": {maker.message}" if maker.message else "")
            elif told_at is not None and not maker.suspended:
                why, since = f"quota: {words}", told_at
        if not why:
            self._refused.pop(maker.uid, None) if not maker.missing else None
            self.waiting.remove(maker.uid, at_ms)
            return
        since_ms = min(at_ms if since is None else since, at_ms)
        parts = sum(_parts(name) * count for name, count in maker.requests)
        subject = Subject(maker.namespace, maker.name, maker.uid, maker.labels, {}, since_ms)
        itself = Reference(maker.api_version, maker.kind, maker.name, maker.uid)
        top = maker.owner if maker.kind == "Workload" else itself
        workload, _ = self.workload(subject, top)
        self.waiting.put(workload, waiter_of_maker(maker, parts, why, since_ms), at_ms)

    def _scaled(self, event: Event, key: str) -> None:
        """The cluster-autoscaler makes a group larger, for the pod that it names."""
        del key
        note = read_note(event.object) if event.type != GONE else None
        if note is not None:
            self._growths.scaled(event, self.seats.wanted(note.uid))

    def _owner(self, event: Event) -> None:
        metadata = mapping(event.object.get("metadata"))
        uid = text(metadata.get("uid"))
        if uid:
            found = event.type == ADDED
            self._learn(uid, Owner(controller_of(metadata) if found else None), event.received_at)

    def _learn(self, uid: str, owner: Owner, at_ms: int) -> None:
        self._owners[uid] = owner
        if self._wanted.pop(uid, None) is not None:
            self.seats.owner_known(uid, at_ms)

    def workload(self, subject: Subject, first: Reference | None, minimum: int = 1) -> tuple[Workload, Chain]:
        """The workload as far as its owners are known; who has to be asked for is wanted."""
        chain = chain_of(first, self._owners)
        if chain.missing is not None:
            self._wanted.setdefault(chain.missing.uid, (chain.missing, subject.namespace))
        workload = workload_of(subject, chain.owners, self.settings, minimum=minimum)
        if self.settings.names and workload.person_id is not None:
            name = user_of(subject.labels, subject.annotations, self.settings)
            self._people.setdefault(workload.person_id, Person(workload.person_id, name))
        if workload.workload_id not in self._workloads:
            self._workloads[workload.workload_id] = workload
        return workload, chain

    def wanted_owners(self) -> list[tuple[Reference, str]]:
        """Owners (with their namespace) of which nothing is known yet: to be asked for."""
        return list(self._wanted.values())

    def take(self, now_ms: int) -> dict[str, Sequence[object]]:
        """What is new since the last time, as records by table."""
        allocations, holdings = self.seats.take()
        used = {each.workload_id for each in allocations}
        demand = self.waiting.versions.drain()
        used |= {each.workload_id for each in demand}
        workloads = [each for key in sorted(used) if (each := self._workloads.get(key)) is not None]
        self._workloads.update({each.workload_id: None for each in workloads})
        authority = [] if self._authority_told else [self._authority(now_ms)]
        self._authority_told = True
        told: dict[str, Sequence[object]] = {
            "nodes_versions": self.fleet.nodes.drain(),
            "devices_versions": self.fleet.devices.drain(),
            "people": self._new_people(),
            "workloads_versions": workloads,
            "allocations_versions": allocations,
            "holdings_versions": holdings,
            "demand_versions": demand,
            "quotas_versions": self._promises.settle(now_ms),
            "growth_versions": self._growths.settle(now_ms),
            "authority_versions": authority,
        }
        return {table: rows for table, rows in told.items() if rows}

    def _new_people(self) -> list[Person]:
        told = [person for person in self._people.values() if person is not None]
        self._people = dict.fromkeys(self._people)
        return told

    def present(self) -> dict[str, list[int] | list[str]]:
        """The ids of what is there now, by table: what else the ledger has open from here is gone."""
        return {
            "nodes_versions": sorted(str(key) for key in self.fleet.nodes.open),
            "devices_versions": sorted(int(key) for key in self.fleet.devices.open),
            "allocations_versions": self.seats.open_allocations(),
            "holdings_versions": self.seats.open_holdings(),
            "demand_versions": sorted(int(key) for key in self.waiting.versions.open),
            "quotas_versions": sorted(int(key) for key in self._promises.versions.open),
            "growth_versions": sorted(int(key) for key in self._growths.versions.open),
        }

    def _authority(self, at_ms: int) -> Authority:
        authority_id = content_id("authority", self.settings.cluster, SOURCE)
        return Authority(self.settings.cluster, authority_id, at_ms, None, SOURCE, RANK)


def _key(kind: str, metadata: Json) -> str:
    """How an object is known: nodes, slices and queues by name, all else by uid."""
    if kind in {"nodes", "resourceslices", "resourceflavors", "nodepools", "nodeclaims", *QUOTA_KINDS}:
        namespace, name = text(metadata.get("namespace")), text(metadata.get("name"))
        return f"{namespace}/{name}" if namespace else name
    return text(metadata.get("uid")) or f"{text(metadata.get('namespace'))}/{text(metadata.get('name'))}"


def _parts(resource: str) -> int:
    profile = mig_profile(resource)
    try:
        return mig_parts("", profile) if profile else GPU_PARTS
    except ValueError:
        return GPU_PARTS // 7

"""Pods in their seats: each with its owners, its node and its claims, until its end is told."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from collector.kubernetes import allocations
from collector.kubernetes.allocations import End, Hint
from collector.kubernetes.claims import Given
from collector.kubernetes.fleet import Fleet
from collector.kubernetes.grants import Grants
from collector.kubernetes.growth import Wanted
from collector.kubernetes.owners import Chain, Reference, Subject
from collector.kubernetes.pods import Pod, read_pod
from collector.kubernetes.settings import Settings
from collector.kubernetes.stream import GONE, Event
from collector.kubernetes.values import mapping, text, whole
from collector.kubernetes.waiting import Waiter, Waiting
from quartermaster.parts import GPU_PARTS
from quartermaster.records import Allocation, Holding, Workload

_JOB_UID = "batch.kubernetes.io/controller-uid"
Workloads = Callable[[Subject, Reference | None, int], tuple[Workload, Chain]]


@dataclass(slots=True)
class Seat:
    """One pod's memory: what its objects do not tell any more when they are gone."""

    pod: Pod
    known_at: int
    given: dict[str, Given] = field(default_factory=dict[str, Given])
    start_ms: int | None = None
    started_ms: int | None = None
    end: End | None = None
    parts: int | None = None  # by the node's labels when it was bound
    weighed: tuple[tuple[str, int], ...] = ()  # the requests that these parts are of
    workload: Workload | None = None
    chain: Chain | None = None
    gone: bool = False
    refusal: str = ""
    told: Allocation | None = None
    holdings: dict[int, Holding] = field(default_factory=dict[int, Holding])


class Seats:
    """All pods that may hold GPUs, and the claims that give them."""

    def __init__(self, settings: Settings, fleet: Fleet, waiting: Waiting, workloads: Workloads) -> None:
        self._settings = settings
        self._fleet = fleet
        self._waiting = waiting
        self._workloads = workloads
        self._seats: dict[str, Seat] = {}
        self._grants = Grants(settings, fleet)
        self._dirty: dict[str, None] = {}
        self._groups: dict[tuple[str, str], int] = {}
        self.killed: dict[str, int] = {}
        self.job_ended: dict[str, int] = {}

    def pod(self, event: Event, uid: str) -> None:
        """A pod was seen, or is gone."""
        gone = event.type == GONE
        pod = read_pod(event.object, self._settings)
        seat = self._seats.get(uid)
        if pod is None:
            if seat is not None and gone:
                self._leave(seat, event.received_at)
            return
        if seat is None:
            if gone and not pod.bound:
                return
            seat = self._seats[uid] = Seat(pod, event.received_at)
        else:
            seat.pod, seat.known_at = _with_memory(pod, seat.pod), event.received_at
        self._dirty[uid] = None
        self._sit(seat)
        self._weigh(seat)
        self._collect(seat)
        if pod.device_ids and pod.bound and not pod.ended:
            self._fleet.kubelet_told(pod.node, pod.device_ids, event.received_at)
        if gone:
            self._leave(seat, event.received_at)
        else:
            self._end(seat, event.received_at)
            self._wait(seat, event.received_at)

    def _sit(self, seat: Seat) -> None:
        seat.start_ms = allocations.start_of(seat.pod)
        started = [at for at in (seat.started_ms, seat.pod.started_at) if at is not None]
        seat.started_ms = min(started, default=None)
        if seat.chain is None or seat.chain.missing is not None:
            pod = seat.pod
            created = pod.created_at if pod.created_at is not None else seat.known_at
            subject = Subject(pod.namespace, pod.name, pod.uid, pod.labels, pod.annotations, created)
            minimum = self._groups.get((pod.namespace, pod.group), 1)
            seat.workload, seat.chain = self._workloads(subject, pod.owner, minimum)

    def _weigh(self, seat: Seat) -> None:
        """What it asks for on its node: by the node's labels at the binding, or when the node becomes known."""
        machine = self._fleet.machines.get(seat.pod.node)
        known = seat.parts is not None and seat.weighed == seat.pod.requests
        if machine is not None and seat.start_ms is not None and not known:
            seat.parts = allocations.requested_parts(seat.pod, machine)
            seat.weighed = seat.pod.requests

    def _end(self, seat: Seat, received_ms: int) -> None:
        if seat.start_ms is None:
            return
        lost_ms = self._fleet.lost_since(seat.pod.node)
        end = allocations.end_seen(seat.pod, seat.start_ms, received_ms, lost_ms, gone=seat.gone)
        if seat.end is None or (end is not None and end.evidence == allocations.FINISHED):
            seat.end = end

    def _leave(self, seat: Seat, received_ms: int) -> None:
        seat.gone = True
        self._dirty[seat.pod.uid] = None
        self._end(seat, received_ms)
        self._waiting.remove(seat.pod.uid, received_ms)

    def missed(self, uid: str, seen_ms: int, missing_ms: int) -> None:
        """A pod that was there is not in a full list: when it ended nobody saw."""
        seat = self._seats.get(uid)
        if seat is None:
            return
        if seat.start_ms is not None and seat.end is None:
            hint = self._hint(seat.pod)
            seat.end = allocations.end_missed(seat.pod, seat.start_ms, seen_ms, missing_ms, hint)
        self._leave(seat, missing_ms)

    def _hint(self, pod: Pod) -> Hint | None:
        killed = self.killed.get(pod.uid)
        if killed is not None:
            return Hint(killed, allocations.KILLED)
        job = self.job_ended.get(pod.labels.get(_JOB_UID) or (pod.owner.uid if pod.owner else ""))
        return Hint(job, allocations.JOB_ENDED) if job is not None else None

    def _wait(self, seat: Seat, at_ms: int) -> None:
        pod = seat.pod
        if pod.bound or pod.ended or seat.workload is None:
            bound = seat.start_ms if seat.start_ms is not None else at_ms
            self._waiting.remove(pod.uid, min(bound, at_ms))
            return
        if seat.chain is not None and seat.chain.missing is not None:
            return  # told once its owners are known
        since = pod.created_at if pod.created_at is not None else at_ms
        reason = f"{pod.reason}: {pod.message}" if pod.reason else seat.refusal
        parts = allocations.requested_parts(pod, None)
        parts += sum(self._grants.asked(pod.namespace, name) for name in pod.claims)
        minimum = self._groups.get((pod.namespace, pod.group), 1)
        waiter = Waiter(
            *(pod.uid, pod.namespace, min(since, at_ms), parts, 1, minimum, reason),
            pod.labels,
            pod.node_selector,
        )
        self._waiting.put(seat.workload, waiter, at_ms)

    def claim(self, event: Event, uid: str) -> None:
        """A ResourceClaim was seen, or is gone."""
        for pod_uid in self._grants.claim(event, uid) & self._seats.keys():
            self._collect(self._seats[pod_uid])
            self._wait(self._seats[pod_uid], event.received_at)

    def _collect(self, seat: Seat) -> None:
        """Give a pod what its claims were given, as long as it holds; in whatever order the two were told."""
        for name in seat.pod.claims:
            now = self._grants.given_to(seat.pod.uid, seat.pod.namespace, name)
            before = seat.given.get(name)
            if now is not None and (before is None or (before.unnamed_parts and not now.unnamed_parts)):
                seat.given[name] = now
                self._dirty[seat.pod.uid] = None

    def slices_changed(self) -> None:
        """Devices became known: claims that named unknown ones are looked at again."""
        for uid in self._grants.look_again() & self._seats.keys():
            self._collect(self._seats[uid])

    def group(self, event: Event, key: str) -> None:
        """A KAI PodGroup: how many of its pods must run at once. It is no workload, and stays when its pods go."""
        del key
        metadata = mapping(event.object.get("metadata"))
        name = (text(metadata.get("namespace")), text(metadata.get("name")))
        if event.type == GONE:
            self._groups.pop(name, None)
        else:
            minimum = whole(mapping(event.object.get("spec")).get("minMember"))
            self._groups[name] = min(max(1, minimum), 1_000_000)

    def node_changed(self, node: str) -> None:
        """A node became known: what its pods ask for can be weighed now. What was weighed stays as it was."""
        for uid, seat in self._seats.items():
            if seat.pod.node == node:
                self._dirty[uid] = None
                self._weigh(seat)

    def owner_known(self, owner_uid: str, at_ms: int) -> None:
        """An owner was asked for and is known: the walk from its pods goes on."""
        for uid, seat in self._seats.items():
            if seat.chain is not None and seat.chain.missing and seat.chain.missing.uid == owner_uid:
                self._dirty[uid] = None
                self._sit(seat)
                self._wait(seat, at_ms)

    def refused(self, uid: str, message: str, at_ms: int) -> None:
        """A pod that waits without any condition: an Event said that its claim may not be made."""
        seat = self._seats.get(uid)
        if seat is not None and not seat.gone:
            seat.refusal = f"quota: {message}"
            self._wait(seat, at_ms)

    def wanted(self, uid: str) -> Wanted | None:
        """What a pod asks of a node; None for one that is not known."""
        seat = self._seats.get(uid)
        if seat is None:
            return None
        gpus = allocations.requested_parts(seat.pod, None) // GPU_PARTS
        return Wanted(seat.pod.node_selector, max(1, gpus))

    def take(self) -> tuple[list[Allocation], list[Holding]]:
        """The allocations and holdings that changed. Who is gone and told is forgotten."""
        told: list[Allocation] = []
        held: list[Holding] = []
        for uid in self._dirty:
            seat = self._seats.get(uid)
            if seat is None:
                continue
            if seat.start_ms is not None and seat.workload is not None:
                self._tell(seat, told, held)
            if seat.gone:
                del self._seats[uid]
        self._dirty.clear()
        return told, held

    def _tell(self, seat: Seat, told: list[Allocation], held: list[Holding]) -> None:
        if seat.start_ms is None or seat.workload is None:
            return
        machine = self._fleet.machines.get(seat.pod.node)
        if seat.parts is None and seat.end is None:
            return  # told once its node is known, and with it what a GPU of it is
        parts = seat.parts if seat.parts is not None else allocations.requested_parts(seat.pod, None)
        parts += sum(_parts_of(each) for each in seat.given.values())
        if not parts and not (seat.end is not None and seat.pod.claims):
            return  # who ended before its claims were seen is told without: an earlier life may have told them
        span = (seat.start_ms, seat.started_ms, seat.end)
        now = allocations.allocation_of(seat.pod, span, parts, seat.workload.workload_id, self._settings)
        before = seat.told
        if before is None or replace(now, revision=before.revision) != before:
            seat.told = now if before is None else replace(now, revision=before.revision + 1)
            told.append(seat.told)
        fresh = {
            each.holding_id: each
            for each in allocations.holdings_of(seat.pod, now, seat.given.values(), machine, self._settings)
        }
        for key, each in _merged(seat.holdings, fresh, now.end_at).items():
            was = seat.holdings.get(key)
            if was is None or replace(each, revision=was.revision) != was:
                seat.holdings[key] = each if was is None else replace(each, revision=was.revision + 1)
                held.append(seat.holdings[key])

    def open_allocations(self) -> list[int]:
        """The ids of the allocations that are told, or will be: of all pods that are there and bound."""
        return sorted(
            allocations.allocation_id(self._settings, uid)
            for uid, seat in self._seats.items()
            if seat.start_ms is not None
        )

    def open_holdings(self) -> list[int]:
        """The ids of the holdings that are told and not ended."""
        seats: Iterable[Seat] = self._seats.values()
        return sorted(key for seat in seats for key, each in seat.holdings.items() if each.end_at is None)


def _merged(before: dict[int, Holding], fresh: dict[int, Holding], end_at: int | None) -> dict[int, Holding]:
    """What was named stays named: a finished pod's claims are gone, and its devices cannot be learnt again."""
    if fresh:
        gone = {key: replace(each, end_at=each.start_at) for key, each in before.items() if key not in fresh}
        return {**gone, **fresh}
    return {
        key: each if each.end_at == each.start_at else replace(each, end_at=end_at)
        for key, each in before.items()
    }


def _parts_of(each: Given) -> int:
    return each.unnamed_parts + sum(parts for _, parts in each.units)


def _with_memory(now: Pod, before: Pod) -> Pod:
    """A pod's newest object, with what an older one told and this one lacks."""
    return replace(
        now,
        scheduled_at=before.scheduled_at if before.scheduled_at is not None else now.scheduled_at,
        start_time_at=before.start_time_at if before.start_time_at is not None else now.start_time_at,
        created_at=before.created_at if before.created_at is not None else now.created_at,
        node=now.node or before.node,
        device_ids=now.device_ids or before.device_ids,
        claims=now.claims or before.claims,
    )

"""A cluster in a process, on a virtual clock: what Kubernetes tells of it, what its exporters show."""

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from quartermaster.clock import MINUTE_MS, SECOND_MS
from quartermaster.errors import InputError
from quartermaster.parts import GPU_PARTS
from simulator import scheduler
from simulator.devices import Devices
from simulator.faults import Fault
from simulator.fleet import Fleet
from simulator.gangs import Gang, Pod, Teller, gangs
from simulator.machines import MachineState
from simulator.scheduler import Decision, Quota, Running
from simulator.teams import Promise, Rule
from simulator.truth import Truth, authority
from simulator.workloads import WorkloadPlan

_GRACE_MS = 30 * SECOND_MS
_BACK_OFF_MS = 10 * SECOND_MS
_LOST_WORK_MS = 20 * MINUTE_MS  # since the last checkpoint, at most


@dataclass(frozen=True)
class Script:
    """All that will happen to a fleet, before anything does: who asks, what breaks, what was promised."""

    fleet: Fleet
    workloads: Sequence[WorkloadPlan]
    faults: Sequence[Fault]
    promises: Sequence[Promise]
    rules: Sequence[Rule]
    seed: int
    start_ms: int


class Cluster:
    """Pods, machines and devices at `clock_ms`. The same script gives the same life, however stepped."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.fleet = script.fleet
        self.clock_ms = script.start_ms
        self.truth = Truth(self.fleet.cluster)
        self.devices = Devices(self.fleet, script.seed, script.start_ms)
        self.occupants: list[Pod | None] = [None] * len(self.fleet.slots)
        self.xids = [0] * len(self.fleet.gpus)
        self._tell = Teller(self.fleet, self.truth, script.rules, script.seed)
        self._random = Random(f"{script.seed}/cluster")
        self._events: list[tuple[int, int, Callable[[int], None]]] = []
        self._number = 0
        self._gangs: dict[str, dict[int, Gang]] = {machine.plan.pool: {} for machine in self.fleet.machines}
        self._left: dict[int, int] = {}  # workload to its gangs that are not over
        self._slot_parts = {slot.resource: slot.parts for slot in self.fleet.slots}
        self._dirty: set[str] = set()  # pools where something may be bound now
        self._quotas: dict[str, dict[str, Quota]] = {}
        for promise in script.promises:
            limit = None if promise.limit_gpus is None else promise.limit_gpus * GPU_PARTS
            quota = Quota(promise.gpus * GPU_PARTS, limit, promise.weight)
            self._quotas.setdefault(promise.pool, {})[promise.team] = quota
        self.truth.tell(script.start_ms, authority(self.fleet.cluster, script.start_ms))
        self.machines: dict[str, MachineState] = {
            machine.name: MachineState(self.fleet, machine, self.truth, script.start_ms)
            for machine in self.fleet.machines
        }
        for plan in script.workloads:
            self._at(plan.submit_ms, lambda now, plan=plan: self._submit(now, plan))
        for fault in script.faults:
            self._at(fault.start_ms, lambda now, fault=fault: self._break(now, fault))

    def advance(self, to_ms: int) -> None:
        """Let the cluster live until `to_ms`; an instant that has passed changes nothing."""
        while self._events and self._events[0][0] <= to_ms:
            now = self._events[0][0]
            self.devices.advance(now - 1)
            while self._events and self._events[0][0] == now:
                heapq.heappop(self._events)[2](now)
            self._schedule(now)
        self.devices.advance(to_ms)
        self.clock_ms = max(self.clock_ms, to_ms)

    def running(self, pool: str) -> list[Running]:
        """The gangs that hold GPUs in the pool."""
        return [gang.running() for gang in self._gangs[pool].values() if gang.pods]

    def waiting(self, pool: str) -> list[scheduler.Ask]:
        """The gangs that wait for GPUs in the pool."""
        return [gang.ask() for gang in self._gangs[pool].values() if not gang.pods and not gang.rests]

    def quotas(self, pool: str) -> Mapping[str, Quota]:
        """The pool's promises by team."""
        return self._quotas.get(pool, {})

    def machine(self, node: str) -> MachineState:
        """The node's state. Raises InputError for a node that is not there."""
        if node not in self.machines:
            raise InputError(f"there is no node {node!r} in the cluster {self.fleet.cluster}")
        return self.machines[node]

    def _at(self, at_ms: int, what: Callable[[int], None]) -> None:
        """Plan an event; Kubernetes knows whole seconds only."""
        self._number += 1
        heapq.heappush(self._events, (at_ms - at_ms % SECOND_MS, self._number, what))

    def _submit(self, now: int, plan: WorkloadPlan) -> None:
        workload = self._tell.submitted(now, plan)
        new = gangs(plan, workload, self._number + 1, now, self._slot_parts[plan.resource])
        self._number += len(new)
        self._left[workload.workload_id] = len(new)
        self._gangs[plan.pool] |= {gang.number: gang for gang in new}
        self._dirty.add(plan.pool)

    def _schedule(self, now: int) -> None:
        for pool in sorted(self._dirty):
            free = {
                (state.machine.name, resource): slots
                for state in self.machines.values()
                if state.machine.plan.pool == pool
                for resource, slots in state.free().items()
            }
            decision = scheduler.decide(self.waiting(pool), self.running(pool), free, self.quotas(pool))
            self._carry_out(now, self._gangs[pool], decision)
        self._dirty.clear()

    def _carry_out(self, now: int, pool: Mapping[int, Gang], decision: Decision) -> None:
        for number, nodes in decision.bind.items():
            self._bind(now, pool[number], nodes)
        for number in decision.reclaim:
            gang = pool[number]
            gang.terminating = True
            done = max(0, now - (gang.bound_ms or now))
            gang.remaining_ms += min(done, self._random.randrange(_LOST_WORK_MS))
            self._later(now + _GRACE_MS, gang, lambda at, gang=gang: self._gives_way(at, gang))
        for number, reason in decision.waits.items():
            self._tell.waits(now, pool[number], reason)

    def _bind(self, now: int, gang: Gang, nodes: Sequence[str]) -> None:
        self._tell.waited(now, gang)
        plan = gang.plan
        gang.comings += 1
        gang.bound_ms = now
        for ordinal, node in zip(gang.ordinals, nodes, strict=True):
            slots = self.machines[node].take(plan.resource, plan.slots_a_pod)
            pod = self._tell.bound(now, gang, ordinal, node, slots)
            gang.pods.append(pod)
            for slot in slots:
                self.occupants[slot.index] = pod
            if plan.pull.milliseconds is not None:
                pull = plan.pull.milliseconds + self._random.randrange(8 * SECOND_MS)
                self._later(now + pull, gang, lambda at, gang=gang, pod=pod: self._start(at, gang, pod))
        pull = plan.pull.milliseconds or 0
        self._later(now + pull + gang.remaining_ms, gang, lambda at, gang=gang: self._over(at, gang))

    def _later(self, at_ms: int, gang: Gang, what: Callable[[int], None]) -> None:
        """Plan an event of this coming of the gang: it does not happen when the gang has left before."""
        coming = gang.comings

        def happen(now: int) -> None:
            if gang.pods and gang.comings == coming:
                what(now)

        self._at(at_ms, happen)

    def _start(self, now: int, gang: Gang, pod: Pod) -> None:
        self._tell.started(now, pod)
        for slot in pod.slots:
            self.devices.occupy(slot.index, gang.plan.behaviour, now)

    def _over(self, now: int, gang: Gang) -> None:
        """An attempt has run its time."""
        if gang.terminating or self._lost(gang):
            return  # it goes when its grace is over, or when its node is back
        gang.attempt += 1
        gang.remaining_ms = 0
        self._leave(now, gang, gang.plan.ends)

    def _gives_way(self, now: int, gang: Gang) -> None:
        """A borrower's grace is over."""
        if not self._lost(gang):
            self._leave(now, gang, "preempted")

    def _lost(self, gang: Gang) -> bool:
        return any(self.machines[pod.node].losses for pod in gang.pods)

    def _leave(self, now: int, gang: Gang, evidence: str, sure_end_at: int | None = None) -> None:
        """All pods of the gang end; it comes back unless its last attempt is over."""
        if gang.remaining_ms and gang.bound_ms is not None:
            worked = max(0, now - gang.bound_ms)
            gang.remaining_ms = max(5 * MINUTE_MS, gang.remaining_ms - worked)
        for pod in gang.pods:
            self._tell.ended(now, pod, evidence, sure_end_at)
            for slot in pod.slots:
                self.devices.release(slot.index)
                self.occupants[slot.index] = None
            self.machines[pod.node].give_back(pod.slots)
        gang.pods = []
        gang.bound_ms = None
        gang.terminating = False
        self._dirty.add(gang.plan.pool)
        if gang.attempt >= len(gang.plan.attempts_ms):
            self._finish(now, gang)
            return
        gang.remaining_ms = gang.remaining_ms or gang.plan.attempts_ms[gang.attempt]
        gang.since_ms = now
        if evidence == "failed":
            gang.rests = True
            self._at(now + (_BACK_OFF_MS << gang.attempt), lambda at, gang=gang: self._asks_again(at, gang))

    def _asks_again(self, now: int, gang: Gang) -> None:
        """A failed gang's back-off is over."""
        gang.rests = False
        gang.since_ms = now
        self._dirty.add(gang.plan.pool)

    def _finish(self, now: int, gang: Gang) -> None:
        del self._gangs[gang.plan.pool][gang.number]
        self._left[gang.workload.workload_id] -= 1
        if not self._left[gang.workload.workload_id]:
            self._tell.finished(now, gang.workload)

    def _break(self, now: int, fault: Fault) -> None:
        state = self.machines[fault.node]
        if fault.kind == "cordon":
            state.cordons += 1
        elif fault.kind == "lost":
            state.losses += 1
        elif fault.kind == "exporter":
            state.silences += 1
        else:
            self.xids[fault.gpu] = fault.xid
            self._fail(now, fault)
        if fault.kind == "sick":
            state.sick[fault.gpu] = state.sick.get(fault.gpu, 0) + 1
            state.tell_gpu(now, fault.gpu)
        state.tell_node(now)
        self._at(max(fault.end_ms, now + SECOND_MS), lambda at, fault=fault: self._mend(at, fault))

    def _mend(self, now: int, fault: Fault) -> None:
        state = self.machines[fault.node]
        if fault.kind == "cordon":
            state.cordons -= 1
        elif fault.kind == "lost":
            state.losses -= 1
            self._came_back(now, fault)
        elif fault.kind == "exporter":
            state.silences -= 1
        elif fault.kind == "sick":
            state.sick[fault.gpu] -= 1
            self.xids[fault.gpu] = 0
            state.tell_gpu(now, fault.gpu)
        state.tell_node(now)
        self._dirty.add(state.machine.plan.pool)

    def _fail(self, now: int, fault: Fault) -> None:
        """An XID ends every gang that has a process on the GPU."""
        units = self.fleet.gpus[fault.gpu].units
        pods = [self.occupants[slot.index] for unit in units for slot in unit.slots]
        for gang in list(self._gangs[self.machines[fault.node].machine.plan.pool].values()):
            if any(pod is other for pod in pods for other in gang.pods):
                self._leave(now, gang, "failed")

    def _came_back(self, now: int, fault: Fault) -> None:
        """A lost node is back after its reboot: its pods are gone, its counters start anew."""
        for gang in list(self._gangs[self.machines[fault.node].machine.plan.pool].values()):
            if any(pod.node == fault.node for pod in gang.pods):
                self._leave(now, gang, "node lost", fault.start_ms)
        for gpu in self.machines[fault.node].machine.gpus:
            self.xids[gpu.index] = 0
            self.devices.restart_counter(gpu.index)

"""Gangs and pods: what is running or waiting in the cluster, and the records in which it is told."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from quartermaster.ids import content_id
from quartermaster.records import Allocation, Demand, Holding, Workload
from quartermaster.team import glob_matches, pattern_id
from simulator.fleet import Fleet, Slot
from simulator.scheduler import Ask, Running
from simulator.teams import Rule
from simulator.truth import SOURCE, Truth
from simulator.workloads import WorkloadPlan


@dataclass
class Pod:
    """One pod that is bound: its slots, and its records as last told."""

    node: str
    slots: tuple[Slot, ...]
    allocation: Allocation
    holdings: list[Holding]
    container: str


@dataclass
class Gang:
    """Pods that are bound together, and come back until the last attempt is over."""

    number: int
    workload: Workload
    plan: WorkloadPlan
    ordinals: tuple[int, ...]
    slot_parts: int
    since_ms: int
    remaining_ms: int
    attempt: int = 0
    comings: int = 0  # how often it was bound
    bound_ms: int | None = None
    terminating: bool = False
    rests: bool = False  # in its back-off after a failure
    demand: Demand | None = None
    pods: list[Pod] = field(default_factory=list[Pod])

    @property
    def parts(self) -> int:
        """What all its pods hold."""
        return len(self.ordinals) * self.plan.slots_a_pod * self.slot_parts

    def ask(self) -> Ask:
        """The gang as the scheduler sees it while it waits."""
        plan = self.plan
        return Ask(
            gang=self.number,
            team=plan.team,
            pods=len(self.ordinals),
            slots_a_pod=plan.slots_a_pod,
            resource=plan.resource,
            parts=self.parts,
            since_ms=self.since_ms,
            priority=plan.priority,
            preemptible=plan.preemptible,
        )

    def running(self) -> Running:
        """The gang as the scheduler sees it while it holds GPUs."""
        plan = self.plan
        return Running(
            gang=self.number,
            team=plan.team,
            resource=plan.resource,
            parts=self.parts,
            bound_ms=self.bound_ms or 0,
            places=tuple((pod.node, plan.slots_a_pod) for pod in self.pods),
            preemptible=plan.preemptible,
            terminating=self.terminating,
        )


class Teller:
    """Tells what becomes of workloads, gangs and pods, as records."""

    def __init__(self, fleet: Fleet, truth: Truth, rules: Sequence[Rule], seed: int) -> None:
        self._fleet = fleet
        self._truth = truth
        self._user_globs = sorted({rule.user for rule in rules if rule.user})
        self._seed = seed

    def submitted(self, at_ms: int, plan: WorkloadPlan) -> Workload:
        """A workload appears."""
        uid = _uid(self._seed, plan.namespace, plan.kind, plan.name)
        return self._truth.tell(
            at_ms,
            Workload(
                cluster=self._fleet.cluster,
                workload_id=content_id("workload", self._fleet.cluster, uid),
                start_at=at_ms,
                end_at=None,
                api_group=plan.api_group,
                kind=plan.kind,
                namespace=plan.namespace,
                name=plan.name,
                uid=uid,
                owner_chain=json.dumps(plan.owner_chain(plan.name)[1:]),
                person_id=content_id("person", f"simulated by seed {self._seed}", plan.user),
                experiment=plan.experiment,
                tags=json.dumps({"app": dict(plan.labels).get("app", "")}),
                gang_minimum=plan.pods if plan.gang else 1,
            ),
        )

    def finished(self, at_ms: int, workload: Workload) -> None:
        """A workload is over for good."""
        self._truth.end(at_ms, workload)

    def waits(self, at_ms: int, gang: Gang, reason: str) -> None:
        """A gang waits; told again when the reason is another one."""
        if gang.demand is not None and gang.demand.reason == reason:
            return
        if gang.demand is not None:
            gang.demand = self._truth.tell(at_ms, replace(gang.demand, reason=reason))
            return
        plan = gang.plan
        number = content_id(
            "demand", self._fleet.cluster, gang.workload.workload_id, gang.ordinals[0], gang.since_ms
        )
        gang.demand = self._truth.tell(
            at_ms,
            Demand(
                cluster=self._fleet.cluster,
                demand_id=number,
                start_at=at_ms,
                end_at=None,
                workload_id=gang.workload.workload_id,
                namespace=plan.namespace,
                pool=plan.pool,
                gpu_parts=gang.parts,
                pods=len(gang.ordinals),
                gang_minimum=len(gang.ordinals),
                reason=reason,
                source=SOURCE,
                labels=self._labels(plan),
                user_patterns=self._patterns(plan),
            ),
        )

    def bound(self, at_ms: int, gang: Gang, ordinal: int, node: str, slots: tuple[Slot, ...]) -> Pod:
        """A pod is bound to slots of a node."""
        plan = gang.plan
        uid = _uid(gang.workload.uid, ordinal, gang.comings)
        allocation = self._truth.tell(
            at_ms,
            Allocation(
                cluster=self._fleet.cluster,
                allocation_id=content_id("allocation", self._fleet.cluster, uid),
                start_at=at_ms,
                started_at=None,
                end_at=None,
                source=SOURCE,
                workload_id=gang.workload.workload_id,
                node=node,
                namespace=plan.namespace,
                pod=plan.pod_name(ordinal, gang.attempt, uid),
                pod_uid=uid,
                priority=plan.priority,
                preemptible=plan.preemptible,
                gpu_parts=sum(slot.parts for slot in slots),
                cpu_milli=8_000 * len(slots),
                memory_mib=65_536 * len(slots),
                labels=self._labels(plan),
                user_patterns=self._patterns(plan),
            ),
        )
        parts: dict[int, int] = {}
        for slot in slots:
            device = self._fleet.units[slot.unit].device_id
            parts[device] = parts.get(device, 0) + slot.parts
        holdings = [
            self._truth.tell(
                at_ms,
                Holding(
                    cluster=self._fleet.cluster,
                    holding_id=content_id("holding", self._fleet.cluster, allocation.allocation_id, device),
                    start_at=at_ms,
                    end_at=None,
                    allocation_id=allocation.allocation_id,
                    device_id=device,
                    parts=held,
                    evidence="kubelet",
                ),
            )
            for device, held in parts.items()
        ]
        container = "notebook" if plan.kind == "Notebook" else "main"
        return Pod(node, slots, allocation, holdings, container)

    def waited(self, at_ms: int, gang: Gang) -> None:
        """A gang waits no more."""
        if gang.demand is not None:
            self._truth.end(at_ms, gang.demand)
            gang.demand = None

    def started(self, at_ms: int, pod: Pod) -> None:
        """A pod's containers have started."""
        pod.allocation = self._truth.tell(at_ms, replace(pod.allocation, started_at=at_ms))

    def ended(self, at_ms: int, pod: Pod, evidence: str, sure_end_at: int | None = None) -> None:
        """A pod has ended; `sure_end_at` is when its node was last heard of, where that was lost."""
        ended = replace(pod.allocation, end_at=at_ms, end_evidence=evidence, sure_end_at=sure_end_at)
        pod.allocation = self._truth.tell(at_ms, ended)
        for holding in pod.holdings:
            self._truth.end(at_ms, holding)

    def _labels(self, plan: WorkloadPlan) -> str:
        return json.dumps(dict(plan.labels), sort_keys=True)

    def _patterns(self, plan: WorkloadPlan) -> str:
        globs = [glob for glob in self._user_globs if glob_matches(glob, plan.user)]
        return json.dumps(sorted(pattern_id("user", glob) for glob in globs))


def gangs(
    plan: WorkloadPlan, workload: Workload, first_number: int, at_ms: int, slot_parts: int
) -> list[Gang]:
    """The workload's gangs: one of all pods, or one a pod."""
    groups = [tuple(range(plan.pods))] if plan.gang else [(ordinal,) for ordinal in range(plan.pods)]
    return [
        Gang(first_number + index, workload, plan, ordinals, slot_parts, at_ms, plan.attempts_ms[0])
        for index, ordinals in enumerate(groups)
    ]


def _uid(*of: str | int) -> str:
    digest = blake2b("\x1f".join(map(str, of)).encode(), digest_size=16).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-a{digest[17:20]}-{digest[20:]}"

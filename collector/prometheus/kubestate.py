"""Who held what in a span of history, as kube-state-metrics tells it: told to the ledger in one commit.

Its times are the API's own, so that a binding and an end are exact to the second; only an end that nothing tells
is known no better than the interval, and so estimated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from collector.holders import HOLDERS
from collector.kubernetes.allocations import FINISHED, PHASE, End, allocation_of, requested_parts, start_of
from collector.kubernetes.meeting import Meeting, named_by_labels
from collector.kubernetes.nodes import Machine, read_node
from collector.kubernetes.owners import Subject, workload_of
from collector.kubernetes.pods import read_pod
from collector.kubernetes.settings import Settings
from collector.prometheus.coverage import Span, rows
from collector.prometheus.fleet import FleetHistory
from collector.prometheus.holders import HISTORY_ENDS, Seams, Told, fleet_history, marks
from collector.prometheus.objects import PodStory, chain_of, raw_node
from collector.prometheus.states import SOURCE, States
from quartermaster.ids import content_id
from quartermaster.records import Allocation, Authority, Device, Gap, Node, Workload
from sql.ledger import Ledger

# Believed after Kubernetes itself, and before labels.
RANK = 50
NOT_SHOWN, NO_SCRAPE = "not shown any more", "no scrape"


@dataclass
class StateTelling:
    """What kube-state-metrics said of one span, while it is told; `target` is the server that had it."""

    ledger: Ledger
    settings: Settings
    states: States
    span: Span
    target: str

    def tell(self, now_ms: int) -> Told:
        """Append nodes, pods that held GPUs, their owners, and the devices that telemetry names. Raises LedgerError."""
        records = self.records()
        key = f"history/{self.settings.cluster}/{self.span[0]}-{self.span[1]}"
        self.ledger.append(key, records, recorded_at=now_ms)
        return Told(SOURCE, self.span, {table: len(given) for table, given in records.items()})

    def records(self) -> dict[str, Sequence[object]]:
        """The records to append, by table."""
        ends = Seams(self.ledger, self.settings.cluster, self.span[1])
        history = fleet_history(self.ledger, self.settings.cluster, self.span, self.settings.pools)
        seen, devices = history.records(ends.of_node)
        nodes, machines = self._nodes(seen, devices, ends)
        allocations, workloads = self._allocations(machines, ends)
        holdings, _ = named_by_labels(self.settings.cluster, self._meetings(history, allocations, devices))
        cluster = self.settings.cluster
        authority_id = content_id("authority", cluster, SOURCE)
        return {
            "nodes_versions": nodes,
            "devices_versions": devices,
            "workloads_versions": workloads,
            "allocations_versions": allocations,
            "holdings_versions": holdings,
            "authority_versions": [Authority(cluster, authority_id, self.span[0], ends.end_ms, SOURCE, RANK)],
            "gaps_versions": [self._gap(*silence) for silence in self.states.silences(self.span[1])],
            "watermarks": marks(self.ledger, cluster, SOURCE, self.span[1]),
        }

    def _nodes(
        self, seen: Sequence[Node], devices: Sequence[Device], ends: Seams
    ) -> tuple[list[Node], dict[str, Machine]]:
        """The versions of each node, by what changed of it; of those that telemetry alone tells, as it does."""
        models = {node.node: node.model for node in seen if node.model}
        gpus: dict[str, set[str]] = {}
        for device in devices:
            gpus.setdefault(device.node, set()).add(device.gpu_uuid)
        told = [node for node in seen if node.node not in self.states.nodes]
        machines: dict[str, Machine] = {}
        for name in sorted(self.states.nodes):
            versions: list[Node] = []
            for at_ms, machine in self._machines(name):
                count = max(machine.gpus, len(gpus.get(name, ())))
                if not count:
                    continue
                machines.setdefault(name, machine)
                model = machine.model or models.get(name, "")
                version = machine.record(self.settings, at_ms, count, model)
                if versions and replace(version, start_at=versions[-1].start_at) == versions[-1]:
                    continue
                versions.append(version)
            starts = [version.start_at for version in versions]
            last_ms = self._node_end(name, ends)
            told += [
                replace(version, end_at=max(end_ms, version.start_at))
                for version, end_ms in zip(versions, [*starts[1:], last_ms], strict=False)
            ]
        return told, machines

    def _machines(self, name: str) -> list[tuple[int, Machine]]:
        """What the node was from each instant on at which something of it changed."""
        facts: dict[str, float] = {}
        by_instant: dict[int, Machine] = {}
        # One that is there at the first scrape was there before it.
        soon_ms = int(self.states.scrapes_ms[0]) + self.states.interval_ms
        for at_ms, fact, value in sorted(self.states.nodes[name]):
            facts[fact] = value
            machine = read_node(raw_node(name, self.states.node_labels.get(name, {}), facts), self.settings)
            if machine is not None:
                by_instant[self.span[0] if at_ms <= soon_ms else at_ms] = machine
        return sorted(by_instant.items(), key=lambda each: each[0])

    def _node_end(self, name: str, ends: Seams) -> int:
        shown_ms = self.states.shown_ms.get(name, self.span[1])
        later = self.states.scrapes_ms[self.states.scrapes_ms > shown_ms + self.states.interval_ms]
        return int(later[0]) if len(later) else ends.of_node(name)

    def _allocations(
        self, machines: Mapping[str, Machine], ends: Seams
    ) -> tuple[list[Allocation], list[Workload]]:
        known = self._known_workloads()
        allocations: list[Allocation] = []
        workloads: dict[int, Workload] = {}
        for story in self.states.pods.values():
            workload = self._workload(story)
            same = known.get((workload.kind, workload.namespace, workload.name), set())
            workload_id = next(iter(same)) if len(same) == 1 else workload.workload_id
            allocation = self._allocation(story, workload_id, machines.get(story.node), ends)
            if allocation is None:
                continue
            allocations.append(allocation)
            if workload_id == workload.workload_id:
                workloads.setdefault(workload_id, workload)
        return allocations, list(workloads.values())

    def _allocation(
        self, story: PodStory, workload_id: int, machine: Machine | None, ends: Seams
    ) -> Allocation | None:
        """A pod's interval; None where it holds nothing in the span."""
        pod = read_pod(story.raw(), self.settings)
        if pod is None or not pod.bound:
            return None
        start_ms = start_of(pod)
        start_ms = story.first_ms if start_ms is None else start_ms
        end = self._end(story, start_ms, ends)
        if end.at_ms <= self.span[0]:
            return None
        parts = requested_parts(pod, machine)
        found = allocation_of(pod, (start_ms, pod.started_at, end), parts, workload_id, self.settings)
        allocation_id = content_id("allocation", self.settings.cluster, SOURCE, story.uid)
        return replace(found, source=SOURCE, allocation_id=allocation_id)

    def _end(self, story: PodStory, start_ms: int, ends: Seams) -> End:
        if story.over and story.completed_ms is not None:
            return _end(start_ms, story.completed_ms, FINISHED, story.completed_ms)
        if story.phase_ended_ms is not None:
            before_ms = story.phase_ended_ms - self.states.interval_ms
            return _end(start_ms, story.phase_ended_ms, PHASE, before_ms)
        gone_ms = self.states.gone_ms(story, self.span[1])
        if gone_ms is not None:
            return _end(start_ms, gone_ms, NOT_SHOWN, story.last_ms)
        at_ms = ends.of_node(story.node)
        return _end(start_ms, at_ms, HISTORY_ENDS, at_ms)

    def _workload(self, story: PodStory) -> Workload:
        created_ms = story.first_ms if story.created_ms is None else story.created_ms
        subject = Subject(story.namespace, story.name, story.uid, story.labels, {}, created_ms)
        owners = chain_of(story.owner, self.states.owners, story.namespace)
        return workload_of(subject, owners, self.settings)

    def _known_workloads(self) -> dict[tuple[str, str, str], set[int]]:
        """The workloads that the ledger has, by kind, namespace and name: owners' uids are not told here."""
        found: dict[tuple[str, str, str], set[int]] = {}
        for row in rows(self.ledger, "known_workloads", cluster=self.settings.cluster):
            found.setdefault((row["kind"], row["namespace"], row["name"]), set()).add(row["workload_id"])
        return found

    def _meetings(
        self, history: FleetHistory, allocations: Sequence[Allocation], devices: Sequence[Device]
    ) -> list[Meeting]:
        """Where telemetry's labels name a pod on a device while it holds."""
        parts = {device.device_id: device.parts for device in devices}
        by_pod: dict[tuple[str, str, str], list[Allocation]] = {}
        for each in allocations:
            by_pod.setdefault((each.node, each.namespace, each.pod), []).append(each)
        found: dict[tuple[int, int], Meeting] = {}
        for node, device, holder, at_ms in history.sightings():
            for each in by_pod.get((node, holder.namespace, holder.pod), ()):
                ended = each.end_at is not None and at_ms >= each.end_at
                if ended or at_ms < each.start_at or holder.pod_uid not in {"", each.pod_uid}:
                    continue
                if device in parts:
                    met = _meeting(each, device, parts[device], at_ms)
                    found.setdefault((each.allocation_id, device), met)
        return list(found.values())

    def _gap(self, start_ms: int, end_ms: int) -> Gap:
        key = (HOLDERS, SOURCE, "", self.target, start_ms)
        gap_id = content_id("gap", self.settings.cluster, *key)
        who = (HOLDERS, SOURCE, self.target, "")
        return Gap(self.settings.cluster, gap_id, start_ms, end_ms, *who, NO_SCRAPE)


def _end(start_ms: int, at_ms: int, evidence: str, sure_ms: int) -> End:
    end_ms = max(at_ms, start_ms)
    return End(end_ms, evidence, min(max(sure_ms, start_ms), end_ms))


def _meeting(each: Allocation, device: int, parts: int, at_ms: int) -> Meeting:
    return Meeting(
        allocation_id=each.allocation_id,
        device_id=device,
        device_parts=parts,
        first_ms=at_ms,
        last_ms=at_ms,
        pod=f"{each.namespace}/{each.pod}",
        gpu_parts=each.gpu_parts,
        start_ms=each.start_at,
        end_ms=each.end_at,
        known_ids=(),
        by_api=False,
    )

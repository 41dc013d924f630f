"""Replays: a trace as the records of a Kubernetes cluster, with the teams and owners that it does not name.

Synthesized, by seed, because the trace has none: the node and the GPUs of a pod (simulator.packing), its team
(from its name: the same name, the same team), its owner (LS: a Deployment, BE: a Job, others: a StatefulSet;
one a pod), what it does (simulator.telemetry). Taken from the trace: machines, models, how much a pod asks
for, when it came and went.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import blake2b

import polars as pl

from quartermaster.ids import content_id, device_id
from quartermaster.parts import GPU_PARTS
from quartermaster.records import Allocation, Demand, Device, Holding, Node, Series, Watermark, Workload
from simulator.packing import Placed, pack
from simulator.trace import Trace, TraceNode
from simulator.truth import SOURCE, authority

TELEMETRY = "dcgm"
TEAMS = {"search": 30, "ads": 22, "speech": 14, "vision": 12, "maps": 9, "risk": 7, "labs": 6}  # in per cent
_KINDS = {"LS": ("Deployment", "apps"), "BE": ("Job", "batch")}


@dataclass(frozen=True)
class Replay:
    """A trace that happens in `cluster`, its first instant being `start_ms`."""

    trace: Trace
    seed: int
    start_ms: int
    cluster: str = "openb"

    @property
    def end_ms(self) -> int:
        """When the trace ends."""
        return self.start_ms + self.trace.end_ms - self.trace.start_ms

    @cached_property
    def placed(self) -> Sequence[Placed]:
        """Each pod's place."""
        return pack(self.trace)

    def at(self, trace_ms: int) -> int:
        """An instant of the trace in epoch milliseconds."""
        return trace_ms - self.trace.start_ms + self.start_ms

    def end_of(self, placed: Placed) -> int | None:
        """When a stay ends, in epoch milliseconds; None where it lasts longer than the trace."""
        return None if placed.end_ms >= self.trace.end_ms else self.at(placed.end_ms)

    def gpu_uuid(self, node: TraceNode, gpu: int) -> str:
        """The UUID of a node's GPU."""
        return f"GPU-{_uuid(self.seed, node.name, gpu)}"

    def team(self, pod: str) -> str:
        """The team of a pod, by its name (a copy is of its original's team)."""
        place = content_id("team", self.seed, "-".join(pod.split("-")[:3])) % sum(TEAMS.values())
        for team, weight in TEAMS.items():
            if place < weight:
                return team
            place -= weight
        raise AssertionError("the weights add up")

    def records(self) -> dict[str, pl.DataFrame]:
        """Everything but samples, as {table: frame}, ready for `ledger.append`."""
        stays = [placed for placed in self.placed if placed.node >= 0]
        waits = [placed for placed in self.placed if self.at(placed.pod.created_ms) < self._bound(placed)]
        tables: dict[str, Iterator[object]] = {
            "authority_versions": iter([authority(self.cluster, self.start_ms)]),
            "nodes_versions": (self._node(node) for node in self.trace.nodes),
            "devices_versions": (device for node in self.trace.nodes for device in self._devices(node)),
            "workloads_versions": (self._workload(placed) for placed in self.placed),
            "allocations_versions": (self._allocation(placed) for placed in stays),
            "holdings_versions": (holding for placed in stays for holding in self._holdings(placed)),
            "demand_versions": (self._demand(placed) for placed in waits),
            "series_versions": iter(self._series(stays)),
            "watermarks": iter(
                Watermark(self.cluster, source, covers, self.end_ms)
                for source, covers in ((SOURCE, "holders"), (SOURCE, "quota"), (TELEMETRY, "telemetry"))
            ),
        }
        return {table: _frame(list(records)) for table, records in tables.items()}

    def series_id(self, node: TraceNode, gpu: int) -> int:
        """The id of the series in which a node's GPU speaks."""
        return content_id("series", self.cluster, TELEMETRY, node.name, self.gpu_uuid(node, gpu), "", "")

    def _bound(self, placed: Placed) -> int:
        return self.at(placed.bound_ms if placed.node >= 0 else placed.end_ms)

    def _node(self, node: TraceNode) -> Node:
        return Node(
            self.cluster,
            node.name,
            self.start_ms,
            None,
            pool=node.model,
            model=node.model,
            gpu_count=node.gpus,
            cpu_milli=node.cpu_milli,
            memory_mib=node.memory_mib,
            sharing="fraction",
        )

    def _devices(self, node: TraceNode) -> Iterator[Device]:
        for gpu in range(node.gpus):
            uuid = self.gpu_uuid(node, gpu)
            number = device_id(self.cluster, uuid)
            yield Device(self.cluster, number, self.start_ms, None, node.name, gpu, uuid, "gpu", GPU_PARTS)

    def _workload(self, placed: Placed) -> Workload:
        pod = placed.pod
        kind, group = _KINDS.get(pod.qos, ("StatefulSet", "apps"))
        return Workload(
            self.cluster,
            self._id("workload", placed),
            self.at(pod.created_ms),
            self.end_of(placed),
            api_group=group,
            kind=kind,
            namespace=self._namespace(placed),
            name=pod.name,
            owner_chain=json.dumps([f"{kind}/{pod.name}"]),
        )

    def _allocation(self, placed: Placed) -> Allocation:
        pod = placed.pod
        end = self.end_of(placed)
        return Allocation(
            self.cluster,
            self._id("allocation", placed),
            self.at(placed.bound_ms),
            self.at(placed.bound_ms),
            end,
            source=SOURCE,
            workload_id=self._id("workload", placed),
            node=self.trace.nodes[placed.node].name,
            namespace=self._namespace(placed),
            pod=pod.name,
            pod_uid=_uuid(self.seed, pod.name),
            end_evidence="" if end is None else "failed" if pod.failed else "succeeded",
            preemptible=pod.qos == "BE",
            gpu_parts=pod.load * (GPU_PARTS // 1000),
            cpu_milli=pod.cpu_milli,
            memory_mib=pod.memory_mib,
        )

    def _holdings(self, placed: Placed) -> Iterator[Holding]:
        node = self.trace.nodes[placed.node]
        allocation = self._id("allocation", placed)
        for gpu in placed.gpus:
            device = device_id(self.cluster, self.gpu_uuid(node, gpu))
            number = content_id("holding", self.cluster, allocation, device)
            start, end = self.at(placed.bound_ms), self.end_of(placed)
            parts = placed.pod.milli * (GPU_PARTS // 1000)
            yield Holding(self.cluster, number, start, end, allocation, device, parts, "kubelet")

    def _demand(self, placed: Placed) -> Demand:
        pod = placed.pod
        bound = self._bound(placed)
        model = self.trace.nodes[placed.node].model if placed.node >= 0 else ""
        return Demand(
            self.cluster,
            self._id("demand", placed),
            self.at(pod.created_ms),
            None if bound >= self.end_ms else bound,
            self._id("workload", placed),
            namespace=self._namespace(placed),
            pool=model,
            gpu_parts=pod.load * (GPU_PARTS // 1000),
            pods=1,
            gang_minimum=1,
            reason="waits for room" if placed.node >= 0 else "never ran",
            source=SOURCE,
        )

    def _series(self, stays: Sequence[Placed]) -> Iterator[Series]:
        for node_number, gpu in sorted({(placed.node, gpu) for placed in stays for gpu in placed.gpus}):
            node = self.trace.nodes[node_number]
            yield Series(
                self.cluster,
                self.series_id(node, gpu),
                self.start_ms,
                None,
                source=TELEMETRY,
                node=node.name,
                gpu_uuid=self.gpu_uuid(node, gpu),
                gi_id="",
                vgpu="",
                profile="",
                model=node.model,
                device_index=gpu,
                kind="gpu",
                label_generation="4.5",
                target=f"http://{node.name}:9400/metrics",
            )

    def _namespace(self, placed: Placed) -> str:
        return f"{self.team(placed.pod.name)}-work"

    def _id(self, kind: str, placed: Placed) -> int:
        return content_id(kind, self.cluster, placed.pod.name)


def _frame(records: Sequence[object]) -> pl.DataFrame:
    """Records of one kind as a frame; faster than by way of dicts."""
    if not records:
        return pl.DataFrame()
    columns: dict[str, list[object]] = {}
    getter: Callable[[object, str], object] = getattr
    for field in fields(records[0]):  # pyright: ignore[reportArgumentType]
        columns[field.name] = [getter(record, field.name) for record in records]
    return pl.DataFrame(columns, infer_schema_length=None)


def _uuid(*of: str | int) -> str:
    digest = blake2b("\x1f".join(map(str, of)).encode(), digest_size=16).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:]}"

"""kube-state-metrics for a test: what it would say of a simulated cluster's records, scrape by scrape.

A stand-in: there is no kube-state-metrics here. Names, labels and values are those of its documentation, v2.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from quartermaster.parts import GPU_PARTS
from quartermaster.records import Allocation, Node, Workload
from tests.backfill.history import Scraper

LINGER_MS = 120_000  # so long a finished pod's object stays
_MIG = {24_000: "nvidia_com_mig_1g_10gb", 48_000: "nvidia_com_mig_2g_20gb", 72_000: "nvidia_com_mig_3g_40gb"}


class KubeState:
    """What a kube-state-metrics shows of the records, as series of a scrape configuration's target."""

    def __init__(
        self, scraper: Scraper, truth: Mapping[str, Sequence[Any]], *, honor_labels: bool = True
    ) -> None:
        self._scraper = scraper
        self._honor_labels = honor_labels
        self._target = {"job": "kube-state-metrics", "instance": "10.1.2.3:8080"}
        if not honor_labels:
            self._target |= {"namespace": "monitoring", "pod": "kube-state-metrics-0", "container": "main"}
        self._nodes: dict[str, Node] = {each.node: each for each in truth["nodes_versions"]}
        self.allocations: dict[str, Allocation] = {
            each.pod_uid: each for each in sorted(truth["allocations_versions"], key=lambda one: one.revision)
        }
        self._workloads: dict[int, Workload] = {
            each.workload_id: each for each in truth["workloads_versions"]
        }
        self._mig = {each.node for each in self.allocations.values() if each.gpu_parts in _MIG}

    def scrape(self, at_ms: int) -> None:
        """A scrape: every series at this instant."""
        for node in self._nodes.values():
            self._node(node, at_ms)
        for pod in self.allocations.values():
            gone_ms = None if pod.end_at is None else pod.end_at
            if gone_ms is not None and pod.end_evidence in {"succeeded", "failed"}:
                gone_ms += LINGER_MS
            if pod.start_at <= at_ms and (gone_ms is None or at_ms < gone_ms):
                self._pod(pod, at_ms)

    def _node(self, node: Node, at_ms: int) -> None:
        resource, count = ("nvidia_com_gpu", node.gpu_count * node.replicas)
        if node.node in self._mig:
            resource, count = "nvidia_com_mig_1g_10gb", node.gpu_count * 7
        for metric in ("kube_node_status_capacity", "kube_node_status_allocatable"):
            self._add(metric, {"node": node.node, "resource": resource, "unit": "integer"}, at_ms, count)
        product = node.model.replace(" ", "-") + ("-SHARED" if node.replicas > 1 else "")
        labels = {
            "node": node.node,
            "label_nvidia_com_gpu_product": product,
            "label_nvidia_com_gpu_count": str(node.gpu_count),
            "label_nvidia_com_gpu_replicas": str(node.replicas),
        }
        self._add("kube_node_labels", labels, at_ms, 1)
        self._add("kube_node_spec_unschedulable", {"node": node.node}, at_ms, not node.schedulable)
        ready = {"node": node.node, "condition": "Ready", "status": "true"}
        self._add("kube_node_status_condition", ready, at_ms, node.ready)

    def _pod(self, pod: Allocation, at_ms: int) -> None:
        who = {"namespace": pod.namespace, "pod": pod.pod, "uid": pod.pod_uid}
        ended = pod.end_at is not None and at_ms >= pod.end_at
        request = {**who, "container": "main", "node": pod.node}
        resource, count = _MIG.get(pod.gpu_parts, "nvidia_com_gpu"), max(1, pod.gpu_parts // GPU_PARTS)
        self._requested(request, resource, count, at_ms)
        self._requested(request, "cpu", (pod.cpu_milli or 0) / 1000, at_ms)
        self._requested(request, "memory", (pod.memory_mib or 0) * 1024 * 1024, at_ms)
        labels = {
            f"label_{re.sub('[^a-zA-Z0-9_]', '_', key)}": text for key, text in json.loads(pod.labels).items()
        }
        self._add("kube_pod_labels", {**who, **labels}, at_ms, 1)
        self._add("kube_pod_created", who, at_ms, pod.start_at // 1000 - 5)
        self._add("kube_pod_status_scheduled_time", who, at_ms, pod.start_at // 1000)
        self._add("kube_pod_start_time", who, at_ms, pod.start_at // 1000 + 1)
        if pod.started_at is not None and pod.started_at <= at_ms:
            started = {**who, "container": "main"}
            self._add("kube_pod_container_state_started", started, at_ms, pod.started_at // 1000)
        if ended and pod.end_at is not None:
            self._add("kube_pod_completion_time", who, at_ms, pod.end_at // 1000)
        phase = {"succeeded": "Succeeded", "failed": "Failed"}.get(
            pod.end_evidence if ended else "", "Running"
        )
        for name in ("Pending", "Running", "Succeeded", "Failed", "Unknown"):
            self._add("kube_pod_status_phase", {**who, "phase": name}, at_ms, name == phase)
        nearest = json.loads(self._workloads[pod.workload_id].owner_chain)[0]
        kind, _, name = nearest.partition("/")
        owner = {**who, "owner_kind": kind, "owner_name": name, "owner_is_controller": "true"}
        self._add("kube_pod_owner", owner, at_ms, 1)

    def _requested(self, labels: Mapping[str, str], resource: str, amount: float, at_ms: int) -> None:
        unit = {"cpu": "core", "memory": "byte"}.get(resource, "integer")
        named = {**labels, "resource": resource, "unit": unit}
        self._add("kube_pod_container_resource_requests", named, at_ms, amount)

    def _add(self, metric: str, labels: Mapping[str, str], at_ms: int, value: float) -> None:
        if self._honor_labels:
            self._scraper.add({"__name__": metric, **self._target, **labels}, at_ms, float(value))
            return
        kept = {f"exported_{name}" if name in self._target else name: text for name, text in labels.items()}
        self._scraper.add({"__name__": metric, **kept, **self._target}, at_ms, float(value))

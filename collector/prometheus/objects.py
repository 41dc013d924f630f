"""What kube-state-metrics says of pods and nodes, as the objects that its series were made from; pure.

Its series are constant while an object is as it is: labels say what it is, values are its times and amounts. They
are put back into the API's own form, so that collector.kubernetes understands them as it understands a watch.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from collector.kubernetes.owners import TAG_LABELS, USER_LABELS, Reference
from collector.kubernetes.settings import Settings
from quartermaster.clock import to_iso

Labels = Mapping[str, str]
# What the metrics' label `resource` says of GPUs, and what else is kept of a request.
GPU_RESOURCES = "nvidia_com_gpu|nvidia_com_gpu_shared|nvidia_com_mig_.+|amd_com_gpu"
_MIG = re.compile(r"nvidia_com_mig_(?P<compute>\d+[cg](?:_\d+g)?)_(?P<memory>\d+gb)(?P<rest>\w*)", re.ASCII)
# Labels of nodes that GPU feature discovery and device plugins write, and those that pools are told by.
_NODE_LABELS = (
    *("nvidia.com/gpu.product", "nvidia.com/gpu.count", "nvidia.com/gpu.memory", "nvidia.com/gpu.replicas"),
    *("nvidia.com/mig.strategy", "nvidia.com/gpu.sharing-strategy", "amd.com/gpu.product-name"),
)
# The facts about a node that change: amounts of resources (`<fact>/<resource>`), and flags.
CAPACITY, ALLOCATABLE = "kube_node_status_capacity", "kube_node_status_allocatable"
UNSCHEDULABLE, READY = "kube_node_spec_unschedulable", "kube_node_status_condition"
_GROUPS = {
    **dict.fromkeys(("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"), "apps/v1"),
    **dict.fromkeys(("Job", "CronJob"), "batch/v1"),
}


@dataclass(slots=True)
class PodStory:
    """What is known of one pod. Times are epoch milliseconds of the API's and the node's whole seconds.

    first_ms, last_ms   the first and last scrape that showed it
    """

    uid: str
    namespace: str
    name: str
    node: str = ""
    first_ms: int = 0
    last_ms: int = 0
    created_ms: int | None = None
    bound_ms: int | None = None
    seen_by_kubelet_ms: int | None = None
    started_ms: int | None = None
    completed_ms: int | None = None
    over: bool = False  # whether its phase was terminal at a scrape
    phase_ended_ms: int | None = None  # the first one, where its completion is not told
    priority: int = 0
    requests: dict[tuple[bool, str], dict[str, str]] = field(
        default_factory=dict[tuple[bool, str], dict[str, str]]
    )  # (init container, container) → resource → amount
    labels: dict[str, str] = field(default_factory=dict[str, str])
    owner: Reference | None = None

    def request(self, labels: Labels, value: float, *, init: bool) -> None:
        """A container's request."""
        amounts = self.requests.setdefault((init, own(labels, "container")[0]), {})
        amounts[resource_of(labels.get("resource", ""))] = f"{value:.3f}"

    def raw(self) -> dict[str, Any]:
        """The pod as the API has it, as far as is known."""
        containers: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
        for (init, name), amounts in sorted(self.requests.items()):
            containers[init].append({"name": name, "resources": {"requests": amounts}})
        state = {"running": {"startedAt": _instant(self.started_ms)}}
        if self.over and self.completed_ms is not None:
            ended = {"startedAt": _instant(self.started_ms), "finishedAt": _instant(self.completed_ms)}
            state = {"terminated": ended}
        return {
            "metadata": {
                "uid": self.uid,
                "namespace": self.namespace,
                "name": self.name,
                "labels": self.labels,
                "creationTimestamp": _instant(self.created_ms),
            },
            "spec": {
                "nodeName": self.node,
                "priority": self.priority,
                "containers": containers[False],
                "initContainers": containers[True],
            },
            "status": {
                "phase": "Succeeded" if self.over else "Running",
                "startTime": _instant(self.seen_by_kubelet_ms),
                "conditions": [
                    {"type": "PodScheduled", "status": "True", "lastTransitionTime": _instant(self.bound_ms)}
                ],
                "containerStatuses": [{"state": state}],
            },
        }


def raw_node(name: str, labels: Mapping[str, str], facts: Mapping[str, float]) -> dict[str, Any]:
    """A node as the API has it, as far as is known: its labels, and what series say of it by their names."""
    amounts: dict[str, dict[str, str]] = {CAPACITY: {}, ALLOCATABLE: {}}
    for fact, value in facts.items():
        kind, _, resource = fact.partition("/")
        if resource:
            amounts[kind][resource_of(resource)] = f"{value:.0f}"
    ready = facts.get(READY, 1.0) == 1
    return {
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {"unschedulable": facts.get(UNSCHEDULABLE, 0.0) == 1},
        "status": {
            "capacity": amounts[CAPACITY],
            "allocatable": amounts[ALLOCATABLE] or amounts[CAPACITY],
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }


def resource_of(sanitized: str) -> str:
    """The resource's own name: `nvidia_com_gpu` is nvidia.com/gpu, `nvidia_com_mig_1g_10gb` nvidia.com/mig-1g.10gb."""
    mig = _MIG.fullmatch(sanitized)
    if mig is not None:
        profile = f"{mig['compute'].replace('_', '.')}.{mig['memory']}{mig['rest'].replace('_', '.')}"
        return f"nvidia.com/mig-{profile}"
    for vendor in ("nvidia", "amd"):
        if sanitized.startswith(f"{vendor}_com_"):
            return f"{vendor}.com/{sanitized.removeprefix(f'{vendor}_com_').replace('_', '.')}"
    return sanitized


class LabelNames:
    """Label names as kube-state-metrics writes them (`label_nvidia_com_gpu_product`), and what they were.

    What is written so cannot be read back in general: names that somebody asks for are known, others stay as they
    are written.
    """

    def __init__(self, settings: Settings) -> None:
        rules = [rule.label_key for rule in settings.rules if rule.label_key]
        pools = [name for pool in settings.pools for name in pool.node_labels]
        names = (
            *TAG_LABELS,
            *USER_LABELS,
            *settings.tag_labels,
            *settings.user_labels,
            *_NODE_LABELS,
            *rules,
            *pools,
        )
        self._known = {sanitized(name): name for name in names}

    def read(self, labels: Labels) -> dict[str, str]:
        """The object's labels among the series' own."""
        found: dict[str, str] = {}
        for name, text in labels.items():
            if name.startswith("label_"):
                written = name.removeprefix("label_")
                found[self._known.get(written, written)] = text
        return found


def sanitized(name: str) -> str:
    """A label's or a resource's name as kube-state-metrics writes it."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", name)


def owner_of(kind: str, name: str) -> Reference | None:
    """An owner by kind and name; None where there is none. Its uid is not told."""
    if not kind or kind == "<none>" or not name or name == "<none>":
        return None
    return Reference(_GROUPS.get(kind, ""), kind, name, "")


def chain_of(
    first: Reference | None, above: Mapping[tuple[str, str, str], Reference], namespace: str
) -> list[Reference]:
    """The owners of a pod from the nearest up, as far as is told."""
    found: list[Reference] = []
    now = first
    while now is not None and now not in found:
        found.append(now)
        now = above.get((namespace, now.kind, now.name))
    return found


def own(labels: Labels, *names: str) -> tuple[str, ...]:
    """The object's own labels: behind a Prometheus that keeps its target's, they are `exported_…`."""
    return tuple(labels.get(f"exported_{name}") or labels.get(name, "") for name in names)


def _instant(at_ms: int | None) -> str | None:
    return None if at_ms is None else to_iso(at_ms)


def earliest(times: Iterable[int | None]) -> int | None:
    """The first of the times that are known."""
    return min((at for at in times if at is not None), default=None)

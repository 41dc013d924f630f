"""A node as far as it matters here: what GPUs it has, how they are shared, and whether they can be used."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from collector.kubernetes.settings import Settings, mig_profile
from collector.kubernetes.values import Json, instant_ms, mapping, objects, quantity, text, texts, whole
from quartermaster.parts import GPU_PARTS, mig_parts, mig_slices
from quartermaster.pool import pool_of
from quartermaster.records import Node

_MIG_PRODUCT = re.compile(r"-MIG-(?P<profile>\d{1,2}g\.\d{1,4}gb[.+a-z]*)$", re.ASCII)
# NVML writes `A100-SXM4-80GB` with dashes and `H100 80GB HBM3` with spaces; the label has dashes for all.
_DASHED = re.compile(r"\b([AHVP]\d{2,3}) (SXM\d?|PCIE) (\d+GB)\b", re.ASCII)


@dataclass(frozen=True, slots=True)
class Machine:
    """What is kept of a node with GPUs."""

    name: str
    uid: str
    created_at: int | None
    model: str  # as NVML spells it, as far as a label lets one know
    gpus: int  # physical ones
    unhealthy: int  # whole GPUs that capacity has and allocatable lacks
    unit_parts: int  # what one `nvidia.com/gpu` is
    replicas: int
    sharing: str
    gpu_memory_mib: int
    cpu_milli: int | None
    memory_mib: int | None
    schedulable: bool
    ready: bool
    ready_changed_at: int | None
    cordoned_at: int | None
    heartbeat_at: int | None
    labels: dict[str, str]

    def parts_of(self, resource: str, count: int) -> int:
        """The parts of `count` of a resource here: a GPU, a replica of one, or a slice."""
        profile = mig_profile(resource)
        if profile is None:
            return self.unit_parts * count
        try:
            return mig_parts(self.model, profile) // self.mig_replicas(profile) * count
        except ValueError:
            return GPU_PARTS // mig_slices(self.model) * count

    def mig_replicas(self, profile: str) -> int:
        """How many pods share an instance of the profile."""
        return max(1, whole(self.labels.get(f"nvidia.com/mig-{profile}.replicas")))

    def record(self, settings: Settings, start_ms: int, gpus: int, model: str) -> Node:
        """The node's record; `gpus` and `model` are what DRA knows better, where it does."""
        return Node(
            cluster=settings.cluster,
            node=self.name,
            start_at=start_ms,
            end_at=None,
            pool=pool_of(settings.pools, model, self.labels),
            model=model,
            gpu_count=gpus,
            cpu_milli=self.cpu_milli,
            memory_mib=self.memory_mib,
            sharing=self.sharing,
            replicas=self.replicas,
            schedulable=self.schedulable,
            ready=self.ready,
        )


def read_node(raw: Json, settings: Settings) -> Machine | None:
    """The node, also one without GPUs (DRA's slices may name some later); None for what is no node."""
    metadata, spec, status = (
        mapping(raw.get("metadata")),
        mapping(raw.get("spec")),
        mapping(raw.get("status")),
    )
    name = text(metadata.get("name"))
    if not name:
        return None
    labels = texts(metadata.get("labels"))
    capacity, allocatable = mapping(status.get("capacity")), mapping(status.get("allocatable"))
    conditions = {text(each.get("type")): each for each in objects(status.get("conditions"))}
    ready = conditions.get("Ready", {})
    product = labels.get("nvidia.com/gpu.product") or labels.get("amd.com/gpu.product-name") or ""
    model = model_of_label(product)
    sliced = _MIG_PRODUCT.search(product) if labels.get("nvidia.com/mig.strategy") == "single" else None
    replicas = _replicas(labels)
    unit_parts, per_gpu = GPU_PARTS // replicas, replicas
    if sliced:
        slice_parts = _slice_parts(model, sliced["profile"])
        unit_parts, per_gpu = slice_parts // replicas, (GPU_PARTS // slice_parts) * replicas
    units = {key: whole(value) for key, value in capacity.items() if key in settings.resources}
    missing = sum(max(0, count - whole(allocatable.get(key))) for key, count in units.items())
    taints = {text(each.get("key")): each for each in objects(spec.get("taints"))}
    cordon = taints.get("node.kubernetes.io/unschedulable", {})
    return Machine(
        name=name,
        uid=text(metadata.get("uid")),
        created_at=instant_ms(metadata.get("creationTimestamp")),
        model=model,
        gpus=_physical(labels, capacity, sum(units.values()), per_gpu, model, sliced=sliced is not None),
        unhealthy=-(-missing // per_gpu),
        unit_parts=unit_parts,
        replicas=replicas,
        sharing=_sharing(labels, replicas),
        gpu_memory_mib=whole(labels.get("nvidia.com/gpu.memory")),
        cpu_milli=_scaled(capacity.get("cpu"), 1000, 1),
        memory_mib=_scaled(capacity.get("memory"), 1, 1024 * 1024),
        schedulable=spec.get("unschedulable") is not True,
        ready=ready.get("status") == "True",
        ready_changed_at=instant_ms(ready.get("lastTransitionTime")),
        cordoned_at=instant_ms(cordon.get("timeAdded")),
        heartbeat_at=instant_ms(ready.get("lastHeartbeatTime")),
        labels={key: value for key, value in labels.items() if _matters(key, settings)},
    )


def model_of_label(product: str) -> str:
    """The model as NVML spells it, from GFD's label, which has dashes for spaces, and what sharing and MIG append."""
    plain = _MIG_PRODUCT.sub("", product.removesuffix("-SHARED")).removesuffix("-MIG-INVALID")
    return _DASHED.sub(r"\1-\2-\3", plain.replace("-", " "))


def _slice_parts(model: str, profile: str) -> int:
    try:
        return mig_parts(model, profile)
    except ValueError:
        return GPU_PARTS // mig_slices(model)


def _replicas(labels: Mapping[str, str]) -> int:
    """Shares a GPU, by GFD; 0 stands on MIG GPUs of strategy `mixed`, where no GPU is shared."""
    return min(max(1, whole(labels.get("nvidia.com/gpu.replicas"))), GPU_PARTS)


def _sharing(labels: Mapping[str, str], replicas: int) -> str:
    told = labels.get("nvidia.com/gpu.sharing-strategy", "")
    if told in {"mps", "time-slicing"}:
        return told
    return "time-slicing" if replicas > 1 else "none"


def _physical(
    labels: Mapping[str, str], capacity: Json, units: int, per_gpu: int, model: str, *, sliced: bool
) -> int:
    """How many GPUs the node has: by GFD, unless it counts slices; else by what the kubelet advertises."""
    told = whole(labels.get("nvidia.com/gpu.count"))
    if told and not sliced:
        return min(told, 1024)
    whole_gpus = -(-units // per_gpu)
    instances = 0
    for resource, count in capacity.items():
        profile = mig_profile(resource)
        if profile is not None:
            shares = max(1, whole(labels.get(f"nvidia.com/mig-{profile}.replicas")))
            instances += whole(count) * _slice_parts(model, profile) // shares
    return min(whole_gpus + -(-instances // GPU_PARTS), 1024)


def _scaled(value: object, factor: int, divisor: int) -> int | None:
    amount = quantity(value)
    return int(amount * factor / divisor) if amount is not None and amount >= 0 else None


def _matters(label: str, settings: Settings) -> bool:
    """Pools, selectors and sharing read labels; of what others write only what is short and common is kept."""
    return len(label) <= 128 and (
        not label.startswith(("feature.node.kubernetes.io/", "beta.kubernetes.io/"))
        or any(label in rule.node_labels for rule in settings.pools)
    )

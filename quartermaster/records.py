"""Records: what a source tells about a fleet, as frozen values whose fields are the ledger's columns.

Fields that end in `_at` are integer milliseconds since the epoch (UTC); an `end_at` of None is open. A source emits the
whole record each time it learns more; the ledger keeps every version and its views show the last (highest `revision`).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """A machine while it was so. Key: (cluster, node, start_at). Table `nodes_versions`."""

    cluster: str
    node: str
    start_at: int
    end_at: int | None
    pool: str
    model: str
    gpu_count: int
    cpu_milli: int | None = None
    memory_mib: int | None = None
    sharing: str = "none"  # none | time-slicing | mps | fraction
    replicas: int = 1
    schedulable: bool = True
    ready: bool = True
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Device:
    """An accounting unit while it was so. Key: (cluster, device_id, start_at). Table `devices_versions`."""

    cluster: str
    device_id: int  # quartermaster.ids.device_id
    start_at: int
    end_at: int | None
    node: str
    device_index: int
    gpu_uuid: str
    kind: str  # gpu | mig | uncarved
    parts: int
    gi_id: str = ""  # the MIG instance's id on its GPU, as dcgm-exporter's GPU_I_ID; "" for a whole GPU
    mig_uuid: str = ""
    profile: str = ""
    healthy: bool = True
    evidence: str = "kubelet"  # dra | kubelet | label | telemetry | assumed
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Workload:
    """A top owner of pods. Key: (cluster, workload_id, start_at). Table `workloads_versions`."""

    cluster: str
    workload_id: int
    start_at: int
    end_at: int | None
    api_group: str
    kind: str
    namespace: str
    name: str
    uid: str = ""
    owner_chain: str = "[]"  # JSON list of kind/name, from the pod upwards
    person_id: int | None = None
    experiment: str = ""
    tags: str = "{}"  # JSON
    gang_minimum: int = 1
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Allocation:
    """One pod's claim on GPUs, from binding to end. Key: (cluster, allocation_id). Table `allocations_versions`.

    A version with end_at = start_at withdraws the allocation. `sure_start_at` … `sure_end_at` is the span that evidence
    bounds; time of the allocation outside it is `estimated`. No team: teams are looked up by rule and time.
    """

    cluster: str
    allocation_id: int
    start_at: int  # bound
    started_at: int | None  # the containers' start; None: not started
    end_at: int | None
    source: str  # kubernetes | kube-state-metrics | slurm | nvml | labels
    workload_id: int
    node: str
    namespace: str
    pod: str
    pod_uid: str = ""
    end_evidence: str = ""
    sure_start_at: int | None = None  # None: the same as start_at
    sure_end_at: int | None = None  # None: the same as end_at
    priority: int = 0
    preemptible: bool = True
    gpu_parts: int = 0  # what the pod asked for, over all its devices
    cpu_milli: int | None = None
    memory_mib: int | None = None
    labels: str = "{}"  # JSON object of the pod's labels
    user_patterns: str = (
        "[]"  # JSON list of the ids of the `user` globs of the team rules that matched the pod's user
    )
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Holding:
    """A device that an allocation holds. Key: (cluster, holding_id, start_at). Table `holdings_versions`."""

    cluster: str
    holding_id: int  # content_id("holding", cluster, allocation_id, device_id)
    start_at: int
    end_at: int | None
    allocation_id: int
    device_id: int
    parts: int
    evidence: str  # dra | kubelet | label | process | slurm
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Demand:
    """A workload that waits. Key: (cluster, demand_id, start_at). Table `demand_versions`."""

    cluster: str
    demand_id: int
    start_at: int
    end_at: int | None
    workload_id: int
    namespace: str
    pool: str
    gpu_parts: int  # over all waiting pods
    pods: int
    gang_minimum: int
    reason: str
    source: str
    labels: str = "{}"
    user_patterns: str = "[]"
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Quota:
    """A team's promise in a pool. Key: (cluster, quota_id, start_at). Table `quotas_versions`."""

    cluster: str
    quota_id: int  # content_id("quota", cluster, pool, team, source_object)
    start_at: int
    end_at: int | None
    team: str
    pool: str
    guaranteed_parts: int
    limit_parts: int | None = None
    weight: int = 1
    kind: str = "promise"  # promise | booking (adds) | offer (subtracts)
    source: str = "configuration"
    source_object: str = ""
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Growth:
    """What an autoscaler may bring to a pool. Key: (cluster, growth_id, start_at). Table `growth_versions`.

    What it may still add is `limit_parts` less what the pool has and what is coming.
    """

    cluster: str
    growth_id: int  # content_id("growth", cluster, pool, source_object)
    start_at: int
    end_at: int | None
    pool: str
    limit_parts: (
        int | None
    )  # the most that the source object lets the pool (or its part of it) have; None: no limit
    coming_parts: int  # asked for, and not there yet
    source: str
    source_object: str  # pools/<pool> of the configuration, NodePool/<name>, NodeGroup/<name>
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Authority:
    """Who is believed about holders in a span. Key: (cluster, authority_id, start_at). Table `authority_versions`."""

    cluster: str
    authority_id: int  # content_id("authority", cluster, source)
    start_at: int
    end_at: int | None
    source: str
    rank: int  # the lowest rank wins where spans overlap
    kind: str = "holders"
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Gap:
    """A span in which a source was not observed, and why. Key: (cluster, gap_id, start_at). Table `gaps_versions`."""

    cluster: str
    gap_id: int  # content_id("gap", cluster, covers, source, node, target, start_at)
    start_at: int
    end_at: int | None
    covers: str  # telemetry | holders | quota
    source: str
    target: str
    node: str  # "" covers the whole cluster
    reason: str
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Series:
    """What an exporter calls a device. Key: (cluster, series_id, start_at). Table `series_versions`.

    The device it speaks of is the one with the same cluster, gpu_uuid and gi_id at the sample's time. A shared GPU has
    a series a replica (`vgpu`); the series of one device at one millisecond are merged (highest value).
    """

    cluster: str
    series_id: int  # content_id("series", cluster, source, node, gpu_uuid, gi_id, vgpu)
    start_at: int
    end_at: int | None
    source: str
    node: str
    gpu_uuid: str
    gi_id: str
    vgpu: str
    profile: str
    model: str
    device_index: int
    kind: str  # gpu | mig
    label_generation: str
    target: str
    revision: int = 0


@dataclass(frozen=True, slots=True)
class LabelRef:
    """One set of pod labels as an exporter reported it. Key: (cluster, label_ref). Table `label_refs` (append)."""

    cluster: str
    label_ref: int  # content_id("labels", namespace, pod, container, pod_uid, hpc_job)
    namespace: str
    pod: str
    container: str
    pod_uid: str
    hpc_job: str


@dataclass(frozen=True, slots=True)
class Person:
    """A person's name as a cluster writes it, where names may be kept. Key: person_id. Table `people`."""

    person_id: int
    name: str
    contact: str = ""


@dataclass(frozen=True, slots=True)
class Watermark:
    """How far a source is complete: what comes of before `complete_until_at` is late. Table `watermarks`."""

    cluster: str
    source: str
    covers: str  # telemetry | holders | quota | devices (telemetry laid upon Kubernetes' holders)
    complete_until_at: int


@dataclass(frozen=True, slots=True)
class Finding:
    """Something noticed. Key: (cluster, finding_id, start_at). Table `findings_versions`."""

    cluster: str
    finding_id: int  # content_id("finding", cluster, kind, subject, start_at)
    start_at: int
    end_at: int | None
    kind: str
    subject: str
    evidence: str  # JSON
    state: str = "open"
    revision: int = 0

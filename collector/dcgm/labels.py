"""What a line's labels say, in every generation of dcgm-exporter: which device speaks, which pod holds it.

| labels                                             | since, where                                   |
|----------------------------------------------------|------------------------------------------------|
| UUID, modelName, Hostname, gpu, device, GPU_I_*    | up to 2.4.1 and after; GPU_I_* on MIG only     |
| uuid, pod_name, pod_namespace, container_name      | the old namespace                              |
| gpu_uuid, model_name                               | rows of NVLink                                 |
| exported_pod, exported_namespace, exported_container | behind a Prometheus that keeps its own labels |
| hpc_job                                            | 3.4.2, Slurm                                   |
| pci_bus_id                                         | 3.5.0                                          |
| vgpu                                               | 4.0.3, the replica of a shared GPU             |
| dra_*                                              | 4.4.0                                          |
| pod_uid                                            | 4.5.0, opt-in                                  |
| hostname                                           | after 4.8.2, instead of Hostname               |
"""

from collections.abc import Mapping
from dataclasses import dataclass

from quartermaster.ids import content_id

Labels = Mapping[str, str]
_EXPORTED = ("exported_namespace", "exported_pod", "exported_container")
_OLD = ("pod_namespace", "pod_name", "container_name")
_PLAIN = ("namespace", "pod", "container")
_LONGEST = 253  # as long as a name in Kubernetes may be


@dataclass(frozen=True, slots=True)
class PodLabels:
    """The pod that a line names as holder."""

    namespace: str = ""
    pod: str = ""
    container: str = ""
    pod_uid: str = ""
    hpc_job: str = ""

    @property
    def named(self) -> bool:
        """Whether anybody is named at all: exporters up to 3.1 give empty labels on a free GPU."""
        return bool(self.pod or self.pod_uid or self.hpc_job)


@dataclass(frozen=True, slots=True)
class Subject:
    """Which device a line speaks of, and who is said to hold it.

    gi_id        the MIG instance's id on its GPU (without one, DRA's UUID of it); "" for a whole GPU
    device_index the GPU's number on its node; -1 where the line has none
    generation   how the labels are spelt: old | plain | pci (from 3.5.0) | lower (hostname)
    plain_pod    whether the pod stands in plain labels, which behind a Prometheus can be the exporter's own
    """

    node: str
    gpu_uuid: str
    gi_id: str
    vgpu: str
    profile: str
    model: str
    device_index: int
    generation: str
    pod: PodLabels
    plain_pod: bool


def subject_of(labels: Labels) -> Subject | None:
    """What the labels say; None where they name no GPU."""
    labels = {name: _cut(value) for name, value in labels.items()}
    gpu_uuid = _first(labels, "UUID", "uuid", "gpu_uuid")
    if not gpu_uuid:
        return None
    names, plain = _pod_names(labels)
    namespace, pod, container = (labels.get(name, "") for name in names)
    job = labels.get("hpc_job", "")
    # A Prometheus that honours labels puts its target's own on a free GPU: the exporter holds nothing.
    own = "dcgm-exporter" in container or "dcgm-exporter" in pod
    return Subject(
        node=_first(labels, "Hostname", "hostname"),
        gpu_uuid=gpu_uuid,
        gi_id=_first(labels, "GPU_I_ID", "dra_mig_device_uuid"),
        vgpu=labels.get("vgpu", ""),
        profile=_first(labels, "GPU_I_PROFILE", "dra_mig_profile"),
        model=_first(labels, "modelName", "model_name"),
        device_index=_index(labels),
        generation=_generation(labels),
        pod=PodLabels(hpc_job=job)
        if own
        else PodLabels(namespace, pod, container, labels.get("pod_uid", ""), job),
        plain_pod=plain,
    )


def _cut(value: str) -> str:
    """The label's value; one that no GPU, node or pod can have is cut, and told from others cut there."""
    if len(value) <= _LONGEST:
        return value
    mark = f"…{content_id('label', value) & 0xFFFFFFFF:08x}"
    return value[: _LONGEST - len(mark)] + mark


def _pod_names(labels: Labels) -> tuple[tuple[str, str, str], bool]:
    if any(name in labels for name in _EXPORTED):
        return _EXPORTED, False
    return (_OLD, False) if any(name in labels for name in _OLD) else (_PLAIN, True)


def _generation(labels: Labels) -> str:
    if "uuid" in labels and "UUID" not in labels:
        return "old"
    if "hostname" in labels and "Hostname" not in labels:
        return "lower"
    return "pci" if "pci_bus_id" in labels else "plain"


def _index(labels: Labels) -> int:
    digits = _first(labels, "gpu", "device").removeprefix("nvidia")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 6 else -1


def _first(labels: Labels, *names: str) -> str:
    return next((labels[name] for name in names if labels.get(name)), "")

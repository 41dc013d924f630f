"""Label generations: how each version of dcgm-exporter says which device and pod a value belongs to."""

from dataclasses import dataclass
from types import MappingProxyType

from simulator.fleet import Gpu, Unit
from simulator.gangs import Pod

DRIVER = "gpu.nvidia.com"


@dataclass(frozen=True)
class Generation:
    """The labels of some versions of the exporter. Later ones have what earlier ones have, or rename it."""

    name: str
    blank_pods: bool = False  # container, namespace and pod are there, and empty, on a free GPU
    error_text: bool = True  # err_code and err_msg, on XID only
    pci: bool = True
    replica: bool = True  # vgpu
    claims: bool = True  # dra_*
    pod_uid: bool = True
    hostname: str = "Hostname"
    uuid: str = "UUID"
    old_names: bool = False  # metrics as dcgm_*
    pod_values: bool = (
        False  # on a shared GPU, GPU_UTIL and FB_USED have a device row and rows of each pod's own
    )
    nvlink_apart: bool = False  # NVLink rows say gpu_uuid and model_name
    pods: tuple[str, str, str] = ("container", "namespace", "pod")
    exporter_pod: bool = False  # a Prometheus between us put the exporter's own pod there


def _generation(name: str, has: str = "", **other: object) -> Generation:
    given = {word: word in has.split() for word in ("error_text", "pci", "replica", "claims", "pod_uid")}
    return Generation(name, **given, **other)  # pyright: ignore[reportArgumentType]


GENERATIONS = MappingProxyType(
    {
        generation.name: generation
        for generation in (
            _generation(
                "1.7",
                blank_pods=True,
                uuid="uuid",
                old_names=True,
                pods=("container_name", "pod_namespace", "pod_name"),
            ),
            _generation("2.4", blank_pods=True),
            _generation("3.1", blank_pods=True),
            _generation("3.4", "error_text"),
            _generation("3.5", "error_text pci"),
            _generation("4.0", "error_text pci replica"),
            _generation("4.4", "error_text pci replica claims", nvlink_apart=True),
            _generation("4.5", "error_text pci replica claims pod_uid", nvlink_apart=True),
            _generation(
                "4.9",
                "error_text pci replica claims pod_uid",
                nvlink_apart=True,
                pod_values=True,
                hostname="hostname",
            ),
            _generation(
                "exported",
                "error_text pci replica",
                pods=("exported_container", "exported_namespace", "exported_pod"),
                exporter_pod=True,
            ),
        )
    }
)


def device_labels(
    generation: Generation, gpu: Gpu, unit: Unit, *, nvlink: bool = False
) -> list[tuple[str, str]]:
    """Which device: gpu, UUID, pci_bus_id, device, modelName, the MIG instance, Hostname."""
    apart = nvlink and generation.nvlink_apart
    found = [("gpu", str(gpu.node_index)), ("gpu_uuid" if apart else generation.uuid, gpu.uuid)]
    if generation.pci:
        found.append(("pci_bus_id", gpu.pci_bus_id))
    found += [("device", f"nvidia{gpu.node_index}"), ("model_name" if apart else "modelName", gpu.model.name)]
    if unit.profile:
        found += [("GPU_I_PROFILE", unit.profile), ("GPU_I_ID", unit.gi_id)]
    found.append((generation.hostname, gpu.node))
    if not generation.old_names:
        found.append(("DCGM_FI_DRIVER_VERSION", "580.95.05"))
    return found


def pod_labels(generation: Generation, pod: Pod | None) -> list[tuple[str, str]]:
    """Which pod: container, namespace, pod under this generation's names; its uid where it has that."""
    own = [("container", "exporter"), ("namespace", "gpu-monitoring"), ("pod", "dcgm-exporter-x7k2p")]
    found = own if generation.exporter_pod else []
    if pod is None:
        return found + ([(name, "") for name in generation.pods] if generation.blank_pods else [])
    allocation = pod.allocation
    values = (pod.container, allocation.namespace, allocation.pod)
    found = found + list(zip(generation.pods, values, strict=True))
    if generation.pod_uid:
        found.append(("pod_uid", allocation.pod_uid))
    return found


def claim_labels(gpu: Gpu, unit: Unit, pod: Pod) -> list[tuple[str, str]]:
    """Which DRA claim holds the device for the pod."""
    mig = f"-mig-{unit.profile.replace('.', '')}-{unit.gi_id}-0" if unit.profile else ""
    found = [
        ("dra_claim_name", f"{pod.allocation.pod}-gpus"),
        ("dra_claim_namespace", pod.allocation.namespace),
        ("dra_driver_name", DRIVER),
        ("dra_pool_name", gpu.node),
        ("dra_device_name", f"gpu-{gpu.node_index}{mig}"),
    ]
    return found + (
        [("dra_mig_profile", unit.profile), ("dra_mig_device_uuid", unit.mig_uuid)] if unit.profile else []
    )


def error_labels(xid: int) -> list[tuple[str, str]]:
    """What an XID means, as the exporter puts it."""
    texts = {
        0: "No Error",
        13: "Graphics Engine Exception",
        31: "GPU memory page fault",
        43: "GPU stopped processing",
        48: "Double Bit ECC Error",
        79: "GPU has fallen off the bus",
        94: "Contained ECC error",
    }
    return [("err_code", str(xid)), ("err_msg", texts.get(xid, "Unknown Error"))]


def written(labels: list[tuple[str, str]]) -> str:
    """The labels between braces, values as they are: the exporter does not escape them."""
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels) + "}"

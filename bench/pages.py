"""Pages as dcgm-exporter 4 serves them: 8 GPUs × 25 metrics, about 70 kB, made before it is measured."""

import random

METRICS = (
    "DCGM_FI_DEV_SM_CLOCK",
    "DCGM_FI_DEV_MEM_CLOCK",
    "DCGM_FI_DEV_MEMORY_TEMP",
    "DCGM_FI_DEV_GPU_TEMP",
    "DCGM_FI_DEV_POWER_USAGE",
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
    "DCGM_FI_DEV_GPU_UTIL",
    "DCGM_FI_DEV_MEM_COPY_UTIL",
    "DCGM_FI_DEV_ENC_UTIL",
    "DCGM_FI_DEV_DEC_UTIL",
    "DCGM_FI_DEV_XID_ERRORS",
    "DCGM_FI_DEV_FB_FREE",
    "DCGM_FI_DEV_FB_USED",
    "DCGM_FI_DEV_FB_RESERVED",
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
    "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
    "DCGM_FI_DEV_ROW_REMAP_FAILURE",
    "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
    "DCGM_FI_DEV_VGPU_LICENSE_STATUS",
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
    "DCGM_FI_PROF_DRAM_ACTIVE",
    "DCGM_FI_PROF_PCIE_TX_BYTES",
    "DCGM_FI_PROF_PCIE_RX_BYTES",
)
SAMPLES = 8 * len(METRICS)


def page(node: int, time: int, *, moved_pods: int = 0) -> bytes:
    """The page of a node at a time (any numbers); its first `moved_pods` GPUs have a pod of that time."""
    rng = random.Random(node * 1_000_003 + time)  # noqa: S311
    lines: list[str] = []
    for metric in METRICS:
        lines += [
            f"# HELP {metric} What this metric of the device says (in its unit).",
            f"# TYPE {metric} gauge",
        ]
        lines += [
            f"{metric}{{{_labels(node, gpu, time if gpu < moved_pods else 0)}}} {_value(rng, metric)}"
            for gpu in range(8)
        ]
    return "".join(line + "\n" for line in lines).encode()


def _labels(node: int, gpu: int, pod: int) -> str:
    return (
        f'gpu="{gpu}",UUID="GPU-{node:08x}-1c7d-4f7a-9a54-0000000000{gpu:02x}",pci_bus_id="00000000:{gpu:02X}:00.0",device="nvidia{gpu}",'
        f'modelName="NVIDIA H100 80GB HBM3",Hostname="gpu-node-{node:04d}",'
        f'DCGM_FI_DRIVER_VERSION="550.90.07",'
        f'container="pytorch",namespace="vision",pod="train-resnet-{node}-{gpu}-{pod}"'
    )


def _value(rng: random.Random, metric: str) -> str:
    if "PROF" in metric:
        return f"{rng.random():.6f}" if metric.endswith("ACTIVE") else str(rng.randrange(10**9))
    if metric.endswith("ENERGY_CONSUMPTION"):
        return str(rng.randrange(10**11, 10**12))
    return f"{rng.uniform(60, 700):.3f}" if "POWER" in metric else str(rng.randrange(100))

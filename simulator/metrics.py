"""The exporter's metrics: their names, and one flat vector of all their values, made once a tick."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulator.devices import Devices, Floats
from simulator.fleet import Fleet


@dataclass(frozen=True)
class Metric:
    """One metric: dcgm-exporter's name, its name before version 2, type, help, and how a value is written."""

    name: str
    old_name: str
    kind: str
    about: str
    form: str = "%d"
    on_mig: bool = True  # whether MIG instances have it
    needs: str = ""  # what the GPU must have: memory_sensor, nvlink


METRICS = (
    Metric("DCGM_FI_DEV_SM_CLOCK", "dcgm_sm_clock", "gauge", "SM clock frequency (in MHz)."),
    Metric("DCGM_FI_DEV_MEM_CLOCK", "dcgm_memory_clock", "gauge", "Memory clock frequency (in MHz)."),
    Metric(
        "DCGM_FI_DEV_MEMORY_TEMP",
        "dcgm_memory_temp",
        "gauge",
        "Memory temperature (in C).",
        needs="memory_sensor",
    ),
    Metric("DCGM_FI_DEV_GPU_TEMP", "dcgm_gpu_temp", "gauge", "GPU temperature (in C)."),
    Metric("DCGM_FI_DEV_POWER_USAGE", "dcgm_power_usage", "gauge", "Power draw (in W).", "%.6f"),
    Metric(
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
        "dcgm_total_energy_consumption",
        "counter",
        "Total energy consumption since boot (in mJ).",
    ),
    Metric(
        "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
        "dcgm_pcie_replay_counter",
        "counter",
        "Total number of PCIe retries.",
    ),
    Metric("DCGM_FI_DEV_GPU_UTIL", "dcgm_gpu_utilization", "gauge", "GPU utilization (in %).", on_mig=False),
    Metric(
        "DCGM_FI_DEV_MEM_COPY_UTIL",
        "dcgm_mem_copy_utilization",
        "gauge",
        "Memory utilization (in %).",
        on_mig=False,
    ),
    Metric(
        "DCGM_FI_DEV_ENC_UTIL", "dcgm_enc_utilization", "gauge", "Encoder utilization (in %).", on_mig=False
    ),
    Metric(
        "DCGM_FI_DEV_DEC_UTIL", "dcgm_dec_utilization", "gauge", "Decoder utilization (in %).", on_mig=False
    ),
    Metric("DCGM_FI_DEV_XID_ERRORS", "dcgm_xid_errors", "gauge", "Value of the last XID error encountered."),
    Metric("DCGM_FI_DEV_FB_FREE", "dcgm_fb_free", "gauge", "Framebuffer memory free (in MiB)."),
    Metric("DCGM_FI_DEV_FB_USED", "dcgm_fb_used", "gauge", "Framebuffer memory used (in MiB)."),
    Metric("DCGM_FI_DEV_FB_RESERVED", "dcgm_fb_reserved", "gauge", "Framebuffer memory reserved (in MiB)."),
    Metric(
        "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
        "dcgm_uncorrectable_remapped_rows",
        "counter",
        "Number of remapped rows for uncorrectable errors",
    ),
    Metric(
        "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
        "dcgm_correctable_remapped_rows",
        "counter",
        "Number of remapped rows for correctable errors",
    ),
    Metric(
        "DCGM_FI_DEV_ROW_REMAP_FAILURE",
        "dcgm_row_remap_failure",
        "gauge",
        "Whether remapping of rows has failed",
    ),
    Metric(
        "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
        "dcgm_nvlink_bandwidth_total",
        "counter",
        "Total number of NVLink bandwidth counters for all lanes.",
        needs="nvlink",
    ),
    Metric("DCGM_FI_DEV_VGPU_LICENSE_STATUS", "dcgm_vgpu_license_status", "gauge", "vGPU License status"),
    Metric(
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
        "dcgm_fi_prof_gr_engine_active",
        "gauge",
        "Ratio of time the graphics engine is active.",
        "%.6f",
    ),
    Metric(
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
        "dcgm_fi_prof_pipe_tensor_active",
        "gauge",
        "Ratio of cycles the tensor (HMMA) pipe is active.",
        "%.6f",
    ),
    Metric(
        "DCGM_FI_PROF_DRAM_ACTIVE",
        "dcgm_fi_prof_dram_active",
        "gauge",
        "Ratio of cycles the device memory interface is active sending or receiving data.",
        "%.6f",
    ),
    Metric(
        "DCGM_FI_PROF_PCIE_TX_BYTES",
        "dcgm_fi_prof_pcie_tx_bytes",
        "gauge",
        "The rate of data transmitted over the PCIe bus (in bytes per second).",
    ),
    Metric(
        "DCGM_FI_PROF_PCIE_RX_BYTES",
        "dcgm_fi_prof_pcie_rx_bytes",
        "gauge",
        "The rate of data received over the PCIe bus (in bytes per second).",
    ),
)
NUMBER = {
    metric.name.removeprefix("DCGM_FI_DEV_").removeprefix("DCGM_FI_PROF_"): n
    for n, metric in enumerate(METRICS)
}


class Figures:
    """All values of a fleet in one vector: metric by metric of each unit, then some slot by slot."""

    def __init__(self, fleet: Fleet) -> None:
        self._units = len(fleet.units)
        self._slots = len(fleet.slots)
        self._gpu = np.array([unit.gpu for unit in fleet.units])
        models = [fleet.gpus[unit.gpu].model for unit in fleet.units]
        self._idle_sm: Floats = np.array([float(model.idle_sm_mhz) for model in models])
        self._busy_sm: Floats = np.array([float(model.busy_sm_mhz) for model in models])
        self._idle_memory: Floats = np.array([float(model.idle_memory_mhz) for model in models])
        self._busy_memory: Floats = np.array([float(model.busy_memory_mhz) for model in models])
        self._limit_w: Floats = np.array([float(model.limit_w) for model in models])
        self._reserved: Floats = np.array([float(model.reserved_mib) for model in models])
        self._usable: Floats = np.array([float(unit.memory_mib) for unit in fleet.units])

    def of_unit(self, metric: int, unit: int) -> int:
        """Where a unit's value of a metric stands in the vector."""
        return metric * self._units + unit

    def of_slot(self, which: str, slot: int) -> int:
        """Where a slot's own `util` or `memory` stands."""
        return len(METRICS) * self._units + (self._slots if which == "memory" else 0) + slot

    def vector(self, devices: Devices, xids: Sequence[int]) -> Floats:
        """The values at the devices' last tick."""
        reading = devices.reading()
        gpu = self._gpu
        power, context, temperature = reading.power_w[gpu], reading.context[gpu], reading.temperature_c[gpu]
        throttle = 1 - 0.12 * (power / self._limit_w) ** 4
        work = reading.dram * 1.1e9 * (1 + reading.tensor)
        zero = np.zeros(self._units)
        by_name = {
            "SM_CLOCK": np.where(context, self._busy_sm * throttle // 15 * 15, self._idle_sm),
            "MEM_CLOCK": np.where(context, self._busy_memory, self._idle_memory),
            "MEMORY_TEMP": temperature + 6,
            "GPU_TEMP": temperature,
            "POWER_USAGE": power,
            "TOTAL_ENERGY_CONSUMPTION": reading.energy_mj[gpu],
            "GPU_UTIL": np.rint(reading.gpu_util * 100),
            "MEM_COPY_UTIL": np.rint(reading.dram * 90),
            "XID_ERRORS": np.array(xids, dtype=np.float64)[gpu],
            "FB_FREE": self._usable - reading.memory_mib,
            "FB_USED": reading.memory_mib,
            "FB_RESERVED": self._reserved,
            "NVLINK_BANDWIDTH_TOTAL": np.floor(reading.energy_mj[gpu] / 4e4),
            "GR_ENGINE_ACTIVE": reading.gr_engine,
            "PIPE_TENSOR_ACTIVE": reading.tensor,
            "DRAM_ACTIVE": reading.dram,
            "PCIE_TX_BYTES": np.floor(work),
            "PCIE_RX_BYTES": np.floor(work * 1.3),
        }
        rows = [by_name.get(name, zero) for name in NUMBER]
        return np.concatenate([*rows, np.rint(reading.slot_activity * 100), reading.slot_memory_mib])

"""The metrics of dcgm-exporter that become columns of `samples`: names, units, the values they can have."""

from dataclasses import dataclass

_PERMILLE = (0, 1_000)
_CELSIUS = (1, 150)  # 0 is what a sensor that is not there reads
_MEGAHERTZ = (0, 10_000)


@dataclass(frozen=True, slots=True)
class Signal:
    """A column of `samples`: the exporter's number × `multiply` / `divide`, null outside [lowest, highest].

    `of_gpu`: the exporter repeats the GPU's own value on each instance and replica; the GPU's series has it.
    `of_process`: under sharing a pod's row counts the pod's processes alone, and reads 0 when none was found.
    `on_mig`: False where MIG leaves it at 0 or absent, so that its 0 says nothing.
    """

    column: str
    names: tuple[str, ...]
    span: tuple[int, int]
    multiply: int = 1
    divide: int = 1
    of_gpu: bool = False
    of_process: bool = False
    on_mig: bool = True

    @property
    def lowest(self) -> int:
        """The lowest value that can be, in stored units."""
        return self.span[0]

    @property
    def highest(self) -> int:
        """The highest value that can be, in stored units."""
        return self.span[1]


SIGNALS = (
    Signal(
        "gr_engine_permille",
        ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "dcgm_fi_prof_gr_engine_active"),
        _PERMILLE,
        multiply=1_000,
    ),
    Signal(
        "gpu_util_permille",
        ("DCGM_FI_DEV_GPU_UTIL", "dcgm_gpu_utilization"),
        _PERMILLE,
        multiply=10,
        of_process=True,
        on_mig=False,
    ),
    Signal("sm_permille", ("DCGM_FI_PROF_SM_ACTIVE", "dcgm_fi_prof_sm_active"), _PERMILLE, multiply=1_000),
    Signal(
        "tensor_permille",
        ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "dcgm_fi_prof_pipe_tensor_active"),
        _PERMILLE,
        multiply=1_000,
    ),
    Signal(
        "dram_permille", ("DCGM_FI_PROF_DRAM_ACTIVE", "dcgm_fi_prof_dram_active"), _PERMILLE, multiply=1_000
    ),
    Signal(
        "mem_copy_permille",
        ("DCGM_FI_DEV_MEM_COPY_UTIL", "dcgm_mem_copy_utilization"),
        _PERMILLE,
        multiply=10,
        on_mig=False,
    ),
    Signal(  # watts; no board draws 10 kW
        "power_dw", ("DCGM_FI_DEV_POWER_USAGE", "dcgm_power_usage"), (0, 100_000), multiply=10, of_gpu=True
    ),
    Signal(  # millijoules since boot: a counter at 0 has never counted; 10 kW for twenty years is 6e12 J
        "energy_j",
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "dcgm_total_energy_consumption"),
        (1, 6_500_000_000_000),
        divide=1_000,
        of_gpu=True,
    ),
    Signal("gpu_temp_c", ("DCGM_FI_DEV_GPU_TEMP", "dcgm_gpu_temp"), _CELSIUS, of_gpu=True),
    Signal("memory_temp_c", ("DCGM_FI_DEV_MEMORY_TEMP", "dcgm_memory_temp"), _CELSIUS, of_gpu=True),
    Signal("sm_clock_mhz", ("DCGM_FI_DEV_SM_CLOCK", "dcgm_sm_clock"), _MEGAHERTZ, of_gpu=True),
    Signal("memory_clock_mhz", ("DCGM_FI_DEV_MEM_CLOCK", "dcgm_memory_clock"), _MEGAHERTZ, of_gpu=True),
    Signal("fb_used_mib", ("DCGM_FI_DEV_FB_USED", "dcgm_fb_used"), (0, 4_194_304), of_process=True),
    Signal("xid", ("DCGM_FI_DEV_XID_ERRORS", "dcgm_xid_errors"), (0, 100_000), of_gpu=True),
)
NUMBER_BY_NAME = {name: number for number, signal in enumerate(SIGNALS) for name in signal.names}
NUMBER_BY_COLUMN = {signal.column: number for number, signal in enumerate(SIGNALS)}
PREFIXES = ("DCGM_", "dcgm_")  # every metric of the exporter begins so

"""GPU models: what each draws, holds and reaches, so that its figures hang together."""

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class GpuModel:
    """One GPU model. Powers: free, what a CUDA context adds to that, and the board's limit."""

    name: str
    idle_w: float
    context_w: float
    limit_w: float
    memory_mib: int
    reserved_mib: int
    context_mib: int
    idle_sm_mhz: int
    busy_sm_mhz: int
    idle_memory_mhz: int
    busy_memory_mhz: int
    memory_sensor: bool  # whether MEMORY_TEMP is reported
    nvlink: bool
    degrees_a_watt: float  # how much warmer than the air it gets for each watt


H100 = GpuModel(
    "NVIDIA H100 80GB HBM3", 70, 47, 700, 81_559, 551, 522, 345, 1980, 2619, 2619, True, True, 0.058
)
A100 = GpuModel(
    "NVIDIA A100-SXM4-80GB", 58, 32, 400, 81_920, 766, 424, 210, 1410, 1593, 1593, True, True, 0.095
)
L40S = GpuModel("NVIDIA L40S", 34, 66, 350, 46_068, 612, 508, 210, 2520, 405, 9001, False, False, 0.13)
T4 = GpuModel("Tesla T4", 10, 26, 70, 15_360, 450, 105, 300, 1590, 405, 5001, False, False, 0.62)
MODELS = MappingProxyType({model.name: model for model in (H100, A100, L40S, T4)})

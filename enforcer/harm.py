"""Harm: what stopping a workload costs, in work that is lost and in what no restart brings back."""

from dataclasses import dataclass

from enforcer.snapshot import Workload
from quartermaster.clock import HOUR_MS
from quartermaster.parts import GPU_PARTS


@dataclass(frozen=True, slots=True)
class Harm:
    """The cost of stopping it now."""

    lost_pms: int  # part-milliseconds since its start, or since its checkpoint
    from_checkpoint: bool
    lost_for_good: tuple[str, ...]

    def words(self) -> str:
        """The same for people."""
        since = "its last checkpoint" if self.from_checkpoint else "its start"
        lost = f"{gpu_hours(self.lost_pms)} of work since {since}"
        return lost + (f"; lost for good: {', '.join(self.lost_for_good)}" if self.lost_for_good else "")


def harm_of(workload: Workload, at_ms: int) -> Harm:
    """What is lost. A checkpoint that is stated for the future, or for before the start, counts for nothing."""
    saved = workload.checkpoint_at_ms
    lost, counted = 0, False
    for pod in workload.pods:
        begun = pod.bound_at_ms if pod.started_at_ms is None else pod.started_at_ms
        if saved is not None and begun < saved <= at_ms:
            begun, counted = saved, True
        if begun < at_ms:
            lost += pod.parts * (at_ms - begun)
    return Harm(lost, counted, workload.lost_for_good)


def gpu_hours(pms: int) -> str:
    """`1,234.5 GPU-hours`, to the tenth."""
    tenths, rest = divmod(pms * 10, GPU_PARTS * HOUR_MS)
    tenths += 2 * rest >= GPU_PARTS * HOUR_MS
    return f"{tenths // 10:,}.{tenths % 10} GPU-hours"


def held_parts(workload: Workload) -> int:
    """What its pods hold that are not on their way out."""
    held = 0
    for pod in workload.pods:  # a hundred thousand of them: twice as fast as a sum over a generator
        if not pod.terminating:
            held += pod.parts
    return held

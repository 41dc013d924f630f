"""Advice: why a workload counts as idle, what its devices showed, and what to do, in a sentence each."""

from dataclasses import dataclass

from quartermaster.clock import HOUR_MS
from quartermaster.parts import GPU_PARTS

_NOTEBOOKS = {"Notebook", "Workspace", "JupyterNotebook"}
_SERVERS = {
    "Deployment",
    "InferenceService",
    "LeaderWorkerSet",
    "RayService",
    "Service",
    "StatefulSet",
}

_SILENT_MS = 3 * HOUR_MS  # a job that has been still for so long does not merely wait for its next batch


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a week's usage says of one workload. Peaks and means are None where nothing is known."""

    kind: str
    held_pms: int
    idle_pms: int
    unknown_pms: int
    stalled_pms: int
    not_started_pms: int
    devices: int
    idle_devices: int  # of these, never seen computing
    silent_ms: int  # from when it last computed until it held its last device; 0 where it never computed
    activity_permille_pms: int  # over the known time
    activity_peak_permille: int | None
    energy_j: int
    energy_known_pms: int
    power_peak_dw: int | None

    @property
    def activity_permille(self) -> int | None:
        """The mean activity over the known time."""
        known = self.held_pms - self.unknown_pms
        return self.activity_permille_pms // known if known > 0 else None

    @property
    def mean_power_w(self) -> int | None:
        """The mean power of a whole GPU, from the energy counter."""
        return self.energy_j * 1000 * GPU_PARTS // self.energy_known_pms if self.energy_known_pms else None

    @property
    def why(self) -> str:
        """`not started`, `stalled`, `over-requested` or `idle`: the first that explains most of it."""
        if self.not_started_pms * 2 > self.held_pms:
            return "not started"
        if self.stalled_pms > self.idle_pms:
            return "stalled"
        if 0 < self.idle_devices < self.devices:
            return "over-requested"
        return "idle"


def signals(evidence: Evidence) -> str:
    """What the devices showed, in words: `0.3 % active on average, peak 2.0 %; 71 W a GPU on average`."""
    words: list[str] = []
    if evidence.activity_permille is not None:
        peak = evidence.activity_peak_permille
        words.append(f"{evidence.activity_permille / 10:.1f} % active on average{_peak(peak, 10, 1, '%')}")
    if evidence.mean_power_w is not None:
        words.append(f"{evidence.mean_power_w} W a GPU on average{_peak(evidence.power_peak_dw, 10, 0, 'W')}")
    if evidence.devices > 1 and evidence.idle_devices:
        words.append(f"{evidence.idle_devices} of {evidence.devices} GPUs never computed")
    return "; ".join(words) or "no signal was seen"


def advice(evidence: Evidence) -> str:
    """What to do, as the end of a sentence: `save the work and stop the notebook: …`."""
    match evidence.why:
        case "not started":
            return "its containers do not start: read the pod's events (image, volume), mend or delete it."
        case "stalled":
            return (
                "busy by the counter, yet no work is done: read its log, then restart it from a checkpoint."
            )
        case "over-requested":
            used = evidence.devices - evidence.idle_devices
            return f"ask for {used} of its {evidence.devices} GPUs: the others never computed."
        case _:
            return _idle_advice(evidence)


def _idle_advice(evidence: Evidence) -> str:
    if evidence.kind in _NOTEBOOKS:
        return "save the work and stop the notebook: what is on its volume stays, what is in memory is lost."
    if evidence.kind in _SERVERS:
        if evidence.idle_pms < evidence.held_pms:
            return "scale it down at night and at weekends, or let it share a GPU (MIG)."
        return "nobody asks it anything: scale it to zero."
    if evidence.idle_pms >= evidence.held_pms:
        return "it has done nothing all week: ask its owner, and end it."
    if evidence.silent_ms >= _SILENT_MS:
        return "it stopped computing and kept its GPUs: read its log, then end it or restart it."
    return "see what it waits for (data, a peer, a lock), and let it end when it is done."


def _peak(value: int | None, scale: int, places: int, unit: str) -> str:
    return "" if value is None else f", peak {value / scale:.{places}f} {unit}"

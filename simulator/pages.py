"""Exposition pages: a node's page as a template that is filled with the tick's values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simulator import quirks
from simulator.devices import Floats
from simulator.fleet import Gpu, Machine, Unit
from simulator.gangs import Pod
from simulator.labels import Generation, claim_labels, device_labels, error_labels, pod_labels, written
from simulator.metrics import METRICS, NUMBER, Figures, Metric

_FELL_OFF = 79  # the XID of a GPU that is not on the bus any more, nor on the page
_PROFILED = "DCGM_FI_PROF_"
_BLANKS = {
    NUMBER["POWER_USAGE"]: quirks.BLANK_DOUBLE,
    NUMBER["TOTAL_ENERGY_CONSUMPTION"]: quirks.BLANK_INT64,
    NUMBER["GPU_UTIL"]: quirks.BLANK_INT32,
    NUMBER["FB_USED"]: quirks.BLANK_INT64,
}
_OWN_VALUES = {NUMBER["GPU_UTIL"]: "util", NUMBER["FB_USED"]: "memory"}
_MISSING = {NUMBER["TOTAL_ENERGY_CONSUMPTION"], NUMBER["PIPE_TENSOR_ACTIVE"], NUMBER["DRAM_ACTIVE"]}
_MEMORY = {NUMBER["FB_FREE"], NUMBER["FB_USED"], NUMBER["FB_RESERVED"]}


@dataclass(frozen=True)
class Scene:
    """What a page shows of a moment: the pod on each slot of the fleet, each GPU's XID, labels or none."""

    occupants: Sequence[Pod | None]
    xids: Sequence[int]
    labelled: bool = True


class _Subject(NamedTuple):
    """One row of each metric: a unit, and the pod for which it is there."""

    gpu: Gpu
    unit: Unit
    pod: Pod | None
    slot: int | None  # of a shared GPU
    replica: int | None


@dataclass(frozen=True)
class Template:
    """A page without its values, and where they stand in the vector."""

    text: bytes
    places: npt.NDArray[np.int64]
    energies: tuple[int, ...]  # which of the values are energy counters

    def fill(self, vector: Floats, *, wrap_energy: bool = False) -> bytes:
        """The page with the vector's values."""
        values: list[float] = vector[self.places].tolist()
        if wrap_energy:
            for place in self.energies:
                values[place] %= quirks.KILOWATT_HOUR_MJ
        return self.text % tuple(values)


def template(
    machine: Machine, generation: Generation, switched: Sequence[str], figures: Figures, scene: Scene
) -> Template:
    """The template of a node's page in a label generation, with quirks."""
    writer = _Writer(generation, frozenset(switched), figures, scene)
    subjects = [
        subject
        for gpu in machine.gpus
        if scene.xids[gpu.index] != _FELL_OFF
        for unit in gpu.units
        for subject in writer.subjects(gpu, unit)
    ]
    for number, metric in enumerate(METRICS):
        writer.metric(number, metric, subjects)
    return Template("".join(writer.lines).encode(), np.array(writer.places), tuple(writer.energies))


def stamped(page: bytes, timestamp_ms: int) -> bytes:
    """The page with a timestamp on every value."""
    stamp = b" %d" % timestamp_ms
    return b"".join(
        line if line.startswith(b"#") else line[:-1] + stamp + b"\n"
        for line in page.splitlines(keepends=True)
    )


class _Writer:
    def __init__(
        self, generation: Generation, switched: frozenset[str], figures: Figures, scene: Scene
    ) -> None:
        self.lines: list[str] = []
        self.places: list[int] = []
        self.energies: list[int] = []
        self._generation = generation
        self._switched = switched
        self._figures = figures
        self._scene = scene
        self._labels: dict[tuple[int, int | None, bool, bool], list[tuple[str, str]]] = {}

    def subjects(self, gpu: Gpu, unit: Unit) -> list[_Subject]:
        """The rows that a unit has: one, or with GPU sharing one a pod."""
        held = [(slot, self._scene.occupants[slot.index]) for slot in unit.slots]
        pods = [(slot, pod) for slot, pod in held if pod is not None and self._scene.labelled]
        shared = (
            len(unit.slots) > 1 and self._generation.replica and "sharing-unflagged" not in self._switched
        )
        if shared and pods:
            return [_Subject(gpu, unit, pod, slot.index, slot.replica) for slot, pod in pods]
        return [_Subject(gpu, unit, pods[0][1] if pods else None, None, None)]

    def metric(self, number: int, metric: Metric, subjects: Sequence[_Subject]) -> None:
        """HELP, TYPE and a row a subject; nothing where no subject has the metric."""
        name = metric.old_name if self._generation.old_names else metric.name
        first = len(self.lines)
        about = metric.about.replace("%", "%%")
        self.lines.append(f"# HELP {name} {about}\n# TYPE {name} {metric.kind}\n")
        before: Unit | None = None
        for subject in subjects:
            if not self._has(number, metric, subject):
                continue
            if self._own_value(number, subject):
                if subject.unit is not before:
                    self._row(name, number, metric, subject._replace(pod=None, slot=None, replica=None))
                before = subject.unit
            self._row(name, number, metric, subject)
            if subject.gpu.node_index == 0 and "duplicates" in self._switched:
                self._row(name, number, metric, subject)
        if len(self.lines) == first + 1:
            self.lines.pop()

    def _own_value(self, number: int, subject: _Subject) -> bool:
        return subject.slot is not None and self._generation.pod_values and number in _OWN_VALUES

    def _has(self, number: int, metric: Metric, subject: _Subject) -> bool:
        mig = bool(subject.unit.profile)
        if metric.needs and not getattr(subject.gpu.model, metric.needs):
            return False
        if "no-prof" in self._switched and metric.name.startswith(_PROFILED):
            return False
        if "missing-fields" in self._switched and number in _MISSING:
            return False
        if mig and "no-mig-memory" in self._switched and number in _MEMORY:
            return False
        return metric.on_mig or not mig or self._zero_on_mig(number)

    def _zero_on_mig(self, number: int) -> bool:
        return number == NUMBER["GPU_UTIL"] and "mig-utilization-zero" in self._switched

    def _row(self, name: str, number: int, metric: Metric, subject: _Subject) -> None:
        labels = self._row_labels(subject, nvlink=number == NUMBER["NVLINK_BANDWIDTH_TOTAL"])
        if number == NUMBER["XID_ERRORS"] and self._generation.error_text:
            labels = labels + error_labels(self._scene.xids[subject.gpu.index])
        text = (name + written(labels)).replace("%", "%%")
        literal = self._literal(number, subject)
        if literal:
            self.lines.append(f"{text} {literal}\n")
            return
        self.lines.append(f"{text} {metric.form}\n")
        if number == NUMBER["TOTAL_ENERGY_CONSUMPTION"]:
            self.energies.append(len(self.places))
        self.places.append(
            self._figures.of_slot(_OWN_VALUES[number], subject.slot)
            if subject.slot is not None and self._own_value(number, subject)
            else self._figures.of_unit(number, subject.unit.index)
        )

    def _literal(self, number: int, subject: _Subject) -> str:
        """What stands there whatever the device does; empty for a value."""
        first = subject.gpu.node_index == 0
        if number == NUMBER["GR_ENGINE_ACTIVE"] and "stuck-gr-engine" in self._switched:
            return "0.000000"
        if number == NUMBER["GPU_UTIL"] and subject.unit.profile:
            return "0"
        if (
            number == NUMBER["GPU_UTIL"]
            and subject.gpu.node_index < 2
            and "absurd-utilization" in self._switched
        ):
            return quirks.ABSURD[subject.gpu.node_index]
        if number in _BLANKS and first and "blanks" in self._switched:
            return _BLANKS[number]
        if number == NUMBER["GPU_TEMP"] and first and "text-value" in self._switched:
            return quirks.NO_TEXT
        return ""

    def _row_labels(self, subject: _Subject, *, nvlink: bool) -> list[tuple[str, str]]:
        key = (subject.unit.index, subject.slot, subject.pod is None, nvlink)
        if key not in self._labels:
            self._labels[key] = self._written_labels(subject, nvlink=nvlink)
        return self._labels[key]

    def _written_labels(self, subject: _Subject, *, nvlink: bool) -> list[tuple[str, str]]:
        generation, pod = self._generation, subject.pod
        found = device_labels(generation, subject.gpu, subject.unit, nvlink=nvlink)
        of_pod = pod_labels(generation, pod)
        if pod is not None and "dra" in self._switched and generation.claims:
            of_pod = [label for label in of_pod if label[0] != "pod_uid"]
            of_pod += claim_labels(subject.gpu, subject.unit, pod)
        if pod is not None and "hpc-job" in self._switched and generation.error_text:
            of_pod.append(("hpc_job", str(pod.allocation.allocation_id % 100_000)))
        if pod is not None and subject.gpu.node_index == 0 and "unescaped-label" in self._switched:
            of_pod = [
                (name, value + '"\\n{x="1",}' if name in generation.pods else value) for name, value in of_pod
            ]
        if subject.replica is not None:
            of_pod.append(("vgpu", str(subject.replica)))
        return found + of_pod

"""The plan of a layout: which value of a page is which signal of which series, found once for all pages."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from collector.dcgm import plausible
from collector.dcgm.labels import PodLabels, Subject, subject_of
from collector.dcgm.metrics import NUMBER_BY_NAME, PREFIXES, SIGNALS
from collector.exposition.page import Layout

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]
_NEVER = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Place:
    """What tells one series of a page from another."""

    node: str
    gpu_uuid: str
    gi_id: str
    vgpu: str


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """A series of a layout: where it is, what its lines call the device, and the pod they name, if any."""

    place: Place
    profile: str
    model: str
    device_index: int
    generation: str
    pod: PodLabels | None


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Where each value goes: the value of line `lines[i]` to `cells[i]` of the flat rows × signals.

    gpus         the number of each row's GPU, from 0
    again_*      lines whose cell is taken already (a series twice on a page): the highest value counts
    shared_*     cells of a pod's row and of its device's: the pod's 0 beside a higher device is no value
    plain_pods   whether pods in plain labels are believed, by this page and those before it
    foreign      no line is a metric of dcgm-exporter
    """

    rows: tuple[PlannedRow, ...]
    gpus: Numbers
    lines: Numbers
    cells: Numbers
    again_lines: Numbers
    again_cells: Numbers
    shared_cells: Numbers
    shared_devices: Numbers
    plain_pods: bool
    foreign: bool

    def signals(self, values: Floats) -> Floats:
        """The values of a page as rows × signals, in the exporter's units; NaN where the page has none."""
        flat = np.full(len(self.rows) * len(SIGNALS), np.nan)
        flat[self.cells] = values[self.lines]
        if len(self.again_cells):
            self._merge(flat, values)
        if len(self.shared_cells):
            unmatched = (flat[self.shared_cells] == 0) & (flat[self.shared_devices] > 0)
            flat[self.shared_cells[unmatched]] = np.nan
        return flat.reshape(len(self.rows), len(SIGNALS))

    def instants(self, timestamps_ms: npt.NDArray[np.int64], sampled_at_ms: int) -> npt.NDArray[np.int64]:
        """Each row's own time: the latest timestamp of its lines, the fetch's time where it has none."""
        result = np.full(len(self.rows), _NEVER, np.int64)
        np.maximum.at(result, self.cells // len(SIGNALS), timestamps_ms[self.lines])
        return np.where(result == _NEVER, sampled_at_ms, result)

    def _merge(self, flat: Floats, values: Floats) -> None:
        """The highest of what one series says several times; what is no value does not take part."""
        cells, again = self.again_cells, values[self.again_lines]
        first = flat[cells]
        flat[cells] = np.where(plausible.is_value(first, cells % len(SIGNALS)), first, np.nan)
        fits = plausible.is_value(again, cells % len(SIGNALS))
        np.fmax.at(flat, cells[fits], again[fits])


def plan_of(layout: Layout, node: str, *, plain_pods: bool) -> Plan:
    """The plan of a layout.

    `node` is the machine of lines that name none. `plain_pods` is False once a page of the target had pods in
    exported_* or in the old labels: plain ones are then the exporter's own.
    """
    foreign = not any(line.name.startswith(PREFIXES) for line in layout.lines)
    return plan_of_spoken(_spoken(layout, node), plain_pods=plain_pods, foreign=foreign)


def plan_of_spoken(
    spoken: Sequence[tuple[int, int, Subject]], *, plain_pods: bool, foreign: bool = False
) -> Plan:
    """The plan of lines that are signals of GPUs: of each its number, the signal's, and what its labels say."""
    plain_pods = plain_pods and all(subject.plain_pod for _, _, subject in spoken)
    carved = {(subject.node, subject.gpu_uuid) for _, _, subject in spoken if subject.gi_id}
    table = _Table()
    believed: dict[int, Subject] = {}  # by the subject's identity: lines of a device share it
    for line, signal, subject in spoken:
        if SIGNALS[signal].on_mig or (subject.node, subject.gpu_uuid) not in carved:
            known = believed.get(id(subject))
            if known is None:
                known = subject if plain_pods or not subject.plain_pod else _without_pod(subject)
                believed[id(subject)] = known
            table.add(line, signal, known)
    return table.plan(plain_pods=plain_pods, foreign=foreign)


def _spoken(layout: Layout, node: str) -> list[tuple[int, int, Subject]]:
    """Of each line that is a signal of a GPU: its number, the signal's, and what its labels say."""
    subjects: dict[int, Subject | None] = {}  # by the labels' identity: lines of a device share them
    result: list[tuple[int, int, Subject]] = []
    for number, line in enumerate(layout.lines):
        signal = NUMBER_BY_NAME.get(line.name)
        if signal is None:
            continue
        key = id(line.labels)
        if key not in subjects:
            found = subject_of(line.labels)
            subjects[key] = replace(found, node=node) if found is not None and not found.node else found
        subject = subjects[key]
        if subject is not None:
            result.append((number, signal, subject))
    return result


def _without_pod(subject: Subject) -> Subject:
    return replace(subject, pod=PodLabels(hpc_job=subject.pod.hpc_job))


class _Table:
    """The rows of a plan while it is made."""

    def __init__(self) -> None:
        self._bases: dict[
            tuple[int, bool], int
        ] = {}  # by the subject's identity, and whether as the whole GPU
        self._rows: dict[Place, PlannedRow] = {}
        self._numbers: dict[Place, int] = {}
        self._holders: defaultdict[Place, dict[PodLabels, int]] = defaultdict(dict)
        self._first: dict[int, int] = {}
        self._again: list[tuple[int, int]] = []

    def add(self, line: int, signal: int, subject: Subject) -> None:
        """Give a line its cell; the same subject is the same object as long as the table is made."""
        as_whole = SIGNALS[signal].of_gpu and bool(subject.gi_id or subject.vgpu)
        base = self._bases.get((id(subject), as_whole))
        if base is None:
            base = self._bases[id(subject), as_whole] = self._base(subject, as_whole=as_whole)
        cell = base + signal
        if cell in self._first:
            self._again.append((line, cell))
        else:
            self._first[cell] = line

    def _base(self, subject: Subject, *, as_whole: bool) -> int:
        """The first cell of a subject's row. The GPU's own signals go to the GPU's own series, whoever repeats them."""
        pod = subject.pod if subject.pod.named else None
        if as_whole:
            place = Place(subject.node, subject.gpu_uuid, "", "")
            row = PlannedRow(place, "", subject.model, subject.device_index, subject.generation, None)
        else:
            place = self._slot(Place(subject.node, subject.gpu_uuid, subject.gi_id, subject.vgpu), pod)
            profile = subject.profile if subject.gi_id else ""
            row = PlannedRow(place, profile, subject.model, subject.device_index, subject.generation, pod)
        known = self._rows.setdefault(place, row)
        if known.pod is None and row.pod is not None:
            self._rows[place] = replace(known, pod=row.pod)
        return self._numbers.setdefault(place, len(self._numbers)) * len(SIGNALS)

    def plan(self, *, plain_pods: bool, foreign: bool) -> Plan:
        """The finished plan."""
        pods, devices = self._shared()
        gpus: dict[tuple[str, str], int] = {}
        for place in self._numbers:
            gpus.setdefault((place.node, place.gpu_uuid), len(gpus))
        return Plan(
            rows=tuple(self._rows[place] for place in self._numbers),
            gpus=np.array([gpus[place.node, place.gpu_uuid] for place in self._numbers], np.intp),
            lines=np.array(list(self._first.values()), np.intp),
            cells=np.array(list(self._first), np.intp),
            again_lines=np.array([line for line, _ in self._again], np.intp),
            again_cells=np.array([cell for _, cell in self._again], np.intp),
            shared_cells=np.array(pods, np.intp),
            shared_devices=np.array(devices, np.intp),
            plain_pods=plain_pods,
            foreign=foreign,
        )

    def _slot(self, place: Place, pod: PodLabels | None) -> Place:
        """The series of a pod on a device: a second pod that a page lays on one series gets one beside it."""
        if pod is None:
            return place
        holders = self._holders[place]
        number = holders.setdefault(pod, len(holders))
        return replace(place, vgpu=f"{place.vgpu}~{number}") if number else place

    def _shared(self) -> tuple[list[int], list[int]]:
        pods: list[int] = []
        devices: list[int] = []
        signals = [number for number, signal in enumerate(SIGNALS) if signal.of_process]
        for place, number in self._numbers.items():
            device = self._numbers.get(replace(place, vgpu=""))
            if not place.vgpu or device is None:
                continue
            for signal in signals:
                mine, whole = number * len(SIGNALS) + signal, device * len(SIGNALS) + signal
                if mine in self._first and whole in self._first:
                    pods.append(mine)
                    devices.append(whole)
        return pods, devices

"""Telemetry of a replay: what its GPUs would have shown while pods held them, as frames of samples.

Synthesized by seed: each pod has a level of activity, latency-sensitive ones (LS) follow the time of day, one
in eight goes quiet after a third of its life, one in thirty-three hangs. Free GPUs are not sampled: nobody's
time needs it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from quartermaster.clock import DAY_MS, SECOND_MS
from simulator.devices import Bools, Floats, daylight
from simulator.replay import TELEMETRY, Replay

Integers = npt.NDArray[np.int64]
_BOARDS = {  # free, with a context more, and limit, in watts; memory in MiB
    "P100": (30, 28, 250, 16_280),
    "T4": (10, 26, 70, 15_360),
    "V100M16": (40, 26, 300, 16_160),
    "V100M32": (42, 27, 300, 32_510),
    "A10": (22, 38, 150, 23_028),
    "G2": (45, 35, 300, 32_768),
    "G3": (50, 35, 350, 65_536),
}
_UNKNOWN_BOARD = (40, 30, 300, 32_768)
_HOLD_INTERVALS = 2.5


@dataclass(frozen=True)
class _Stays:
    """What each held GPU of each pod does, one entry a (pod, GPU)."""

    device: Integers
    start_ms: Integers
    end_ms: Integers
    share: Floats
    level: Floats
    rhythm: Floats
    quiet_ms: Integers
    hung: Bools
    tensor: Floats
    dram: Floats
    heat: Floats
    memory: Floats


class Telemetry:
    """The samples of a replay at one interval, a span after the other."""

    def __init__(self, replay: Replay, interval_ms: int) -> None:
        self._replay = replay
        self._interval_ms = interval_ms
        self._random = np.random.Generator(np.random.PCG64([replay.seed, 3]))
        gpus = sorted({(stay.node, gpu) for stay in replay.placed for gpu in stay.gpus})
        number = {gpu: index for index, gpu in enumerate(gpus)}
        nodes = replay.trace.nodes
        boards = np.array(
            [_BOARDS.get(nodes[node].model, _UNKNOWN_BOARD) for node, _ in gpus], dtype=np.float64
        )
        self._idle_w, self._context_w, self._limit_w, self._memory_mib = boards.reshape(-1, 4).T
        self._series = np.array([replay.series_id(nodes[node], gpu) for node, gpu in gpus], dtype=np.int64)
        self._stays = self._behaviours(number)
        self._energy_j: Floats = self._random.uniform(1e8, 4e9, len(gpus))
        self._sampled_ms: Integers = np.full(len(gpus), replay.start_ms)

    def frames(self, span_ms: int = 31 * DAY_MS) -> Iterator[pl.DataFrame]:
        """Frames with the columns of `samples`, each over `span_ms`, sorted by series and time."""
        for start in range(self._replay.start_ms, self._replay.end_ms, span_ms):
            frame = self._span(start, min(start + span_ms, self._replay.end_ms))
            if len(frame):
                yield frame

    def _behaviours(self, number: dict[tuple[int, int], int]) -> _Stays:
        replay = self._replay
        stays = [stay for stay in replay.placed if stay.gpus]
        per_gpu = np.repeat(np.arange(len(stays)), [len(stay.gpus) for stay in stays])
        start = np.array([replay.at(stay.bound_ms) for stay in stays], dtype=np.int64)
        end = np.array([min(replay.at(stay.end_ms), replay.end_ms) for stay in stays], dtype=np.int64)
        serves = np.array([stay.pod.qos == "LS" for stay in stays])
        draw = self._random.random((7, len(stays)))
        quiet = np.where(draw[1] < 0.125, start + (end - start) // 3, end)
        hung = draw[2] < 0.03
        columns: list[Floats] = [
            np.array([stay.pod.milli / 1000 for stay in stays]),
            np.where(serves, 0.35 + 0.4 * draw[0], 0.6 + 0.38 * draw[0]),
            np.where(serves, 0.6 + 0.35 * draw[3], 0.0),
            np.where(hung, 0.0, 0.05 + 0.4 * draw[4]),
            np.where(hung, 0.0, 0.2 + 0.35 * draw[5]),
            np.where(hung, 0.03, 0.4 + 0.45 * draw[4]),
            0.2 + 0.7 * draw[6],
        ]
        spread: list[Floats] = [column[per_gpu] for column in columns]
        share, level, rhythm, tensor, dram, heat, memory = spread
        device = np.array([number[stay.node, gpu] for stay in stays for gpu in stay.gpus], dtype=np.int64)
        return _Stays(
            device, start[per_gpu], end[per_gpu], share, level, rhythm, quiet[per_gpu], hung[per_gpu],
            tensor, dram, heat, memory,
        )  # fmt: skip

    def _span(self, start_ms: int, end_ms: int) -> pl.DataFrame:
        stays, interval = self._stays, self._interval_ms
        first = -(-np.maximum(stays.start_ms, start_ms) // interval)
        last = (np.minimum(stays.end_ms, end_ms) - 1) // interval
        counts = np.maximum(0, last - first + 1)
        stay = np.repeat(np.arange(len(counts)), counts)
        if not len(stay):
            return pl.DataFrame()
        begins = np.cumsum(counts) - counts
        at = (np.arange(len(stay)) - begins[stay] + first[stay]) * interval
        works = self._works(stay, at)
        device = stays.device[stay]
        order = np.lexsort((at, device))
        stay, at, works, device = stay[order], at[order], works[order], device[order]
        new = np.concatenate([[True], (device[1:] != device[:-1]) | (at[1:] != at[:-1])])
        rows = np.flatnonzero(new)

        def together(values: Floats) -> Floats:
            """The pods of one GPU at one time, added up."""
            return np.minimum(1.0, np.add.reduceat(values, rows))

        share = stays.share[stay]
        load = together(works * stays.heat[stay] * share)
        return self._frame(
            device[rows],
            at[rows],
            load,
            {
                "gr_engine_permille": together(works * share),
                "tensor_permille": together(works * stays.tensor[stay] * share),
                "dram_permille": together(works * stays.dram[stay] * share),
                "memory": together(stays.memory[stay] * share),
            },
        )

    def _works(self, stay: Integers, at: Integers) -> Floats:
        """How busy each pod is on its part of the GPU."""
        stays = self._stays
        noise = self._random.standard_normal(len(stay))
        works = stays.level[stay] * (1 - stays.rhythm[stay] * (1 - daylight(at))) + 0.03 * noise
        works = np.where(at >= stays.quiet_ms[stay], 0.003 * np.abs(noise), np.maximum(works, 0.0))
        return np.where(stays.hung[stay], 1.0, np.minimum(works, 1.0))

    def _frame(self, device: Integers, at: Integers, load: Floats, ratios: dict[str, Floats]) -> pl.DataFrame:
        base = self._idle_w[device] + self._context_w[device]
        power = base + (self._limit_w[device] - base) * load
        permille = {
            name: np.rint(values * 1000).astype(np.int32)
            for name, values in ratios.items()
            if name != "memory"
        }
        return pl.DataFrame(
            {
                "cluster": pl.repeat(self._replay.cluster, len(device), eager=True),
                "series_id": self._series[device],
                "sampled_at": at,
                "source": pl.repeat(TELEMETRY, len(device), eager=True),
                "hold_ms": np.full(len(device), int(self._interval_ms * _HOLD_INTERVALS), dtype=np.int32),
                **permille,
                "gpu_util_permille": np.minimum(1000, permille["gr_engine_permille"] * 104 // 100),
                "mem_copy_permille": permille["dram_permille"] * 9 // 10,
                "power_dw": np.rint(power * 10).astype(np.int32),
                "energy_j": self._energy(device, at, power),
                "gpu_temp_c": np.rint(27 + 48 * power / self._limit_w[device]).astype(np.int32),
                "fb_used_mib": np.rint(ratios["memory"] * self._memory_mib[device]).astype(np.int32),
                "xid": np.zeros(len(device), dtype=np.int32),
            }
        )

    def _energy(self, device: Integers, at: Integers, power: Floats) -> Integers:
        """The counters: what was drawn since the sample before; a free GPU's power where there was none."""
        new = np.concatenate([[True], device[1:] != device[:-1]])
        first = np.flatnonzero(new)
        before = np.concatenate([[0], at[:-1]])
        before[first] = self._sampled_ms[device[first]]
        apart = np.maximum(0, at - before)
        drawn = np.minimum(apart, self._interval_ms)
        grown = (power * drawn + self._idle_w[device] * (apart - drawn)) / SECOND_MS
        total = np.cumsum(grown)
        offset = self._energy_j[device[first]] - (total[first] - grown[first])
        energy = total + np.repeat(offset, np.diff(np.concatenate([first, [len(device)]])))
        last = np.concatenate([first[1:] - 1, [len(device) - 1]])
        self._energy_j[device[last]] = energy[last]
        self._sampled_ms[device[last]] = at[last]
        return np.floor(energy).astype(np.int64)

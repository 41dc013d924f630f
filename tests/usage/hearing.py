# ruff: noqa: E501
"""Decision 1: what samples say, forward for activity and backward for energy, and what gaps silence."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from tests.usage.history import FOREVER, Sample, Told, in_force, within

SOURCES = {"dcgm": 0, "nvml": 1, "prometheus": 2}
SIGNALS = ("gr_engine", "gpu_util", "sm", "tensor", "dram", "mem_copy")
MOST_WATTS = 3000


class Hearing:
    """`voices`: of each unit (begin, end, what is said); `meters`: of each GPU (begin, end, joules)."""

    def __init__(self, told: Told, samples: Iterable[Sample]) -> None:
        self.told = told
        self.voices, self.meters = self.listen(samples)

    # decision 1: samples of the source that counts, merged at one millisecond; forward for activity, backward for energy
    def listen(
        self, samples: Iterable[Sample]
    ) -> tuple[dict[tuple[str, str], list[Any]], dict[str, list[Any]]]:
        units: dict[tuple[str, str], dict[int, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
        gpus: dict[str, dict[int, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
        for sample in samples:
            t = sample.sampled_at
            current = in_force(self.told.series, "series_id", t)
            mine = [s for s in current if s.series_id == sample.series_id]
            if not mine:
                continue
            series = mine[0]
            rivals = [s.source for s in current if s.gpu_uuid == series.gpu_uuid]
            if sample.source != min(rivals, key=lambda source: (SOURCES.get(source, 3), source)):
                continue
            silent = self.silenced(series.node, sample.source, t)
            for place in (units[series.gpu_uuid, series.gi_id][t], gpus[series.gpu_uuid][t]):
                place["source"] = sample.source
                place["hold"] = max(place.get("hold", 0), sample.hold_ms)
                for name in (
                    *(f"{signal}_permille" for signal in SIGNALS),
                    "power_dw",
                    "energy_j",
                    "fb_used_mib",
                ):
                    values = [
                        v
                        for v in (place.get(name), None if silent else getattr(sample, name))
                        if v is not None
                    ]
                    place[name] = max(values, default=None)
        voices: dict[tuple[str, str], list[Any]] = {}
        for unit, heard in units.items():
            times = sorted(heard)
            voices[unit] = [
                (t, min(after, t + heard[t]["hold"]), heard[t])
                for t, after in zip(times, [*times[1:], FOREVER], strict=True)
            ]
        meters: dict[str, list[Any]] = {}
        for gpu, heard in gpus.items():
            times = sorted(heard)
            meters[gpu] = []
            for before, t in pairwise(times):
                was, now = heard[before]["energy_j"], heard[t]["energy_j"]
                if was is None or now is None or t - before > heard[t]["hold"]:
                    continue
                if was <= now and (now - was) * 1000 <= MOST_WATTS * (t - before):
                    meters[gpu].append((before, t, now - was))
        return voices, meters

    # a gap silences only its own source: its node, or without one its target's nodes, or without either the whole cluster
    def silenced(self, node: str, source: str, t: int) -> bool:
        for gap in self.told.gaps:
            if gap.covers != "telemetry" or gap.source != source or not within(gap, t):
                continue
            if gap.node == node or (not gap.node and not gap.target):
                return True
            if not gap.node and any(
                s.node == node and s.source == source and s.target == gap.target for s in self.told.series
            ):
                return True
        return False

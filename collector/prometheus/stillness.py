"""Frozen telemetry in a sheet: values that do not move although the energy counter should; pure.

The same rule as collector.dcgm.frozen has for pages as they come, for all pages of a span at once.
"""

from dataclasses import dataclass

import numpy as np

from collector.dcgm.metrics import NUMBER_BY_COLUMN
from collector.prometheus.answer import Instants
from collector.prometheus.sheet import Flags, Sheet

_ENERGY = NUMBER_BY_COLUMN["energy_j"]
_INTERVALS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Frozen:
    """What is frozen: `gpus` by UUID, at which pages; `pages`, all of which is; `since_ms`, its last change."""

    gpus: dict[str, Flags]
    pages: Flags
    since_ms: Instants


def frozen(sheet: Sheet, exporter_interval_ms: int) -> Frozen | None:
    """What is frozen for longer than three of the exporter's intervals; None where nothing is, which is usual."""
    longest_ms = _INTERVALS * exporter_interval_ms
    if not _may_be(sheet, longest_ms):
        return None
    lines: dict[str, list[int]] = {}
    for number, voice in enumerate(sheet.voices):
        lines.setdefault(voice.subject.gpu_uuid, []).append(number)
    gpus: dict[str, Flags] = {}
    last_ms = np.full(len(sheet.at_ms), sheet.at_ms[0], np.int64)
    for gpu, theirs in lines.items():
        changed_ms = _changed_ms(sheet, theirs)
        counters = [number for number in theirs if sheet.voices[number].signal == _ENERGY]
        counted = (sheet.values[counters] > 0).any(axis=0)
        still = (sheet.at_ms - changed_ms > longest_ms) & counted
        if still.any():
            gpus[gpu] = still
        last_ms = np.maximum(last_ms, changed_ms)
    if not gpus:
        return None
    some = np.logical_or.reduce(list(gpus.values()))
    return Frozen(gpus, (sheet.at_ms - last_ms > longest_ms) & some, last_ms)


def _may_be(sheet: Sheet, longest_ms: int) -> bool:
    """Whether any energy counter stands still from one page to the next, and pages last long enough."""
    if sheet.at_ms[-1] - sheet.at_ms[0] <= longest_ms:
        return False
    counters = [number for number, voice in enumerate(sheet.voices) if voice.signal == _ENERGY]
    energy = sheet.values[counters]
    return bool((energy[:, 1:] == energy[:, :-1]).any())


def _changed_ms(sheet: Sheet, lines: list[int]) -> Instants:
    """When a GPU's lines last changed, at each page; at the first page then."""
    values, present = sheet.values[lines], sheet.present[lines]
    same = (values[:, 1:] == values[:, :-1]) | (np.isnan(values[:, 1:]) & np.isnan(values[:, :-1]))
    moved = ~(same & (present[:, 1:] == present[:, :-1])).all(axis=0)
    changed = np.where(np.concatenate([[True], moved]), sheet.at_ms, np.iinfo(np.int64).min)
    return np.maximum.accumulate(changed)

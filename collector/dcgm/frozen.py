"""Frozen telemetry: values that do not move any more although the energy counter should."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from collector.dcgm.metrics import NUMBER_BY_COLUMN

Floats = npt.NDArray[np.float64]
Instants = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]
_ENERGY = NUMBER_BY_COLUMN["energy_j"]
_INTERVALS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Stillness:
    """What was seen last of each series, and when it changed last (ms since the epoch)."""

    series_ids: Instants
    signals: Floats
    changed_at_ms: Instants


def stillness(
    before: Stillness | None, series_ids: Instants, signals: Floats, sampled_at_ms: int
) -> Stillness:
    """The next state: a series is unchanged when its signals are as before (a missing one missing)."""
    changed_at_ms = np.full(len(series_ids), sampled_at_ms, np.int64)
    if before is None:
        return Stillness(series_ids, signals, changed_at_ms)
    if before.series_ids is series_ids:
        same = ((signals == before.signals) | (np.isnan(signals) & np.isnan(before.signals))).all(axis=1)
        return Stillness(series_ids, signals, np.where(same, before.changed_at_ms, changed_at_ms))
    last = {series_id: number for number, series_id in enumerate(before.series_ids.tolist())}
    for number, series_id in enumerate(series_ids.tolist()):
        was = last.get(series_id)
        if was is not None and np.array_equal(signals[number], before.signals[was], equal_nan=True):
            changed_at_ms[number] = before.changed_at_ms[was]
    return Stillness(series_ids, signals, changed_at_ms)


def frozen_rows(state: Stillness, gpus: Numbers, sampled_at_ms: int, exporter_interval_ms: int) -> Flags:
    """Which series are frozen: all of their GPU (`gpus` numbers it) is unchanged too long, its energy known.

    Too long is more than three of the exporter's own intervals. A GPU draws power, so its energy moves; a
    counter unknown or at 0 proves nothing. The counter is the GPU's, whichever of its instances speaks.
    """
    still = sampled_at_ms - state.changed_at_ms > _INTERVALS * exporter_interval_ms
    if not still.any():
        return still
    with np.errstate(invalid="ignore"):
        counted = state.signals[:, _ENERGY] > 0
    moving = np.bincount(gpus, ~still) > 0
    has_counter = np.bincount(gpus, counted) > 0
    return (~moving & has_counter)[gpus]


def frozen_since(
    state: Stillness, frozen: Flags, sampled_at_ms: int, exporter_interval_ms: int
) -> int | None:
    """The instant of the page's last change, when all of it is still and some of it is frozen."""
    if not frozen.any():
        return None
    last = int(state.changed_at_ms.max())
    return last if sampled_at_ms - last > _INTERVALS * exporter_interval_ms else None

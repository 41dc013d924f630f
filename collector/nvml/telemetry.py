"""What the GPUs did, from a look: a sample of each GPU and of each MIG instance; pure."""

from collections.abc import Mapping

import numpy as np

from collector.dcgm.metrics import NUMBER_BY_COLUMN, SIGNALS
from collector.dcgm.understand import NO_LABEL, Reading, Row
from collector.nvml.fleet import series_of
from collector.nvml.look import Look
from collector.nvml.settings import NVML, Settings
from quartermaster.records import Series

_XID = "xid"


class Telemetry:
    """Samples of one host; remembers who spoke last, and each GPU's last XID."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._spoke: dict[int, Series] = {}
        self._xids: dict[str, int] = {}

    def read(self, look: Look) -> Reading:
        """A row for all that speaks; and once for what speaks no more, without any value: the last one ends there."""
        said: dict[int, tuple[Series, Mapping[str, float]]] = {}
        for gpu in look.gpus:
            if gpu.xids:
                self._xids[gpu.uuid] = gpu.xids[-1]
            if gpu.trouble or not gpu.uuid:
                continue
            whole = series_of(self._settings, gpu, None, look.at_ms)
            said[whole.series_id] = (whole, {**gpu.signals, _XID: float(self._xids.get(gpu.uuid, 0))})
            for instance in gpu.instances:
                series = series_of(self._settings, gpu, instance, look.at_ms)
                said[series.series_id] = (series, instance.signals)
        rows: dict[int, tuple[Series, Mapping[str, float]]] = {
            **{key: (series, {}) for key, series in self._spoke.items() if key not in said},
            **said,
        }
        self._spoke = {key: series for key, (series, _) in said.items()}
        return self._reading(rows, look.at_ms)

    def _reading(self, rows: Mapping[int, tuple[Series, Mapping[str, float]]], at_ms: int) -> Reading:
        signals = np.full((len(rows), len(SIGNALS)), np.nan)
        for number, (_, values) in enumerate(rows.values()):
            for column, value in values.items():
                signals[number, NUMBER_BY_COLUMN[column]] = value
        return Reading(
            cluster=self._settings.cluster,
            source=NVML,
            hold_ms=self._settings.interval_ms * 5 // 2,
            rows=tuple(Row(series, None) for series, _ in rows.values()),
            signals=signals,
            series_ids=np.array(list(rows), np.int64),
            label_refs=np.full(len(rows), NO_LABEL, np.int64),
            sampled_at_ms=np.full(len(rows), at_ms, np.int64),
            new_series=(),
            new_labels=(),
            foreign=False,
            frozen_since_ms=None,
            skew_ms=0,
        )

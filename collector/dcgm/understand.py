"""What a dcgm-exporter's page says about devices: pure; parsed pages in, rows for the ledger out.

    understanding = Understanding("demo", "http://n1:9400/metrics", "dcgm", 30_000)  # one a target
    reading = understanding.read(page, sampled_at_ms)     # some 20 µs while the page's layout stays as it is
    frame = samples_frame(readings)                       # all readings of a round at once: table `samples`

After a restart, `known_series` (the open rows of the view `series` with this target, as records) keeps series
from being told twice; `known_labels` is one set for all targets of the cluster (ids in `label_refs`), which
`read` adds to.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from collector.dcgm.frozen import Stillness, frozen_rows, frozen_since, stillness
from collector.dcgm.metrics import SIGNALS
from collector.dcgm.plan import Plan, plan_of
from collector.dcgm.plausible import stored
from collector.dcgm.register import Register
from collector.exposition.page import NO_TIMESTAMP, Layout, Page
from quartermaster.records import LabelRef, Series

Integers = npt.NDArray[np.int64]
NO_LABEL = -1


@dataclass(frozen=True, slots=True)
class Row:
    """One series of a page: which device speaks, and the pod labels that it carries (None: none)."""

    series: Series
    label: LabelRef | None


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What one page said. While the layout stays, `rows` is one object: `is` tells that no pod changed.

    rows              one a series, in order; what attribution by labels needs
    signals           float64, rows × signals of metrics.SIGNALS, in the exporter's units; NaN where not known
    series_ids        int64, one a row
    label_refs        int64, one a row; NO_LABEL where nobody is named
    sampled_at_ms     int64, one a row: the fetch's time, or the page's own timestamps
    new_series        records to append to series_versions (new ones, changed ones, ends of what changed)
    new_labels        records to append to label_refs
    foreign           no line is a metric of dcgm-exporter: another exporter's page
    frozen_since_ms   None, or the instant of the last change when nothing moves although energy should:
                      a gap from there. A single frozen GPU is no gap; its signals are NaN
    skew_ms           how far the page's own timestamps are from the fetch, at most (0 without timestamps)
    """

    cluster: str
    source: str
    hold_ms: int
    rows: tuple[Row, ...]
    signals: npt.NDArray[np.float64]
    series_ids: Integers
    label_refs: Integers
    sampled_at_ms: Integers
    new_series: tuple[Series, ...]
    new_labels: tuple[LabelRef, ...]
    foreign: bool
    frozen_since_ms: int | None
    skew_ms: int


class Understanding:
    """Understands the pages of one target; remembers the layout's plan, the series told, the last change."""

    def __init__(
        self,
        cluster: str,
        target: str,
        source: str,
        interval_ms: int,
        *,
        node: str = "",
        exporter_interval_ms: int = 30_000,
        known_series: Iterable[Series] = (),
        known_labels: set[int] | None = None,
    ) -> None:
        """`node` is the machine of a page that names none; it is measured every `exporter_interval_ms`."""
        self._cluster = cluster
        self._source = source
        self._hold_ms = interval_ms * 5 // 2
        self._node = node
        self._exporter_interval_ms = exporter_interval_ms
        labels = set[int]() if known_labels is None else known_labels
        self._register = Register(cluster, target, source, known_series, labels)
        self._layout: Layout | None = None
        self._plan = plan_of(Layout(()), node, plain_pods=True)
        self._rows: tuple[Row, ...] = ()
        self._series_ids = np.array([], np.int64)
        self._label_refs = np.array([], np.int64)
        self._still: Stillness | None = None

    def read(self, page: Page, sampled_at_ms: int) -> Reading:
        """What the page says, sampled at the fetch's time by the collector's clock or at its own."""
        new_series: tuple[Series, ...] = ()
        new_labels: tuple[LabelRef, ...] = ()
        if page.layout is not self._layout:
            new_series, new_labels = self._learn(page.layout, self._first_instant(page, sampled_at_ms))
        signals = self._plan.signals(page.values)
        self._still = stillness(self._still, self._series_ids, signals, sampled_at_ms)
        frozen = frozen_rows(self._still, self._plan.gpus, sampled_at_ms, self._exporter_interval_ms)
        since = frozen_since(self._still, frozen, sampled_at_ms, self._exporter_interval_ms)
        if frozen.any():
            signals = np.where(frozen[:, np.newaxis], np.nan, signals)
        instants = self._instants(page, self._plan, sampled_at_ms)
        return Reading(
            cluster=self._cluster,
            source=self._source,
            hold_ms=self._hold_ms,
            rows=self._rows,
            signals=signals,
            series_ids=self._series_ids,
            label_refs=self._label_refs,
            sampled_at_ms=instants,
            new_series=new_series,
            new_labels=new_labels,
            foreign=self._plan.foreign,
            frozen_since_ms=since,
            skew_ms=0 if page.timestamps_ms is None else int(np.abs(instants - sampled_at_ms).max(initial=0)),
        )

    def _learn(self, layout: Layout, at_ms: int) -> tuple[tuple[Series, ...], tuple[LabelRef, ...]]:
        self._layout = layout
        self._plan = plan_of(layout, self._node, plain_pods=self._plan.plain_pods)
        series, new_series = self._register.series(self._plan.rows, at_ms)
        refs, new_labels = self._register.labels(self._plan.rows)
        self._rows = tuple(Row(one, ref) for one, ref in zip(series, refs, strict=True))
        self._series_ids = np.array([one.series_id for one in series], np.int64)
        self._label_refs = np.array([NO_LABEL if ref is None else ref.label_ref for ref in refs], np.int64)
        return tuple(new_series), tuple(new_labels)

    def _first_instant(self, page: Page, sampled_at_ms: int) -> int:
        """When what the page newly says begins: no later than its samples, so that the series has them."""
        if page.timestamps_ms is None:
            return sampled_at_ms
        own = page.timestamps_ms[page.timestamps_ms != NO_TIMESTAMP].min(initial=sampled_at_ms)
        return int(own) if sampled_at_ms - own <= self._hold_ms else sampled_at_ms

    @staticmethod
    def _instants(page: Page, plan: Plan, sampled_at_ms: int) -> Integers:
        if page.timestamps_ms is None:
            return np.full(len(plan.rows), sampled_at_ms, np.int64)
        return plan.instants(page.timestamps_ms, sampled_at_ms)


def samples_frame(readings: Sequence[Reading]) -> pl.DataFrame:
    """The columns of table `samples`, a row a (series, page); what is blank, absurd or missing is null."""
    sizes = [len(reading.rows) for reading in readings]
    signals = stored(
        np.concatenate([np.empty((0, len(SIGNALS))), *(reading.signals for reading in readings)])
    )
    refs = np.concatenate([np.empty(0, np.int64), *(reading.label_refs for reading in readings)])
    return pl.DataFrame(
        {
            "cluster": _repeated([reading.cluster for reading in readings], sizes),
            "series_id": np.concatenate(
                [np.empty(0, np.int64), *(reading.series_ids for reading in readings)]
            ),
            "sampled_at": np.concatenate(
                [np.empty(0, np.int64), *(reading.sampled_at_ms for reading in readings)]
            ),
            "source": _repeated([reading.source for reading in readings], sizes),
            "hold_ms": np.repeat(np.array([reading.hold_ms for reading in readings], np.int32), sizes),
            **{
                signal.column: _integers(signals[:, number], signal.column)
                for number, signal in enumerate(SIGNALS)
            },
            "label_ref": pl.Series("label_ref", refs).replace(NO_LABEL, None),
        }
    )


def _repeated(texts: Sequence[str], sizes: Sequence[int]) -> pl.Series:
    numbers = np.repeat(np.arange(len(texts)), sizes)
    return pl.Series(texts, dtype=pl.String).gather(numbers)


def _integers(numbers: npt.NDArray[np.float64], column: str) -> pl.Series:
    kind = pl.Int64 if column == "energy_j" else pl.Int32
    return pl.Series(column, numbers, nan_to_null=True).cast(kind)

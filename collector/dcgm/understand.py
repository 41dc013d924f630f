"""What a dcgm-exporter's page says about devices: pure; parsed pages in, rows for the ledger out.

    understanding = Understanding("demo", "http://n1:9400/metrics", "dcgm", interval_ms=30_000)      # one a target
    reading = understanding.read(page, sampled_at_ms)                     # a few microseconds while the page's layout stays
    frame = samples_frame(readings)                                       # all readings of a round at once: table `samples`

After a restart, `known_series` (the open rows of the view `series` with this target, as records) keeps series from being
told twice; `known_labels` is one set for all targets of the cluster (the ids in `label_refs`), which `read` adds to.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from collector.exposition.page import Page
from quartermaster.records import LabelRef, Series


@dataclass(frozen=True, slots=True)
class Row:
    """One series of a page: which device speaks, and the pod labels that it carries (None: none)."""

    series: Series
    label: LabelRef | None


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What one page said. `rows` is the same object from page to page while the layout stays: `is` tells that no pod changed.

    rows              one a series, in order; what attribution by labels needs
    signals           float64, rows × signals, as the exporter gives them; NaN where not known
    sampled_at_ms     int64, one a row: the fetch's time, or the page's own timestamps
    new_series        Series records to append to series_versions (new ones, changed ones, ends of what changed)
    new_labels        LabelRef records to append to label_refs
    foreign           True when no line is a metric of dcgm-exporter's devices: another exporter's page
    frozen_since_ms   None, or the instant of the last change when nothing moves any more though energy should: a gap from there
    skew_ms           how far the page's own timestamps are from the fetch (0 without timestamps)
    """

    cluster: str
    source: str
    hold_ms: int
    rows: tuple[Row, ...]
    signals: npt.NDArray[np.float64]
    sampled_at_ms: npt.NDArray[np.int64]
    new_series: tuple[Series, ...]
    new_labels: tuple[LabelRef, ...]
    foreign: bool
    frozen_since_ms: int | None
    skew_ms: int


class Understanding:
    """Understands the pages of one target; remembers the last page's layout, the series told and the last change."""

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
        """`node` names the machine whatever the page says; `exporter_interval_ms` is how often the exporter itself collects."""
        raise NotImplementedError

    def read(self, page: Page, sampled_at_ms: int) -> Reading:
        """What the page says, sampled at the fetch's time on the collector's clock."""
        raise NotImplementedError


def samples_frame(readings: Sequence[Reading]) -> pl.DataFrame:
    """The columns of table `samples`, one row a (series, page); what is blank, absurd or missing is null, never 0."""
    raise NotImplementedError

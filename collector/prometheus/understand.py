"""What sheets say about devices: the same meaning as a page's that was fetched, for all pages of a span at once.

    understanding = Understanding("demo", "http://prometheus:9090")
    found = understanding.read(sheets, from_ms, until_ms)    # rows of the span, in order of time from call to call

A sheet may begin before the span: those pages tell what follows on what, and are no rows.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from collector.dcgm import plausible
from collector.dcgm.metrics import SIGNALS
from collector.dcgm.plan import Plan, plan_of_spoken
from collector.dcgm.register import Register
from collector.dcgm.understand import NO_LABEL
from collector.prometheus.answer import Floats, Instants
from collector.prometheus.sheet import Flags, Sheet
from collector.prometheus.silence import SOURCE, Pages
from collector.prometheus.stillness import Frozen, frozen
from quartermaster.clock import SECOND_MS
from quartermaster.records import LabelRef, Series

# Also the interval of nodes with too few pages to tell theirs.
EXPORTER_INTERVAL_MS = 30 * SECOND_MS
# How far before a span its sheets should begin: what is frozen is known then, and which page follows on which.
MARGIN_MS = 5 * 60 * SECOND_MS
_LONGEST_INTERVAL_MS = 600 * SECOND_MS
_PLANS_KEPT = 64


@dataclass(frozen=True, slots=True)
class Found:
    """What a span's sheets say: rows of `samples`, records to append, and each node's pages."""

    samples: pl.DataFrame
    series: tuple[Series, ...]
    labels: tuple[LabelRef, ...]
    pages: dict[str, Pages]


@dataclass(slots=True)
class _Seat:
    """One node's memory: its series, the plans of its layouts, which of them was in force last."""

    register: Register
    plans: dict[tuple[int, ...], Plan] = field(default_factory=dict[tuple[int, ...], Plan])
    plan: Plan | None = None
    series_ids: Instants = field(default_factory=lambda: np.array([], np.int64))
    refs: Instants = field(default_factory=lambda: np.array([], np.int64))
    interval_ms: int = 0


@dataclass(slots=True)
class _Block:
    """Rows of a segment: series × pages, row by row, and the signals that its lines have."""

    series_ids: Instants
    refs: Instants
    at_ms: Instants
    hold_ms: int
    signals: dict[int, Floats]

    @property
    def height(self) -> int:
        return len(self.series_ids) * len(self.at_ms)


@dataclass
class _Gathered:
    """What was gathered of a span."""

    blocks: list[_Block] = field(default_factory=list[_Block])
    series: list[Series] = field(default_factory=list[Series])
    labels: list[LabelRef] = field(default_factory=list[LabelRef])


class Understanding:
    """Understands the sheets of one cluster; remembers its nodes, their series and the label sets told."""

    def __init__(
        self,
        cluster: str,
        target: str,
        *,
        known_series: Iterable[Series] = (),
        jobs_with_exported: AbstractSet[str] = frozenset(),
    ) -> None:
        """`jobs_with_exported` label the workload's pod `exported_pod`: their plain ones are the exporter's."""
        self._cluster, self._target = cluster, target
        self._jobs_with_exported = jobs_with_exported
        self._labels: set[int] = set()
        self._known: dict[str, list[Series]] = {}
        for series in known_series:
            self._known.setdefault(series.node, []).append(series)
        self._seats: dict[str, _Seat] = {}

    def read(self, sheets: Sequence[Sheet], from_ms: int, until_ms: int) -> Found:
        """What the pages of [from, until) say."""
        gathered = _Gathered()
        pages: dict[str, Pages] = {}
        for sheet in sheets:
            seat = self._seat(sheet.node)
            seat.interval_ms = min(
                sheet.interval_ms or seat.interval_ms or EXPORTER_INTERVAL_MS, _LONGEST_INTERVAL_MS
            )
            still = frozen(sheet, max(EXPORTER_INTERVAL_MS, seat.interval_ms))
            pages[sheet.node] = _pages(sheet, still, seat.interval_ms)
            kept = (sheet.at_ms >= from_ms) & (sheet.at_ms < until_ms)
            if still is not None:
                kept &= ~still.pages
            for first, last in sheet.segments():
                if kept[first:last].any():
                    self._segment(sheet, slice(first, last), kept[first:last], still, gathered)
        return Found(
            _frame(self._cluster, gathered.blocks), tuple(gathered.series), tuple(gathered.labels), pages
        )

    def _seat(self, node: str) -> _Seat:
        if node not in self._seats:
            known = self._known.get(node, ())
            register = Register(self._cluster, self._target, SOURCE, known, self._labels)
            self._seats[node] = _Seat(register)
        return self._seats[node]

    def _segment(
        self, sheet: Sheet, pages: slice, kept: Flags, still: Frozen | None, gathered: "_Gathered"
    ) -> None:
        """The rows of a run of pages with one layout, of those that are `kept`."""
        seat, at_ms = self._seats[sheet.node], sheet.at_ms[pages]
        lines: list[int] = np.flatnonzero(sheet.present[:, pages.start]).tolist()
        plan = self._plan(sheet, lines, seat)
        if plan is not seat.plan:
            told, new_series = seat.register.series(plan.rows, int(at_ms[kept][0]))
            refs, new_labels = seat.register.labels(plan.rows)
            seat.plan = plan
            seat.series_ids = np.array([one.series_id for one in told], np.int64)
            seat.refs = np.array([NO_LABEL if ref is None else ref.label_ref for ref in refs], np.int64)
            gathered.series += new_series
            gathered.labels += new_labels
        if not plan.rows:
            return
        signals = _signals(plan, sheet.values[lines, pages])
        if still is not None:
            _silence_gpus(signals, plan, {gpu: flags[pages] for gpu, flags in still.gpus.items()})
        if not kept.all():
            signals = {number: rows[:, kept] for number, rows in signals.items()}
        hold_ms = seat.interval_ms * 5 // 2
        gathered.blocks.append(_Block(seat.series_ids, seat.refs, at_ms[kept], hold_ms, signals))

    def _plan(self, sheet: Sheet, lines: list[int], seat: _Seat) -> Plan:
        voices = [sheet.voices[line] for line in lines]
        key = tuple(voice.number for voice in voices)
        plan = seat.plans.get(key)
        if plan is None:
            if len(seat.plans) >= _PLANS_KEPT:
                seat.plans.clear()
            spoken = [(line, voice.signal, voice.subject) for line, voice in enumerate(voices)]
            exported = any(voice.job in self._jobs_with_exported for voice in voices)
            plan = seat.plans[key] = plan_of_spoken(spoken, plain_pods=not exported)
        return plan

    def ended(self, at_ms: int) -> list[Series]:
        """The series that are open, ended: nothing is told of them from here."""
        return [series for seat in self._seats.values() for series in seat.register.ended(at_ms)]


def _pages(sheet: Sheet, still: Frozen | None, interval_ms: int) -> Pages:
    if still is None:
        return Pages(sheet.at_ms, interval_ms)
    begins = np.flatnonzero(still.pages & ~np.concatenate([[False], still.pages[:-1]]))
    ends = np.flatnonzero(~still.pages & np.concatenate([[False], still.pages[:-1]]))
    stretches = [
        (int(still.since_ms[begin]), int(sheet.at_ms[ends[number]]) if number < len(ends) else None)
        for number, begin in enumerate(begins.tolist())
    ]
    return Pages(sheet.at_ms[~still.pages], interval_ms, tuple(stretches))


def _signals(plan: Plan, values: Floats) -> dict[int, Floats]:
    """By signal, rows × pages in the exporter's units; as Plan.signals has it for one page."""
    pages, width = values.shape[1], len(SIGNALS)
    flat: dict[int, Floats] = {
        number: np.full((len(plan.rows), pages), np.nan) for number in np.unique(plan.cells % width).tolist()
    }
    for line, cell in zip(plan.lines.tolist(), plan.cells.tolist(), strict=True):
        flat[cell % width][cell // width] = values[line]
    for line, cell in zip(plan.again_lines.tolist(), plan.again_cells.tolist(), strict=True):
        number = cell % width
        both = np.stack([flat[number][cell // width], values[line]])
        fits = plausible.is_value(both, np.full(both.shape, number, np.intp))
        flat[number][cell // width] = np.fmax.reduce(np.where(fits, both, np.nan))
    for cell, device in zip(plan.shared_cells.tolist(), plan.shared_devices.tolist(), strict=True):
        rows = flat[cell % width]
        unmatched = (rows[cell // width] == 0) & (rows[device // width] > 0)
        rows[cell // width][unmatched] = np.nan
    return flat


def _silence_gpus(signals: dict[int, Floats], plan: Plan, still: dict[str, Flags]) -> None:
    """What a frozen GPU shows is no value."""
    for row, planned in enumerate(plan.rows):
        flags = still.get(planned.place.gpu_uuid)
        if flags is not None:
            for rows in signals.values():
                rows[row][flags] = np.nan


def _frame(cluster: str, blocks: Sequence[_Block]) -> pl.DataFrame:
    """The columns of table `samples`; what is blank, absurd or missing is null."""
    heights = [block.height for block in blocks]
    told = sorted({number for block in blocks for number in block.signals})
    columns = {
        "series_id": _joined([np.repeat(block.series_ids, len(block.at_ms)) for block in blocks]),
        "sampled_at": _joined([np.tile(block.at_ms, len(block.series_ids)) for block in blocks]),
        "hold_ms": np.repeat(np.array([block.hold_ms for block in blocks], np.int32), heights),
    }
    refs = _joined([np.repeat(block.refs, len(block.at_ms)) for block in blocks])
    signals = {SIGNALS[number].column: _stored(blocks, number) for number in told}
    return pl.DataFrame(
        {**columns, **signals, "label_ref": pl.Series("label_ref", refs).replace(NO_LABEL, None)}
    ).with_columns(cluster=pl.lit(cluster), source=pl.lit(SOURCE))


def _joined(columns: Sequence[Instants]) -> Instants:
    return np.concatenate([np.array([], np.int64), *columns])


def _stored(blocks: Sequence[_Block], number: int) -> pl.Series:
    rows = [
        block.signals[number].ravel() if number in block.signals else np.full(block.height, np.nan)
        for block in blocks
    ]
    kind = pl.Int64 if SIGNALS[number].column == "energy_j" else pl.Int32
    whole = plausible.stored_column(np.concatenate(rows), number)
    return pl.Series(SIGNALS[number].column, whole, nan_to_null=True).cast(kind)

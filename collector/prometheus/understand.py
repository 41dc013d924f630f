"""What sheets say about devices: the same meaning as a page's that was fetched, for all pages of a span at once.

    understanding = Understanding("demo", "http://prometheus:9090")
    found = understanding.read(sheets, from_ms, until_ms)    # rows of the span, in order of time from call to call

A sheet may begin before the span: those pages tell what follows on what, and are no rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TypeVar, cast

import numpy as np
import polars as pl

from collector.dcgm import plausible
from collector.dcgm.metrics import SIGNALS
from collector.dcgm.plan import Numbers, Plan, plan_of_spoken
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
_PLANS_KEPT = 8
# So many numbers, and what is reckoned with them, stay in the processor's cache.
_IN_CACHE = 16_384
_Signals = dict[int, list[Floats | None]]
Kind = TypeVar("Kind", Instants, Floats)


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
    """Rows of a segment: its series, its pages, and by signal what each row's line says; None where it has no line."""

    series_ids: Instants
    refs: Instants
    at_ms: Instants
    hold_ms: int
    signals: _Signals


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
            begin, end = np.searchsorted(sheet.at_ms, (from_ms, until_ms)).tolist()
            for first, last in sheet.segments():
                if max(first, begin) < min(last, end):
                    self._segment(sheet, slice(max(first, begin), min(last, end)), still, gathered)
        return Found(
            _frame(self._cluster, gathered.blocks), tuple(gathered.series), tuple(gathered.labels), pages
        )

    def _seat(self, node: str) -> _Seat:
        if node not in self._seats:
            known = self._known.get(node, ())
            register = Register(self._cluster, self._target, SOURCE, known, self._labels)
            self._seats[node] = _Seat(register)
        return self._seats[node]

    def _segment(self, sheet: Sheet, pages: slice, still: Frozen | None, gathered: "_Gathered") -> None:
        """The rows of a run of pages with one layout; those that are frozen say nothing."""
        kept = np.ones(pages.stop - pages.start, np.bool_) if still is None else ~still.pages[pages]
        if not kept.any():
            return
        seat, at_ms = self._seats[sheet.node], sheet.at_ms[pages][kept]
        lines: list[int] = np.flatnonzero(sheet.present[:, pages.start]).tolist()
        plan = self._plan(sheet, lines, seat)
        if plan is not seat.plan:
            told, new_series = seat.register.series(plan.rows, int(at_ms[0]))
            refs, new_labels = seat.register.labels(plan.rows)
            seat.plan = plan
            seat.series_ids = np.array([one.series_id for one in told], np.int64)
            seat.refs = np.array([NO_LABEL if ref is None else ref.label_ref for ref in refs], np.int64)
            gathered.series += new_series
            gathered.labels += new_labels
        if not plan.rows:
            return
        signals = _signals(plan, [sheet.values[line, pages] for line in lines])
        if still is not None:
            _silence_gpus(signals, plan, {gpu: flags[pages] for gpu, flags in still.gpus.items()}, kept)
        gathered.blocks.append(_Block(seat.series_ids, seat.refs, at_ms, seat.interval_ms * 5 // 2, signals))

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


def _signals(plan: Plan, lines: Sequence[Floats]) -> _Signals:
    """By signal, each row's values in the exporter's units; as Plan.signals has it for one page."""
    width = len(SIGNALS)
    told: _Signals = {}
    for line, cell in _pairs(plan.lines, plan.cells):
        told.setdefault(cell % width, [None] * len(plan.rows))[cell // width] = lines[line]
    for line, cell in _pairs(plan.again_lines, plan.again_cells):
        number, row = cell % width, cell // width
        both = np.stack([cast(Floats, told[number][row]), lines[line]])
        fits = plausible.is_value(both, np.full(both.shape, number, np.intp))
        told[number][row] = np.fmax.reduce(np.where(fits, both, np.nan))
    for cell, device in _pairs(plan.shared_cells, plan.shared_devices):
        rows = told[cell % width]
        own, whole = cast(Floats, rows[cell // width]), cast(Floats, rows[device // width])
        rows[cell // width] = np.where((own == 0) & (whole > 0), np.nan, own)
    return told


def _pairs(first: Numbers, second: Numbers) -> Iterator[tuple[int, int]]:
    return zip(first.tolist(), second.tolist(), strict=True)


def _silence_gpus(signals: _Signals, plan: Plan, still: dict[str, Flags], kept: Flags) -> None:
    """What a frozen GPU shows is no value; of all that is shown the pages stay that are `kept`."""
    for rows in signals.values():
        for row, planned in enumerate(plan.rows):
            shown, flags = rows[row], still.get(planned.place.gpu_uuid)
            if shown is not None:
                rows[row] = (shown if flags is None else np.where(flags, np.nan, shown))[kept]


def _frame(cluster: str, blocks: Sequence[_Block]) -> pl.DataFrame:
    """The columns of table `samples`, in the table's order: by series, by time."""
    runs = sorted(
        (series_id, int(block.at_ms[0]), number, row)
        for number, block in enumerate(blocks)
        for row, series_id in enumerate(block.series_ids.tolist())
    )
    places = [(blocks[number], row) for _, _, number, row in runs]
    lengths = np.array([len(block.at_ms) for block, _ in places], np.int64)
    of_runs = {
        "series_id": np.array([series_id for series_id, *_ in runs], np.int64),
        "hold_ms": np.array([block.hold_ms for block, _ in places], np.int32),
        "label_ref": np.array([block.refs[row] for block, row in places], np.int64),
    }
    columns = {name: pl.Series(name, np.repeat(told, lengths)) for name, told in of_runs.items()}
    columns["label_ref"] = columns["label_ref"].replace(NO_LABEL, None)
    columns["sampled_at"] = pl.Series(
        "sampled_at", _joined([block.at_ms for block, _ in places], np.array([], np.int64))
    )
    for number in sorted({number for block in blocks for number in block.signals}):
        columns[SIGNALS[number].column] = _stored(places, number)
    return pl.DataFrame(columns).with_columns(cluster=pl.lit(cluster), source=pl.lit(SOURCE))


def _stored(places: Sequence[tuple[_Block, int]], number: int) -> pl.Series:
    """A signal's column; what is blank, absurd or missing is null."""
    rows = [
        np.full(len(block.at_ms), np.nan) if shown is None else shown
        for block, row in places
        for shown in (block.signals[number][row] if number in block.signals else None,)
    ]
    numbers = _joined(rows, np.array([], np.float64))
    for first in range(0, len(numbers), _IN_CACHE):
        some = slice(first, first + _IN_CACHE)
        numbers[some] = plausible.stored_column(numbers[some], number)
    name = SIGNALS[number].column
    kind = pl.Int64 if name == "energy_j" else pl.Int32
    return pl.Series(name, numbers, nan_to_null=True).cast(kind)


def _joined(columns: Sequence[Kind], empty: Kind) -> Kind:
    return cast(Kind, np.concatenate([empty, *columns]))

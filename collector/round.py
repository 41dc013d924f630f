"""A round over one cluster's exporters: visits, what they gave, and what they did not, as rows.

`collect(targets, now_ms)` is a whole round on a clock of the caller's; a loop on the real clock visits each
target when its turn comes, and takes what was gathered in between.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Protocol

import polars as pl

from collector import gaps
from collector.dcgm.fetch import Failure, Fetched
from collector.dcgm.understand import Reading, Row, Understanding, samples_frame
from collector.exposition.page import Page
from collector.exposition.parse import Parser
from collector.gaps import Watch
from collector.targets import Target
from quartermaster.records import Gap, LabelRef, Series, Watermark
from sql.ledger import frame

SOURCE = "dcgm"
# How many label sets are remembered as told; above it they are told again, and the writer leaves out what
# is there.
_LABELS_REMEMBERED = 200_000


class Fetches(Protocol):
    """What a round needs of an HTTP client."""

    async def fetch(self, target: Target) -> Fetched | Failure:
        """The target's page, or why there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was gathered: `frames` are rows by table; the rest is for logs and metrics.

    `start_at` … `complete_until_at` is the span the rows are of (epoch ms): what comes later is of later.
    """

    cluster: str
    source: str
    start_at: int
    complete_until_at: int
    frames: Mapping[str, pl.DataFrame]
    pages: int
    samples: int
    bad_lines: int
    missed: Mapping[str, int]  # visits that gave no sample, by reason
    fetch_seconds: tuple[float, ...]
    failures: tuple[tuple[Target, str, str], ...]  # who fell silent just now, with reason and detail
    recovered: tuple[Target, ...]


@dataclass(slots=True)
class _Seat:
    """One target's memory between its visits."""

    watch: Watch
    understanding: Understanding
    since_ms: int
    parser: Parser = field(default_factory=Parser)
    rows: tuple[Row, ...] | None = None
    nodes: tuple[str, ...] = ()
    busy_since_ms: int | None = None


@dataclass(slots=True)
class _Basket:
    """What was gathered since the last take."""

    readings: list[Reading] = field(default_factory=list[Reading])
    series: list[Series] = field(default_factory=list[Series])
    labels: list[LabelRef] = field(default_factory=list[LabelRef])
    gaps: list[Gap] = field(default_factory=list[Gap])
    targets: list[tuple[Target, int, int | None]] = field(
        default_factory=list[tuple[Target, int, int | None]]
    )
    pages: int = 0
    samples: int = 0
    bad_lines: int = 0
    missed: dict[str, int] = field(default_factory=dict[str, int])
    seconds: list[float] = field(default_factory=list[float])
    failures: list[tuple[Target, str, str]] = field(default_factory=list[tuple[Target, str, str]])
    recovered: list[Target] = field(default_factory=list[Target])


class Round:
    """One cluster's targets, what is remembered of each, and what was gathered since the last take."""

    def __init__(self, cluster: str, interval_ms: int, fetcher: Fetches, source: str = SOURCE) -> None:
        self.cluster = cluster
        self.interval_ms = interval_ms
        self.fetcher = fetcher
        self.source = source
        self._seats: dict[Target, _Seat] = {}
        self._labels: set[int] = set()
        self._basket = _Basket()
        self._taken_until_ms: int | None = None

    @property
    def targets(self) -> tuple[Target, ...]:
        """The targets that are visited."""
        return tuple(self._seats)

    @property
    def silent(self) -> int:
        """How many targets are in a gap."""
        return sum(seat.watch.gap is not None for seat in self._seats.values())

    async def collect(self, targets: Iterable[Target], now_ms: int) -> Outcome:
        """Visit every target now, at once, and take what they gave."""
        self.retarget(targets, now_ms)
        await asyncio.gather(*(self.visit(target, now_ms) for target in self._seats))
        return self.take(now_ms)

    def retarget(self, targets: Iterable[Target], now_ms: int) -> None:
        """Visit these targets from now on. Who leaves keeps no open gap; who stays keeps everything."""
        present = dict.fromkeys(targets)
        for target in self._seats.keys() - present.keys():
            seat = self._seats.pop(target)
            self._basket.gaps += gaps.ended(seat.watch, now_ms)
            self._basket.targets.append((target, seat.since_ms, now_ms))
        for target in present:
            if target not in self._seats:
                self._seats[target] = _Seat(Watch(target, self.source), self._understanding(target), now_ms)
                self._basket.targets.append((target, now_ms, None))

    def _understanding(self, target: Target) -> Understanding:
        return Understanding(
            self.cluster,
            target.name,
            self.source,
            self.interval_ms,
            node=target.node,
            known_labels=self._labels,
        )

    async def visit(self, target: Target, at_ms: int) -> None:
        """Fetch and understand one target's page; a failure is a gap. A target that is not there any more
        is nothing.

        A visit while the last one is still under way is not made: it is missed, as overlapped.
        """
        seat = self._seats.get(target)
        if seat is None:
            return
        if seat.busy_since_ms is not None:
            self._miss(seat, at_ms, gaps.OVERLAPPED)
            return
        seat.busy_since_ms = at_ms
        began = perf_counter()
        try:
            answer = await self.fetcher.fetch(target)
        finally:
            seat.busy_since_ms = None
        self._basket.seconds.append(perf_counter() - began)
        if self._seats.get(target) is not seat:
            return
        if isinstance(answer, Failure):
            self._miss(seat, at_ms, answer.reason, answer.detail)
            return
        try:
            self._understand(seat, answer, at_ms)
        except Exception as error:  # noqa: BLE001  a page is a stranger's: what breaks us costs its target alone
            self._miss(seat, at_ms, gaps.NOT_UNDERSTOOD, f"{type(error).__name__}: {error}")

    def _understand(self, seat: _Seat, answer: Fetched, at_ms: int) -> None:
        page = seat.parser.parse(
            answer.body, openmetrics=answer.content_type == "application/openmetrics-text"
        )
        self._basket.pages += 1
        self._basket.bad_lines += page.bad_count
        if not page.complete:
            self._miss(seat, at_ms, gaps.HALF_PAGE if _of_dcgm(page) else gaps.NOT_AN_EXPORTER)
            return
        reading = seat.understanding.read(page, at_ms)
        if reading.foreign:
            self._miss(seat, at_ms, gaps.NOT_AN_EXPORTER)
            return
        self._basket.series += reading.new_series
        self._basket.labels += reading.new_labels
        if reading.rows is not seat.rows:
            seat.rows = reading.rows
            seat.nodes = tuple(sorted({row.series.node for row in reading.rows}))
        if reading.frozen_since_ms is not None:
            self._miss(seat, at_ms, gaps.FROZEN, since_ms=reading.frozen_since_ms)
        elif abs(reading.skew_ms) > reading.hold_ms:
            self._miss(seat, at_ms, gaps.CLOCK_JUMPED, f"the page's clock differs by {reading.skew_ms} ms")
        else:
            if seat.watch.gap is not None:
                self._basket.recovered.append(seat.watch.target)
            seat.watch, told = gaps.observed(seat.watch, at_ms, seat.nodes)
            self._basket.gaps += told
            self._basket.readings.append(reading)
            self._basket.samples += len(reading.rows)

    def _miss(
        self, seat: _Seat, at_ms: int, reason: str, detail: str = "", since_ms: int | None = None
    ) -> None:
        if seat.watch.gap is None or reason not in seat.watch.gap.reasons:
            self._basket.failures.append((seat.watch.target, reason, detail))
        seat.watch, told = gaps.missed(seat.watch, at_ms, reason, since_ms)
        self._basket.gaps += told
        self._basket.missed[reason] = self._basket.missed.get(reason, 0) + 1

    def unseen(self, start_ms: int, end_ms: int, reason: str) -> None:
        """Record a span in which the collector itself saw nothing that counts, such as a jump of its
        clock."""
        if end_ms > start_ms:
            self._basket.gaps.append(gaps.of_cluster(self.cluster, self.source, start_ms, end_ms, reason))

    def take(self, now_ms: int) -> Outcome:
        """What was gathered since the last take; complete up to now, or to the start of the oldest visit
        under way."""
        basket, self._basket = self._basket, _Basket()
        under_way = [seat.busy_since_ms for seat in self._seats.values() if seat.busy_since_ms is not None]
        until_ms = min([now_ms, *under_way])
        start_ms = until_ms if self._taken_until_ms is None else self._taken_until_ms
        self._taken_until_ms = max(start_ms, until_ms)
        if len(self._labels) > _LABELS_REMEMBERED:
            self._labels.clear()
        return Outcome(
            self.cluster,
            self.source,
            start_ms,
            self._taken_until_ms,
            self._frames(basket, self._taken_until_ms),
            basket.pages,
            basket.samples,
            basket.bad_lines,
            basket.missed,
            tuple(basket.seconds),
            tuple(basket.failures),
            tuple(basket.recovered),
        )

    def _frames(self, basket: _Basket, until_ms: int) -> dict[str, pl.DataFrame]:
        frames = {
            "series_versions": frame(basket.series),
            "label_refs": frame(basket.labels),
            "gaps_versions": frame(basket.gaps),
            "targets_versions": self._target_rows(basket.targets),
            "watermarks": frame([Watermark(self.cluster, self.source, gaps.TELEMETRY, until_ms)]),
        }
        if basket.readings:
            frames["samples"] = samples_frame(basket.readings)
        return {table: rows for table, rows in frames.items() if rows.height}

    def _target_rows(self, told: list[tuple[Target, int, int | None]]) -> pl.DataFrame:
        return pl.DataFrame(
            [
                {
                    "cluster": self.cluster,
                    "target_id": target.target_id,
                    "start_at": start_ms,
                    "end_at": end_ms,
                    "source": self.source,
                    "target": target.name,
                    "node": target.node,
                    "interval_ms": self.interval_ms,
                    "revision": 0 if end_ms is None else 1,
                }
                for target, start_ms, end_ms in told
            ],
            schema_overrides={"end_at": pl.Int64},
        )


def _of_dcgm(page: Page) -> bool:
    return any(line.name.lower().startswith("dcgm_") for line in page.layout.lines)

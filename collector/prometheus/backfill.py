"""Backfill: what a Prometheus has of a cluster's GPUs, from before anybody collected, into the ledger.

Each hole in what the ledger covers is read slice by slice. A slice is one commit: its samples, what is new of
series, labels and gaps, and how far the hole is filled now. So whenever it ends, what is there is whole, and the
next run goes on behind it. Who held what is told when a hole is full: collector.prometheus.holders.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from collector import gaps
from collector.batch import SAMPLES, Batch, commit
from collector.prometheus.chunks import matchers, selector
from collector.prometheus.connection import Connection
from collector.prometheus.coverage import Covered, Reach, Span, covered, rows
from collector.prometheus.estimate import Estimate
from collector.prometheus.sheet import sheets
from collector.prometheus.silence import SOURCE, Silence
from collector.prometheus.slices import METRICS, Reader, Slice
from collector.prometheus.understand import MARGIN_MS, Understanding
from collector.prometheus.voices import Voices
from quartermaster.ids import content_id
from quartermaster.records import Gap, Series, Watermark
from sql.ledger import Ledger, frame
from sql.samples import write_samples

PARTIAL = "partial answer"
Progress = Callable[[int, int], None]  # up to which instant, and with how many samples so far


@dataclass(frozen=True, slots=True)
class Asked:
    """Whose history is asked for: the cluster, the labels that its series have, the label with the node.

    `from_start`: what comes before the first sample was observed too, by somebody else (kube-state-metrics).
    """

    cluster: str
    match: Mapping[str, str]
    node_label: str = ""
    from_start: bool = False


@dataclass
class Filled:
    """What was done: the spans that were read, and those that are missing still because answers were partial."""

    spans: list[Span] = field(default_factory=list[Span])
    partial: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])
    samples: int = 0
    rows: int = 0
    questions: int = 0

    def read(self, span: Span) -> None:
        """One more span that was read; what follows on another is one with it."""
        start_ms = self.spans.pop()[0] if self.spans and self.spans[-1][1] == span[0] else span[0]
        self.spans.append((start_ms, span[1]))


@dataclass(frozen=True)
class Work:
    """What a backfill works with: from where to where, for whom, since when; and whom it tells how far it is."""

    ledger: Ledger
    connection: Connection
    asked: Asked
    now_ms: int
    progress: Progress
    filled: Filled = field(default_factory=Filled)

    def fill(self, expected: Estimate) -> None:
        """Fill holes with telemetry, and note in `filled` what was done. What was committed stays.

        Raises SourceError, LedgerError; Partial or TooMuch where the server does not even list what it has.
        """
        known = covered(self.ledger, self.asked.cluster)
        for hole in expected.holes:
            _Hole(self, hole, known).fill(expected.per_ms)


class _Hole:
    """One hole while it is filled."""

    def __init__(self, work: Work, hole: Span, known: list[Covered]) -> None:
        self._work, self._hole = work, hole
        self._asked, self._target = work.asked, work.connection.url
        self._reach = Reach.at(self._asked.cluster, self._target, hole[0], known)
        self._match = matchers(self._asked.match)
        self._voices = Voices(self._asked.node_label)
        told = self._known_gaps()
        self._partial_gaps = [gap for gap in told if not gap.node]
        reaching = [gap for gap in told if gap.node and gap.target == self._target]
        self._silence = Silence(self._asked.cluster, self._target, reaching)
        series = [
            Series(**row)
            for row in rows(work.ledger, "known_series", cluster=self._asked.cluster, from_ms=hole[0])
        ]
        self._again = [
            replace(one, end_at=None, revision=one.revision + 1) for one in series if one.end_at is not None
        ]
        still_open = [*(one for one in series if one.end_at is None), *self._again]
        self._understanding = Understanding(
            self._asked.cluster,
            self._target,
            known_series=still_open,
            jobs_with_exported=self._jobs_with_exported(),
        )
        self._interval_ms = 0
        # Before the first sample nobody scraped, or what they scraped is not kept here: that stays a hole.
        self._began = self._asked.from_start or self._reach.revision >= 0

    def fill(self, per_ms: float) -> None:
        """Read it, and commit slice by slice; so many samples a millisecond are expected."""
        filled = self._work.filled
        reader = Reader(self._work.connection, self._match, per_ms)
        for one in reader.slices(*self._hole):
            filled.questions += one.questions
            if one.partial:
                filled.partial.append((one.from_ms, one.until_ms, one.partial))
                self._commit_partial(one)
            else:
                filled.samples += one.samples
                filled.rows += self._commit(one)
                filled.read((one.from_ms, one.until_ms))
            self._work.progress(one.until_ms, filled.samples)
        self._finish()

    def _commit(self, one: Slice) -> int:
        """A slice that is whole; how many rows of samples it gave."""
        span = (one.from_ms, one.until_ms)
        self._voices.forget()
        found = self._understanding.read(
            sheets(one.taken(), self._voices, span[0] - MARGIN_MS, span[1]), *span
        )
        self._began = self._began or bool(found.pages)
        if not self._began:
            self._reach = Reach(self._asked.cluster, self._target, span[1])
            return 0
        intervals = sorted(pages.interval_ms for pages in found.pages.values())
        self._interval_ms = intervals[len(intervals) // 2] if intervals else self._interval_ms
        series = {(each.series_id, each.start_at, each.revision): each for each in self._again}
        series |= {(each.series_id, each.start_at, each.revision): each for each in found.series}
        withdrawn = [
            replace(gap, end_at=gap.start_at, revision=gap.revision + 1) for gap in self._partial_gaps
        ]
        frames = {
            SAMPLES: found.samples,
            "series_versions": frame(list(series.values())),
            "label_refs": frame(found.labels),
            "gaps_versions": frame([*withdrawn, *self._silence.span(found.pages, *span)]),
            "targets_versions": pl.DataFrame([self._reach.until(span[1], self._interval_ms)]),
        }
        self._append(f"{span[0]}-{span[1]}", frames)
        self._again, self._partial_gaps = [], []
        return found.samples.height

    def _commit_partial(self, one: Slice) -> None:
        """A slice of which the server says that some is missing: it stays a hole, and is a gap until it is read."""
        key = (gaps.TELEMETRY, SOURCE, "", self._target, one.from_ms)
        gap = Gap(
            cluster=self._asked.cluster,
            gap_id=content_id("gap", self._asked.cluster, *key),
            start_at=one.from_ms,
            end_at=one.until_ms,
            covers=gaps.TELEMETRY,
            source=SOURCE,
            target=self._target,
            node="",
            reason=f"{PARTIAL}: {one.partial}"[:500],
            revision=self._gap_revision(one.from_ms) + 1,
        )
        self._append(
            f"{one.from_ms}-{one.until_ms}/partial/{self._work.now_ms}", {"gaps_versions": frame([gap])}
        )
        self._partial_gaps = [each for each in self._partial_gaps if each.gap_id != gap.gap_id]
        self._silence.forget()
        self._reach = Reach(self._asked.cluster, self._target, one.until_ms)

    def _finish(self) -> None:
        """The hole is read up to its end: its series end there, and telemetry is complete so far."""
        until_ms = self._hole[1]
        if not self._began:
            return
        frames = {
            "series_versions": frame(self._understanding.ended(until_ms)),
            "watermarks": frame([Watermark(self._asked.cluster, SOURCE, gaps.TELEMETRY, until_ms)]),
        }
        self._append(f"{self._hole[0]}-{until_ms}/end/{self._work.now_ms}", frames)

    def _append(self, key: str, frames: Mapping[str, pl.DataFrame]) -> None:
        ledger, told = self._work.ledger, {table: given for table, given in frames.items() if given.height}
        files = write_samples(ledger, self._asked.cluster, told[SAMPLES]) if SAMPLES in told else ()
        if files:
            del told[SAMPLES]
        batch = Batch(f"backfill/{self._asked.cluster}/{key}", self._work.now_ms, told)
        # Files of a commit that failed stay for upkeep: whoever lost its answer cannot know whose they are.
        commit(ledger, batch, files=files)

    def _known_gaps(self) -> list[Gap]:
        span = {"from_ms": self._hole[0], "until_ms": self._hole[1]}
        return [
            Gap(**row) for row in rows(self._work.ledger, "known_gaps", cluster=self._asked.cluster, **span)
        ]

    def _gap_revision(self, start_ms: int) -> int:
        known = [gap.revision for gap in self._partial_gaps if gap.start_at == start_ms]
        return max(known, default=-1)

    def _jobs_with_exported(self) -> set[str]:
        """The jobs of which some series has the workload's pod in `exported_pod`."""
        exported = selector(METRICS, self._match, ',exported_pod!=""')
        return set(self._work.connection.label_values("job", exported, *self._hole))

"""Sheets: what a node's pages said over a span, put together again from series; pure.

All that one scrape brought has one timestamp. So a column of a sheet is a page, and as long as the same lines
are there it is the same layout.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from collector.prometheus.answer import Answer, Floats, Instants
from collector.prometheus.voices import Voice, Voices

Flags = npt.NDArray[np.bool_]
# A page so near to a page of another origin, in intervals, is the same moment seen twice.
_NEAR = 0.75


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """A node's pages at `at_ms`, in order: `values` (lines × pages), and whether each line is `present`.

    interval_ms  the usual time between two pages; 0 where there are too few to tell
    """

    node: str
    voices: tuple[Voice, ...]
    at_ms: Instants
    values: Floats
    present: Flags
    interval_ms: int

    def segments(self) -> Iterator[tuple[int, int]]:
        """The runs of pages, [first, last), on which the same lines are present."""
        if self.present.all():
            yield 0, len(self.at_ms)
            return
        cuts = np.flatnonzero((self.present[:, 1:] != self.present[:, :-1]).any(axis=0)) + 1
        yield from itertools.pairwise([0, *cuts.tolist(), len(self.at_ms)])


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """A series' samples of one answer."""

    voice: Voice
    at_ms: Instants
    values: Floats


@dataclass(slots=True)
class _Parts:
    """A node's series while they are gathered. Those that have the same instants share one column of them."""

    parts: list[_Part] = field(default_factory=list[_Part])
    _columns: dict[tuple[int, int, int], Instants] = field(
        default_factory=dict[tuple[int, int, int], Instants]
    )

    def add(self, voice: Voice, at_ms: Instants, values: Floats) -> None:
        """One more, which has samples."""
        shape = (len(at_ms), at_ms.item(0), at_ms.item(-1))
        known = self._columns.setdefault(shape, at_ms)
        shared = known is not at_ms and known.tobytes() == at_ms.tobytes()
        self.parts.append(_Part(voice, known if shared else at_ms, values))


def sheets(answers: Iterable[Answer], voices: Voices, from_ms: int, until_ms: int) -> list[Sheet]:
    """The sheets of [from, until), by node. Samples outside it are passed over. Raises NoAnswer."""
    by_node: defaultdict[str, _Parts] = defaultdict(_Parts)
    for answer in answers:
        bounds = answer.starts.tolist()
        inside = (answer.at_ms >= from_ms) & (answer.at_ms < until_ms)
        whole = bool(inside.all())
        for number, head in enumerate(answer.heads):
            voice = voices.of(head)
            if voice is None:
                continue
            some = slice(bounds[number], bounds[number + 1])
            at_ms, values = answer.at_ms[some], answer.values[some]
            if not whole:
                at_ms, values = at_ms[inside[some]], values[inside[some]]
            if len(at_ms):
                by_node[voice.subject.node].add(voice, at_ms, values)
    return [_sheet(node, by_node[node].parts) for node in sorted(by_node)]


def _sheet(node: str, parts: Sequence[_Part]) -> Sheet:
    at_ms, interval_ms = _pages(parts)
    rows: dict[Voice, int] = {}
    for part in parts:
        rows.setdefault(part.voice, len(rows))
    voices = tuple(rows)
    if len(rows) == len(parts) and all(part.at_ms is at_ms for part in parts):
        values = np.concatenate([part.values for part in parts]).reshape(len(rows), -1)
        return Sheet(node, voices, at_ms, values, np.ones(values.shape, np.bool_), interval_ms)
    runs = {id(part.at_ms): part.at_ms for part in parts}
    runs = {number: _run(at_ms, column) for number, column in runs.items()}
    values = np.full((len(rows), len(at_ms)), np.nan)
    present = np.zeros(values.shape, np.bool_)
    for part in parts:
        row, run = rows[part.voice], runs[id(part.at_ms)]
        if run is not None:
            values[row, run], present[row, run] = part.values, True
            continue
        places = np.searchsorted(at_ms, part.at_ms)
        kept = at_ms[np.minimum(places, len(at_ms) - 1)] == part.at_ms
        values[row, places[kept]], present[row, places[kept]] = part.values[kept], True
    there = np.flatnonzero(present.any(axis=1))
    known = tuple(voices[row] for row in there.tolist())
    return Sheet(node, known, at_ms, values[there], present[there], interval_ms)


def _run(column: Instants, part: Instants) -> slice | None:
    """Where a part stands in a column, if it stands there in one piece."""
    if part is column:
        return slice(0, len(column))
    first = int(np.searchsorted(column, part[:1])[0])
    run = slice(first, first + len(part))
    return run if np.array_equal(column[run], part) else None


def _usual_interval_ms(at_ms: Instants) -> int:
    """The usual time between instants, in order; 0 where there are too few to tell."""
    return int(np.median(np.diff(at_ms))) if len(at_ms) > 4 else 0


def _pages(parts: Sequence[_Part]) -> tuple[Instants, int]:
    """The instants of pages, those of replicas once, and the usual time between two of one origin."""
    by_origin: dict[str, list[_Part]] = {}
    for part in parts:
        by_origin.setdefault(part.voice.origin, []).append(part)
    instants = {origin: _union([part.at_ms for part in theirs]) for origin, theirs in by_origin.items()}
    first, *others = sorted(instants)
    kept, interval_ms = instants[first], _usual_interval_ms(max(instants.values(), key=len))
    told = _told(by_origin[first]) if others else set[tuple[int, str]]()
    for origin in others:
        theirs, more = instants[origin], _told(by_origin[origin])
        if more & told:
            # A page that says the same and was scraped by somebody else just now is no other page. The first
            # origin by name counts, in whatever slices it is read; the others fill its holes.
            theirs = theirs[_distance(theirs, kept) >= interval_ms * _NEAR]
        kept, told = np.union1d(kept, theirs), told | more
    return kept, interval_ms


def _told(parts: Iterable[_Part]) -> set[tuple[int, str]]:
    return {(part.voice.signal, part.voice.subject.gpu_uuid) for part in parts}


def _distance(instants: Instants, others: Instants) -> Instants:
    """How far each instant is from the nearest other one."""
    places = np.searchsorted(others, instants)
    before = instants - others[np.maximum(places - 1, 0)]
    after = others[np.minimum(places, len(others) - 1)] - instants
    return np.minimum(np.abs(before), np.abs(after))


def _union(columns: Iterable[Instants]) -> Instants:
    """All instants of several columns in order, once; those that are the same columns cost next to nothing."""
    others = {id(column): column for column in columns}
    longest = max(others.values(), key=len)
    strangers = [column for column in others.values() if _run(longest, column) is None]
    return np.unique(np.concatenate([longest, *strangers])) if strangers else longest

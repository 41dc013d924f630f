"""Sheets: what a node's pages said over a span, put together again from series; pure.

All that one scrape brought has one timestamp. So a column of a sheet is a page, and as long as the same lines
are there it is the same layout.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

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


def sheets(answers: Iterable[Answer], voices: Voices, from_ms: int, until_ms: int) -> list[Sheet]:
    """The sheets of [from, until), by node. Samples outside it are passed over. Raises NoAnswer."""
    by_node: dict[str, list[_Part]] = {}
    for answer in answers:
        bounds = answer.starts.tolist()
        for number, head in enumerate(answer.heads):
            voice = voices.of(head)
            if voice is None:
                continue
            first, last = bounds[number], bounds[number + 1]
            at_ms, values = answer.at_ms[first:last], answer.values[first:last]
            if len(at_ms) and (at_ms[0] < from_ms or at_ms[-1] >= until_ms):
                inside = (at_ms >= from_ms) & (at_ms < until_ms)
                at_ms, values = at_ms[inside], values[inside]
            if len(at_ms):
                by_node.setdefault(voice.subject.node, []).append(_Part(voice, at_ms, values))
    return [_sheet(node, by_node[node]) for node in sorted(by_node)]


def _sheet(node: str, parts: Sequence[_Part]) -> Sheet:
    at_ms, interval_ms = _pages(parts)
    rows: dict[Voice, int] = {}
    for part in parts:
        rows.setdefault(part.voice, len(rows))
    values = np.full((len(rows), len(at_ms)), np.nan)
    present = np.zeros(values.shape, np.bool_)
    for part in parts:
        row = rows[part.voice]
        if len(part.at_ms) == len(at_ms) and np.array_equal(part.at_ms, at_ms):
            values[row], present[row] = part.values, True
            continue
        places = np.searchsorted(at_ms, part.at_ms)
        kept = at_ms[np.minimum(places, len(at_ms) - 1)] == part.at_ms
        values[row, places[kept]], present[row, places[kept]] = part.values[kept], True
    there = np.flatnonzero(present.any(axis=1))
    voices = tuple(rows)
    known = tuple(voices[row] for row in there.tolist())
    return Sheet(node, known, at_ms, values[there], present[there], interval_ms)


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
    told = _told(by_origin[first])
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


def _union(columns: Sequence[Instants]) -> Instants:
    """All instants of several columns in order, once; those that are the same columns cost next to nothing."""
    longest = max(columns, key=len)
    strangers: list[Instants] = []
    for column in columns:
        if column is longest or (len(column) == len(longest) and np.array_equal(column, longest)):
            continue
        places = np.minimum(np.searchsorted(longest, column), len(longest) - 1)
        if not (longest[places] == column).all():
            strangers.append(column)
    return np.unique(np.concatenate([longest, *strangers])) if strangers else longest

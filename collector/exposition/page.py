"""A page: what an exporter's text says, as a layout (what stands outside the values) and the values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

NO_TIMESTAMP = -(2**63)
_BAD_LINES_KEPT = 20
_BAD_TEXT_KEPT = 200


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that cost itself: its number on the page (from 1), its text (200 characters at most), why."""

    number: int
    text: str
    why: str


class BadLines:
    """The lines that could not be read: the first of them, and how many."""

    def __init__(self) -> None:
        self.kept: tuple[BadLine, ...] = ()
        self.count = 0

    def add(self, number: int, raw: bytes, why: str) -> None:
        """Count a line, and keep it while there is room."""
        self.count += 1
        if len(self.kept) < _BAD_LINES_KEPT:
            text = raw[: 4 * _BAD_TEXT_KEPT].decode("utf-8", "replace")[:_BAD_TEXT_KEPT]
            self.kept = (*self.kept, BadLine(number, text, why))


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """What stands before a value. One object from page to page while its text does not change: a key."""

    name: str
    labels: Mapping[str, str]  # one object for all lines of a page that have the same labels


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The lines of a page, in order. Pages that differ in values alone share one layout: `is` tells."""

    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample as a page gives it; a timestamp in ms since the epoch, None where the page has none."""

    name: str
    labels: Mapping[str, str]
    value: float
    timestamp_ms: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """A parsed page. `values[i]` and `timestamps_ms[i]` belong to `layout.lines[i]`.

    values          float64, one a line
    timestamps_ms   int64, NO_TIMESTAMP where the line has none; None when no line has one (the usual page)
    bad_lines       the first 20 lines that could not be read, of `bad_count` in all
    complete        False when the page is cut off: its last line has no end, or `# EOF` is missing
    """

    layout: Layout
    values: npt.NDArray[np.float64]
    timestamps_ms: npt.NDArray[np.int64] | None
    bad_lines: tuple[BadLine, ...]
    bad_count: int
    complete: bool

    def samples(self) -> Iterator[Sample]:
        """The samples one by one, in the page's order."""
        stamps = (
            [NO_TIMESTAMP] * len(self.values) if self.timestamps_ms is None else self.timestamps_ms.tolist()
        )
        for line, value, stamp in zip(self.layout.lines, self.values.tolist(), stamps, strict=True):
            yield Sample(line.name, line.labels, value, None if stamp == NO_TIMESTAMP else stamp)

"""Closed books: the spans whose usage, charges, prices and rules nobody changes any more."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quartermaster.clock import to_iso
from quartermaster.errors import ConfigurationError
from quartermaster.timeline import Span
from sql.catalog import Cursor

_FOREVER = 2**62
_CLOSED = (Path(__file__).parent / "queries" / "books" / "closed.sql").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class ClosedPeriod:
    """A period whose books are closed: business days [start_day, end_day), epoch ms [start_ms, end_ms)."""

    period: str
    start_day: str
    end_day: str
    start_ms: int
    end_ms: int
    number: int


@dataclass(frozen=True, slots=True)
class ClosedBooks:
    """All closed periods, in order; they do not overlap."""

    periods: tuple[ClosedPeriod, ...]

    def of_day(self, day: str) -> ClosedPeriod | None:
        """The closed period that the business day (`2026-11-23`) lies in."""
        return next((each for each in self.periods if each.start_day <= day < each.end_day), None)

    def at(self, instant_ms: int) -> ClosedPeriod | None:
        """The closed period that the instant lies in."""
        return next((each for each in self.periods if each.start_ms <= instant_ms < each.end_ms), None)

    def between(self, from_ms: int, until_ms: int) -> tuple[ClosedPeriod, ...]:
        """Those that overlap [from, until)."""
        return tuple(each for each in self.periods if each.start_ms < until_ms and from_ms < each.end_ms)

    def next_open_ms(self, instant_ms: int) -> int:
        """The instant itself, or the first after it at which no closed period forbids a change."""
        while (found := self.at(instant_ms)) is not None:
            instant_ms = found.end_ms
        return instant_ms


def closed_books(cursor: Cursor) -> ClosedBooks:
    """What is closed in the state of the ledger that the cursor reads."""
    return ClosedBooks(tuple(ClosedPeriod(*row) for row in cursor.execute(_CLOSED).fetchall()))


def refuse_closed(closed: ClosedBooks, what: str, was: Span[Any] | None, now: Span[Any] | None) -> None:
    """Raises ConfigurationError, with the next instant that works, where a change of a span changes a closed period."""
    for start_ms, end_ms in _changed(was, now):
        found = closed.between(start_ms, end_ms)
        if found:
            raise ConfigurationError(
                f"{what}: the books of {found[0].period} are closed",
                f"let it begin or end at {to_iso(closed.next_open_ms(max(start_ms, found[0].start_ms)))} or later",
            )


def _changed(was: Span[Any] | None, now: Span[Any] | None) -> list[tuple[int, int]]:
    """In which spans of time something else holds than before."""
    edges = [(span.start_at, _FOREVER if span.end_at is None else span.end_at) for span in (was, now) if span]
    if was is None or now is None or was.content != now.content:
        return edges
    (old_start, old_end), (new_start, new_end) = edges
    pairs = ((old_start, new_start), (old_end, new_end))
    return [(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]]

"""Timelines: what holds when, as declared; a declaration changes what it states and leaves all other history.

Spans are half-open, [start_at, end_at), in epoch milliseconds; an end of None is open.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

BEGINNING_MS = 0
Content = TypeVar("Content")


@dataclass(frozen=True, slots=True)
class Span(Generic[Content]):
    """Something that holds from start_at until end_at."""

    start_at: int
    end_at: int | None
    content: Content


@dataclass(frozen=True, slots=True)
class Wish(Generic[Content]):
    """Something that shall hold; without a start, from when it is first declared."""

    start_at: int | None
    end_at: int | None
    content: Content


def settle(
    held: Sequence[Span[Content]], wishes: Sequence[Wish[Content]], now_ms: int, *, first: bool
) -> list[Span[Content]]:
    """The timeline of one thing after its wishes (which do not overlap) are declared at `now_ms`, in order.

    A wish with a start holds exactly as stated, also in the past. One without keeps the start that it has in
    `held`; a new one begins now or, if it is the `first` declaration, in the beginning. What is no longer
    wished ends now, or where its stated successor begins; what has been stays. Settling the outcome again
    gives the same.
    """
    stated = [span for wish in wishes for span in _stated(wish, held, now_ms, first)]
    until = now_ms
    if not any(_covers(span, now_ms) for span in stated):
        until = min((span.start_at for span in stated if span.start_at > now_ms), default=now_ms)
    kept = [piece for span in held for piece in _without(_before(span, until), stated)]
    return sorted((*kept, *stated), key=lambda span: span.start_at)


def _stated(
    wish: Wish[Content], held: Sequence[Span[Content]], now_ms: int, first: bool
) -> Iterator[Span[Content]]:
    start = wish.start_at
    if start is None:
        alike = [span for span in held if span.content == wish.content]
        known = [span for span in alike if span.end_at == wish.end_at] or [
            span for span in alike if _covers(span, now_ms)
        ]
        start = known[-1].start_at if known else BEGINNING_MS if first else now_ms
    if wish.end_at is None or start < wish.end_at:
        yield Span(start, wish.end_at, wish.content)


def _covers(span: Span[Content], instant_ms: int) -> bool:
    return span.start_at <= instant_ms and (span.end_at is None or instant_ms < span.end_at)


def _before(span: Span[Content], until: int) -> Iterator[Span[Content]]:
    if span.start_at < until:
        yield span if span.end_at is not None and span.end_at <= until else replace(span, end_at=until)


def _without(pieces: Iterable[Span[Content]], taken: Sequence[Span[Content]]) -> Iterator[Span[Content]]:
    """The pieces (whose ends are closed) without what the taken spans cover."""
    for piece in pieces:
        start, end = piece.start_at, piece.end_at
        for span in sorted(taken, key=lambda span: span.start_at):
            if end is None or span.start_at >= end:
                break
            if span.start_at > start:
                yield replace(piece, start_at=start, end_at=span.start_at)
            start = end if span.end_at is None else max(start, span.end_at)
        if end is not None and start < end:
            yield replace(piece, start_at=start)


def order(wished: Sequence[int | None], gap: int = 1024) -> list[int]:
    """Rising positions for an ordered list: each keeps the position that it has, wherever that still fits.

    None has no position yet and gets one between its neighbours; where there is no room, all get new ones.
    """
    last, kept = -(2**31), list[int | None]()
    for position in wished:
        fits = position is not None and position > last
        kept.append(position if fits else None)
        last = position if fits and position is not None else last
    places = list[int]()
    for index, position in enumerate(kept):
        if position is not None:
            places.append(position)
            continue
        later = next(((n, p) for n, p in enumerate(kept[index:], 0) if p is not None), None)
        if later is None:
            places.append(places[-1] + gap if places else gap)
            continue
        floor = places[-1] if places else later[1] - gap * (later[0] + 1)
        step = (later[1] - floor) // (later[0] + 1)
        if step < 1:
            return [gap * (number + 1) for number in range(len(wished))]
        places.append(floor + step)
    return places

"""Parts of the configuration that hold from an instant until another: which end before they begin, which overlap."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from quartermaster.config.problem import Complaint, Key

FOREVER = 2**63


class Dated(Protocol):
    """Something with a span; None: open on that side."""

    @property
    def start_at(self) -> int | None: ...
    @property
    def end_at(self) -> int | None: ...


def starts(part: Dated) -> int:
    """When it begins, in epoch milliseconds."""
    return -FOREVER if part.start_at is None else part.start_at


def backwards(key: Key, part: Dated) -> Iterator[Complaint]:
    """The complaint about a part that ends before it begins."""
    if part.start_at is not None and part.end_at is not None and part.end_at <= part.start_at:
        yield Complaint((*key, "to"), "it ends before it begins")


def overlaps(items: Iterable[tuple[Key, Dated]]) -> Iterator[tuple[Key, Key]]:
    """The parts that begin while an earlier one holds, each with that one."""
    latest: tuple[int, Key] | None = None
    for key, part in sorted(items, key=lambda item: starts(item[1])):
        end = FOREVER if part.end_at is None else part.end_at
        if latest is not None and starts(part) < latest[0]:
            yield key, latest[1]
        if latest is None or end > latest[0]:
            latest = (end, key)

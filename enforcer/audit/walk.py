"""The walk along a chain: row by row, what is changed, missing, out of its place, doubled or cut off. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from enforcer.audit.row import Head, Row, hash_of

MOST_FLAWS = 100  # kept and told; all are counted


class Kind(StrEnum):
    """How a chain may be amiss."""

    CHANGED = "changed"
    MISSING = "missing"
    UNLINKED = "unlinked"
    DOUBLED = "doubled"
    CUT = "cut off"
    ANOTHER = "another chain"
    STRAY = "stray"


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is amiss with a row, by its number; `words` for a person."""

    number: int | None
    kind: Kind
    words: str


@dataclass
class Walk:
    """Takes a chain's rows in order of number. `heads`: hashes that rows once had, by number, as published then."""

    heads: Mapping[int, str] = field(default_factory=dict[int, str])
    flaws: list[Flaw] = field(default_factory=list[Flaw])
    found: int = 0  # flaws, those above MOST_FLAWS too
    rows: int = 0
    last: Head = field(default_factory=lambda: Head(0, ""))

    def take(self, row: Row) -> None:
        """The next row, its columns as `enforcer.audit.row.hash_of` wants them."""
        self.rows += 1
        number = row["number"]
        if number is None or number < 1:
            self.note(number, Kind.STRAY, f"a row is numbered {number}, and the first is 1")
            return
        if number == self.last.number:
            self.note(number, Kind.DOUBLED, "there is another row of this number")
            return
        follows = number == self.last.number + 1
        if not follows:
            self._miss(self.last.number + 1, number - 1)
        if row["row_hash"] != hash_of(row):
            self.note(
                number,
                Kind.CHANGED,
                "its hash is not that of its columns: something in it was changed, or it was put elsewhere",
            )
        elif follows and row["previous_hash"] != self.last.row_hash:
            self.note(
                number,
                Kind.UNLINKED,
                f"it does not follow on row {number - 1}: one of them was changed and hashed anew, or put there",
            )
        if number in self.heads and self.heads[number] != row["row_hash"]:
            self.note(
                number, Kind.ANOTHER, "it is not the row that was there when the chain's head was published"
            )
        self.last = Head(number, row["row_hash"] or "")

    def end(self, head: Head | None) -> None:
        """There are no more rows; `head` is the chain's own, as it is noted beside it (None: there is none)."""
        if head is None and self.rows:
            self.note(None, Kind.STRAY, "there is no head beside the chain")
        elif head is not None and head.number < self.last.number:
            self.note(
                self.last.number,
                Kind.STRAY,
                f"rows from {head.number + 1} on stand behind the chain's end",
            )
        if head is not None and head.number == self.last.number and head.row_hash != self.last.row_hash:
            self.note(head.number, Kind.ANOTHER, "it is not the row that was written last")
        known = max([0 if head is None else head.number, *self.heads])
        if known > self.last.number:
            self.note(
                self.last.number + 1,
                Kind.CUT,
                f"the chain went to row {known}, and ends at row {self.last.number}",
            )

    def note(self, number: int | None, kind: Kind, words: str) -> None:
        """Something is amiss."""
        self.found += 1
        if len(self.flaws) < MOST_FLAWS:
            self.flaws.append(Flaw(number, kind, words))

    def _miss(self, first: int, last: int) -> None:
        words = "it is not there" if first == last else f"rows {first} to {last} are not there"
        self.note(first, Kind.MISSING, words)

"""What was sent, in the ledger: begun before, and what came of it after, so that nothing goes out twice."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from uuid import uuid4

import polars as pl

from analytics.reports.sending.due import Due
from analytics.reports.sending.parcel import Address
from quartermaster.config.reports import SendingPart
from sql.ledger import Ledger

KNOWN, BEGUN, ACCEPTED, REFUSED = "known", "begun", "accepted", "refused"
_SCHEMA = {
    "sending": pl.String,
    "due_at": pl.Int64,
    "span": pl.String,
    "audience": pl.String,
    "channel": pl.String,
    "phase": pl.String,
    "words": pl.String,
    "size_bytes": pl.Int64,
    "told_at": pl.Int64,
}


@dataclass(frozen=True, slots=True)
class Posted:
    """The last word on one letter: its phase, and when that was."""

    phase: str
    at_ms: int
    words: str


@dataclass(frozen=True, slots=True)
class Ledgered:
    """What the ledger knows of some sendings: since when each is known, and of each letter the last word."""

    since_ms: dict[str, int]  # by the sending's name: the instant it was due before it was known
    letters: dict[tuple[str, int, str, str], Posted]


def read(ledger: Ledger, sendings: Iterable[SendingPart]) -> Ledgered:
    """All that is known of these sendings. Raises LedgerError."""
    names = [sending.name for sending in sendings]
    text = (files("sql") / "queries" / "report" / "sendings.sql").read_text(encoding="utf-8")
    found = Ledgered({}, {})
    for row in ledger.query(text, {"names": names}).iter_rows(named=True):
        if row["phase"] == KNOWN:
            found.since_ms[row["sending"]] = row["due_ms"]
        else:
            key = row["sending"], row["due_ms"], row["audience"], row["channel"]
            found.letters[key] = Posted(row["phase"], row["told_ms"], row["words"])
    return found


def meet(ledger: Ledger, due: Iterable[Due], now_ms: int) -> None:
    """Write down that these sendings are known from now on: what was due before is not sent."""
    _append(ledger, [_row(each, Posted(KNOWN, now_ms, "")) for each in due], now_ms)


def note(ledger: Ledger, address: Address, told: Posted, size_bytes: int) -> None:
    """Write down what became of a letter with files of so many bytes."""
    row = _row(address.due, told) | {
        "audience": address.audience.words,
        "channel": address.channel,
        "size_bytes": size_bytes,
    }
    _append(ledger, [row], told.at_ms)


def _row(due: Due, told: Posted) -> dict[str, object]:
    return {
        "sending": due.sending.name,
        "due_at": due.at_ms,
        "span": due.span.name,
        "audience": "",
        "channel": "",
        "phase": told.phase,
        "words": told.words,
        "size_bytes": 0,
        "told_at": told.at_ms,
    }


def _append(ledger: Ledger, rows: list[dict[str, object]], now_ms: int) -> None:
    if rows:
        key = f"sendings/{now_ms}/{uuid4().hex}"
        ledger.append(key, {"sendings": pl.DataFrame(rows, schema=_SCHEMA)}, recorded_at=now_ms)

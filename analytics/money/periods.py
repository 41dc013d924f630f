"""Periods: which spans of business days there are, and whether their books are open, closing or closed."""

from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from uuid import uuid4

import polars as pl

from analytics.money.calendar import Calendar, Period
from analytics.money.queries import books_sql
from quartermaster.config.model import BusinessPart
from quartermaster.errors import InputError
from sql.closed import ClosedBooks, closed_books
from sql.ledger import Cursor, Ledger

__all__ = [
    "ClosedBooks",
    "Standing",
    "State",
    "calendar_of",
    "closed_books",
    "period_named",
    "standing",
    "standings",
]


class State(StrEnum):
    """How far a period's books are."""

    OPEN = "open"
    CLOSING = "closing"  # its grace runs: late data and invoices are waited for
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Standing:
    """A period as it stands now. The number and the hash are its last closing's, None while it is not closed."""

    period: Period
    state: State = State.OPEN
    revision: int = -1  # of its row in the ledger; -1: it has none
    number: int | None = None
    replaces: int | None = None  # the number of the closing that was reopened
    sha256: str | None = None
    manifest: str | None = None
    closes_ms: int | None = None  # until when the grace runs
    actor: str = ""
    second: str = ""
    reason: str = ""
    told_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A new state of a period, as it is written to the ledger."""

    standing: Standing
    calendar: str
    snapshot_id: int | None = None
    program: str = ""
    ledger_revision: str = ""


def calendar_of(business: BusinessPart) -> Calendar:
    """The calendar that the configuration states."""
    start: date | None = business.fiscal_year_start
    return Calendar(business.time_zone, business.calendar, start)


def standings(cursor: Cursor, calendar: Calendar, now_ms: int) -> list[Standing]:
    """Every period that has lines of cost or was ever told a state, and that of `now_ms`, in order of time."""
    found = {each.period.period: each for each in _told(cursor)}
    first, last = cursor.execute(books_sql("booked_days")).fetchone() or (None, None)
    today = calendar.at(now_ms)
    spans = [today]
    if first is not None and last is not None:
        spans = [*calendar.between(str(first), max(str(last), today.start_day))]
    for period in spans:
        found.setdefault(period.period, Standing(period))
    return sorted(found.values(), key=lambda each: (each.period.start_ms, each.period.period))


def standing(cursor: Cursor, calendar: Calendar, name: str) -> Standing:
    """The period of that name as it stands. Raises InputError for a name that neither calendar nor ledger knows."""
    told = next((each for each in _told(cursor) if each.period.period == name), None)
    return told or Standing(calendar.named(name))


def period_named(ledger: Ledger, calendar: Calendar, name: str) -> Period:
    """The span of the period of that name, as it was closed where it was. Raises InputError as `standing` does."""
    with ledger.reading() as cursor:
        return standing(cursor, calendar, name).period


def require_open(found: Standing, what: str) -> None:
    """Raises InputError, with the next step, where the period's books are closed."""
    if found.state == State.CLOSED:
        raise InputError(
            f"{what}: the books of {found.period.period} are closed (number {found.number})",
            f"quartermaster period reopen {found.period.period} --reason … opens them again",
        )


def write_change(ledger: Ledger, cursor: Cursor, change: Change, now_ms: int) -> None:
    """Append the state, within the transaction of `cursor`, as the period's next revision."""
    found = change.standing
    row = {
        "period": found.period.period,
        "revision": found.revision,
        "state": found.state.value,
        "calendar": change.calendar,
        "time_zone": found.period.time_zone,
        "start_day": found.period.start_day,
        "end_day": found.period.end_day,
        "start_at": found.period.start_ms,
        "end_at": found.period.end_ms,
        "closes_at": found.closes_ms,
        "number": found.number,
        "replaces": found.replaces,
        "sha256": found.sha256,
        "snapshot_id": change.snapshot_id,
        "program": change.program,
        "ledger_revision": change.ledger_revision,
        "manifest": found.manifest,
        "actor": found.actor,
        "second": found.second,
        "reason": found.reason,
    }
    ledger.insert(cursor, "periods_versions", pl.DataFrame([row]), recorded_at=now_ms)


def append_change(ledger: Ledger, change: Change, now_ms: int) -> None:
    """The same in a transaction of its own."""
    ledger.write(
        f"periods/{change.standing.period.period}/{uuid4().hex}",
        lambda cursor: write_change(ledger, cursor, change, now_ms),
        message=f"{change.standing.period.period} is {change.standing.state.value}",
    )


def _told(cursor: Cursor) -> list[Standing]:
    rows = cursor.execute(books_sql("standings")).pl().iter_rows(named=True)
    return [
        Standing(
            Period(
                row["period"],
                row["start_day"],
                row["end_day"],
                row["start_ms"],
                row["end_ms"],
                row["time_zone"],
            ),
            State(row["state"]),
            revision=row["revision"],
            number=row["number"],
            replaces=row["replaces"],
            sha256=row["sha256"],
            manifest=row["manifest"],
            closes_ms=row["closes_ms"],
            actor=row["actor"] or "",
            second=row["second"] or "",
            reason=row["reason"] or "",
            told_ms=row["told_ms"],
        )
        for row in rows
    ]

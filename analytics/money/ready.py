"""Whether a period may be closed: in whose name, not too early, in order, complete, and without a broken rule."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analytics.money.calendar import Calendar
from analytics.money.periods import Standing
from analytics.money.queries import books_sql
from quartermaster.clock import to_datetime, to_iso
from quartermaster.errors import InputError, LedgerError
from sql.checks import run as run_checks
from sql.ledger import Cursor, Ledger

CHECKS = ("adjustments", "charge_orphans")


@dataclass(frozen=True, slots=True)
class Terms:
    """By whom, when and under which rules a period is closed."""

    calendar: Calendar
    now_ms: int
    actor: str
    clusters: Sequence[str] = ()  # whose usage must be written past the period's end
    grace_ms: int = 0
    books: Path | None = None  # the folder of folders; None: nothing is written out
    two_persons: bool = False
    second: str = ""  # who confirms it, where an author of its prices closes it
    reason: str = ""
    at_once: bool = False  # do not wait for the end of the grace


def require_time(found: Standing, terms: Terms) -> None:
    """Raises InputError where the period has not ended."""
    if terms.now_ms < found.period.end_ms:
        raise InputError(
            f"{found.period.period} has not ended: it lasts until {to_iso(found.period.end_ms)}",
            "close it after that",
        )


def require_order(cursor: Cursor, found: Standing) -> None:
    """Raises InputError where an earlier period has lines of cost and is not closed."""
    row = cursor.execute(books_sql("earlier_open"), {"start_day": found.period.start_day}).fetchone()
    if row and row[0] is not None:
        raise InputError(
            f"{found.period.period} follows {row[0]}, whose books are open",
            "close the periods in order: quartermaster period list",
        )


def require_usage(cursor: Cursor, found: Standing, terms: Terms) -> None:
    """Raises LedgerError where the usage of a configured cluster is not written past the period's end, InputError where
    there is none at all."""
    given = {"clusters": list(terms.clusters), "until_ms": found.period.end_ms}
    missing = cursor.execute(books_sql("unrolled"), given).fetchall()
    if missing:
        told = ", ".join(f"{name} (until {to_iso(until or 0)})" for name, until in missing)
        raise LedgerError(
            f"the usage of {found.period.period} is not all written: {told}",
            "run quartermaster rollup; it says what it waits for",
        )
    days = {"start_day": found.period.start_day, "end_day": found.period.end_day}
    row = cursor.execute(books_sql("is_empty"), days).fetchone()
    if row is None or row[0]:
        raise InputError(
            f"{found.period.period} has no usage and no line of cost: there is nothing to close",
            "quartermaster period list says which periods have any",
        )


def confirmed_by(cursor: Cursor, found: Standing, terms: Terms) -> str:
    """Who confirms the closing; empty where nobody has to. Raises InputError where somebody has to and did not."""
    if not terms.two_persons:
        return terms.second
    given = {"start_at": to_datetime(found.period.start_ms), "end_at": to_datetime(found.period.end_ms)}
    authors = {str(author or "") for (author,) in cursor.execute(books_sql("authors"), given).fetchall()}
    if "" in authors:
        raise InputError(
            f"prices of {found.period.period} have no author, and business.two_persons asks for one",
            "give each of rate_cards its author",
        )
    if terms.actor in authors and terms.second in {"", terms.actor}:
        raise InputError(
            f"{terms.actor} set prices of {found.period.period} and may not close it alone",
            "let somebody else confirm it with --second",
        )
    return terms.second


def require_rules(ledger: Ledger, found: Standing) -> None:
    """Raises LedgerError where usage or lines of the period break a rule."""
    breaches = run_checks(ledger, CHECKS)
    if breaches:
        raise LedgerError(
            f"{found.period.period} cannot be closed: {breaches[0].rule}", "run quartermaster ledger check"
        )
    days = {"start_day": found.period.start_day, "end_day": found.period.end_day}
    with ledger.reading() as cursor:
        row = cursor.execute(books_sql("unbalanced"), days).fetchone()
    if row is not None:
        raise LedgerError(
            f"the lines of {row[3]} in pool {row[2]} of cluster {row[0]} on {row[1]} are not its usage",
            "run quartermaster rollup",
        )

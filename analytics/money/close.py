"""Closing a period's books, once and for all, and opening them again by a person's act."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from uuid import uuid4

import polars as pl

from analytics.late import fold
from analytics.money.charges import charge
from analytics.money.corrections import correct
from analytics.money.evidence import contents, read_evidence
from analytics.money.folder import file_contents, pieces, write_folder
from analytics.money.manifest import Closing, Statement, hash_of, manifest_of, statements_of
from analytics.money.periods import (
    Change,
    Standing,
    State,
    append_change,
    standing,
    write_change,
)
from analytics.money.queries import books_sql
from analytics.money.ready import (
    Terms,
    confirmed_by,
    require_order,
    require_rules,
    require_time,
    require_usage,
)
from quartermaster.clock import to_iso
from quartermaster.errors import InputError, LedgerError
from sql.ledger import Cursor, Ledger


def folder_of(books: Path, period: str, number: int) -> Path:
    """Where a closing is written out: books/2026-11/7."""
    return books / period / str(number)


def close(ledger: Ledger, name: str, terms: Terms) -> Standing:
    """Close the period, or begin its grace where that has not passed; closed, it is written out again, the same bytes.

    It charges and corrects first. Nothing is closed when it raises: InputError where it is too early, an earlier period
    is open or a second person is needed, LedgerError where usage is not written yet, lacks a price or breaks a rule.
    """
    with ledger.exclusive("declare"), ledger.exclusive("rollup"):
        with ledger.reading() as cursor:
            found = standing(cursor, terms.calendar, name)
            if found.state == State.CLOSED:
                return _written_again(cursor, found, terms)
            require_time(found, terms)
            waits = _waits_until(found, terms)
            if waits is not None:
                return _begin_grace(ledger, found, waits, terms)
            require_order(cursor, found)
            require_usage(cursor, found, terms)
            second = confirmed_by(cursor, found, terms)
        charged = charge(
            ledger, terms.now_ms, terms.calendar.time_zone, [day.day for day in found.period.days]
        )
        if charged.unpriced_until_ms is not None and charged.unpriced_until_ms > found.period.start_ms:
            raise LedgerError(
                f"{name} has usage without a price until {to_iso(charged.unpriced_until_ms)}",
                "give rate_cards an entry that holds then",
            )
        correct(ledger, terms.now_ms, terms.calendar.time_zone)
        require_rules(ledger, found)
        with ledger.exclusive("charges"):
            return _close(ledger, replace(found, second=second), terms)


def reopen(ledger: Ledger, name: str, terms: Terms) -> Standing:
    """Open a closed period again; what was booked elsewhere as its corrections is taken back by the next `correct`.

    Raises InputError where it is not closed, or no reason is given.
    """
    if not terms.reason.strip():
        raise InputError(f"{name} is opened again for a reason only", "say it with --reason")
    with ledger.exclusive("declare"), ledger.exclusive("rollup"), ledger.exclusive("charges"):
        with ledger.reading() as cursor:
            found = standing(cursor, terms.calendar, name)
        if found.state != State.CLOSED:
            raise InputError(f"{name} is not closed, it is {found.state.value}", "there is nothing to open")
        opened = replace(
            _next(found, State.OPEN, terms),
            number=None,
            replaces=found.number,
            sha256=None,
            manifest=None,
            closes_ms=None,
            second="",
        )

        def work(cursor: Cursor) -> None:
            write_change(ledger, cursor, Change(opened, terms.calendar.kind), terms.now_ms)
            fold(cursor, found.period.days)

        ledger.write(f"periods/{name}/{uuid4().hex}", work, message=f"{name} is open again")
        return opened


def stop_closing(ledger: Ledger, name: str, terms: Terms) -> Standing:
    """Take a closing period back to open. Raises InputError where it is not closing."""
    with ledger.exclusive("declare"):
        with ledger.reading() as cursor:
            found = standing(cursor, terms.calendar, name)
        if found.state != State.CLOSING:
            raise InputError(
                f"{name} is not closing, it is {found.state.value}",
                "a closed period is opened again by quartermaster period reopen",
            )
        opened = replace(_next(found, State.OPEN, terms), closes_ms=None)
        append_change(ledger, Change(opened, terms.calendar.kind), terms.now_ms)
        return opened


def _close(ledger: Ledger, found: Standing, terms: Terms) -> Standing:
    with ledger.reading() as cursor:
        row = cursor.execute("select id from ducklake_current_snapshot('lake')").fetchone()
        last = cursor.execute(books_sql("last_closing")).fetchone()
        evidence = read_evidence(cursor, found.period)
        revision = ledger.revision()
        closing = Closing(
            found.period,
            terms.calendar.kind,
            number=int(last[0]) + 1 if last else 1,
            replaces=found.replaces,
            previous=(int(last[0]), str(last[1])) if last else None,
            versions=_versions(revision),
        )
        statements = statements_of(closing.number, evidence.owed)
        written = file_contents(evidence, statements)
        manifest = manifest_of(closing, statements, contents(cursor, evidence), pieces(written))
    closed = replace(
        _next(found, State.CLOSED, terms),
        number=closing.number,
        sha256=hash_of(manifest),
        manifest=manifest,
    )
    if terms.books is not None:
        write_folder(folder_of(terms.books, found.period.period, closing.number), written, manifest)
    change = Change(
        closed, terms.calendar.kind, int(row[0]) if row else 0, closing.versions["program"], revision
    )

    def work(cursor: Cursor) -> None:
        write_change(ledger, cursor, change, terms.now_ms)
        if statements:
            ledger.insert(cursor, "statements", _rows(statements, closing), recorded_at=terms.now_ms)

    ledger.write(
        f"periods/{found.period.period}/{uuid4().hex}", work, message=f"{found.period.period} is closed"
    )
    return closed


def _written_again(cursor: Cursor, found: Standing, terms: Terms) -> Standing:
    """Write a closed period's folder again. Raises LedgerError where that does not give what was closed."""
    evidence, manifest = read_evidence(cursor, found.period), found.manifest or ""
    written = file_contents(evidence, statements_of(found.number or 0, evidence.owed))
    if any(f'"sha256":"{each.sha256}"' not in manifest for each in pieces(written)):
        raise LedgerError(
            f"the ledger does not give the files of {found.period.period} as they were closed any more",
            f"quartermaster period verify {found.period.period} says what is amiss",
        )
    if terms.books is not None:
        write_folder(folder_of(terms.books, found.period.period, found.number or 0), written, manifest)
    return found


def _waits_until(found: Standing, terms: Terms) -> int | None:
    """Until when its grace runs; None where it has passed, or is not waited for."""
    closes_ms = found.closes_ms if found.closes_ms is not None else found.period.end_ms + terms.grace_ms
    if terms.at_once or terms.now_ms >= closes_ms:
        return None
    return closes_ms


def _next(found: Standing, state: State, terms: Terms) -> Standing:
    """Its next version, in this state by who does it now."""
    return replace(
        found,
        state=state,
        revision=found.revision + 1,
        actor=terms.actor,
        reason=terms.reason,
        told_ms=terms.now_ms,
    )


def _begin_grace(ledger: Ledger, found: Standing, closes_ms: int, terms: Terms) -> Standing:
    if found.state == State.CLOSING:
        return found
    begun = replace(_next(found, State.CLOSING, terms), closes_ms=closes_ms)
    append_change(ledger, Change(begun, terms.calendar.kind), terms.now_ms)
    return begun


def _versions(ledger_revision: str) -> dict[str, str]:
    return {
        "program": version("gpu-quartermaster"),
        "ledger": ledger_revision,
        "polars": pl.__version__,
    }


def _rows(statements: Sequence[Statement], closing: Closing) -> pl.DataFrame:
    rows = [
        {
            "statement": each.statement,
            "number": closing.number,
            "period": closing.period.period,
            "team": each.team,
            "department": each.department,
            "cost_centre": each.cost_centre,
            "currency": each.currency,
            "amount": each.amount,
            "exact_amount": each.exact_amount,
        }
        for each in statements
    ]
    return pl.DataFrame(rows, infer_schema_length=None)

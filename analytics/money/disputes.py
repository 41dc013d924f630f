"""Disputes: a team says that a line is wrong; somebody decides, and what is granted is a credit in the open period."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any
from uuid import uuid4

import polars as pl

from analytics.money.corrections import booked_on
from analytics.money.queries import books_sql
from quartermaster.errors import InputError
from quartermaster.ids import content_id
from sql.closed import closed_books
from sql.ledger import Cursor, Ledger

RAISED, GRANTED, REFUSED = "raised", "granted", "refused"
CENT = Decimal("0.000001")
_MOST_WORDS = 2_000


@dataclass(frozen=True, slots=True)
class Dispute:
    """A line that a team disputes, and what was decided."""

    dispute_id: int
    revision: int
    charge_id: int
    cluster: str
    business_day: str
    team: str
    amount: Decimal  # how much of the line it disputes, above zero
    currency: str
    state: str
    words: str
    credited: Decimal | None
    credit_id: int | None
    raised_ms: int
    actor: str

    def age_days(self, now_ms: int) -> int:
        """How many whole days ago it was raised."""
        return max(0, now_ms - self.raised_ms) // 86_400_000


def disputes(cursor: Cursor) -> list[Dispute]:
    """All disputes, the oldest first."""
    rows = cursor.execute(books_sql("disputes")).pl()
    return [Dispute(**row) for row in rows.iter_rows(named=True)]


def raise_dispute(
    ledger: Ledger, charge_id: int, amount: Decimal | None, words: str, *, actor: str, now_ms: int
) -> Dispute:
    """Dispute a team's line, or `amount` of it.

    Raises InputError where that cannot be disputed, or no reason is given.
    """
    with ledger.exclusive("disputes"):
        with ledger.reading() as cursor:
            line = _line(cursor, charge_id)
            of_line = [each for each in disputes(cursor) if each.charge_id == charge_id]
        taken = [each.amount if each.state == RAISED else each.credited or Decimal(0) for each in of_line]
        if line["account"] != "team" or line["amount"] <= 0:
            raise InputError(
                f"line {charge_id} is no cost of a team", "dispute a line that a team owes something for"
            )
        left = line["amount"] - sum(taken, Decimal(0))
        if not left:
            raise InputError(
                f"line {charge_id} is disputed as a whole already", "quartermaster dispute list has it"
            )
        wanted = left if amount is None else amount
        if not 0 < wanted <= left or wanted != wanted.quantize(CENT):
            raise InputError(
                f"{wanted} of line {charge_id} cannot be disputed: {left} {line['currency']} of it are left",
                "name an amount above zero and up to that",
            )
        found = Dispute(
            content_id("dispute", charge_id, len(of_line)),
            0,
            charge_id,
            line["cluster"],
            line["business_day"],
            line["team"],
            wanted,
            line["currency"],
            RAISED,
            _words(words),
            None,
            None,
            now_ms,
            actor,
        )
        ledger.append(f"dispute/{uuid4().hex}", {"disputes_versions": _frame(found)}, recorded_at=now_ms)
        return found


def decide_dispute(
    ledger: Ledger, dispute_id: int, credit: Decimal, words: str, *, actor: str, time_zone: str, now_ms: int
) -> Dispute:
    """Decide a dispute: nothing refuses it; a credit is booked for the team on the business day of `now_ms`, in the
    open period, with its counter-line on `clearing`.

    Raises InputError where it is decided already, or the credit is more than was disputed.
    """
    with ledger.exclusive("disputes"), ledger.exclusive("charges"):
        with ledger.reading() as cursor:
            found = next((each for each in disputes(cursor) if each.dispute_id == dispute_id), None)
            if found is None:
                raise InputError(f"there is no dispute {dispute_id}", "quartermaster dispute list has them")
            if found.state != RAISED:
                raise InputError(f"dispute {dispute_id} is decided: {found.state}", "raise another")
            if not 0 <= credit <= found.amount or credit != credit.quantize(CENT):
                raise InputError(
                    f"{credit} cannot be credited: {found.amount} {found.currency} are disputed",
                    "name an amount from zero up to that",
                )
            line = _line(cursor, found.charge_id)
            day = booked_on(closed_books(cursor), now_ms, time_zone)
        credit_id = content_id("credit", dispute_id) if credit else None
        decided = replace(
            found,
            revision=found.revision + 1,
            state=GRANTED if credit else REFUSED,
            words=f"{found.words}\n{_words(words)}",
            credited=credit,
            credit_id=credit_id,
            actor=actor,
        )

        def work(cursor: Cursor) -> None:
            ledger.insert(cursor, "disputes_versions", _frame(decided), recorded_at=now_ms)
            if credit:
                rows = [_credit(line, dispute_id, day, -credit), _credit(line, dispute_id, day, credit)]
                ledger.insert(cursor, "charges", _lines(rows), recorded_at=now_ms)

        ledger.write(f"dispute/{uuid4().hex}", work, message=f"dispute {dispute_id} is decided")
        return decided


def _line(cursor: Cursor, charge_id: int) -> Mapping[str, Any]:
    found = cursor.execute("select * from charges where charge_id = ?", [charge_id]).pl()
    if not len(found):
        raise InputError(
            f"there is no line of cost {charge_id}",
            'quartermaster sql "select charge_id from charges" has them',
        )
    return found.row(0, named=True)


def _credit(line: Mapping[str, Any], dispute_id: int, day: str, amount: Decimal) -> dict[str, Any]:
    """The team's credit, or its counter-line."""
    is_teams = amount < 0
    return {
        "charge_id": content_id("credit", dispute_id)
        if is_teams
        else content_id("credit", dispute_id, "clearing"),
        "cluster": line["cluster"],
        "business_day": day,
        "pool": line["pool"],
        "model": line["model"],
        "team": line["team"] if is_teams else None,
        "workload_id": line["workload_id"] if is_teams else None,
        "kind": "correction",
        "account": "team" if is_teams else "clearing",
        "quantity_pms": 0,
        "unit_price": None,
        "amount": amount,
        "currency": line["currency"],
        "rate_id": None,
        "corrects": line["charge_id"],
        "detail": "credit",
        "measure": line["measure"],
        "quantity": None,
    }


def _lines(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"amount": pl.Decimal(18, 6)})


def _frame(each: Dispute) -> pl.DataFrame:
    row = {
        "dispute_id": each.dispute_id,
        "revision": each.revision,
        "charge_id": each.charge_id,
        "cluster": each.cluster,
        "business_day": each.business_day,
        "team": each.team,
        "amount": each.amount,
        "currency": each.currency,
        "state": each.state,
        "words": each.words,
        "credited": each.credited,
        "credit_id": each.credit_id,
        "raised_at": each.raised_ms,
        "actor": each.actor,
    }
    overrides = {"amount": pl.Decimal(18, 6), "credited": pl.Decimal(18, 6)}
    return pl.DataFrame([row], schema_overrides=overrides)


def _words(text: str) -> str:
    if not text.strip():
        raise InputError("a dispute is raised and decided with a reason", "say it with --reason")
    return text.strip()[:_MOST_WORDS]

"""General-ledger entries: what each cost centre is debited and the fleet credited, in cents that balance."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from importlib.resources import files
from itertools import groupby
from typing import Literal

import polars as pl

from analytics.finance.span import Span
from analytics.money.statement import CENT, to_cents
from quartermaster.config.accounts import AccountsPart
from sql.ledger import Ledger

Kind = Literal["usage", "shared", "adjustments", "corrections", "own"]
_ZERO = Decimal(0)
_AMOUNT = pl.Decimal(18, 2)


@dataclass(frozen=True, slots=True)
class Sum:
    """What a team's lines of one kind come to; the team is None for what no team bears."""

    team: str | None
    department: str
    cost_centre: str
    entry: Kind
    currency: str
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a journal: either side is zero, amounts are in cents."""

    period: str
    posting_date: str  # the span's last business day
    cost_centre: str
    department: str
    team: str
    account: str
    debit: Decimal
    credit: Decimal
    currency: str
    description: str


def read_sums(ledger: Ledger, span: Span) -> list[Sum]:
    """What the span's lines of cost come to."""
    text = (files("sql") / "queries" / "finance" / "ledger_sums.sql").read_text(encoding="utf-8")
    bounds = {"first_day": span.first_day, "end_day": span.end_day, "end_ms": span.days[-1].end_ms}
    return [Sum(**row) for row in ledger.query(text, bounds).iter_rows(named=True)]


def entries(sums: Sequence[Sum], span: Span, accounts: AccountsPart) -> list[Entry]:
    """The journal: debits equal credits in each currency.

    Cents are shared by largest remainder, first among teams, as their statements are, then among a team's accounts.
    A cost centre is the team's, else its department, else its name; amounts below zero are credited.
    """
    found: list[Entry] = []
    for currency, given in groupby(sorted(sums, key=_order), key=lambda one: one.currency):
        mine = list(given)
        booked = [
            _entry(one, amount, span, accounts)
            for one, amount in zip(mine, _cents(mine), strict=True)
            if amount
        ]
        total = sum((each.debit - each.credit for each in booked), _ZERO)
        found += booked
        if total:
            found.append(_recovery(total, currency, span, accounts))
    return found


def journal(found: Iterable[Entry]) -> pl.DataFrame:
    """The entries as a frame, in their order."""
    rows = list(found)
    columns = {each.name: [getattr(row, each.name) for row in rows] for each in fields(Entry)}
    kinds = {name: _AMOUNT if name in {"debit", "credit"} else pl.String() for name in columns}
    return pl.DataFrame(columns, schema=kinds)


def _order(one: Sum) -> tuple[str, str, str]:
    return one.currency, one.team or "", one.entry


def _cents(sums: Sequence[Sum]) -> list[Decimal]:
    by_team: defaultdict[str, Decimal] = defaultdict(Decimal)
    for one in sums:
        by_team[one.team or ""] += one.amount
    totals = to_cents(by_team)
    found: list[Decimal] = []
    for team, given in groupby(sums, key=lambda one: one.team or ""):
        amounts: dict[str, Decimal] = {one.entry: one.amount for one in given}
        found += _within(totals[team], amounts).values()
    return found


def _within(total: Decimal, amounts: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """The amounts in cents that add up to a total which is less than a cent from their sum."""
    cents = to_cents(amounts)
    left = total - sum(cents.values(), _ZERO)
    if (
        left
    ):  # the sum alone rounds the other way: whoever is rounded furthest from it gives or takes the cent
        name = max(amounts, key=lambda one: ((amounts[one] - cents[one]) * left, one))
        cents[name] += left
    return cents


def _entry(one: Sum, amount: Decimal, span: Span, accounts: AccountsPart) -> Entry:
    own = one.team is None
    return Entry(
        period=span.name,
        posting_date=span.days[-1].day,
        cost_centre=accounts.fleet if own else one.cost_centre or one.department or one.team or "",
        department=one.department,
        team=one.team or "",
        account=_account(one.entry, accounts),
        debit=max(amount, _ZERO).quantize(CENT),
        credit=max(-amount, _ZERO).quantize(CENT),
        currency=one.currency,
        description=f"GPU fleet {span.name}: {one.entry}",
    )


def _recovery(total: Decimal, currency: str, span: Span, accounts: AccountsPart) -> Entry:
    return Entry(
        period=span.name,
        posting_date=span.days[-1].day,
        cost_centre=accounts.fleet,
        department="",
        team="",
        account=accounts.recovery,
        debit=max(-total, _ZERO).quantize(CENT),
        credit=max(total, _ZERO).quantize(CENT),
        currency=currency,
        description=f"GPU fleet {span.name}: recovery",
    )


def _account(kind: Kind, accounts: AccountsPart) -> str:
    match kind:
        case "usage":
            return accounts.usage
        case "shared":
            return accounts.shared
        case "adjustments":
            return accounts.adjustments
        case "corrections":
            return accounts.corrections
        case "own":
            return accounts.own

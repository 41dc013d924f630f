"""Invoices: what a supplier asks for GPUs, by cluster, model and day; true-up lines make the books tie to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any
from uuid import uuid4

import polars as pl

from analytics.money.calendar import Calendar, Period
from analytics.money.charges import Charged, charge
from analytics.money.periods import require_open, standing
from analytics.money.queries import books_sql
from quartermaster.errors import InputError
from quartermaster.ids import content_id
from quartermaster.remainder import share
from sql.ledger import Cursor, Ledger

MICROS = Decimal(1_000_000)
_LARGEST = Decimal(10) ** 12
_Key = tuple[str, str, str]  # cluster, model, business day


@dataclass(frozen=True, slots=True)
class InvoiceLine:
    """What is asked for a model of a cluster on a business day; a day of None: over the whole period."""

    cluster: str
    model: str
    day: str | None
    amount: Decimal
    currency: str


@dataclass(frozen=True, slots=True)
class Invoice:
    """An invoice as it is imported."""

    number: str
    issuer: str
    source: str  # the file's name
    lines: tuple[InvoiceLine, ...]
    shared: str = "held"  # held: the teams bear the difference to the card, by held time; own: nobody does

    @property
    def total(self) -> Decimal:
        """What it asks for."""
        return sum((line.amount for line in self.lines), Decimal(0))


@dataclass(frozen=True, slots=True)
class Imported:
    """What importing did."""

    period: Period
    total: Decimal
    currency: str
    trued_up: Decimal  # what its lines differ from the card by, over its models and days
    charged: Charged
    like: str | None  # another invoice of the period that asks for the same


def import_invoice(
    ledger: Ledger, name: str, invoice: Invoice, *, calendar: Calendar, actor: str, now_ms: int
) -> Imported:
    """Put the invoice into the period's books, in place of an earlier import of the same number, and charge its days.

    Raises InputError where the period is closed, a day lies outside it, or cluster, model or currency are not its own.
    """
    with ledger.exclusive("declare"):
        with ledger.reading() as cursor:
            found = standing(cursor, calendar, name)
            require_open(found, f"invoice {invoice.number}")
            by_day = spread(invoice, found.period)
            _require_known(cursor, found.period, by_day)
            revision, days_before = _before(cursor, name, invoice.number)
            like = _like(list_invoices(cursor), name, invoice.number, by_day)
        rows = [
            _row(name, invoice, line)
            | {
                "invoice_id": content_id("invoice", name, invoice.number, place),
                "revision": revision,
                "actor": actor,
            }
            for place, line in enumerate(by_day)
        ]
        frame = pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"amount": pl.Decimal(18, 6)})
        ledger.append(f"invoice/{uuid4().hex}", {"invoices_versions": frame}, recorded_at=now_ms)
    days = sorted({*days_before, *(str(line.day) for line in by_day)})
    charged = charge(ledger, now_ms, calendar.time_zone, days)
    with ledger.reading() as cursor:
        trued_up = _trued_up(cursor, by_day)
    return Imported(found.period, invoice.total, by_day[0].currency, trued_up, charged, like)


def withdraw_invoice(
    ledger: Ledger, name: str, number: str, *, calendar: Calendar, actor: str, now_ms: int
) -> Charged:
    """Take the invoice out of the period's books, and charge its days. Raises InputError where it is not there."""
    with ledger.exclusive("declare"):
        with ledger.reading() as cursor:
            require_open(standing(cursor, calendar, name), f"invoice {number}")
            revision, days = _before(cursor, name, number)
        if not days:
            raise InputError(
                f"{name} has no invoice {number}", "quartermaster invoice list says what there is"
            )
        gone = {
            "invoice_id": content_id("invoice", name, number, "withdrawn"),
            "revision": revision,
            "period": name,
            "invoice": number,
            "actor": actor,
        }
        ledger.append(
            f"invoice/{uuid4().hex}", {"invoices_versions": pl.DataFrame([gone])}, recorded_at=now_ms
        )
    return charge(ledger, now_ms, calendar.time_zone, sorted(days))


def spread(invoice: Invoice, period: Period) -> list[InvoiceLine]:
    """Its lines by cluster, model and day, in order: one over the whole period is shared by the days' hours.

    Raises InputError for an invoice without lines, in two currencies, or of a day outside the period.
    """
    days = {day.day: day.end_ms - day.start_ms for day in period.days}
    currencies = sorted({line.currency for line in invoice.lines})
    if len(currencies) != 1:
        what = "no line of GPUs" if not currencies else f"lines in {', '.join(currencies)}"
        raise InputError(f"invoice {invoice.number} has {what}", "import one currency at a time")
    asked: dict[_Key, Decimal] = {}
    for line in invoice.lines:
        if line.day is not None and line.day not in days:
            raise InputError(
                f"invoice {invoice.number}: {line.day} is no day of {period.period}",
                f"it lasts from {period.start_day} until {period.end_day}, exclusive",
            )
        if abs(line.amount) >= _LARGEST:
            raise InputError(
                f"invoice {invoice.number}: {line.amount} is too much", "look at its decimal point"
            )
        for day, part in ({line.day: line.amount} if line.day else _over(days, line.amount)).items():
            key = line.cluster, line.model, day
            asked[key] = asked.get(key, Decimal(0)) + part
    return [
        InvoiceLine(cluster, model, day, Decimal(micros) / MICROS, currencies[0])
        for (cluster, model, day), micros in _in_micros(asked).items()
    ]


def _over(days: Mapping[str, int], amount: Decimal) -> dict[str, Decimal]:
    """An amount over the days, by their length, in millionths; what it has below a millionth goes with the first."""
    whole = int(amount * MICROS)
    parts = {day: Decimal(part) / MICROS for day, part in share(whole, days).items()}
    first = next(iter(parts))
    return parts | {first: parts[first] + amount - Decimal(whole) / MICROS}


def _in_micros(asked: Mapping[_Key, Decimal]) -> dict[_Key, int]:
    """Each amount in millionths by largest remainder: together they are the total, rounded half up."""
    floors = {key: int((amount * MICROS).to_integral_value(ROUND_FLOOR)) for key, amount in asked.items()}
    total = int((sum(asked.values(), Decimal(0)) * MICROS).to_integral_value(ROUND_HALF_UP))
    order = sorted(asked, key=lambda key: (floors[key] - asked[key] * MICROS, key))
    for key in order[: total - sum(floors.values())]:
        floors[key] += 1
    return {key: floors[key] for key in sorted(floors)}


def list_invoices(cursor: Cursor) -> pl.DataFrame:
    """Every invoice: period, number, issuer, lines, total, and what the books differ from the card by because of it."""
    return cursor.execute(books_sql("invoices")).pl()


def _require_known(cursor: Cursor, period: Period, lines: Sequence[InvoiceLine]) -> None:
    given = {"start_day": period.start_day, "end_day": period.end_day}
    known: dict[tuple[str, str], set[str]] = {}
    for cluster, model, currency in cursor.execute(books_sql("charged_models"), given).fetchall():
        known.setdefault((cluster, model), set()).add(currency)
    for line in lines:
        currencies = known.get((line.cluster, line.model))
        if currencies is None:
            models = ", ".join(sorted(f"{model} in {cluster}" for cluster, model in known)) or "nothing"
            raise InputError(
                f"{period.period} has no cost of {line.model} in cluster {line.cluster}", f"it has: {models}"
            )
        if currencies != {line.currency}:
            raise InputError(
                f"the invoice is in {line.currency}, the card of {line.model} in {', '.join(sorted(currencies))}",
                "import it in the card's currency",
            )


def _like(known: pl.DataFrame, name: str, number: str, lines: Sequence[InvoiceLine]) -> str | None:
    """Another invoice of the period with as many lines over the same days, and the same total."""
    days = sorted(str(line.day) for line in lines)
    same = (name, len(lines), days[0], days[-1], sum(line.amount for line in lines), lines[0].currency)
    columns = ("period", "lines", "first_day", "last_day", "total", "currency")
    for row in known.iter_rows(named=True):
        if row["invoice"] != number and tuple(row[column] for column in columns) == same:
            return row["invoice"]
    return None


def _before(cursor: Cursor, name: str, number: str) -> tuple[int, set[str]]:
    """The next revision of the invoice, and the days that it has now."""
    given = {"period": name, "invoice": number}
    rows = cursor.execute(books_sql("invoice_before"), given).fetchall()
    return max((revision for revision, _ in rows), default=-1) + 1, {
        day for _, day in rows if day is not None
    }


def _row(name: str, invoice: Invoice, line: InvoiceLine) -> dict[str, Any]:
    return {
        "period": name,
        "invoice": invoice.number,
        "issuer": invoice.issuer,
        "cluster": line.cluster,
        "model": line.model,
        "business_day": line.day,
        "amount": line.amount,
        "currency": line.currency,
        "share": invoice.shared,
        "source": invoice.source,
    }


def _trued_up(cursor: Cursor, lines: Sequence[InvoiceLine]) -> Decimal:
    keys = [(line.cluster, line.model, line.day) for line in lines]
    cursor.register(
        "invoiced_keys", pl.DataFrame(keys, schema=["cluster", "model", "business_day"], orient="row")
    )
    row = cursor.execute(books_sql("trued_up")).fetchone()
    cursor.unregister("invoiced_keys")
    return row[0] if row and row[0] is not None else Decimal(0)

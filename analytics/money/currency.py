"""Currencies: exchange rates fixed for a span of days and recorded, and charges told in one currency by them alone."""

from dataclasses import dataclass
from decimal import Decimal
from uuid import uuid4

import polars as pl

from analytics.money.rates import money_sql
from quartermaster.errors import InputError
from quartermaster.ids import content_id
from sql.closed import closed_books
from sql.ledger import Cursor, Ledger

NANO = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one unit of a currency is in another, for the business days [start_day, end_day)."""

    from_currency: str
    to_currency: str
    rate: Decimal
    start_day: str
    end_day: str
    source: str
    author: str


def exchanges(cursor: Cursor) -> list[Exchange]:
    """Every recorded rate, by currencies and day."""
    return [Exchange(**row) for row in cursor.execute(money_sql("exchanges")).pl().iter_rows(named=True)]


def record(ledger: Ledger, exchange: Exchange, now_ms: int) -> bool:
    """Record a rate, once; False where it is there already.

    Raises InputError for one that cannot be, that says of some day otherwise than what is recorded, or whose days lie
    in closed books.
    """
    pair = f"{exchange.from_currency} in {exchange.to_currency}"
    if exchange.from_currency == exchange.to_currency or exchange.rate <= 0:
        raise InputError(f"{exchange.rate} is no rate of {pair}", "name two currencies and a rate above zero")
    if exchange.end_day <= exchange.start_day:
        raise InputError(
            f"{exchange.end_day} is not after {exchange.start_day}", "--to is the first day without"
        )
    if not exchange.author.strip():
        raise InputError("who records a rate says who they are", "give --author")
    with ledger.exclusive("declare"), ledger.reading() as cursor:
        for known in exchanges(cursor):
            if known == exchange:
                return False
            same = (known.from_currency, known.to_currency) == (exchange.from_currency, exchange.to_currency)
            if same and known.start_day < exchange.end_day and exchange.start_day < known.end_day:
                span = f"{known.start_day} to {known.end_day}"
                raise InputError(
                    f"{pair} is fixed at {known.rate} from {span}", "record the days outside of it"
                )
        for period in closed_books(cursor).periods:
            if period.start_day < exchange.end_day and exchange.start_day < period.end_day:
                raise InputError(f"the books of {period.period} are closed", f"begin with {period.end_day}")
        row = {name: getattr(exchange, name) for name in Exchange.__slots__}
        row["fx_id"] = content_id(
            "fx", exchange.from_currency, exchange.to_currency, exchange.start_day, exchange.end_day
        )
        frame = pl.DataFrame([row], schema_overrides={"rate": pl.Decimal(18, 9)})
        ledger.append(f"fx/{uuid4().hex}", {"fx": frame}, recorded_at=now_ms)
    return True


def lay_charges_in(cursor: Cursor, currency: str, first_day: str, last_day: str) -> None:
    """Make the temporary table `charges_in`: the charges of the days, each in one currency, by recorded rates.

    It is rounded so that each cluster, day, pool and model adds up to its sum × the rate, and lines with their
    counter-lines to nothing. Raises InputError where a rate is not recorded.
    """
    given = {"currency": currency, "first_day": first_day, "last_day": last_day}
    missing = cursor.execute(money_sql("missing_exchange"), given).fetchone()
    if missing is not None:
        found, day = missing
        raise InputError(
            f"no rate of {found} in {currency} is recorded for {day}",
            f"quartermaster prices fx {found} {currency} RATE --from {day} --to …",
        )
    cursor.execute(f"create or replace temp table charges_in as {money_sql('charges_in')}", given)

"""Charges: usage turned into lines of cost, a business day each, that add up to the pools' cost exactly."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from analytics.business import Day, business_day
from analytics.money.due import all_days, due_days, due_key
from analytics.money.pricing import lay_facts, lay_profiles, make_lines
from analytics.money.queries import books_sql
from analytics.money.rates import Prices, money_sql, read_prices
from analytics.money.segments import DAY, Used, day_rows, lay, lay_segments
from quartermaster.clock import to_datetime, to_iso
from quartermaster.errors import LedgerError
from sql.closed import closed_books
from sql.ledger import Cursor, Ledger


@dataclass(frozen=True, slots=True)
class Charged:
    """What charging did."""

    days: tuple[str, ...]  # the business days that were looked at
    changed_days: tuple[str, ...]  # of these, those whose lines were replaced; the others were right already
    lines: int  # of all the days that were looked at
    unpriced_until_ms: int | None  # usage before it has no charges: no rate card had begun. None: all has


def charge(
    ledger: Ledger,
    now_ms: int,
    time_zone: str,
    days: Sequence[str] | None = None,
    *,
    everything: bool = False,
) -> Charged:
    """Charge the usage of the business days; where none are named, of those that are due (or of all).

    Due are days whose usage or prices have changed since it last charged what was due. Days of a closed period are
    never charged: `analytics.money.corrections` tells what differs there. Lines that are there
    already, and right, stay untouched: repeated, it changes nothing. Usage before the first rate card begins
    has no lines. Nothing is written when it raises: ConfigurationError where a card in force has no price for
    a model that was there, LedgerError where a price changes within a row of usage.
    """
    with ledger.exclusive("charges"), ledger.reading() as cursor:  # all of one state of the ledger
        row = cursor.execute("select id from ducklake_current_snapshot('lake')").fetchone()
        snapshot_id = int(row[0]) if row else 0
        prices = read_prices(cursor)
        if days is not None:
            chosen, key = [business_day(day, time_zone) for day in days], f"charges/named/{snapshot_id}"
        else:
            key = due_key(snapshot_id, time_zone)
            chosen = (
                all_days(cursor, time_zone)
                if everything
                else due_days(cursor, snapshot_id, time_zone, prices)
            )
        closed = closed_books(cursor)
        chosen = [day for day in chosen if closed.of_day(day.day) is None]
        used = lay_lines(cursor, chosen, prices)
        lines: int = cursor.sql("select count(*) as lines from new_lines").pl().item()
        changed: list[str] = cursor.sql(money_sql("changed_days")).pl().get_column("business_day").to_list()
        if changed:
            new = cursor.sql("select * from new_lines").pl().filter(pl.col("business_day").is_in(changed))
            _replace(ledger, key, changed, new, now_ms)
        return Charged(tuple(day.day for day in chosen), tuple(changed), lines, _unpriced_until(prices, used))


def lay_lines(cursor: Cursor, days: Sequence[Day], prices: Prices) -> "list[Used]":
    """Make the temporary table new_lines: what the cards make of the days' usage, and invoices' differences to it.

    Gives what usage there is, unpriced too. Raises as `charge` does.
    """
    lay(cursor, "business_days", DAY, day_rows(days))
    lay_profiles(cursor, prices)
    used = [Used(**row) for row in cursor.sql(money_sql("used")).pl().iter_rows(named=True)]
    lay_segments(cursor, prices, used, {day.day: day for day in days})
    _refuse_misfits(cursor, prices)
    lay_facts(cursor, prices, {one.cluster for one in used}, days)
    make_lines(cursor, prices)
    cursor.execute(f"insert into new_lines by name {books_sql('true_up')}")
    return used


def _refuse_misfits(cursor: Cursor, prices: Prices) -> None:
    begin = to_datetime(0 if prices.start_ms is None else prices.start_ms)
    found = cursor.execute(money_sql("misfits"), {"begin_at": begin}).fetchone()
    if found is None:
        return
    cluster, pool, model, row_start_ms, crossing = found
    where = f"the usage of {model} in pool {pool} of cluster {cluster} at {to_iso(row_start_ms)}"
    if crossing:
        raise LedgerError(
            f"{where} lies across a change of price or a business midnight", "run quartermaster rollup"
        )
    raise LedgerError(f"{where} does not add up to its capacity", "run quartermaster ledger check")


def _replace(ledger: Ledger, key: str, days: Sequence[str], lines: pl.DataFrame, now_ms: int) -> None:
    def work(cursor: Cursor) -> None:
        cursor.execute(
            "delete from charges where kind <> 'correction' and business_day in (select unnest(?))", [days]
        )
        if len(lines):
            ledger.insert(cursor, "charges", lines, recorded_at=now_ms)

    ledger.write(key, work, message=f"charges of {len(days)} business days")


def _unpriced_until(prices: Prices, used: Sequence[Used]) -> int | None:
    if prices.start_ms is None:
        return max((one.end_ms for one in used), default=None)
    return prices.start_ms if any(one.start_ms < prices.start_ms for one in used) else None

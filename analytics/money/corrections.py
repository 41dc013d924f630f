"""Corrections: what came late for days of closed periods, as lines in the open one that name those they correct."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import polars as pl

from analytics.business import Day, days_between
from analytics.late import lay_effective
from analytics.money.charges import lay_lines
from analytics.money.queries import books_sql, lay
from analytics.money.rates import read_prices
from sql.closed import ClosedBooks, closed_books
from sql.ledger import Cursor, Ledger

_DAYS = pl.Schema({"business_day": pl.String(), "start_ms": pl.Int64(), "end_ms": pl.Int64()})
_NAMES = pl.Schema({"business_day": pl.String()})


@dataclass(frozen=True, slots=True)
class Corrected:
    """What correcting did."""

    days: tuple[str, ...]  # the closed business days that were looked at
    lines: int  # corrections that were made
    amount: Decimal  # what they come to, over all accounts


def correct(ledger: Ledger, now_ms: int, time_zone: str) -> Corrected:
    """Book what differs on closed days since their closing, and take back what was booked for days that are open again.

    A closed line and the corrections of it always add up to what the line would be by all that is known now; repeated,
    it books nothing more. They are booked on the business day of `now_ms`. Raises as `charge` does.
    """
    with ledger.exclusive("charges"), ledger.reading() as cursor:
        row = cursor.execute("select id from ducklake_current_snapshot('lake')").fetchone()
        snapshot_id = int(row[0]) if row else 0
        closed = closed_books(cursor)
        shut = [day for each in closed.periods for day in days_between(each.start_ms, each.end_ms, time_zone)]
        days = _late(cursor, shut, snapshot_id)
        if not days and cursor.execute(books_sql("open_again")).fetchone() is None:
            return Corrected((), 0, Decimal(0))
        found = _differences(cursor, days, shut, booked_on(closed, now_ms, time_zone))
        if len(found):
            _book(ledger, f"corrections/until/{snapshot_id}", found, now_ms)
    return Corrected(
        tuple(day.day for day in days), len(found), sum(found.get_column("amount").to_list(), Decimal(0))
    )


def booked_on(closed: ClosedBooks, now_ms: int, time_zone: str) -> str:
    """The business day on which a correction made now is booked: today, or the first day after what is closed."""
    at_ms = closed.next_open_ms(now_ms)
    return days_between(at_ms, at_ms + 1, time_zone)[0].day


def _late(cursor: Cursor, shut: Sequence[Day], snapshot_id: int) -> list[Day]:
    """The closed days for which usage came late since it was last looked for; all such days where that is forgotten."""
    lay(cursor, "given_days", _DAYS, [(day.day, day.start_ms, day.end_ms) for day in shut])
    found = cursor.execute(books_sql("last_correcting")).fetchone()
    after = int(found[0]) + 1 if found and found[1] else 0
    if not shut or after > snapshot_id:
        return []
    if after == 0:
        found_days = cursor.execute(books_sql("all_late_days")).fetchall()
    else:
        found_days = cursor.execute(books_sql("late_days"), {"after": after, "now": snapshot_id}).fetchall()
    late = {day for (day,) in found_days}
    return [day for day in shut if day.day in late]


def _differences(cursor: Cursor, days: Sequence[Day], shut: Sequence[Day], today: str) -> pl.DataFrame:
    """The corrections that are due, each with the line and the day that it is of."""
    lay_effective(
        cursor, "usage_hourly", [(day.start_ms, day.end_ms) for day in days]
    )  # hides the ledger's own
    try:
        lay_lines(cursor, days, read_prices(cursor))
    finally:
        cursor.execute("drop table temp.usage_hourly")
    lay(cursor, "late_days", _NAMES, [(day.day,) for day in days])
    lay(cursor, "shut_days", _DAYS, [(day.day, day.start_ms, day.end_ms) for day in shut])
    return cursor.execute(books_sql("corrections"), {"today": today}).pl()


def _book(ledger: Ledger, key: str, found: pl.DataFrame, now_ms: int) -> None:
    named = found.select("charge_id", "line_id", "cluster", pl.col("line_day").alias("business_day"))

    def work(cursor: Cursor) -> None:
        ledger.insert(cursor, "charges", found.drop("line_id", "line_day"), recorded_at=now_ms)
        ledger.insert(cursor, "corrections", named, recorded_at=now_ms)

    ledger.write(key, work, message=f"{len(found)} corrections of closed days")

"""Late usage: what comes for the hours of a closed period is told as differences; the rows that were closed stay."""

from collections.abc import Sequence

import polars as pl

from analytics.business import Day
from analytics.daily import sum_day
from analytics.money.queries import books_sql, lay
from quartermaster.clock import to_datetime
from sql.closed import ClosedPeriod
from sql.ledger import Cursor, Ledger

SPANS = pl.Schema({"start_ms": pl.Int64(), "end_ms": pl.Int64()})
_NOTHING = """
create or replace temp table measured_usage as
select * replace (epoch_ms(row_start_at) as row_start_at, epoch_ms(row_end_at) as row_end_at) from usage_hourly limit 0
"""
_KEYS = ("cluster", "row_start_at")


def tell_late(
    ledger: Ledger,
    cursor: Cursor,
    closed: Sequence[ClosedPeriod],
    measured: object | None,
    *,
    cluster: str,
    span: tuple[int, int],
    now_ms: int,
) -> int:
    """Append to usage_late what was measured otherwise of the closed hours of a cluster's span [from, until) than the
    ledger has it; how many rows differ.

    `measured` is a stream (of Arrow) of rows of usage_hourly, times as epoch ms; None: nothing is there any more.
    """
    if measured is None:
        cursor.execute(_NOTHING)
    else:
        cursor.register("measured_rows", measured)
        cursor.execute("create or replace temp table measured_usage as from measured_rows")
        cursor.unregister("measured_rows")
    lay(cursor, "closed_spans", SPANS, [(each.start_ms, each.end_ms) for each in closed])
    given = {"cluster": cluster, "from_at": to_datetime(span[0]), "until_at": to_datetime(span[1])}
    found = cursor.execute(books_sql("late_rows"), given).pl()
    if len(found):
        ledger.insert(cursor, "usage_late", found, recorded_at=now_ms)
    return len(found)


def lay_effective(cursor: Cursor, table: str, spans: Sequence[tuple[int, int]]) -> None:
    """Make the temporary table: usage of the spans, epoch ms, as it is known now, closed or not."""
    lay(cursor, "given_spans", SPANS, spans)
    cursor.execute(f"create or replace temp table {table} as {books_sql('effective_usage')}")


def fold(cursor: Cursor, days: Sequence[Day]) -> None:
    """Make one of the days' usage and its differences: their period is open again, and its rows may be replaced."""
    span = {"from_at": to_datetime(days[0].start_ms), "until_at": to_datetime(days[-1].end_ms)}
    here = "row_start_at >= $from_at and row_start_at < $until_at"
    keys = ", ".join(_KEYS)
    cursor.execute(
        f"create or replace temp table late_keys as select distinct {keys} from usage_late where {here}",  # noqa: S608
        span,
    )
    lay_effective(cursor, "folded_usage", [(days[0].start_ms, days[-1].end_ms)])
    cursor.execute(f"delete from usage_hourly where ({keys}) in (select ({keys}) from late_keys)")  # noqa: S608
    cursor.execute(f"insert into usage_hourly by name from folded_usage semi join late_keys using ({keys})")
    cursor.execute(f"delete from usage_late where {here}", span)  # noqa: S608
    touched = cursor.execute("select distinct cluster, epoch_ms(row_start_at) from late_keys").fetchall()
    for cluster, day in sorted(
        {(cluster, day) for cluster, at in touched for day in days if day.start_ms <= at < day.end_ms},
        key=lambda pair: (pair[0], pair[1].day),
    ):
        cursor.execute(
            "delete from usage_daily where cluster = ? and business_day = ?",
            [cluster, day.day],
        )
        sum_day(cursor, cluster, day)

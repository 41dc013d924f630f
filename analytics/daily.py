"""A business day of usage, summed up from what is written of its hours."""

from pathlib import Path

import sql
from analytics.business import Day
from sql.catalog import Cursor, quote

_DAILY = Path(sql.__file__).parent / "queries" / "usage" / "daily.sql"


def sum_day(cursor: Cursor, cluster: str, day: Day) -> None:
    """Add to usage_daily the sums of a cluster's day. What stood there before is the caller's to remove."""
    cursor.execute(
        "create or replace temp view rows_of_days as "  # noqa: S608
        f"select *, {quote(day.day)} as business_day from lake.usage_hourly "
        f"where cluster = {quote(cluster)} and row_start_at >= make_timestamptz({day.start_ms * 1000}) "
        f"and row_start_at < make_timestamptz({day.end_ms * 1000})"
    )
    cursor.execute(f"insert into usage_daily by name {_DAILY.read_text(encoding='utf-8')}")

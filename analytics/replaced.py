"""Replacing the rows of a span of a cluster's hours in the ledger; those of closed periods stay."""

from collections.abc import Sequence

from quartermaster.clock import to_datetime
from sql.closed import ClosedPeriod
from sql.ledger import Cursor, Ledger


def remove_rows(
    cursor: Cursor, table: str, cluster: str, span: tuple[int, int], closed: Sequence[ClosedPeriod]
) -> None:
    """Remove the cluster's rows that begin in [from, until), epoch ms, but those of closed periods."""
    cursor.execute(
        f"delete from {table} "  # noqa: S608
        f"where cluster = ? and row_start_at >= ? and row_start_at < ?{_outside(closed)}",
        [cluster, to_datetime(span[0]), to_datetime(span[1])],
    )


def insert_rows(
    ledger: Ledger, cursor: Cursor, table: str, rows: object, closed: Sequence[ClosedPeriod]
) -> int:
    """Insert a stream of measured rows, times as epoch ms, but those of closed periods; how many they were."""
    names = list(ledger.columns(table))
    values = [f"make_timestamptz({name} * 1000)" if name.endswith("_at") else name for name in names]
    cursor.register("measured_rows", rows)
    try:
        done = cursor.execute(
            f"insert into {table} ({', '.join(names)}) "  # noqa: S608
            f"select * from (select {', '.join(values)} from measured_rows) as measured({', '.join(names)}) "
            f"where true{_outside(closed)}"
        ).fetchone()
    finally:
        cursor.unregister("measured_rows")
    return int(done[0]) if done else 0


def _outside(closed: Sequence[ClosedPeriod]) -> str:
    """The end of a condition: what begins within closed periods is not meant."""
    return "".join(
        f" and not (row_start_at >= make_timestamptz({each.start_ms * 1000})"
        f" and row_start_at < make_timestamptz({each.end_ms * 1000}))"
        for each in closed
    )

"""The evidence of a period: the tables that its books rest on, read from the ledger in one order, and their hashes."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

import polars as pl

from analytics.money.calendar import Period
from analytics.money.manifest import Content, Owed
from analytics.money.queries import books_sql
from quartermaster.clock import to_datetime
from sql.ledger import Cursor

_DIGEST = """
select sha256(coalesce(string_agg(to_json(t)::varchar, chr(10) order by t.row_index), '')) from digested_rows as t
"""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a period's books rest on."""

    tables: Mapping[str, pl.DataFrame]  # by name: sql/queries/books/closing
    sums: pl.DataFrame
    owed: tuple[Owed, ...]


def read_evidence(cursor: Cursor, period: Period) -> Evidence:
    """Read it, as of the state of the ledger in which the cursor stands."""
    given: dict[str, object] = {
        "start_day": period.start_day,
        "end_day": period.end_day,
        "start_at": to_datetime(period.start_ms),
        "end_at": to_datetime(period.end_ms),
    }
    tables = {name: _read(cursor, books_sql(f"closing/{name}"), given) for name in table_names()}
    owed = _read(cursor, books_sql("owed"), given)
    return Evidence(
        tables,
        _read(cursor, books_sql("sums"), given),
        tuple(Owed(**row) for row in owed.iter_rows(named=True)),
    )


def table_names() -> list[str]:
    """The tables that are closed with a period, in order of name."""
    folder = files("sql") / "queries" / "books" / "closing"
    return sorted(file.name.removesuffix(".sql") for file in folder.iterdir() if file.name.endswith(".sql"))


def contents(cursor: Cursor, evidence: Evidence) -> list[Content]:
    """How many rows each table has, and the hash of what stands in them, in whatever file they lie."""
    return [Content(name, len(rows), _digest(cursor, rows)) for name, rows in evidence.tables.items()]


def _read(cursor: Cursor, text: str, given: Mapping[str, object]) -> pl.DataFrame:
    return cursor.execute(text, {name: value for name, value in given.items() if f"${name}" in text}).pl()


def _digest(cursor: Cursor, rows: pl.DataFrame) -> str:
    instants = [name for name, kind in rows.schema.items() if isinstance(kind, pl.Datetime)]
    told = rows.with_columns(pl.col(name).dt.epoch("ms") for name in instants).with_row_index("row_index")
    cursor.register("digested_rows", told)
    try:
        return str((cursor.execute(_DIGEST).fetchone() or ("",))[0])
    finally:
        cursor.unregister("digested_rows")

"""The books' queries: their texts, and frames laid for them to read."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import polars as pl

from sql.ledger import Cursor


@cache
def books_sql(name: str) -> str:
    """The text of sql/queries/books/<name>.sql."""
    return (files("sql") / "queries" / "books" / f"{name}.sql").read_text(encoding="utf-8")


def lay(cursor: Cursor, name: str, schema: pl.Schema, rows: Sequence[tuple[object, ...]]) -> None:
    """Make a temporary table of the rows."""
    cursor.register("given_rows", pl.DataFrame(list(rows), schema=schema, orient="row"))
    try:
        cursor.execute(f"create or replace temp table {name} as from given_rows")
    finally:
        cursor.unregister("given_rows")

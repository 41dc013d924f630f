"""Samples as Parquet files: written in the table's order beside DuckLake's own, and taken up by the commit they are of.

DuckLake's insert orders and parts rows that are in order and of one month, and tries out how to encode them: it takes
four times the CPU (docs/adr/0015). Where a commit never comes, upkeep removes the files as it does DuckLake's own.
"""

import importlib
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import polars as pl

from quartermaster.clock import to_datetime
from sql.catalog import INLINED_ROWS
from sql.faults import understand
from sql.ledger import Ledger

TABLE, AT = "samples", "sampled_at"
_KINDS = {"VARCHAR": pl.Categorical(), "BIGINT": pl.Int64(), "INTEGER": pl.Int32()}
# Texts and numbers that stay for long; all others move little from a row to the next.
_ALIKE = ("cluster", "source", "series_id", "hold_ms", "label_ref")
# As the first revision has it for all tables.
_CODEC, _LEVEL, _ROW_GROUP = "zstd", 3, 245_760


def write_samples(ledger: Ledger, cluster: str, rows: pl.DataFrame) -> tuple[Path, ...]:
    """Write a cluster's rows of `samples`, ordered by series and time, to files for `Ledger.adopt`: one a month.

    Gives none where inserting is the better way: few rows, which the catalog keeps, or a folder whose name DuckLake
    would take for a column's value. Raises LedgerError where they cannot be written.
    """
    if rows.height < INLINED_ROWS or "=" in str(ledger.catalog.data):
        return ()
    written: list[Path] = []
    try:
        for year, month, theirs in _months(rows):
            folder = ledger.catalog.data / "main" / TABLE / f"cluster={quote(cluster, safe='')}"
            file = folder / f"year={year}" / f"month={month}" / f"{uuid.uuid4()}.parquet"
            file.parent.mkdir(parents=True, exist_ok=True)
            written.append(file)
            _write(file, ledger.columns(TABLE), theirs)
    except OSError as error:
        for file in written:
            file.unlink(missing_ok=True)
        raise understand(error, ledger.where, "writing").error from error
    return tuple(written)


def _months(rows: pl.DataFrame) -> Iterator[tuple[int, int, pl.DataFrame]]:
    """The rows of each month (UTC) that has any."""
    first, last = (to_datetime(int(cast(int, at))) for at in (rows[AT].min(), rows[AT].max()))
    if (first.year, first.month) == (last.year, last.month):
        yield first.year, first.month, rows
        return
    at = pl.from_epoch(rows[AT], time_unit="ms")
    months = pl.DataFrame({"year": at.dt.year(), "month": at.dt.month()})
    for year, month in months.unique().sort("year", "month").iter_rows():
        yield year, month, rows.filter((months["year"] == year) & (months["month"] == month))


def _write(file: Path, columns: Mapping[str, str], rows: pl.DataFrame) -> None:
    """All columns of the table: one that a file lacks has no statistics, and DuckLake would take it for never null."""
    parquet = cast(Any, importlib.import_module("pyarrow.parquet"))
    told = pl.DataFrame([_column(rows, name, kind) for name, kind in columns.items()])
    parquet.write_table(
        told.to_arrow(),
        file,
        compression=_CODEC,
        compression_level=_LEVEL,
        row_group_size=_ROW_GROUP,
        use_dictionary=list(_ALIKE),
        column_encoding={name: "DELTA_BINARY_PACKED" for name in columns if name not in _ALIKE},
        store_schema=False,
    )


def _column(rows: pl.DataFrame, name: str, kind: str) -> pl.Series:
    if name == AT:
        return (rows[AT] * 1000).cast(pl.Datetime("us", "UTC"))
    given = rows[name] if name in rows.columns else pl.repeat(None, rows.height, eager=True).alias(name)
    return given.cast(_KINDS[kind])

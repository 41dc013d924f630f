"""A month of the ledger as plain Parquet, a folder a table: for Spark, Trino, pandas and whatever else reads files."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path

import polars as pl

from analytics.business import business_day
from analytics.finance.focus import STEP_DAYS
from analytics.finance.span import Span
from analytics.finance.written import whole_file, write_parquet
from quartermaster.errors import InputError
from sql.ledger import Cursor, Ledger

TABLES = ("usage_daily", "charges", "quota", "lending")


@dataclass(frozen=True, slots=True)
class Piece:
    """A file of the export: its path under the folder, its rows, and the hash of its bytes."""

    table: str
    file: str
    rows: int
    bytes: int
    sha256: str
    columns: dict[str, str]


def export_month(ledger: Ledger, span: Span, folder: Path, time_zone: str) -> list[Piece]:
    """Write `<table>/month=<name>/data.parquet` for each table, then `manifest-<name>.json`; gives the files.

    All of one state of the ledger. What an earlier export of the month wrote is replaced, file by file, the manifest
    last: a file that it does not name, or with another hash, is of an export that did not end. Raises InputError when
    the folder cannot be written.
    """
    pieces: list[Piece] = []
    with ledger.reading() as cursor:
        for table in TABLES:
            name = f"{table}/month={span.name}/data.parquet"
            file = folder / name
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(
                    f"{file.parent}: it cannot be made: {error.strerror}", "name another"
                ) from error
            columns: dict[str, str] = {}
            rows = write_parquet(_frames(cursor, table, span, time_zone, columns), file)
            content = file.read_bytes()
            digest = hashlib.sha256(content).hexdigest()
            pieces.append(Piece(table, name, rows, len(content), digest, columns))
    told = {"month": span.name, "time_zone": time_zone, "first_day": span.first_day, "end_day": span.end_day}
    with whole_file(folder / f"manifest-{span.name}.json") as sink:
        text = json.dumps(told | {"files": [asdict(piece) for piece in pieces]}, indent=2)
        sink.write(f"{text}\n".encode())
    return pieces


def _frames(
    cursor: Cursor, table: str, span: Span, time_zone: str, columns: dict[str, str]
) -> Iterator[pl.DataFrame]:
    """The table's rows, a frame for every few days; `columns` is told their names and types."""
    text = (files("sql") / "queries" / "finance" / f"export_{table}.sql").read_text(encoding="utf-8")
    for first_day, end_day in span.steps(STEP_DAYS):
        given: dict[str, object] = {"first_day": first_day, "end_day": end_day}
        if "$start_ms" in text:
            edges = (business_day(day, time_zone).start_ms for day in (first_day, end_day))
            given = dict(zip(("start_ms", "end_ms"), edges, strict=True))
        frame = cursor.execute(text, given).pl()
        columns.update({name: str(kind) for name, kind in frame.schema.items()})
        yield frame

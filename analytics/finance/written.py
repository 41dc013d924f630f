"""Frames written into one file, piece by piece: CSV that no spreadsheet computes, or Parquet. All of it, or no file."""

import contextlib
import importlib
import os
import re
import tempfile
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import IO, Any, cast

import polars as pl

from quartermaster.errors import InputError
from quartermaster.text import FORMULA_STARTS

_FORMULA = f"^ *[{re.escape(''.join(FORMULA_STARTS))}]"
_INSTANT = "%Y-%m-%dT%H:%M:%SZ"


def write_csv(frames: Iterable[pl.DataFrame], file: Path) -> int:
    """Write frames of the same columns under one header; gives the number of rows.

    UTF-8, comma, CRLF; null is empty, instants are ISO 8601 in UTC, decimals exact. Text that a spreadsheet would
    take for a formula begins with an apostrophe. Raises InputError when the file cannot be written.
    """
    rows = 0
    with whole_file(file) as sink:
        for number, frame in enumerate(frames):
            frame.select(_harmless(name, kind) for name, kind in frame.schema.items()).write_csv(
                sink, include_header=number == 0, line_terminator="\r\n"
            )
            rows += len(frame)
    return rows


def write_parquet(frames: Iterable[pl.DataFrame], file: Path) -> int:
    """Write frames of the same columns as row groups, zstd; gives the number of rows. Text stays as it is.

    Raises InputError when the file cannot be written.
    """
    parquet = cast(Any, importlib.import_module("pyarrow.parquet"))
    rows, writer = 0, cast(Any, None)
    with whole_file(file) as sink:
        try:
            for frame in frames:
                table = cast(Any, frame).to_arrow(compat_level=pl.CompatLevel.oldest())
                writer = writer or parquet.ParquetWriter(
                    sink, table.schema, compression="zstd", store_schema=False
                )
                if len(frame):
                    writer.write_table(table)
                rows += len(frame)
        finally:
            if writer is not None:
                writer.close()
    return rows


def writer_for(file: Path) -> Callable[[Iterable[pl.DataFrame], Path], int]:
    """How a file of that name is written. Raises InputError unless it ends in .csv or .parquet."""
    match file.suffix.lower():
        case ".csv":
            return write_csv
        case ".parquet":
            return write_parquet
        case _:
            raise InputError(f"{file}: neither .csv nor .parquet", "name a file that ends in one of them")


def _harmless(name: str, kind: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if isinstance(kind, pl.Datetime):
        return column.dt.strftime(_INSTANT)
    if isinstance(kind, pl.String):
        return pl.when(column.str.contains(_FORMULA)).then(pl.lit("'") + column).otherwise(column).name.keep()
    return column


@contextlib.contextmanager
def whole_file(file: Path) -> Generator[IO[bytes]]:
    """A file that takes the name when it is whole; what had the name stays until then. Raises InputError."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{file.name[:60]}.", dir=file.parent)
    except OSError as error:
        raise InputError(
            f"{file}: it cannot be written: {error.strerror or error}", "name another file"
        ) from error
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as sink:
            yield sink
            sink.flush()
            os.fsync(sink.fileno())
        part.chmod(0o666 & ~_umask())
        part.replace(file)
    except OSError as error:
        raise InputError(
            f"{file}: it cannot be written: {error.strerror or error}", "see to the disk"
        ) from error
    finally:
        part.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

"""The ledger: a DuckLake on one of three catalogs (SQLite, PostgreSQL, memory), read and appended to."""

import contextlib
import random
import re
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, cast

import duckdb
import polars as pl

from quartermaster.clock import now_ms
from quartermaster.errors import InputError, LedgerError
from quartermaster.interrupt import obey
from sql import revision
from sql.catalog import Catalog, Cursor, parse
from sql.faults import understand
from sql.lock import WAIT_S, syncfs
from sql.writer import check_key

# How long a write is tried again when others got in between or PostgreSQL is away, before the caller is told.
PATIENCE_S = 10.0
_READ_TRIES = 3
# Its own, as a watch's: threads write in the background.
_dice = random.Random()  # noqa: S311
_SOON = ("already exists", "duplicate key", "is locked", "starting up")


class Ledger:
    """An open ledger, which threads may share.

    Every query has a cursor of its own; every write is one transaction with its idempotency key.
    """

    def __init__(self, connection: Cursor, catalog: Catalog) -> None:
        self._connection = connection
        self._columns: dict[str, dict[str, str]] = {}
        self._ready = False
        self.catalog = catalog
        self.kind = catalog.kind
        self.folder = catalog.folder
        self.where = catalog.where

    def cursor(self) -> Cursor:
        """A cursor that stands in the ledger (a cursor inherits neither USE nor settings)."""
        cursor = self._connection.cursor()
        cursor.execute("use lake")
        return cursor

    @contextlib.contextmanager
    def reading(self) -> Generator[Cursor]:
        """A cursor in a transaction: all that it reads is of one state, whatever is written meanwhile.

        For more than one query, and for every read by a cursor of one's own: upkeep waits for its end. Raises
        LedgerError when what the ledger names cannot be read.
        """
        with contextlib.closing(self.cursor()) as cursor, self.catalog.reading(), transaction(cursor):
            try:
                yield cursor
            except duckdb.IOException as error:
                raise understand(error, self.where, "reading").error from error

    def query(
        self, sql: str, parameters: Mapping[str, object] | Sequence[object] | None = None
    ) -> pl.DataFrame:
        """The result of one SELECT. Parameters are bound ($name or ?), never pasted.

        Raises duckdb.Error for SQL that is wrong, LedgerError when the ledger cannot be read, and
        LedgerVersionError when it is at another revision and so lacks what the SQL names.
        """
        obey()
        for attempt in range(1, _READ_TRIES + 1):
            try:
                with contextlib.closing(self.cursor()) as cursor, self.catalog.reading():
                    return (
                        cursor.sql(sql, params=cast(Any, parameters)).pl()
                        if parameters
                        else cursor.sql(sql).pl()
                    )
            except duckdb.CatalogException:
                self._require_revision(views=True)
                raise
            except (duckdb.IOException, duckdb.TransactionException) as error:
                fault = understand(error, self.where, "reading")
                if not fault.transient or attempt == _READ_TRIES:
                    raise fault.error from error
                time.sleep(0.1 * attempt)
        raise AssertionError

    def write(
        self, key: str, work: Callable[[Cursor], None], *, author: str = "quartermaster", message: str = ""
    ) -> bool:
        """Run `work` in one transaction whose commit carries `key`; its files are synced before the commit.

        Returns False, and changes nothing, when a commit with the key is there already. `work` runs again
        from its start after a conflict or a lost connection, for up to PATIENCE_S: it must be restartable.
        Raises LedgerError when nothing was acknowledged; the same key may be sent again in any case.
        """
        check_key(key)
        self.get_ready()
        obey()
        give_up_at = time.monotonic() + PATIENCE_S
        pause_s = 0.02
        while True:
            try:
                return self._write_once(key, work, author, message or key)
            except (duckdb.Error, OSError) as error:
                fault = understand(error, self.where, "writing")
                if not fault.transient or time.monotonic() + pause_s > give_up_at:
                    raise fault.error from error
            time.sleep(pause_s * _dice.uniform(0.5, 1.5))
            pause_s = min(pause_s * 2, 1.0)

    def _write_once(self, key: str, work: Callable[[Cursor], None], author: str, message: str) -> bool:
        with contextlib.closing(self.cursor()) as cursor, self.catalog.write_lock(), transaction(cursor):
            if self.catalog.committed(cursor, key):
                return False
            work(cursor)
            syncfs(self.folder)
            cursor.execute(
                "call ducklake_set_commit_message('lake', ?, ?, extra_info => ?)", [author, message, key]
            )
        return True

    def append(
        self,
        key: str,
        rows: "Mapping[str, pl.DataFrame | Sequence[object]]",
        *,
        recorded_at: int | None = None,
    ) -> bool:
        """Append rows to tables, all in one commit: {table: frame, or records of quartermaster.records}.

        Columns are matched by name; one that the rows lack is null; integer `_at` columns are epoch ms.
        Raises LedgerError for a column that the table does not have. Returns as `write` does.
        """
        frames = {table: frame(table_rows) for table, table_rows in rows.items() if len(table_rows)}
        instant = now_ms() if recorded_at is None else recorded_at
        for table, table_frame in frames.items():
            self._require_columns(table, table_frame)

        def insert(cursor: Cursor) -> None:
            for table, table_frame in frames.items():
                self.insert(cursor, table, table_frame, recorded_at=instant)

        return self.write(key, insert)

    def insert(self, cursor: Cursor, table: str, rows: pl.DataFrame, *, recorded_at: int) -> None:
        """Insert a frame within the transaction of `cursor`, as `append` does."""
        columns = self._require_columns(table, rows)
        chosen = {name: _expression(name, columns[name], rows.schema[name]) for name in rows.columns}
        if "recorded_at" in columns and "recorded_at" not in rows.columns:
            chosen["recorded_at"] = f"make_timestamptz({recorded_at} * 1000)"
        cursor.register("incoming_rows", rows)
        try:
            source = f"select {', '.join(chosen.values())} from incoming_rows"  # noqa: S608
            cursor.execute(f"insert into lake.{table} ({', '.join(chosen)}) {source}")
        finally:
            cursor.unregister("incoming_rows")

    def adopt(self, cursor: Cursor, table: str, files: Sequence[Path]) -> None:
        """Take up Parquet files in the folders of a table's partitions, within the transaction of `cursor`.

        From its commit on they are the ledger's own, which upkeep merges and removes.
        """
        told = [table, [str(file) for file in files]]
        cursor.execute("call ducklake_add_data_files('lake', ?, ?, hive_partitioning => true)", told)

    def columns(self, table: str) -> dict[str, str]:
        """The table's columns and their types, in order. Raises LedgerError for a table that is not there."""
        if table not in self._columns:
            if not re.fullmatch(r"[a-z_]+", table):
                raise LedgerError(f"{table!r} is no table's name")
            try:
                described = self.query(f"select column_name, column_type from (describe lake.{table})")  # noqa: S608
            except duckdb.CatalogException as error:
                raise LedgerError(f"the ledger has no table {table}", "docs/schema.md lists them") from error
            self._columns[table] = dict(described.iter_rows())
        return self._columns[table]

    @contextlib.contextmanager
    def exclusive(self, name: str, *, wait_s: float = WAIT_S) -> Generator[None]:
        """Be the only one with this ledger's lock `name`, over all processes: for writers that replace spans.

        It is a lock of its own, taken before any write: other writers go on. When its holder dies it is free.
        Raises LedgerBusyError when another holds it for longer than `wait_s` seconds.
        """
        if not re.fullmatch(r"[a-z][a-z0-9_-]{0,60}", name) or name == "write":
            raise InputError(f"{name!r} is no lock's name", "use lower case letters, digits, - and _")
        with self.catalog.exclusive(name, wait_s=wait_s):
            yield

    def committed(self, key: str) -> bool:
        """Whether a batch with this idempotency key is in the ledger."""
        with contextlib.closing(self.cursor()) as cursor:
            return self.catalog.committed(cursor, check_key(key))

    def revision(self) -> str:
        """The ledger's revision, empty when it has no tables yet."""
        with contextlib.closing(self.cursor()) as cursor:
            found = revision.current(cursor)
        if found:
            return found
        with self.reading() as cursor:  # somebody's commit of this moment may have hidden the tables
            return revision.current(cursor)

    def get_ready(self) -> None:
        """What must not happen under a lock: the revision is looked at, and DuckDB imports pandas (0.9 s).

        Raises LedgerVersionError when the revision does not fit.
        """
        if not self._ready:
            self.warm_up()
            self._require_revision()
            self._ready = True

    def warm_up(self) -> None:
        """Bind a parameter: the first one in a process imports pandas."""
        with contextlib.closing(self.cursor()) as cursor:
            cursor.execute("select ?", [1])

    def forget(self) -> None:
        """Forget what was learned of the tables: their revision has changed."""
        self._columns.clear()
        self._ready = False

    def close(self) -> None:
        """Close the connection; cursors end with it."""
        self._connection.close()

    def _require_revision(self, *, views: bool = False) -> None:
        revision.check(self.revision(), self.where)
        if views:
            with self.reading() as cursor:
                revision.check_views(cursor, self.where)

    def _require_columns(self, table: str, rows: pl.DataFrame) -> dict[str, str]:
        columns = self.columns(table)
        unknown = set(rows.columns) - set(columns)
        if unknown:
            raise LedgerError(
                f"the table {table} has no column {', '.join(sorted(unknown))}",
                "docs/schema.md lists its columns",
            )
        return columns


@contextlib.contextmanager
def transaction(cursor: Cursor) -> Generator[None]:
    """Begin; commit at the end, roll back at an error (a failed COMMIT has ended its transaction itself)."""
    cursor.execute("begin")
    try:
        yield
        cursor.execute("commit")
    except BaseException:
        with contextlib.suppress(duckdb.Error):
            cursor.execute("rollback")
        raise


def frame(rows: "pl.DataFrame | Sequence[object]") -> pl.DataFrame:
    """Records (dataclasses of one kind) as a frame with their fields as columns; a frame stays as it is.

    Raises InputError for anything else.
    """
    if isinstance(rows, pl.DataFrame):
        return rows
    if not rows:
        return pl.DataFrame()
    kinds = {type(row) for row in rows}
    kind = kinds.pop()
    if kinds or not is_dataclass(kind):
        raise InputError(f"rows of {kind.__name__} are no records of one kind", "give one list a table")
    names = [field.name for field in fields(kind)]
    return pl.DataFrame([pl.Series(name, [getattr(row, name) for row in rows]) for name in names])


@contextlib.contextmanager
def open_ledger(
    folder: Path, catalog: str = "sqlite", *, read_only: bool = False, make: bool = True
) -> Generator[Ledger]:
    """Open a ledger: `catalog` is `sqlite`, `memory`, or `postgres:<libpq connection string>`.

    For writing, a ledger that is not there is made, empty: `sql.upgrade.upgrade` gives it its tables; without
    `make` it must be there. For reading it must be there, at this program's revision.
    Raises LedgerError when it cannot be opened, LedgerVersionError when its revision does not fit.
    """
    place = parse(folder, catalog)
    connection = _connect(place, read_only=read_only, make=make)
    try:
        ledger = Ledger(connection, place)
        found = ledger.revision()
        if read_only or (found and found not in revision.known()):
            revision.check(found, place.where)
        yield ledger
    finally:
        connection.close()


def _connect(place: Catalog, *, read_only: bool, make: bool) -> Cursor:
    try:
        if place.is_missing and (read_only or not make):
            raise LedgerError(
                f"there is no ledger in {place.folder}",
                "run quartermaster collect, or quartermaster demo --keep for one to look at",
            )
        if read_only:
            return _attach(place, read_only=True)
        place.data.mkdir(parents=True, exist_ok=True)
        if place.kind == "sqlite" and not place.file.exists():
            with place.write_lock():
                return _attach(place, read_only=False)
        return _attach(place, read_only=False)
    except (duckdb.Error, OSError) as error:
        raise understand(error, place.where, "opening").error from error


def _attach(place: Catalog, *, read_only: bool) -> Cursor:
    """Attach, again after a moment when somebody else makes the same catalog just now."""
    give_up_at = time.monotonic() + PATIENCE_S / 2
    while True:
        try:
            return place.connect(read_only=read_only)
        except duckdb.Error as error:
            soon = any(text in str(error) for text in _SOON)
            if not soon or time.monotonic() > give_up_at:
                raise
        time.sleep(0.2)


@contextlib.contextmanager
def memory_ledger() -> Generator[Ledger]:
    """A ledger for a test: catalog in memory, data in a temporary folder, at the newest revision."""
    from sql.upgrade import upgrade

    with tempfile.TemporaryDirectory() as folder, open_ledger(Path(folder), "memory") as ledger:
        upgrade(ledger)
        yield ledger


def _expression(name: str, column_type: str, given: pl.DataType) -> str:
    if column_type == "TIMESTAMP WITH TIME ZONE" and (given.is_integer() or given == pl.Null):
        return f"make_timestamptz({name}::bigint * 1000)"
    return f"{name}::{column_type}"

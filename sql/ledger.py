"""The ledger: a DuckLake, opened on one of three catalogs (a SQLite file, PostgreSQL, memory), read and appended to."""

import contextlib
import importlib.util
import re
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, cast

import duckdb
import polars as pl

from quartermaster.clock import now_ms
from quartermaster.errors import LedgerError
from sql.lock import syncfs, write_lock

Cursor = duckdb.DuckDBPyConnection
_EXTENSIONS = {"sqlite": ("ducklake", "sqlite_scanner"), "postgres": ("ducklake", "postgres_scanner"), "memory": ("ducklake",)}


class Ledger:
    """An open ledger. Every query has a cursor of its own; every write is one transaction with its idempotency key."""

    def __init__(self, connection: Cursor, kind: str, folder: Path) -> None:
        self._connection = connection
        self._columns: dict[str, dict[str, str]] = {}
        self.kind = kind
        self.folder = folder

    def cursor(self) -> Cursor:
        """A cursor that stands in the ledger (a cursor inherits neither USE nor settings)."""
        cursor = self._connection.cursor()
        cursor.execute("use lake")
        return cursor

    def query(self, sql: str, parameters: Mapping[str, object] | Sequence[object] | None = None) -> pl.DataFrame:
        """The result of one SELECT. Parameters are bound ($name or ?), never pasted."""
        with contextlib.closing(self.cursor()) as cursor:
            return cursor.sql(sql, params=cast(Any, parameters)).pl() if parameters else cursor.sql(sql).pl()

    def write(self, key: str, work: Callable[[Cursor], None], *, author: str = "quartermaster", message: str = "") -> bool:
        """Run `work` in one transaction whose commit carries `key`; acknowledged means its files were synced first.

        Returns False, and changes nothing, when a commit with the key is there already. `work` may run again from its
        start after a conflict, so it must be restartable as a whole.
        """
        with contextlib.closing(self.cursor()) as cursor, write_lock(self.kind, self.folder):
            cursor.execute("begin")
            try:
                if self._committed(cursor, key):
                    cursor.execute("rollback")
                    return False
                work(cursor)
                syncfs(self.folder)
                cursor.execute("call ducklake_set_commit_message('lake', ?, ?, extra_info => ?)", [author, message or key, key])
                cursor.execute("commit")
            except BaseException:
                with contextlib.suppress(duckdb.TransactionException):
                    cursor.execute("rollback")
                raise
        return True

    def append(self, key: str, rows: "Mapping[str, pl.DataFrame | Sequence[object]]", *, recorded_at: int | None = None) -> bool:
        """Append rows to tables, all in one commit: {table: frame, or records of quartermaster.records}.

        Columns are matched by name; a column that the rows lack is null; integer `_at` columns are epoch milliseconds.
        Raises LedgerError for a column that the table does not have. Returns as `write` does.
        """
        frames = {table: frame(table_rows) for table, table_rows in rows.items() if len(table_rows)}
        instant = now_ms() if recorded_at is None else recorded_at

        def insert(cursor: Cursor) -> None:
            for table, table_frame in frames.items():
                self.insert(cursor, table, table_frame, recorded_at=instant)

        return self.write(key, insert)

    def insert(self, cursor: Cursor, table: str, rows: pl.DataFrame, *, recorded_at: int) -> None:
        """Insert a frame within the transaction of `cursor`, as `append` does."""
        columns = self.columns(table)
        unknown = set(rows.columns) - set(columns)
        if unknown:
            raise LedgerError(f"the table {table} has no column {', '.join(sorted(unknown))}", "run quartermaster ledger upgrade")
        chosen = {name: _expression(name, columns[name], rows.schema[name]) for name in rows.columns}
        if "recorded_at" in columns and "recorded_at" not in rows.columns:
            chosen["recorded_at"] = f"make_timestamptz({recorded_at} * 1000)"
        cursor.register("incoming_rows", rows.to_arrow())
        try:
            cursor.execute(
                f"insert into {table} ({', '.join(chosen)}) select {', '.join(chosen.values())} from incoming_rows"  # noqa: S608
            )
        finally:
            cursor.unregister("incoming_rows")

    def columns(self, table: str) -> dict[str, str]:
        """The table's columns and their types, in order."""
        if table not in self._columns:
            if not re.fullmatch(r"[a-z_]+", table):
                raise LedgerError(f"{table!r} is no table's name")
            described = self.query(f"select column_name, column_type from (describe lake.{table})")  # noqa: S608
            self._columns[table] = dict(described.iter_rows())
        return self._columns[table]

    def close(self) -> None:
        """Close the connection; cursors end with it."""
        self._connection.close()

    @staticmethod
    def _committed(cursor: Cursor, key: str) -> bool:
        found = cursor.execute("select 1 from __ducklake_metadata_lake.ducklake_snapshot_changes where commit_extra_info = ?", [key])
        return found.fetchone() is not None


def frame(rows: "pl.DataFrame | Sequence[object]") -> pl.DataFrame:
    """Records (dataclasses) as a frame with their fields as columns; a frame stays as it is."""
    if isinstance(rows, pl.DataFrame):
        return rows
    values = [asdict(cast(Any, row)) for row in rows if is_dataclass(row)]
    return pl.DataFrame(values, infer_schema_length=None)


@contextlib.contextmanager
def open_ledger(folder: Path, catalog: str = "sqlite", *, read_only: bool = False) -> Generator[Ledger]:
    """Open a ledger at its present revision: `catalog` is `sqlite`, `memory`, or `postgres:<libpq connection string>`.

    Raises LedgerError when it cannot be opened.
    """
    kind, _, address = catalog.partition(":")
    if kind not in _EXTENSIONS:
        raise LedgerError(f"{kind!r} is no catalog of a ledger", "use sqlite, memory or postgres:<connection string>")
    if not read_only:
        (folder / "data").mkdir(parents=True, exist_ok=True)
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})
    try:
        connection.execute("set global timezone = 'UTC'")
        for extension in _EXTENSIONS[kind]:
            connection.execute(f"load '{_extension_file(extension)}'")
        options = [f"data_path '{folder / 'data'}'", "data_inlining_row_limit 100"]
        options += ["meta_journal_mode 'WAL'", "meta_busy_timeout 5000"] if kind == "sqlite" else []
        options += ["read_only"] if read_only else []
        where = {"sqlite": f"sqlite:{folder / 'catalog.sqlite'}", "postgres": f"postgres:{address}", "memory": ":memory:"}[kind]
        connection.execute(f"attach 'ducklake:{where}' as lake ({', '.join(options)})")
    except duckdb.Error as error:
        connection.close()
        raise LedgerError(f"the ledger in {folder} does not open: {error}", "run quartermaster ledger status") from error
    try:
        yield Ledger(connection, kind, folder)
    finally:
        connection.close()


@contextlib.contextmanager
def memory_ledger() -> Generator[Ledger]:
    """A ledger for a test: catalog in memory, data in a temporary folder, at the newest revision."""
    from sql.upgrade import upgrade

    with tempfile.TemporaryDirectory() as folder, open_ledger(Path(folder), "memory") as ledger:
        upgrade(ledger)
        yield ledger


def _extension_file(name: str) -> Path:
    found = importlib.util.find_spec(f"duckdb_extension_{name}")
    if found is None or not found.submodule_search_locations:
        raise LedgerError(f"DuckDB's extension {name} is not installed", f"install duckdb-extension-{name.replace('_', '-')}")
    return Path(found.submodule_search_locations[0]) / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"


def _expression(name: str, column_type: str, given: pl.DataType) -> str:
    if column_type == "TIMESTAMP WITH TIME ZONE" and (given.is_integer() or given == pl.Null):
        return f"make_timestamptz({name}::bigint * 1000)"
    return f"{name}::{column_type}"



"""The catalogs of a ledger, a SQLite file, PostgreSQL, memory: all that differs between them is here."""

import contextlib
import importlib.util
import os
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import duckdb

from quartermaster.errors import InputError, LedgerBusyError, LedgerError
from quartermaster.ids import content_id
from sql.faults import understand, without_secrets
from sql.lock import WAIT_S, file_lock, momentary_lock, shared_lock

Cursor = duckdb.DuckDBPyConnection
_EXTENSIONS = {
    "sqlite": ("ducklake", "sqlite_scanner"),
    "postgres": ("ducklake", "postgres_scanner"),
    "memory": ("ducklake",),
}
# Rows of a small batch stay in the catalog until compaction writes them out.
INLINED_ROWS = 100


@dataclass(frozen=True)
class Catalog:
    """Where a ledger is: `kind` is sqlite, postgres or memory; `address` is PostgreSQL's string."""

    kind: str
    folder: Path
    address: str = ""
    file_name: str = "catalog.sqlite"

    @property
    def where(self) -> str:
        """How messages name the ledger, without secrets."""
        return (
            f"{self.folder} (catalog {without_secrets(self.address)})" if self.address else str(self.folder)
        )

    @property
    def file(self) -> Path:
        """The SQLite catalog's file."""
        return self.folder / self.file_name

    @property
    def is_missing(self) -> bool:
        """Whether there is no SQLite catalog where one should be, or one that was never begun."""
        return self.kind == "sqlite" and not (self.file.exists() and self.file.stat().st_size)

    @property
    def data(self) -> Path:
        """The folder of the Parquet files."""
        return self.folder / "data"

    def connect(self, *, read_only: bool) -> Cursor:
        """A connection to DuckDB with the ledger attached as `lake`. Raises duckdb.Error."""
        connection = connect(*_EXTENSIONS[self.kind])
        try:
            options = ", ".join(self._options(read_only=read_only))
            connection.execute(f"attach {quote('ducklake:' + self._target())} as lake ({options})")
            connection.execute("set global ducklake_max_retry_count = 30")
            connection.execute("set global ducklake_retry_wait_ms = 10")
        except duckdb.Error:
            connection.close()
            raise
        return connection

    def _target(self) -> str:
        return {
            "sqlite": f"sqlite:{self.file}",
            "postgres": f"postgres:{self.address}",
            "memory": ":memory:",
        }[self.kind]

    def _options(self, *, read_only: bool) -> list[str]:
        # The folder may have been moved since the catalog noted its path: files are kept relative to it.
        options = [
            f"data_path {quote(f'{self.data}/')}",
            "override_data_path true",
            f"data_inlining_row_limit {INLINED_ROWS}",
        ]
        if self.kind == "sqlite":
            options += ["meta_journal_mode 'WAL'", "meta_busy_timeout 5000"]
        return [*options, "read_only"] if read_only else options

    def committed(self, cursor: Cursor, key: str) -> bool:
        """Whether a commit with the key is there. The catalog's engine looks: 9 ms in 170,000 snapshots."""
        query = "select 1 from ducklake_snapshot_changes where commit_extra_info ="
        if self.kind == "sqlite":
            inner = f"'__ducklake_metadata_lake', '{query} ?', params => row(?)"
            found = cursor.execute(f"from sqlite_query({inner})", [key])
        elif self.kind == "postgres":
            found = cursor.execute(
                "from postgres_query('__ducklake_metadata_lake', ?)", [f"{query} {quote(key)}"]
            )
        else:
            query = query.replace("from ", "from __ducklake_metadata_lake.")
            found = cursor.execute(f"{query} ?", [key])
        return found.fetchone() is not None

    def tables(self, cursor: Cursor) -> list[str]:
        """The catalog's own tables. Raises InputError for a catalog in memory, which keeps nothing."""
        if self.kind == "sqlite":
            listed = "select name from sqlite_master where type = ''table'' and name like ''ducklake_%''"
            found = cursor.execute(f"from sqlite_query('__ducklake_metadata_lake', '{listed}')")
        elif self.kind == "postgres":
            listed = "select tablename::text from pg_tables where tablename like 'ducklake_%'"
            found = cursor.execute("from postgres_query('__ducklake_metadata_lake', ?)", [listed])
        else:
            raise InputError("a ledger in memory has no catalog to copy", "open one on sqlite or postgres")
        return sorted(str(name) for (name,) in found.fetchall())

    @contextlib.contextmanager
    def write_lock(self) -> Generator[None]:
        """The lock around every write. PostgreSQL needs none: conflicts are tried again."""
        if self.kind == "postgres":
            yield
        else:
            with file_lock(self.folder / "write.lock"):
                yield

    @contextlib.contextmanager
    def reading(self) -> Generator[None]:
        """What is read within is of one state. PostgreSQL and memory see to that themselves.

        DuckDB reads the tables of a SQLite catalog one after the other, each as it is then. For what writers do
        that is harmless, since rows are only added and ended; upkeep takes rows away, so it waits for readers.
        """
        if self.kind == "sqlite":
            with shared_lock(self.folder / "reading.lock"):
                yield
        else:
            yield

    @contextlib.contextmanager
    def reshaping(self) -> Generator[None]:
        """The moment of a commit that takes rows out of the catalog: nobody reads. Raises LedgerBusyError."""
        if self.kind == "sqlite":
            with momentary_lock(self.folder / "reading.lock", wait_s=0.05):
                yield
        else:
            yield

    @contextlib.contextmanager
    def exclusive(self, name: str, *, wait_s: float = WAIT_S) -> Generator[None]:
        """The named lock of this ledger, over all its processes; free when its holder dies."""
        if self.kind != "postgres":
            with file_lock(self.folder / f"{name}.lock", wait_s=wait_s):
                yield
            return
        with contextlib.closing(connect("postgres_scanner")) as connection:
            try:
                connection.execute(f"attach {quote(self.address)} as locks (type postgres)")
                # The lock belongs to PostgreSQL's transaction, which lives as long as this one.
                connection.execute("begin")
                connection.execute(
                    "call postgres_execute('locks', ?)",
                    [f"set local lock_timeout = {max(1, int(wait_s * 1000))}"],
                )
                connection.execute(
                    "call postgres_execute('locks', ?)",
                    [f"select pg_advisory_xact_lock({content_id('lock', name)})"],
                )
            except duckdb.Error as error:
                if "lock timeout" in str(error):
                    raise LedgerBusyError(
                        f"the ledger in {self.where}: another process has held {name} for {wait_s:g} s",
                        "wait for it to end; pg_locks and pg_stat_activity in PostgreSQL show who holds it",
                    ) from error
                raise understand(error, self.where, f"taking the lock {name}").error from error
            try:
                yield
            finally:
                with contextlib.suppress(duckdb.Error):
                    connection.execute("rollback")


def parse(folder: Path, catalog: str) -> Catalog:
    """The catalog of a configuration's `ledger:`, `sqlite`, `memory` or `postgres:<libpq connection string>`.

    Raises LedgerError for any other.
    """
    kind, _, address = catalog.partition(":")
    if kind not in _EXTENSIONS or (kind == "postgres") != bool(address):
        raise LedgerError(
            f"{kind!r} is no catalog of a ledger", "use sqlite, memory or postgres:<connection string>"
        )
    return Catalog(kind, folder.absolute(), address)


def connect(*extensions: str) -> Cursor:
    """An empty DuckDB in memory, in UTC, with extensions from their packages: nothing is downloaded.

    Their files are installed as DuckDB itself is, from packages whose hashes are locked: DuckDB's own look at
    their signatures would say nothing more, and costs 0.09 s an extension.
    """
    connection = duckdb.connect(
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_unsigned_extensions": "true",
            # what does not fit into memory; DuckDB's own choice is .tmp in the folder that one stands in
            "temp_directory": str(Path(tempfile.gettempdir()) / f"quartermaster-{os.getpid()}"),
        }
    )
    connection.execute("set global timezone = 'UTC'")
    for extension in extensions:
        connection.execute(f"load {quote(extension_file(extension))}")
    return connection


def extension_file(name: str) -> Path:
    """The file of DuckDB's extension in its installed package. Raises LedgerError when there is none."""
    found = importlib.util.find_spec(f"duckdb_extension_{name}")
    if found is None or not found.submodule_search_locations:
        raise LedgerError(
            f"DuckDB's extension {name} is not installed",
            f"install duckdb-extension-{name.replace('_', '-')}",
        )
    return (
        Path(found.submodule_search_locations[0])
        / "extensions"
        / f"v{duckdb.__version__}"
        / f"{name}.duckdb_extension"
    )


def quote(text: object) -> str:
    """The text as a string literal of SQL, where a statement takes no bound parameter (attach, load)."""
    return "'" + str(text).replace("'", "''") + "'"

"""A ledger's state: its revision, how much is in it, what upkeep has to do, and what endangers it."""

import contextlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb

from sql import revision
from sql.ledger import Ledger
from sql.lock import holder
from sql.upkeep import inlined, mergeable


@dataclass(frozen=True)
class TableState:
    """A table: its rows, files, their bytes, and the rows that are still in the catalog."""

    table: str
    rows: int
    files: int
    size_bytes: int
    inlined: int


@dataclass(frozen=True)
class State:
    """A ledger as it is now; `warnings` say what should be mended."""

    where: str
    catalog: str
    revision: str
    newest_revision: str
    snapshots: int
    first_snapshot_at: datetime | None
    last_commit_at: datetime | None
    last_author: str | None
    small_files: int
    files_to_remove: int
    writer_process: int | None
    tables: list[TableState]
    warnings: list[str]

    @property
    def size_bytes(self) -> int:
        """The bytes of all files that hold rows now."""
        return sum(table.size_bytes for table in self.tables)


def state(ledger: Ledger) -> State:
    """The state of an open ledger."""
    told = ledger.query(_text("snapshots")).row(0)
    lock = ledger.folder / "write.lock"
    return State(
        where=ledger.where,
        catalog=ledger.kind,
        revision=ledger.revision(),
        newest_revision=revision.newest(),
        snapshots=told[0],
        first_snapshot_at=told[1],
        last_commit_at=told[2],
        last_author=told[3],
        small_files=sum(tier.files for tier in mergeable(ledger, 2)),
        files_to_remove=told[4],
        writer_process=None if ledger.kind == "postgres" else holder(lock),
        tables=_tables(ledger),
        warnings=_warnings(ledger),
    )


def _tables(ledger: Ledger) -> list[TableState]:
    waiting = inlined(ledger)
    files = {
        name: (rows, count, size) for name, rows, count, size in ledger.query(_text("tables")).iter_rows()
    }
    names = sorted(files.keys() | waiting.keys())
    found: list[TableState] = []
    for name in names:
        rows, count, size = files.get(name, (0, 0, 0))
        found.append(TableState(name, rows + waiting.get(name, 0), count, size, waiting.get(name, 0)))
    return found


def _warnings(ledger: Ledger) -> list[str]:
    """PostgreSQL's own settings can take back what was acknowledged."""
    if ledger.kind != "postgres":
        return []
    with contextlib.closing(ledger.cursor()) as cursor:
        try:
            off = cursor.execute(
                "from postgres_query('__ducklake_metadata_lake', ?)", [_text("unsafe")]
            ).fetchall()
        except duckdb.Error as error:
            return [f"PostgreSQL's settings could not be read: {error}"]
    return [
        f"PostgreSQL has {name} = {value}: a crash can take back what was acknowledged" for name, value in off
    ]


def _text(name: str) -> str:
    return (Path(__file__).parent / "queries" / "state" / f"{name}.sql").read_text(encoding="utf-8")

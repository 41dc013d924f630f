"""Backup and restore: the catalog's tables and every file that they name, as of one snapshot."""

import contextlib
import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import duckdb

from quartermaster.clock import to_iso
from quartermaster.errors import InputError, LedgerError
from sql import revision
from sql.catalog import Catalog, Cursor, parse, quote
from sql.faults import understand
from sql.ledger import Ledger, open_ledger, transaction
from sql.lock import syncfs

FORMAT = 1
_MANIFEST = "manifest.json"
_METADATA = "__ducklake_metadata_lake"
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Piece:
    """A file of a backup, by its path in it, with its size and SHA-256."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What a backup holds: a ledger at one snapshot; the rows of each table prove a restore."""

    format: int
    made_at: str
    kind: str
    revision: str
    snapshot_id: int
    rows: dict[str, int]
    pieces: list[Piece]

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(piece.size for piece in self.pieces)


def backup(ledger: Ledger, target: Path, now_ms: int, *, progress: Progress | None = None) -> Manifest:
    """Write a backup of the ledger into `target`, a folder that is not there yet or empty.

    Writers go on meanwhile; only upkeep waits, so that no file goes before it is copied. The manifest comes
    last: a folder without one is no backup. `progress` hears of bytes done and to do.
    Raises InputError for a folder in use, LedgerError when the ledger cannot be read or the target written.
    """
    if target.exists() and any(target.iterdir()):
        raise InputError(f"{target} is not empty", "name a folder that is not there yet")
    try:
        with ledger.exclusive("upkeep", wait_s=60):
            (target / "catalog").mkdir(parents=True, exist_ok=True)
            # On SQLite no commit may come between two tables of the catalog.
            with contextlib.closing(ledger.cursor()) as cursor, ledger.catalog.write_lock():
                snapshot_id, rows, files = _copy_catalog(ledger, cursor, target)
            pieces = [_piece(target, path) for path in sorted((target / "catalog").iterdir())]
            total = sum(size for _, size in files)
            done = 0
            for path, size in files:
                copied = target / "data" / path
                copied.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ledger.catalog.data / path, copied)
                pieces.append(_piece(target, copied))
                done += size
                if progress:
                    progress(done, total)
        made = Manifest(FORMAT, to_iso(now_ms), ledger.kind, ledger.revision(), snapshot_id, rows, pieces)
        syncfs(target)
        partial = target / f"{_MANIFEST}.partial"
        partial.write_text(json.dumps(asdict(made), indent=1), encoding="utf-8")
        partial.rename(target / _MANIFEST)
        syncfs(target)
    except (duckdb.Error, OSError) as error:
        raise understand(error, str(target), "backing up").error from error
    return made


def _copy_catalog(
    ledger: Ledger, cursor: Cursor, target: Path
) -> tuple[int, dict[str, int], list[tuple[str, int]]]:
    """Copy the catalog's tables in one transaction; the snapshot, each table's rows, the files and sizes."""
    with transaction(cursor):
        newest = cursor.execute(f"select max(snapshot_id) from {_METADATA}.ducklake_snapshot").fetchall()  # noqa: S608
        snapshot_id = int(newest[0][0])
        for name in ledger.catalog.tables(cursor):
            file = quote(target / "catalog" / f"{name}.parquet")
            cursor.execute(f"copy (from {_METADATA}.{quoted(name)}) to {file} (format parquet)")
        files = cursor.execute(_text("files")).fetchall()
        tables = cursor.execute(_text("tables")).fetchall()
        # DuckLake reads the catalog by itself, on PostgreSQL perhaps when a writer has gone on.
        rows = {name: _count(cursor, name, f" at (version => {snapshot_id})") for (name,) in tables}
    return snapshot_id, rows, [(str(path), int(size)) for path, size in files]


def verify(source: Path, *, progress: Progress | None = None) -> Manifest:
    """The manifest of a backup whose files are all unchanged. Raises LedgerError naming one that is not."""
    manifest = read_manifest(source)
    done = 0
    for piece in manifest.pieces:
        path = source / piece.path
        if not path.is_file() or path.stat().st_size != piece.size or _sha256(path) != piece.sha256:
            raise LedgerError(
                f"the backup in {source} is damaged: {piece.path} is not what it was", "use another backup"
            )
        done += piece.size
        if progress:
            progress(done, manifest.size)
    return manifest


def read_manifest(source: Path) -> Manifest:
    """The manifest of the backup in a folder. Raises InputError when the folder holds no whole backup."""
    try:
        told = cast(dict[str, Any], json.loads((source / _MANIFEST).read_text(encoding="utf-8")))
        told["pieces"] = [Piece(**piece) for piece in told["pieces"]]
        manifest = Manifest(**told)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"{source} is no whole backup: {error}", "name a folder that ledger backup has written"
        ) from error
    if manifest.format != FORMAT or any(".." in Path(piece.path).parts for piece in manifest.pieces):
        raise InputError(
            f"{source} is a backup of another format ({manifest.format})", "use the version that wrote it"
        )
    return manifest


def restore(source: Path, folder: Path, catalog: str, *, progress: Progress | None = None) -> Manifest:
    """Bring a backup back as the ledger in `folder`, where none may be; every file and count is verified.

    Raises InputError when there is a ledger already, LedgerError for a damaged backup or a folder that cannot
    be written.
    """
    place = parse(folder, catalog)
    manifest = verify(source, progress=progress)
    if manifest.kind != place.kind:
        raise InputError(
            f"{source} is of a ledger on {manifest.kind}, not {place.kind}", f"restore it to {manifest.kind}"
        )
    try:
        with open_ledger(folder, catalog) if place.kind != "sqlite" else contextlib.nullcontext() as there:
            occupied = place.file.exists() if there is None else bool(there.revision())
        if occupied:
            raise InputError(
                f"there is a ledger in {place.where}", "move it away first: nothing is overwritten"
            )
        for piece in manifest.pieces:
            if piece.path.startswith("data/"):
                (folder / piece.path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source / piece.path, folder / piece.path)
        (folder / "data").mkdir(parents=True, exist_ok=True)
        syncfs(folder)
        _fill_catalog(place, source / "catalog")
        syncfs(folder)
    except (duckdb.Error, OSError) as error:
        raise understand(error, str(folder), "restoring").error from error
    _compare(manifest, folder, catalog)
    return manifest


def _fill_catalog(place: Catalog, tables: Path) -> None:
    """Let DuckLake lay out an empty catalog, then replace its rows; a SQLite file gets its name last."""
    making = Catalog(place.kind, place.folder, place.address, file_name="catalog.sqlite.restoring")
    making.file.unlink(missing_ok=True)
    with contextlib.closing(making.connect(read_only=False)) as connection, transaction(connection):
        there = set(making.tables(connection))
        for file in sorted(tables.glob("*.parquet")):
            name = f"{_METADATA}.{quoted(file.stem)}"
            parquet = f"read_parquet({quote(file)})"
            if file.stem in there:
                connection.execute(f"delete from {name}")  # noqa: S608
                connection.execute(f"insert into {name} by name from {parquet}")
            else:
                connection.execute(f"create table {name} as from {parquet}")
        connection.execute(
            f"update {_METADATA}.ducklake_metadata set value = ? where key = 'data_path'",  # noqa: S608
            [f"{place.data}/"],
        )
    if place.kind == "sqlite":
        making.file.rename(place.file)


def _compare(manifest: Manifest, folder: Path, catalog: str) -> None:
    """Raises LedgerError when the restored ledger does not have the rows that the backup's did."""
    with open_ledger(folder, catalog) as ledger, contextlib.closing(ledger.cursor()) as cursor:
        found = {name: _count(cursor, name) for name in manifest.rows}
        if found != manifest.rows or revision.current(cursor) != manifest.revision:
            wrong = sorted(name for name in found if found[name] != manifest.rows[name])
            raise LedgerError(
                f"the restored ledger differs from its backup in {', '.join(wrong)}", "restore another backup"
            )


def quoted(name: str) -> str:
    """The name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def _count(cursor: Cursor, table: str, as_of: str = "") -> int:
    row = cursor.execute(f"select count(*) from lake.{quoted(table)}{as_of}").fetchone()  # noqa: S608
    return int(row[0]) if row else 0


def _piece(target: Path, path: Path) -> Piece:
    return Piece(str(path.relative_to(target)), path.stat().st_size, _sha256(path))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _text(name: str) -> str:
    return (Path(__file__).parent / "queries" / "backup" / f"{name}.sql").read_text(encoding="utf-8")

"""Which revision a ledger is at, which one this program knows, and the views that belong to it."""

import re
from graphlib import CycleError, TopologicalSorter
from hashlib import blake2b
from pathlib import Path

import duckdb

from quartermaster.errors import LedgerError, LedgerVersionError
from sql.catalog import Cursor, quote

HERE = Path(__file__).parent
MIGRATIONS = HERE / "migrations"
_REFERENCE = re.compile(r"\b(?:from|join)\s+([a-z_]+)")


def newest() -> str:
    """The revision that this program writes and reads."""
    return known()[-1]


def known() -> list[str]:
    """Every revision that this program knows, in order."""
    return sorted(file.name.partition("_")[0] for file in (MIGRATIONS / "versions").glob("[0-9]*_*.py"))


def current(cursor: Cursor) -> str:
    """The ledger's revision, empty for a ledger without tables."""
    try:
        row = cursor.execute("select version_num from lake.alembic_version").fetchone()
    except duckdb.CatalogException:
        return ""
    return str(row[0]) if row else ""


def check(found: str, where: str) -> None:
    """Raises LedgerVersionError, with the next step, when the ledger's revision is not the program's."""
    if found == newest():
        return
    if found == "":
        raise LedgerVersionError(
            f"the ledger in {where} is empty",
            "run quartermaster ledger upgrade, or quartermaster demo --keep for one with data",
        )
    if found in known():
        raise LedgerVersionError(
            f"the ledger in {where} is at revision {found}, this program at {newest()}",
            "run quartermaster ledger upgrade (a backup first: ledger backup)",
        )
    raise LedgerVersionError(
        f"the ledger in {where} is at revision {found}, unknown to this program (revision {newest()})",
        "install the version of Quartermaster that wrote it, or a newer one",
    )


def view_texts(folder: Path = HERE / "views") -> dict[str, str]:
    """The views by name, each after those that it reads. Raises LedgerError when they read in a circle."""
    texts = {file.stem: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.sql"))}
    reads = {
        name: sorted(
            {
                found
                for found in _REFERENCE.findall(_without_comments(text))
                if found in texts and found != name
            }
        )
        for name, text in texts.items()
    }
    try:
        return {name: texts[name] for name in TopologicalSorter(reads).static_order()}
    except CycleError as error:
        raise LedgerError(
            f"views read each other in a circle: {' → '.join(error.args[1])}",
            "this is a fault of the program",
        ) from error


def check_views(cursor: Cursor, where: str) -> None:
    """Raises LedgerVersionError, with the next step, when the ledger's views are not the program's."""
    if not views_are_laid(cursor):
        raise LedgerVersionError(
            f"the ledger in {where} has the views of another version of this program",
            "run quartermaster ledger upgrade: it lays the views anew",
        )


def views_are_laid(cursor: Cursor) -> bool:
    """Whether the ledger's views are this program's."""
    row = cursor.execute(
        "select comment from duckdb_tables() where database_name = 'lake' and table_name = 'alembic_version'"
    ).fetchone()
    return row is not None and row[0] == _fingerprint(view_texts())


def lay_views(cursor: Cursor) -> None:
    """Replace the ledger's views by those of sql/views, within the transaction of `cursor`."""
    texts = view_texts()
    there = cursor.execute(
        "select view_name from duckdb_views() where database_name = 'lake' and not internal"
    ).fetchall()
    for (name,) in there:
        if name not in texts:
            cursor.execute(f'drop view lake."{name}"')
    for name, text in texts.items():
        cursor.execute(f"create or replace view lake.{name} as {text}")
    cursor.execute(f"comment on table lake.alembic_version is {quote(_fingerprint(texts))}")


def _fingerprint(texts: dict[str, str]) -> str:
    digest = blake2b(digest_size=16)
    for name, text in texts.items():
        digest.update(f"{name}\0{text}\0".encode())
    return f"views {digest.hexdigest()}"


def _without_comments(text: str) -> str:
    return re.sub(r"--[^\n]*", "", text)

"""Which revision a ledger is at, which one this program knows, and the views that belong to it."""

import re
from graphlib import CycleError, TopologicalSorter
from hashlib import blake2b
from pathlib import Path

import duckdb

from quartermaster.errors import LedgerError, LedgerVersionError
from sql.catalog import Cursor, quote
from sql.described import described, page

HERE = Path(__file__).parent
MIGRATIONS = HERE / "migrations"
_REFERENCE = re.compile(r"\b(?:from|join)\s+((?:[a-z_]+\.)?[a-z_]+)")
# Stable views in people's units; the others are the ledger's own.
REPORTING = "reporting"


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
    """The views by name, each after those that it reads; those of a folder within are of its schema.

    Raises LedgerError when they read in a circle.
    """
    texts = {
        ".".join(file.relative_to(folder).with_suffix("").parts): file.read_text(encoding="utf-8")
        for file in sorted(folder.rglob("*.sql"))
    }
    reads = {name: sorted(_reads(text) & texts.keys() - {name}) for name, text in texts.items()}
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
    """Whether the ledger's views, and what it says of its tables and columns, are this program's."""
    row = cursor.execute(
        "select comment from duckdb_tables() where database_name = 'lake' and table_name = 'alembic_version'"
    ).fetchone()
    return row is not None and row[0] == _fingerprint(view_texts())


def lay_views(cursor: Cursor) -> None:
    """Replace the ledger's views by those of sql/views, and its comments by docs/schema.md's, within the transaction of
    `cursor`."""
    texts = view_texts()
    there = cursor.execute(
        "select schema_name, view_name from duckdb_views() where database_name = 'lake' and not internal"
    ).fetchall()
    for schema, view in there:
        if (view if schema == "main" else f"{schema}.{view}") not in texts:
            cursor.execute(f'drop view lake."{schema}"."{view}"')
    cursor.execute(f"create schema if not exists lake.{REPORTING}")
    for name, text in texts.items():
        cursor.execute(f"create or replace view lake.{_qualified(name)} as {text}")
    _lay_comments(cursor, set(texts))
    cursor.execute(f"comment on table lake.alembic_version is {quote(_fingerprint(texts))}")


def _lay_comments(cursor: Cursor, views: set[str]) -> None:
    """What docs/schema.md says of each table, view and column; none of views' columns, which DuckLake keeps not."""
    columns = cursor.execute(
        "select schema_name, table_name, column_name, comment from duckdb_columns() where database_name = 'lake'"
    ).fetchall()
    there: dict[str, dict[str, str | None]] = {}
    for schema, table, column, comment in columns:
        there.setdefault(table if schema == "main" else f"{schema}.{table}", {})[column] = comment
    for name, told in described().items():
        if name not in there:
            continue
        what = "view" if name in views else "table"
        cursor.execute(f"comment on {what} lake.{_qualified(name)} is {quote(told.comment)}")
        for column in told.columns if name not in views else ():
            if there[name].get(column.name, column.comment) != column.comment:
                where = f"lake.{_qualified(name)}.{column.name}"
                cursor.execute(f"comment on column {where} is {quote(column.comment)}")


def _qualified(name: str) -> str:
    return name if "." in name else f"main.{name}"


def _reads(text: str) -> set[str]:
    return {name.removeprefix("main.") for name in _REFERENCE.findall(_without_comments(text))}


def _fingerprint(texts: dict[str, str]) -> str:
    digest = blake2b(digest_size=16)
    for name, text in texts.items():
        digest.update(f"{name}\0{text}\0".encode())
    digest.update(page().encode())
    return f"views {digest.hexdigest()}"


def _without_comments(text: str) -> str:
    return re.sub(r"--[^\n]*", "", text)

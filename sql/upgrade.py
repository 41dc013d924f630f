"""Bringing a ledger to this program's revision: missing revisions and the views, in one transaction."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import duckdb

from sql import revision
from sql.catalog import Cursor
from sql.faults import understand
from sql.ledger import Ledger, transaction
from sql.lock import syncfs

_WAIT_S = 600.0
# A column's statistics are noted while its table has none of its own.
_EMPTY = tuple(
    (Path(__file__).parent / "queries" / "upgrade" / f"{name}.sql").read_text(encoding="utf-8")
    for name in ("empty_columns", "empty_tables")
)


def upgrade(ledger: Ledger, target: str = "head", *, migrations: Path = revision.MIGRATIONS) -> bool:
    """Run the missing revisions and lay the views of sql/views: all of it or nothing. Two at once: one waits.

    Returns False when there was nothing to do. Raises LedgerVersionError when the ledger is newer than the
    program, and LedgerError when a revision fails.
    """
    with contextlib.closing(ledger.cursor()) as cursor:
        if _nothing_to_do(ledger, cursor, target):
            return False
        ledger.warm_up()
        with ledger.exclusive("upgrade", wait_s=_WAIT_S), ledger.catalog.write_lock():
            if _nothing_to_do(ledger, cursor, target):
                return False
            try:
                _run(ledger, target, migrations)
                _note_empty(ledger, cursor)
            except (duckdb.Error, OSError) as error:
                raise understand(error, ledger.where, "upgrading").error from error
    ledger.forget()
    return True


def _nothing_to_do(ledger: Ledger, cursor: Cursor, target: str) -> bool:
    found = revision.current(cursor)
    if found and found not in revision.known():
        revision.check(found, ledger.where)
    if target != "head":
        return found == target
    return found == revision.newest() and revision.views_are_laid(cursor)


def _note_empty(ledger: Ledger, cursor: Cursor) -> None:
    """Give tables without rows statistics, as their first rows would.

    DuckLake looks for those of an empty table twice a column at every query, each time in vain: 40 ms of CPU for a
    table of 23 columns against 7 for one with rows. On PostgreSQL nothing keeps somebody's first rows from coming at
    the same time, so there it stays so.
    """
    if ledger.kind == "postgres":
        return
    with transaction(cursor):
        for statement in _EMPTY:
            cursor.execute(statement)


def _run(ledger: Ledger, target: str, migrations: Path) -> None:
    from alembic import command
    from alembic.config import Config
    from sqlalchemy.exc import DBAPIError

    def finish(cursor: Cursor) -> None:
        if revision.current(cursor) == revision.newest():
            revision.lay_views(cursor)
        syncfs(ledger.folder)
        cursor.execute(
            "call ducklake_set_commit_message('lake', 'quartermaster', ?)",
            [f"upgrade to {revision.current(cursor)}"],
        )

    attributes: dict[str, Cursor | Callable[[Cursor], None]] = {
        "connection": ledger.cursor(),
        "finish": finish,
    }
    config = Config(attributes=attributes)
    config.set_main_option("script_location", str(migrations).replace("%", "%%"))
    try:
        command.upgrade(config, target)
    except DBAPIError as error:
        raise error.orig if isinstance(error.orig, duckdb.Error) else error from error

"""Bringing a ledger to this program's revision: missing revisions and the views, in one transaction."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import duckdb

from sql import revision
from sql.catalog import Cursor
from sql.faults import understand
from sql.ledger import Ledger
from sql.lock import syncfs

_WAIT_S = 600.0


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

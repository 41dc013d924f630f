"""Bringing a ledger to this program's revision: Alembic runs what is missing, and the views are laid anew."""

import contextlib
from pathlib import Path

from sql.ledger import Ledger
from sql.lock import write_lock

HERE = Path(__file__).parent


def upgrade(ledger: Ledger, revision: str = "head") -> None:
    """Run the missing revisions, each in its own transaction, and lay the views of sql/views. Two at once: one waits."""
    from alembic import command
    from alembic.config import Config

    with write_lock(ledger.kind, ledger.folder):
        config = Config(attributes={"connection": ledger.cursor()})
        config.set_main_option("script_location", str(HERE / "migrations"))
        command.upgrade(config, revision)
        with contextlib.closing(ledger.cursor()) as cursor:
            for view in sorted((HERE / "views").glob("*.sql")):
                cursor.execute(f"create or replace view {view.stem} as {view.read_text(encoding='utf-8')}")

"""Ledgers for tests: a new one on SQLite is a copy of one that a test process brings up once; and all its upkeep."""

import atexit
import contextlib
import shutil
import tempfile
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any

from sql.ledger import Ledger, open_ledger
from sql.upgrade import upgrade
from sql.upkeep import Step, compact


@contextlib.contextmanager
def new_ledger(folder: Path) -> Generator[Ledger]:
    """An open ledger on SQLite at the newest revision, where none was."""
    lay_ledger(folder)
    with open_ledger(folder) as ledger:
        yield ledger


def lay_ledger(folder: Path) -> None:
    """The same, closed. `upgrade` takes 0.2 s of CPU for it; whoever tests that calls it."""
    shutil.copytree(_brought_up(), folder, dirs_exist_ok=True)


def tend(ledger: Ledger, now_ms: int, **how: Any) -> list[Step]:
    """`compact`, with time for all there is to do: on a busy machine its own five seconds end before."""
    return compact(ledger, now_ms, budget_s=600, **how)


@cache
def _brought_up() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="qm-ledger-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with open_ledger(folder / "ledger") as ledger:
        upgrade(ledger)
    return folder / "ledger"

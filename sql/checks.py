"""The checks: DuckLake has no constraints, so each file of sql/checks asks for rows that break a rule."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from quartermaster.errors import InputError
from sql.ledger import Ledger

FOLDER = Path(__file__).parent / "checks"
SHOWN = 20


@dataclass(frozen=True)
class Breach:
    """A rule that is broken: `rule` in words, how many rows break it, and the first of them."""

    check: str
    rule: str
    count: int
    rows: pl.DataFrame


def names() -> list[str]:
    """The checks that there are, in order of name."""
    return sorted(file.stem for file in FOLDER.glob("*.sql"))


def run(
    ledger: Ledger, only: Sequence[str] = (), *, begun: Callable[[str], None] | None = None
) -> list[Breach]:
    """Run the checks (all, or those named) and give what is broken; `begun` hears of each as it begins.

    Usage is held against what the ledger knows now: what came since the last roll-up shows as a difference.
    Raises InputError for a check that there is not.
    """
    unknown = sorted(set(only) - set(names()))
    if unknown:
        raise InputError(f"there is no check {', '.join(unknown)}", f"one of {', '.join(names())}")
    breaches: list[Breach] = []
    for name in only or names():
        if begun:
            begun(name)
        text = (FOLDER / f"{name}.sql").read_text(encoding="utf-8")
        rows = ledger.query(text)
        if len(rows):
            breaches.append(Breach(name, rule(text), len(rows), rows.head(SHOWN)))
    return breaches


def rule(text: str) -> str:
    """The check's rule in words: the comment in its first line says which rows it finds."""
    return text.partition("\n")[0].removeprefix("--").strip()

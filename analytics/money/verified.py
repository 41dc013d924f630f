"""Verifying closed books: that what the ledger has, and what was written out, is still what was closed."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analytics.money.close import folder_of
from analytics.money.evidence import contents, read_evidence
from analytics.money.folder import amiss
from analytics.money.manifest import hash_of, statements_of
from analytics.money.periods import Standing, State
from analytics.money.queries import books_sql
from sql.ledger import Cursor


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found of one closed period: `amiss` in words, empty where all is as it was closed."""

    period: str
    number: int
    sha256: str
    folder: Path | None  # None: nothing is written out there
    amiss: tuple[str, ...]


def verify(cursor: Cursor, found: Sequence[Standing], books: Path | None = None) -> list[Verdict]:
    """Look at the closed ones among the periods: manifest, rows, statements, the chain of closings, and the folder.

    A folder that is not there is no fault: `quartermaster period close` writes it again.
    """
    return [_verdict(cursor, each, books) for each in found if each.state == State.CLOSED]


def _verdict(cursor: Cursor, found: Standing, books: Path | None) -> Verdict:
    manifest, number = found.manifest or "", found.number or 0
    folder = None if books is None else folder_of(books, found.period.period, number)
    if folder is not None and not folder.is_dir():
        folder = None
    said: list[str] = []
    if hash_of(manifest) != found.sha256:
        said.append("its manifest in the ledger is not the one that was hashed")
    else:
        told = json.loads(manifest)
        said += _rows(cursor, found, told) + _chain(cursor, told)
    if folder is not None:
        said += amiss(folder, manifest)
    return Verdict(found.period.period, number, found.sha256 or "", folder, tuple(said))


def _rows(cursor: Cursor, found: Standing, told: dict[str, list[dict[str, object]]]) -> list[str]:
    evidence = read_evidence(cursor, found.period)
    now = {each.name: each for each in contents(cursor, evidence)}
    said: list[str] = []
    for table in told["tables"]:
        is_there = now.get(str(table["name"]))
        if is_there is None:
            said.append(f"this program does not know the table {table['name']}")
        elif is_there.sha256 != table["sha256"]:
            said.append(
                f"{is_there.name}: {is_there.rows:,} rows are not the {table['rows']:,} rows that were closed"
            )
    given = {"period": found.period.period, "number": found.number}
    stored = set(cursor.execute(books_sql("statements"), given).fetchall())
    made = {
        (each.statement, each.team, each.currency, each.amount, each.exact_amount)
        for each in statements_of(found.number or 0, evidence.owed)
    }
    if stored != made:
        said.append("its statements are not what its lines add up to")
    return said


def _chain(cursor: Cursor, told: dict[str, dict[str, object]]) -> list[str]:
    before = told["previous"]
    if not before:
        return []
    row = cursor.execute(books_sql("closing_of_number"), {"number": before["number"]}).fetchone()
    if row is None or row[0] != before["sha256"]:
        return [f"closing {before['number']}, which it names, is not the one that it followed"]
    return []

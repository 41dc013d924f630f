"""A question in SQL from a page: asked in the guarded room, and noted in the ledger before its answer is shown."""

import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import polars as pl

from analytics.scope import Scope
from quartermaster.clock import now_ms
from quartermaster.errors import InputError, LedgerError, QuartermasterError
from quartermaster.ids import content_id
from quartermaster.text import inert, storable, visible
from sql.answers import cell_text, csv_text
from sql.door import Answer, Bound, Limits, ask
from sql.ledger import open_ledger
from sql.questions import Question, question, questions

__all__ = ["Answer", "Question", "questions"]  # what pages need of sql, beside what is here

LIMITS = Limits(seconds=30, memory_mib=512, rows=1_000, answer_mib=16)
_AT_ONCE = 2
_WAIT_S = 10
_room = threading.BoundedSemaphore(_AT_ONCE)
_LONGEST = 20_000  # characters of a query that are kept
_SCHEMA = {"token_id": pl.Int64, "rows": pl.Int64, "took_ms": pl.Int64}


@dataclass(frozen=True, slots=True)
class Words:
    """What is asked: a query's text with its parameters, and the name of the question where it has one."""

    query: str
    bound: Mapping[str, Bound]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Door:
    """Where it is asked, and by whom: the ledger's folder and catalog, the teams whose rows are there, a pseudonym."""

    folder: Path
    catalog: str
    scope: Scope
    asker: str


def named(name: str, given: Mapping[str, str]) -> Words:
    """A named question with its parameters as text. Raises InputError for a name or a value that does not fit."""
    found = question(name)
    return Words(found.query, found.bound({key: text for key, text in given.items() if text}), name)


def answered(door: Door, words: Words, limits: Limits = LIMITS) -> Answer:
    """The answer, noted. Of a reader with teams only their rows of the stable views are there.

    Raises InputError for what is no question, or takes too much, which is noted too, or while others are asking;
    LedgerError where it cannot be asked or noted.
    """
    if not words.query.strip():
        raise InputError("there is no question", "write one SELECT")
    if not _room.acquire(timeout=_WAIT_S):
        raise InputError("others are asking just now", "try again in a moment")
    at_ms = now_ms()
    try:
        answer = ask(
            door.folder,
            door.catalog,
            words.query,
            limits,
            parameters=words.bound,
            teams=door.scope.bound,
        )
    except QuartermasterError as error:
        late = now_ms() - at_ms >= limits.seconds * 1000
        outcome = "failed" if isinstance(error, LedgerError) else "stopped" if late else "refused"
        _note(door, words, at_ms, outcome=outcome, fault=error.what)
        raise
    finally:
        _room.release()
    _note(door, words, at_ms, outcome="answered", count=len(answer.rows))
    return answer


def _note(door: Door, words: Words, at_ms: int, *, outcome: str, count: int = 0, fault: str = "") -> None:
    given = {name: text for name, (_, text) in words.bound.items() if text is not None}
    query_hash = hashlib.sha256(words.query.encode("utf-8", "surrogatepass")).hexdigest()
    row: dict[str, object] = {
        "asked_at": at_ms,
        "token_id": None,
        "token": door.asker,
        "question": words.name,
        "query_hash": query_hash,
        "query": storable(words.query, _LONGEST),
        "parameters": json.dumps(given),
        "form": "page",
        "outcome": outcome,
        "rows": count,
        "took_ms": now_ms() - at_ms,
        "words": storable(fault, _LONGEST),
    }
    key = f"asked/{content_id('asked', door.asker, at_ms, query_hash)}"
    with open_ledger(door.folder, door.catalog, make=False) as ledger:
        ledger.append(key, {"sql_asked": pl.DataFrame([row], schema_overrides=_SCHEMA)})


def columns_of(answer: Answer) -> pl.DataFrame:
    """The answer's columns as a page shows them: numbers as they are, so that they sort, all else as text on one line;
    columns of the same name are numbered."""
    names = [
        f"{name} ({place + 1})" if answer.columns.count(name) > 1 else name
        for place, name in enumerate(map(visible, answer.columns))
    ]
    cells = [[_cell(row[place]) for row in answer.rows] for place in range(len(names))]
    return pl.DataFrame(dict(zip(names, cells, strict=True)), strict=False)


def _cell(value: object) -> object:
    """Numbers, and what is nothing, as they are; all else as text that is no formula where a table is taken along."""
    plain = value is None or isinstance(value, bool | int | float | Decimal)
    return value if plain else inert(visible(cell_text(value)))


def csv_of(answer: Answer) -> str:
    """The answer as CSV that no spreadsheet computes."""
    return csv_text(answer.columns, answer.rows)

"""People: the one table that knows names, who looked into it, and how a name leaves it for good."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl

from quartermaster.errors import InputError
from quartermaster.person import person_id, pseudonym, pseudonym_of
from sql.catalog import Cursor
from sql.ledger import Ledger
from sql.retention import SNAPSHOTS_KEPT_MS

_QUERIES = Path(__file__).parent / "queries" / "people"


@dataclass(frozen=True)
class Name:
    """A person's name and how to reach them."""

    name: str
    contact: str = ""


@dataclass(frozen=True)
class Erased:
    """Whether a name was there, and the instant from which on no snapshot can bring it back."""

    was_there: bool
    gone_at_ms: int


def remember(ledger: Ledger, names: Mapping[int, Name], now_ms: int) -> None:
    """Put names into `people` by person_id, in place of what was there of those persons."""
    rows = [
        {"person_id": person, "name": known.name, "contact": known.contact, "recorded_at": now_ms}
        for person, known in names.items()
    ]
    _replace(ledger, list(names), rows, now_ms)


def find(ledger: Ledger, who: str, key: Callable[[], bytes]) -> int:
    """The person meant by a pseudonym (`person-…`), or by a name as the clusters write it, under the `key`.

    Raises InputError when the ledger knows no such person.
    """
    person = pseudonym_of(who)
    person = person_id(key(), who) if person is None else person
    values = {"person_id": person, "pseudonym": pseudonym(person)}
    if not ledger.query(_text("known"), values)["known"][0]:
        raise InputError(
            f"the ledger knows no person {who!r}", "write the name as the cluster does, or person-…"
        )
    return person


def export(ledger: Ledger, person: int, reader: str, now_ms: int) -> dict[str, Any]:
    """All that the ledger has of a person, for JSON. That `reader` read it is recorded first."""
    _note(ledger, [person], reader, "export", now_ms)
    values, called = {"person_id": person}, {"pseudonym": pseudonym(person)}
    names = ledger.query(_text("name"), values).to_dicts()
    return {
        "person": pseudonym(person),
        "person_id": person,
        "name": names[0]["name"] if names else None,
        "contact": names[0]["contact"] if names else None,
        "workloads": ledger.query(_text("workloads"), values).to_dicts(),
        "allocations": ledger.query(_text("allocations"), values).to_dicts(),
        "usage": ledger.query(_text("usage"), values).to_dicts(),
        "charges": ledger.query(_text("charges"), values).to_dicts(),
        "notifications": ledger.query(_text("notifications"), values).to_dicts(),
        "requests": ledger.query(_text("requests"), called).to_dicts(),
        "deeds": ledger.query(_text("deeds"), called).to_dicts(),
        "read_by": ledger.query(_text("reads"), values).to_dicts(),
    }


def names_of_workloads(
    ledger: Ledger, workload_ids: Sequence[int], reader: str, what: str, now_ms: int
) -> dict[tuple[str, int], str]:
    """The names of the persons whose these workloads are, by cluster and workload, as far as `people` has them. That
    `reader` read each, and in `what`, is recorded first."""
    rows = ledger.query(_text("of_workloads"), {"ids": list(workload_ids)}).to_dicts() if workload_ids else []
    if rows:
        _note(ledger, sorted({row["person_id"] for row in rows}), reader, what, now_ms)
    return {(row["cluster"], row["workload_id"]): row["name"] for row in rows}


def erase(ledger: Ledger, person: int, reader: str, now_ms: int) -> Erased:
    """Take a person's name and contact out of `people`; what was held and what it cost stays.

    Snapshots from before still have the name until they expire.
    """
    was_there = bool(ledger.query(_text("name"), {"person_id": person}).height)
    if was_there:
        _replace(ledger, [person], [], now_ms)
        _note(ledger, [person], reader, "erase", now_ms)
    return Erased(was_there, now_ms + SNAPSHOTS_KEPT_MS)


def _replace(ledger: Ledger, persons: Sequence[int], rows: Sequence[dict[str, Any]], now_ms: int) -> None:
    """Write the table anew, so that no file of before is needed any more; its old files go when snapshots
    expire."""

    def work(cursor: Cursor) -> None:
        kept = cursor.sql(_text("others"), params={"persons": list(persons)}).pl()
        cursor.execute("delete from lake.people")
        for part in (kept, pl.DataFrame(rows, infer_schema_length=None) if rows else kept.clear()):
            if part.height:
                ledger.insert(cursor, "people", part, recorded_at=now_ms)

    with ledger.exclusive("people"):
        ledger.write(f"people/{now_ms}/{uuid4().hex}", work, message="people are written anew")


def _note(ledger: Ledger, persons: Sequence[int], reader: str, what: str, now_ms: int) -> None:
    rows = pl.DataFrame({"person_id": persons}).with_columns(
        reader=pl.lit(reader), what=pl.lit(what), read_at=pl.lit(now_ms)
    )
    ledger.append(f"people/{now_ms}/{uuid4().hex}", {"people_reads": rows}, recorded_at=now_ms)


def _text(name: str) -> str:
    return (_QUERIES / f"{name}.sql").read_text(encoding="utf-8")

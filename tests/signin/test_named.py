"""Names behind pseudonyms: for who answers for the team, and recorded before they are told."""

from collections.abc import Iterator

import polars as pl
import pytest

from analytics.scope import ALL, Scope
from analytics.views.named import named
from quartermaster.errors import InputError
from quartermaster.person import person_id, pseudonym
from sql.ledger import Ledger, memory_ledger
from sql.people import Name, remember

NOW = 1_795_000_000_000
ALICE, BOB = person_id(b"k" * 32, "alice"), person_id(b"k" * 32, "bob")
READER = pseudonym(person_id(b"k" * 32, "olga"))
PERSONS = {("main", 1): ALICE, ("main", 2): BOB}


@pytest.fixture(scope="module")
def ledger() -> Iterator[Ledger]:
    rows = [
        {"cluster": "main", "workload_id": number, "person_id": person, "start_at": 0, "revision": 0}
        for (_, number), person in PERSONS.items()
    ]
    with memory_ledger() as opened:
        opened.append("test/named", {"workloads_versions": pl.DataFrame(rows)})
        remember(opened, {ALICE: Name("Alice <b>", "alice@example.org")}, NOW)
        yield opened


def reads(ledger: Ledger) -> list[tuple[object, ...]]:
    return ledger.query("select person_id, reader, what from people_reads order by person_id").rows()


def test_names_are_for_who_answers_for_the_team_and_it_is_recorded(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="no team 'vision'"):
        named(ledger, Scope(frozenset({"speech"})), "vision", PERSONS, READER, now_ms=NOW)
    assert reads(ledger) == []
    found = named(ledger, Scope(frozenset({"vision"})), "vision", PERSONS, READER, now_ms=NOW)
    assert found.rows == ((pseudonym(ALICE), "Alice <b>"),)
    assert reads(ledger) == [(ALICE, READER, "page of team vision")]  # of bob there was nothing to read
    assert named(ledger, ALL, "vision", {}, READER, now_ms=NOW).rows == ()
    assert len(reads(ledger)) == 1

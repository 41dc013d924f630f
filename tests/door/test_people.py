"""One person: export tells all and is recorded; erasing takes the name and changes no figure, no check."""

import json
from collections.abc import Generator
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from cli.main import app
from quartermaster.clock import DAY_MS
from quartermaster.errors import InputError
from quartermaster.person import person_id, pseudonym, pseudonym_key, pseudonym_of
from sql.checks import run as run_checks
from sql.ledger import Ledger, memory_ledger
from sql.people import Name, erase, export, find, remember
from tests.ledgers import new_ledger

KEY = b"k" * 32
ALICE, BOB = person_id(KEY, "alice"), person_id(KEY, "bob")
NOW = 1_796_000_000_000
WORKLOAD = {
    "cluster": ["c"],
    "workload_id": [1],
    "start_at": [0],
    "end_at": [None],
    "kind": ["Job"],
    "namespace": ["n"],
    "name": ["j"],
}


@pytest.fixture
def ledger() -> Generator[Ledger]:
    with memory_ledger() as opened:
        fill(opened, ALICE)
        yield opened


def fill(ledger: Ledger, person: int) -> None:
    usage = {
        "cluster": ["c"],
        "business_day": ["2026-11-30"],
        "team": ["t"],
        "workload_id": [1],
        "held_pms": [604_800_000_000],
    }
    charge = {
        "cluster": ["c"],
        "business_day": ["2026-11-30"],
        "team": ["t"],
        "workload_id": [1],
        "kind": ["base"],
        "amount": ["3.10"],
        "currency": ["EUR"],
    }
    claim = {
        "cluster": ["c"],
        "allocation_id": [5],
        "workload_id": [1],
        "start_at": [0],
        "end_at": [None],
        "namespace": ["n"],
        "pod": ["p"],
        "gpu_parts": [168_000],
    }
    tables = {
        "workloads_versions": WORKLOAD | {"person_id": [person]},
        "usage_daily": usage,
        "charges": charge,
        "allocations_versions": claim,
    }
    ledger.append("fill/1/1", {table: pl.DataFrame(rows) for table, rows in tables.items()})


def figures(ledger: Ledger) -> object:
    tables = ("usage_daily", "charges", "allocations", "workloads")
    return [ledger.query(f"from {table}").rows() for table in tables], [
        (breach.check, breach.count) for breach in run_checks(ledger)
    ]


@pytest.mark.patient
def test_an_export_tells_all_and_is_recorded(ledger: Ledger):
    remember(ledger, {ALICE: Name("Alice", "alice@example.org"), BOB: Name("Bob")}, NOW)
    told = export(ledger, ALICE, "auditor", NOW)
    assert (told["name"], told["contact"], told["person"]) == ("Alice", "alice@example.org", pseudonym(ALICE))
    assert [len(told[part]) for part in ("workloads", "allocations", "usage", "charges")] == [1, 1, 1, 1]
    assert float(told["usage"][0]["held_gpu_h"]) == 1.0
    assert [(read["reader"], read["what"]) for read in told["read_by"]] == [("auditor", "export")]


@pytest.mark.patient
def test_erasing_takes_the_name_and_nothing_else(ledger: Ledger):
    remember(ledger, {ALICE: Name("Alice", "a@x"), BOB: Name("Bob", "b@x")}, NOW)
    before = figures(ledger)
    erased = erase(ledger, ALICE, "auditor", NOW)
    assert erased.was_there
    assert erased.gone_at_ms == NOW + 7 * DAY_MS
    assert ledger.query("select person_id, name from people").rows() == [(BOB, "Bob")]
    assert figures(ledger) == before
    assert export(ledger, ALICE, "auditor", NOW)["name"] is None
    assert not erase(ledger, ALICE, "auditor", NOW).was_there


@pytest.mark.patient
def test_a_name_is_replaced_not_doubled(ledger: Ledger):
    remember(ledger, {ALICE: Name("Alice")}, NOW)
    remember(ledger, {ALICE: Name("Alice L.", "new")}, NOW + 1)
    assert ledger.query("select name, contact from people").rows() == [("Alice L.", "new")]


@pytest.mark.patient
def test_finding_a_person(ledger: Ledger):
    assert find(ledger, "alice", lambda: KEY) == ALICE
    assert find(ledger, pseudonym(ALICE), lambda: pytest.fail("no key is needed")) == ALICE
    with pytest.raises(InputError, match="no person 'carol'"):
        find(ledger, "carol", lambda: KEY)
    assert pseudonym_of("person-zzzzzzzzzzzzz") is None
    assert pseudonym_of("alice") is None
    assert pseudonym_of(pseudonym(BOB)) == BOB


@pytest.mark.patient
def test_the_commands(tmp_path: Path):
    (tmp_path / "quartermaster.yaml").write_text("clusters: [{name: c}]\n", encoding="utf-8")
    command = ["--config", str(tmp_path / "quartermaster.yaml"), "person"]
    with new_ledger(tmp_path / "ledger") as ledger:
        person = person_id(pseudonym_key(None, tmp_path / "ledger"), "alice")
        fill(ledger, person)
        remember(ledger, {person: Name("Alice", "a@x")}, NOW)
    run = CliRunner()
    told = run.invoke(app, [*command, "export", "alice"], catch_exceptions=False)
    assert json.loads(told.output)["name"] == "Alice"
    asked = run.invoke(app, [*command, "erase", "alice"])
    assert isinstance(asked.exception, InputError)
    assert "--yes" in asked.exception.hint
    erased = run.invoke(app, [*command, "erase", "alice", "--yes"], catch_exceptions=False)
    assert "gone for good" in " ".join(erased.output.split())
    again = run.invoke(app, [*command, "erase", pseudonym(person), "--yes", "--json"], catch_exceptions=False)
    assert json.loads(again.output) == {
        "person": pseudonym(person),
        "erased": False,
        "gone_for_good_at": None,
    }

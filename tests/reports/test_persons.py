"""Persons in reports: none, unless the configuration says so; then in every form, and who read them is recorded."""

import getpass
import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from analytics.money.charges import charge
from analytics.reports.audience import MANAGERS
from analytics.reports.forms import Form, written
from analytics.reports.made import report
from analytics.reports.persons import with_persons
from analytics.reports.span import span_of
from cli.bill import text
from cli.main import app
from quartermaster.clock import from_iso
from sql.ledger import Ledger, open_ledger
from sql.people import Name, erase, remember
from tests.ledgers import new_ledger
from tests.money.books import Books
from tests.reports.conftest import WEEK

NOW = from_iso("2026-12-01T06:00:00Z")
HOSTILE = '=1+1 <script>alert("x")</script>'


def fill(books: Books) -> Ledger:
    """One workload of alice's, one of nobody's that is known."""
    books.card()
    books.rate("2")
    for person, workload in ((7, "train"), (8, "serve")):
        books.usage(team="vision", workload=workload)
        books.name(workload, "Job", workload)
        books.rows["workloads_versions"][-1]["person_id"] = person
    books.rolled_until("2026-12-01T00:00:00Z")
    charge(books.fill(), 0, "UTC")
    remember(books.ledger, {7: Name("alice", "alice@example.org")}, 0)
    return books.ledger


def reads(ledger: Ledger, reader: str) -> list[tuple[object, ...]]:
    query = "select person_id, reader, what, epoch_ms(read_at) from people_reads where reader = ?"
    return ledger.query(query, [reader]).rows()


def test_a_name_is_told_in_every_form_and_who_read_it_is_recorded(books: Books) -> None:
    ledger = fill(books)
    found = report(ledger, span_of(WEEK, "UTC"), MANAGERS, now_ms=NOW)
    assert {row.person for row in found.by_workload} == {""}
    (told,) = with_persons(ledger, [found], "boss", NOW)
    assert {row.name: row.person for row in told.by_workload} == {"train": "alice", "serve": ""}
    assert {row.workload.name: row.workload.person for row in told.idlest} == {"train": "alice", "serve": ""}
    assert reads(ledger, "boss") == [(7, "boss", f"report {WEEK}", NOW)]
    assert replace(told, by_workload=found.by_workload, idlest=found.idlest) == found
    for form in (Form.HTML, Form.JSON, Form.CSV):
        assert b"alice" in written(told, form)
        assert b"alice" not in written(found, form)
    assert b"example.org" not in written(told, Form.JSON)
    assert "Job ns/train of alice" in text(told)


def test_who_was_erased_has_no_name(books: Books) -> None:
    ledger = fill(books)
    erase(ledger, 7, "admin", NOW)
    found = report(ledger, span_of(WEEK, "UTC"), MANAGERS, now_ms=NOW)
    assert with_persons(ledger, [found], "late reader", NOW) == [found]
    assert reads(ledger, "late reader") == []


def test_a_hostile_name_is_text(books: Books) -> None:
    ledger = fill(books)
    remember(ledger, {7: Name(HOSTILE)}, 0)
    found = report(ledger, span_of(WEEK, "UTC"), MANAGERS, now_ms=NOW)
    (told,) = with_persons(ledger, [found], "tester", NOW)
    assert b"<script>alert" not in written(told, Form.HTML)
    assert not [row for row in written(told, Form.CSV).decode().split(",") if row.startswith(("=", '"='))]
    assert json.loads(written(told, Form.JSON))["by_workload"][0]["person"] in {HOSTILE, None}


@pytest.mark.parametrize("names", [True, False])
def test_the_command_names_people_where_the_configuration_says_so(tmp_path: Path, names: bool) -> None:
    config = tmp_path / "quartermaster.yaml"
    setting = f"privacy: {{pseudonyms: false, reports_name_people: {json.dumps(names)}}}\n"
    config.write_text("business: {time_zone: UTC}\nclusters: [{name: demo}]\n" + setting)
    with new_ledger(tmp_path / "ledger") as ledger:
        fill(Books(ledger))
    found = CliRunner().invoke(
        app, ["-c", str(config), "report", "-w", WEEK, "--json"], catch_exceptions=False
    )
    assert {row["person"] for row in json.loads(found.stdout)["by_workload"]} == (
        {"alice", None} if names else {None}
    )
    with open_ledger(tmp_path / "ledger", read_only=True) as ledger:
        assert len(reads(ledger, getpass.getuser())) == int(names)

"""The questions that have a name, and how answers are printed."""

import json
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from cli.main import app
from cli.sql import history_file
from quartermaster.errors import InputError
from sql import statement
from sql.answers import csv_text
from sql.described import described
from sql.ledger import open_ledger
from sql.parameters import values
from sql.questions import question, questions
from sql.scope import SCOPED

RUN = CliRunner()


@pytest.fixture
def config(asked_ledger: Path) -> str:
    file = asked_ledger.parent / "quartermaster.yaml"
    file.write_text("clusters: [{name: c}]\n", encoding="utf-8")
    return str(file)


@pytest.mark.patient
def test_every_named_question_runs_and_passes_the_door(asked_ledger: Path):
    with open_ledger(asked_ledger, read_only=True) as ledger, duckdb.connect() as connection:
        tables = frozenset(described())
        for entry in questions():
            given = {each.name for each in entry.parameters}
            read = statement.check(connection, entry.query, tables - {"people"}, tables, given)
            assert all(name.startswith("reporting.") for name in read.tables), entry.name
            needed = {each.name: "2026-11-30" for each in entry.parameters if each.required}
            ledger.query(entry.query, values(entry.parameters, needed))
            assert len(entry.about) > 20, entry.name
    assert len(questions()) >= 20


def test_the_page_names_every_question_and_what_a_team_sees():
    page = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
    assert all(f"`{entry.name}`" in page for entry in questions())
    assert f"{len(questions())} questions" in page
    assert all(f"`{view.removeprefix('reporting.')}`" in page for view in SCOPED)


def test_a_name_that_is_nearly_right():
    with pytest.raises(InputError) as caught:
        question("idle-by-teams")
    assert caught.value.hint == "did you mean idle-by-team?"


@pytest.mark.patient
def test_a_table_a_csv_and_json(config: str):
    ask = [
        "--config",
        config,
        "sql",
        "select team, 1.50::decimal(9, 2) as gpus, [1, null] as list from teams order by team_id",
    ]
    table = RUN.invoke(app, ask, catch_exceptions=False)
    assert "vision" in table.output
    assert "=1+1" in table.output
    csv = RUN.invoke(app, [*ask, "--format", "csv"], catch_exceptions=False)
    assert csv.output == 'team,gpus,list\nvision,1.50,"[1, None]"\n\'=1+1,1.50,"[1, None]"\n'
    answer = RUN.invoke(app, [*ask, "--json"], catch_exceptions=False)
    assert json.loads(answer.output)[0] == {"team": "vision", "gpus": "1.50", "list": [1, None]}


@pytest.mark.patient
def test_more_rows_are_told_and_stdin_is_read(config: str):
    found = RUN.invoke(
        app,
        ["--config", config, "sql", "--rows", "2", "-"],
        input="select * from range(9)",
        catch_exceptions=False,
    )
    assert "more than these 2 rows" in found.output


def test_the_list_needs_no_configuration(tmp_path: Path):
    found = RUN.invoke(app, ["--config", str(tmp_path / "none"), "sql", "--list"], catch_exceptions=False)
    assert "idle-by-team" in found.output


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_no_formula_leaves_in_a_csv(cell: str):
    assert (
        csv_text([cell], [(cell,)])
        .replace('"', "")
        .startswith("'" + cell[0].replace("\r", "\N{REPLACEMENT CHARACTER}"))
    )
    assert csv_text(["n"], [(-1,)]) == "n\n-1\n"


def test_history_stands_in_the_state_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert history_file() == tmp_path / "quartermaster" / "sql_history"

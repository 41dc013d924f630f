"""Parameters: declared in a header, given as text, bound as values, and refused with the next step."""

import contextlib
import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from cli.main import app
from quartermaster.errors import InputError
from sql.door import Limits, ask
from sql.parameters import Parameter, declared, value, values

HEAD = """-- what it answers
-- param: team varchar, optional, the team; all without it
-- param: from date, required, the first day
-- param: top integer, default 20, how many
select 1
"""
KINDS = ["varchar", "integer", "decimal", "date", "timestamp", "boolean"]
QUICK = Limits(seconds=20, memory_mib=512, rows=100, answer_mib=8)


def test_a_header_is_read():
    assert declared(HEAD) == (
        Parameter("team", "varchar", False, None, "the team; all without it"),
        Parameter("from", "date", True, None, "the first day"),
        Parameter("top", "integer", False, "20", "how many"),
    )


@pytest.mark.parametrize(
    "line", ["-- param: team", "-- param: x blob, optional, y", "-- param: X date, required, y"]
)
def test_a_wrong_header_is_refused(line: str):
    with pytest.raises(InputError, match="declares no parameter"):
        declared(line)


def test_values_and_defaults():
    assert values(declared(HEAD), {"from": "2026-11-30"}) == {
        "team": None,
        "from": date(2026, 11, 30),
        "top": 20,
    }


@pytest.mark.parametrize(
    ("asked", "what", "hint"),
    [
        ({}, "the parameter from is missing", "give from=a day such as 2026-11-30"),
        ({"from": "2026-11-30", "tema": "x"}, "no parameter 'tema'", "did you mean team?"),
        ({"from": "30.11.2026"}, "takes a day such as 2026-11-30, not '30.11.2026'", "2026-11-30"),
        ({"from": "2026-11-30", "top": "9" * 30}, "takes a whole number", "whole number"),
        ({"from": "2026-11-30", "top": "١٢"}, "takes a whole number", "whole number"),
        ({"from": "2026-11-30", "team": "x" * 10_001}, "longer than", "less"),
    ],
)
def test_what_is_wrong_is_told_with_the_next_step(asked: dict[str, str], what: str, hint: str):
    with pytest.raises(InputError) as refused:
        values(declared(HEAD), asked)
    assert what in refused.value.what
    assert hint in refused.value.hint


@given(st.sampled_from(KINDS), st.text(max_size=30))
def test_any_text_is_a_value_or_refused(kind: str, text: str):
    with contextlib.suppress(InputError):
        found = value(kind, text, "x")
        assert kind != "varchar" or found == text


@given(st.decimals(allow_nan=False, allow_infinity=False, places=9, min_value=-(10**17), max_value=10**17))
def test_decimals_keep_their_digits(amount: Decimal):
    assert value("decimal", format(amount, "f"), "x") == amount


@pytest.mark.parametrize("text", ["NaN", "Infinity", "1e400", "0.0000000001", "1e18"])
def test_what_no_decimal_of_ours_is(text: str):
    with pytest.raises(InputError):
        value("decimal", text, "x")


@pytest.mark.patient
def test_the_command_binds_them(asked_ledger: Path):
    file = asked_ledger.parent / "quartermaster.yaml"
    file.write_text("clusters: [{name: c}]\n", encoding="utf-8")
    command = ["--config", str(file), "sql", "--json"]
    named = CliRunner().invoke(
        app, [*command, "--name", "utilization-by-team", "-p", "team=vision"], catch_exceptions=False
    )
    assert json.loads(named.output) == []
    loose = "select team from reporting.teams where team = $team"
    found = CliRunner().invoke(app, [*command, loose, "--param", "team==1+1"], catch_exceptions=False)
    assert json.loads(found.output) == [{"team": "=1+1"}]
    for wrong in (
        ["--param", "team"],
        ["--param", "a=1", "--param", "a=2"],
        ["--name", "energy", "-p", "x=1"],
    ):
        refused = CliRunner().invoke(
            app, [*command, loose, *wrong] if "--name" not in wrong else [*command, *wrong]
        )
        assert isinstance(refused.exception, InputError), wrong
    listed = json.loads(CliRunner().invoke(app, ["sql", "--list", "--json"], catch_exceptions=False).output)
    movers = next(each for each in listed if each["name"] == "top-movers")
    assert [(p["name"], p["required"]) for p in movers["parameters"]][:2] == [("from", True), ("to", True)]


@pytest.mark.patient
def test_a_query_of_ones_own_takes_them_by_name_only(asked_ledger: Path):
    bound = {"team": ("varchar", "vision"), "n": ("integer", "2")}
    query = "select team, $n + 1 from reporting.teams where team = $team"
    assert ask(asked_ledger, "sqlite", query, QUICK, parameters=bound).rows == [("vision", 3)]
    for missing in ("select $x", "select ?", "select $1"):
        with pytest.raises(InputError, match="has no value"):
            ask(asked_ledger, "sqlite", missing, QUICK, parameters=bound)

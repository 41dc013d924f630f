"""Shown and described: `config` commands, the JSON Schema, the documentation, the keeper."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel
from typer.testing import CliRunner

from cli.main import app
from quartermaster.config.complaint import part_of
from quartermaster.config.explain import schema, settings
from quartermaster.config.keeper import keep
from quartermaster.config.load import check_configuration
from quartermaster.config.model import Configuration
from quartermaster.config.source import read_yaml
from quartermaster.errors import ConfigurationError, InputError
from quartermaster.threshold import HOUSE_FLOORS

DOCS = Path(__file__).parents[2] / "docs" / "configuration.md"
FILE = """\
clusters:
  - name: c
    dcgm:
      targets: ["https://h:9400/metrics"]
      interval: 15s
      bearer_token: "${env:TOKEN}"
teams: [{name: "[bold]x"}]
"""
RUN = CliRunner()


def run(file: Path, *arguments: str, environment: dict[str, str] | None = None):
    return RUN.invoke(app, ["--config", str(file), "config", *arguments], env=environment)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "quartermaster.yaml"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_every_setting_says_where_it_comes_from(file: Path):
    found = {
        each.key: (each.value, each.where)
        for each in settings(check_configuration(file, {"TOKEN": "hunter2"}))
    }
    assert found["clusters[0].dcgm.interval"] == ("15s", "line 5")
    assert found["clusters[0].dcgm.timeout"] == ("5s", "default")
    assert found["clusters[0].dcgm.targets[0]"] == ("https://h:9400/metrics", "line 4")
    assert found["clusters[0].dcgm.bearer_token"] == ("${env:TOKEN}", "line 6")
    assert "hunter2" not in str(found)


def test_show_needs_no_secret_and_shows_none(file: Path):
    shown = run(file, "show")
    assert shown.exit_code == 0
    assert "(missing)" in shown.output
    assert "[bold]x" in shown.output
    told = json.loads(run(file, "show", "--json", environment={"TOKEN": "hunter2"}).output)
    assert {"key": "retention.samples", "value": "90d", "where": "default"} in told
    assert "hunter2" not in json.dumps(told)


def test_check_says_all_and_its_exit_code_counts(file: Path):
    assert run(file, "check", environment={"TOKEN": "x"}).output == f"{file}: in order\n"
    missing = run(file, "check")
    assert missing.exit_code == 3
    assert (
        f"{file}:6:21: error: clusters[0].dcgm.bearer_token: the environment variable TOKEN is not set"
        in missing.output
    )
    told = json.loads(run(file, "check", "--json").output)
    assert told["ok"] is False
    assert told["problems"][0]["line"] == 6
    assert told["problems"][0]["key"] == "clusters[0].dcgm.bearer_token"


def test_the_starter_passes_its_own_check_and_overwrites_nothing(tmp_path: Path):
    file = tmp_path / "quartermaster.yaml"
    assert RUN.invoke(app, ["config", "init", str(file)]).exit_code == 0
    assert check_configuration(file, {}).problems == ()
    again = RUN.invoke(app, ["config", "init", str(file)])
    assert isinstance(again.exception, InputError)
    nowhere = RUN.invoke(app, ["config", "init", str(tmp_path / "no" / "q.yaml")])
    assert isinstance(nowhere.exception, InputError)


def plain(value: object) -> Any:
    """The values of a YAML file as JSON has them."""
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, tuple):
        return [plain(entry) for entry in value]
    return float(value) if isinstance(value, Decimal) else value


@pytest.mark.patient
def test_the_schema_takes_what_is_right_and_not_what_is_wrong():
    validator = jsonschema.Draft202012Validator(schema())
    validator.check_schema(schema())
    example = DOCS.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
    for text in (FILE, example):
        assert [error.message for error in validator.iter_errors(plain(read_yaml(text, "q").value))] == []
    for wrong in (
        "clusters: []",
        "clusters: [{name: a, x: 1}]",
        "clusters: [{name: a, dcgm: {interval: 30}}]",
    ):
        assert list(validator.iter_errors(plain(read_yaml(wrong, "q").value)))
    assert json.loads(RUN.invoke(app, ["config", "schema"]).output)["title"] == "quartermaster.yaml"


def test_the_documentations_example_is_in_order(tmp_path: Path):
    file = tmp_path / "q.yaml"
    file.write_text(DOCS.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0], encoding="utf-8")
    found = check_configuration(file, {"EXPORTER_TOKEN": "x"})
    assert [str(problem) for problem in found.problems if problem.severity == "error"] == []


def documented(part: type[BaseModel] = Configuration, above: str = "") -> Iterator[tuple[str, object, str]]:
    for name, field in part.model_fields.items():
        key = f"{above}.{field.alias or name}".removeprefix(".")
        yield key, None if field.is_required() else field.default, " ".join((field.description or "").split())
        inner = part_of(field.annotation)
        if inner is not None:
            yield from documented(inner, key)


def test_the_documentation_has_every_key_its_default_and_its_reason():
    lines = {
        line.split("`")[1]: line
        for line in DOCS.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `")
    }
    for key, default, about in documented():
        assert key in lines, f"{key} is not in docs/configuration.md"
        assert about, f"{key} has no description"
        assert about.replace("|", "or") in lines[key], f"{key} is described otherwise"
        if isinstance(default, str) and default:
            assert f"| `{default}` |" in lines[key]
        elif isinstance(default, bool | int):
            assert f"| `{str(default).lower()}` |" in lines[key]


def test_the_documentation_has_the_houses_floors():
    text = DOCS.read_text(encoding="utf-8")
    for signal, _, model, floor in HOUSE_FLOORS:
        shown = f"{floor // 10} W" if signal == "power" else f"{floor / 1000:.2f}"
        assert f"| `{signal}` | `{model}` | {shown} |" in text


def test_a_keeper_keeps_what_works(file: Path):
    environment = {"TOKEN": "one"}
    keeper = keep(file, environment)
    working = keeper.current
    assert not keeper.reload().changed
    for broken in (
        "clusters: [",
        "clusters: []",
        FILE.replace("15s", "15"),
        FILE.replace("TOKEN", "NOTHING"),
    ):
        file.write_text(broken, encoding="utf-8")
        reload = keeper.reload()
        assert not reload.accepted
        assert "the old configuration stays in force" in reload.said
        assert keeper.current is working
        assert keeper.broken
    file.unlink()
    assert not keeper.reload().accepted
    assert keeper.failures == 5
    file.write_text(FILE.replace("15s", "10s"), encoding="utf-8")
    assert keeper.reload().changed
    assert (keeper.current.clusters[0].dcgm.interval_ms, keeper.broken) == (10_000, "")


def test_a_changed_secret_is_a_change(file: Path):
    environment = {"TOKEN": "one"}
    keeper = keep(file, environment)
    environment["TOKEN"] = "two"
    assert keeper.reload().changed


def test_a_keeper_does_not_begin_with_something_broken(file: Path):
    with pytest.raises(ConfigurationError, match="TOKEN is not set"):
        keep(file, {})

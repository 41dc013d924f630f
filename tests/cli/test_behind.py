"""--config and --debug behind the sub-command: they work there as before it, at every command."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from cli.main import app
from quartermaster.errors import ConfigurationError
from tests.ledgers import lay_ledger


def leaves(command: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    inner: dict[str, object] = getattr(command, "commands", {})
    if not inner:
        yield path, command
    for name, each in inner.items():
        yield from leaves(each, (*path, name))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    (folder / "here.yaml").write_text("clusters: [{name: c}]\n", encoding="utf-8")
    lay_ledger(folder / "ledger")
    return folder


@pytest.mark.parametrize(("path", "command"), list(leaves(get_command(app))), ids=str)
def test_every_command_has_both(path: tuple[str, ...], command: object) -> None:
    flags = [flag for each in getattr(command, "params", []) for flag in each.opts]
    assert {"--config", "-c", "--debug"} <= set(flags)
    assert len(flags) == len(set(flags)), "two options of one name"


@pytest.mark.parametrize(
    "arguments",
    [
        ["-c", "{}", "sql", "select 42 as x"],
        ["sql", "-c", "{}", "select 42 as x"],
        ["sql", "select 42 as x", "--config", "{}"],
        ["-c", "nowhere.yaml", "sql", "select 42 as x", "-c", "{}"],
    ],
)
@pytest.mark.patient
def test_wherever_the_configuration_is_named(arguments: list[str], site: Path) -> None:
    told = CliRunner().invoke(app, [each.format(site / "here.yaml") for each in arguments])
    assert told.exit_code == 0, told.output
    assert "42" in told.output


@pytest.mark.parametrize(
    "arguments",
    [["ledger", "check", "-c", "{}"], ["ledger", "-c", "{}", "check"], ["-c", "{}", "ledger", "check"]],
)
@pytest.mark.patient
def test_around_a_group(arguments: list[str], site: Path) -> None:
    told = CliRunner().invoke(app, [each.format(site / "here.yaml") for each in arguments])
    assert told.exit_code == 0, told.output


def test_a_wrong_name_is_told_as_before_it() -> None:
    told = CliRunner().invoke(app, ["report", "-c", "nowhere.yaml"])
    assert isinstance(told.exception, ConfigurationError)
    assert "nowhere.yaml" in told.exception.what


@pytest.mark.parametrize("arguments", [["--debug", "report"], ["report", "--debug"]])
@pytest.mark.patient
def test_a_traceback_wherever_it_is_asked_for(arguments: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cli", *arguments, "-c", str(tmp_path / "nowhere.yaml")]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Traceback" in told.stderr

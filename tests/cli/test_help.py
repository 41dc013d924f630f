"""Every command's help teaches: what it does, with examples, in lines that an 80-column terminal does not break."""

from collections.abc import Iterator

import pytest
from rich.text import Text
from typer.main import get_command
from typer.testing import CliRunner

from cli.main import app

WITHOUT_EXAMPLES = {"version", "simulate quirks"}


def leaves(command: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Every command that does something, with its help."""
    inner: dict[str, object] = getattr(command, "commands", {})
    if not inner:
        yield " ".join(path), getattr(command, "help", "") or ""
    for name, each in inner.items():
        yield from leaves(each, (*path, name))


@pytest.mark.parametrize(("path", "told"), list(leaves(get_command(app))))
@pytest.mark.patient
def test_help_teaches(path: str, told: str) -> None:
    *paragraphs, last = told.split("\n\n")
    for line in last.splitlines():
        assert len(line) <= 78 or not last.startswith("\b")
    if path not in WITHOUT_EXAMPLES:
        assert last.startswith(("\bExample", "\b\nExample"))
        assert f"  quartermaster {path}" in last
    assert not any("\n" in paragraph for paragraph in paragraphs)
    shown = CliRunner().invoke(app, [*path.split(), "--help"], env={"COLUMNS": "80"})
    assert shown.exit_code == 0
    for line in last.splitlines()[2:]:
        assert line in shown.stdout


def parameters(command: object) -> Iterator[str]:
    """What every option and argument says of itself."""
    for each in getattr(command, "params", ()):
        yield getattr(each, "help", "") or ""
    inner: dict[str, object] = getattr(command, "commands", {})
    for each in inner.values():
        yield from parameters(each)


@pytest.mark.parametrize("told", sorted({*parameters(get_command(app))}))
def test_nothing_that_an_option_says_is_taken_for_markup(told: str) -> None:
    """`[default: a day ago]` was: a default that is said in words is the option's `show_default`."""
    assert Text.from_markup(told).plain == told

"""The roof: whatever goes wrong is two lines, and a traceback only when it is asked for."""

import errno
import os
import sys

import pytest

from cli import main, version
from quartermaster.errors import InputError

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/somewhere/file")


def ends(monkeypatch: pytest.MonkeyPatch, error: Exception, *arguments: str) -> int | str | None:
    """How the command ends when the error comes from its middle."""

    def fail(name: str) -> str:
        raise error

    monkeypatch.setattr(version, "installed", fail)
    monkeypatch.setattr(sys, "argv", ["quartermaster", *arguments])
    with pytest.raises(SystemExit) as ended:
        main.run()
    return ended.value.code


@pytest.mark.parametrize(
    ("error", "code", "what", "hint"),
    [
        (InputError("this is wrong", "do that"), 2, "this is wrong", "do that"),
        (
            FULL,
            1,
            "/somewhere/file: No space left on device",
            "quartermaster --debug version --json shows where",
        ),
        (
            ValueError("odd\x1b[2J"),
            1,
            "ValueError: odd\N{REPLACEMENT CHARACTER}[2J",
            "report what quartermaster --debug version",
        ),
    ],
)
def test_an_error_is_two_lines(
    error: Exception,
    code: int,
    what: str,
    hint: str,
    *,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ends(monkeypatch, error, "version", "--json") == code
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"error: {what}"
    assert second.startswith("  try: ")
    assert hint in second


@pytest.mark.parametrize("error", [InputError("this is wrong"), FULL, ValueError("odd")])
def test_debug_shows_where(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(type(error)):
        ends(monkeypatch, error, "--debug", "version")

"""The roof: whatever goes wrong is two lines, and a traceback only when it is asked for."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli import __main__, main, version
from quartermaster.errors import InputError
from quartermaster.interrupt import interrupt, obey
from tests.depth import deep

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
        (InputError("this is wrong", "try that"), 2, "this is wrong", "  try: that"),
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


def test_an_argument_that_is_no_text_is_the_fault_of_who_wrote_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A library further down refuses it in words of its own, as DuckDB does."""
    assert ends(monkeypatch, RuntimeError("cannot cast"), "version", "--config", os.fsdecode(b"\xff")) == 2
    assert capsys.readouterr().err == "error: '\\udcff' is not UTF-8\n  try: write it in UTF-8\n"
    assert ends(monkeypatch, FULL, "version", "--config", os.fsdecode(b"\xff")) == 1, "a path may be"


@pytest.mark.parametrize("error", [InputError("this is wrong"), FULL, ValueError("odd")])
def test_debug_shows_where(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(type(error)):
        ends(monkeypatch, error, "--debug", "version")


def test_ctrl_c_that_a_library_wrapped_is_still_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrapped = RuntimeError("Error calling __set_name__")
    wrapped.__cause__ = KeyboardInterrupt()
    for error in (wrapped, RuntimeError("Query interrupted")):
        assert ends(monkeypatch, error, "version") == 130
    assert capsys.readouterr().err == ""


def test_what_goes_wrong_after_ctrl_c_is_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt(signal.SIGINT, None)
    try:
        assert ends(monkeypatch, ImportError("initialization failed"), "version") == 130
        assert capsys.readouterr().err == ""
        assert ends(monkeypatch, InputError("the page is half written"), "version") == 130
        assert "half written" in capsys.readouterr().err
    finally:
        with pytest.raises(KeyboardInterrupt):
            obey()
    assert ends(monkeypatch, InputError("this is wrong"), "version") == 2


BEGINS = "import cli.__main__ as way_in; print('begun', flush=True); way_in.run()"


@pytest.mark.parametrize("after_s", [0.05, 0.5, 2.0, 4.0][: deep(4, 3)])
@pytest.mark.patient
def test_ctrl_c_leaves_neither_a_traceback_nor_a_process(after_s: float, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", BEGINS, "demo", "--quick"],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"XDG_CACHE_HOME": str(tmp_path)},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    time.sleep(after_s)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode in {130, -signal.SIGINT}, told
    assert b"Traceback" not in told
    give_up_at = time.monotonic() + 10
    while somebody_is_in(process.pid):
        assert time.monotonic() < give_up_at
        time.sleep(0.05)


def somebody_is_in(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.patient
def test_closed_streams_are_no_trouble() -> None:
    told = subprocess.run(
        ["/bin/sh", "-c", f"exec {sys.executable} -m cli --version <&- >&- 2>&-"],
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert told.returncode == 0


@pytest.mark.parametrize("guess", ["--version", "-V", "version"])
def test_guesses_at_the_version(guess: str) -> None:
    told = CliRunner().invoke(main.app, [guess])
    assert told.exit_code == 0
    assert told.stdout.startswith("gpu-quartermaster ")


def test_ctrl_c_while_the_commands_are_made_ends_it_without_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Typer hears it only once a command is there."""

    def made(**told: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "app", made)
    with pytest.raises(SystemExit) as ended:
        main.run()
    assert ended.value.code == 130
    assert "".join(capsys.readouterr()) == ""


def test_ctrl_c_when_all_is_done_is_the_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's own end hears no KeyboardInterrupt, and would show where it was ignored."""
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(main, "run", lambda: sys.exit(3))
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    try:
        with pytest.raises(SystemExit) as ended:
            __main__.run()
        assert (ended.value.code, signal.getsignal(signal.SIGINT)) == (3, signal.SIG_DFL)
    finally:
        signal.signal(signal.SIGINT, before)

"""On a terminal: colour unless NO_COLOR, movement unless TERM=dumb; both seen on a pty, as a person would."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ledgers import lay_ledger

ROOT = Path(__file__).parents[2]
COLOUR = re.compile(rb"\x1b\[[0-9;]*m")  # select graphic rendition, bold too
ESCAPE = b"\x1b"
BAR = """
import time
from cli import output
with output.progress() as bar:
    task = bar.add_task("working", total=4)
    for _ in range(4):
        time.sleep(0.06)
        bar.advance(task)
output.table("Done", ["what"], [("all",)])
"""


def on_terminal(arguments: list[str], **environment: str) -> bytes:
    """All that a program writes to a terminal that is its stdin, stdout and stderr."""
    ours, theirs = pty.openpty()
    clean = {
        name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "TERM", "FORCE_COLOR"}
    }
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=clean | {"PYTHONPATH": str(ROOT), "COLUMNS": "100"} | environment,
    )
    os.close(theirs)
    told = b""
    try:
        while chunk := os.read(ours, 65_536):
            told += chunk
    except OSError:  # how a pty says that the other side is closed
        pass
    finally:
        os.close(ours)
    assert process.wait(30) == 0, told
    return told


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    (folder / "q.yaml").write_text("clusters: [{name: c}]\n", encoding="utf-8")
    lay_ledger(folder / "ledger")
    return folder / "q.yaml"


def test_a_terminal_gets_colour_and_a_moving_bar() -> None:
    told = on_terminal(["-c", BAR], TERM="xterm-256color")
    assert COLOUR.search(told)
    assert b"\x1b[?25l" in told  # the cursor is hidden while the bar moves
    assert b"working" in told


def test_without_colour_the_bar_still_moves_and_is_plain() -> None:
    told = on_terminal(["-c", BAR], TERM="xterm-256color", NO_COLOR="1")
    assert not COLOUR.search(told)
    assert b"\x1b[?25l" in told
    assert b"working" in told


def test_on_a_dumb_terminal_nothing_moves() -> None:
    told = on_terminal(["-c", BAR], TERM="dumb")
    assert ESCAPE not in told
    assert b"working" not in told
    assert b"all" in told


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["status", "-c", "{}"], ["ledger", "check", "-c", "{}"], ["config", "show", "-c", "{}"]],
    ids=" ".join,
)
@pytest.mark.patient
def test_commands_obey_both(arguments: list[str], site: Path) -> None:
    command = ["-m", "cli", *(each.format(site) for each in arguments)]
    plain = on_terminal(command, TERM="xterm-256color", NO_COLOR="1")
    assert not COLOUR.search(plain)
    assert ESCAPE not in on_terminal(command, TERM="dumb")


def test_an_empty_no_color_means_nothing() -> None:
    """no-color.org: it counts when present and not an empty string."""
    assert COLOUR.search(on_terminal(["-c", BAR], TERM="xterm-256color", NO_COLOR=""))

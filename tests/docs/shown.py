"""Commands that the docs show with their output: read, run, compared; `python -m tests.docs.shown FOLDER` writes anew.

A block of `console` has `$ quartermaster …` and what it printed in 80 columns; a last line `…` says that there is more.
"""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MADE = ("demo", "--quick", "--week", "2026-W48", "--keep", "--dir")  # the folder in which they are run
_BLOCK = re.compile(
    r"^```console\n\$ (?P<command>quartermaster [^\n]*)\n(?P<output>.*?)^```$", re.MULTILINE | re.DOTALL
)
_LINES = 24


@dataclass(frozen=True)
class Shown:
    """A command and the lines that a page shows of its output; `more`: there are others."""

    page: Path
    command: str
    lines: tuple[str, ...]
    more: bool


def shown() -> Iterator[Shown]:
    """All of them."""
    for page in sorted(DOCS.rglob("*.md")):
        for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
            lines = tuple(block["output"].splitlines())
            more = lines[-1:] == ("…",)
            yield Shown(page, block["command"], lines[:-1] if more else lines, more)


def printed(command: str, folder: Path) -> list[str]:
    """What it prints in a folder: 80 columns, no colours, without the blanks that end lines."""
    environment = {
        "PATH": f"{Path(sys.prefix) / 'bin'}:/usr/bin:/bin",
        "HOME": str(folder),
        "COLUMNS": "80",
        "NO_COLOR": "1",
    }
    environment |= {"PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}
    words = [sys.executable, "-P", "-m", "cli", *shlex.split(command)[1:]]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return [line.rstrip() for line in (done.stdout + done.stderr).rstrip().splitlines()]


def _write(folder: Path) -> None:
    for page in sorted({each.page for each in shown()}):

        def anew(block: re.Match[str]) -> str:
            more = block["output"].rstrip().endswith("…")
            for left in folder.glob("lab.yaml"):
                left.unlink()
            lines = printed(block["command"], folder)
            kept = [*lines[:_LINES], "…"] if more and len(lines) > _LINES else lines
            return "\n".join(("```console", f"$ {block['command']}", *kept, "```"))

        page.write_text(_BLOCK.sub(anew, page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    _write(Path(sys.argv[1]))

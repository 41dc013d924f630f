"""Shell completion: the script that is shown works in a real bash, and installing it is one line in ~/.bashrc."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")


def in_bash(script: str, home: Path) -> str:
    """What a bash says in which `quartermaster` is a command. It waits at the end, so that it stays the parent."""
    command = home / "bin" / "quartermaster"
    command.parent.mkdir(exist_ok=True)
    command.write_text(
        f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m cli "$@"\n', encoding="utf-8"
    )
    command.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("_QUARTERMASTER")}
    told = subprocess.run(
        ["bash", "--norc", "-c", f"{script}\ntrue"],
        capture_output=True,
        text=True,
        check=False,
        env=kept
        | {
            "HOME": str(home),
            "PATH": f"{command.parent}:{os.environ['PATH']}",
            "SHELL": shutil.which("bash") or "",
        },
    )
    assert told.returncode == 0, told.stderr
    return told.stdout + told.stderr


COMPLETE = """
eval "$(quartermaster --show-completion bash)"
COMP_WORDS=({words}); COMP_CWORD={at}
_quartermaster_completion quartermaster
echo "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "at", "expected"),
    [
        ("quartermaster sta", 1, {"status"}),
        ("quartermaster ledger ch", 2, {"check"}),
        ("quartermaster report --we", 2, {"--week"}),
        ("quartermaster why x --kind ", 4, {"team", "pod", "gpu"}),
    ],
)
@pytest.mark.patient
def test_the_shown_script_completes(words: str, at: int, expected: set[str], tmp_path: Path) -> None:
    words = words if not words.endswith(" ") else f"{words}''"
    told = in_bash(COMPLETE.format(words=words, at=at), tmp_path)
    assert set(told.split()) == expected


@pytest.mark.patient
def test_installing_it(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("# mine\n", encoding="utf-8")
    assert "completion installed" in in_bash("quartermaster --install-completion bash", tmp_path)
    installed = (tmp_path / ".bashrc").read_text(encoding="utf-8")
    assert installed.startswith("# mine\n")
    file = next(tmp_path.rglob("quartermaster.sh"))
    assert str(file) in installed
    script = "COMP_WORDS=(quartermaster stat); COMP_CWORD=1\n_quartermaster_completion quartermaster"
    assert in_bash(f". {file}\n{script}\necho ${{COMPREPLY[@]}}", tmp_path).split() == ["status"]

"""The docs: they build into a site without a warning or a foreign host, and what they show is what is printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli import rehearsal
from tests.docs.shown import DOCS, MADE, ROOT, Shown, printed, shown

SHOWN = list(shown())


def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    command = [
        Path(sys.prefix) / "bin" / "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        tmp_path / "site",
    ]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for page in ("index.html", "start/index.html", "for/managers/index.html"):
        text = (tmp_path / "site" / page).read_text(encoding="utf-8")
        assert not re.search(r"<(script|link|img)[^>]+(src|href)=\"?https?://", text), page


def test_every_page_is_in_the_menu_and_a_decision_is_linked_by_its_page() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        name = str(page.relative_to(DOCS))
        assert name.startswith("adr/") or re.search(rf"(: |- ){re.escape(name)}$", menu, re.MULTILINE), name


def test_everybody_has_a_page_and_the_newcomers_path_shows_commands() -> None:
    assert {each.stem for each in (DOCS / "for").glob("*.md")} == {
        "managers",
        "finance",
        "it",
        "researchers",
        "platform",
    }
    assert len([each for each in SHOWN if each.page.name == "start.md"]) >= 4
    assert MADE[:4] == ("demo", "--quick", "--week", "2026-W48")
    assert f"quartermaster {' '.join(MADE)} trial" in (DOCS / "start.md").read_text(encoding="utf-8")


def _none(*_: object) -> int:
    return 0


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the pages' commands are run in, but for its files of reports."""
    folder = tmp_path_factory.mktemp("trial")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rehearsal, "_write_all", _none)
        rehearsal.rehearse(folder, seed=1, week="2026-W48", quick=True)
    return folder


@pytest.mark.patient
@pytest.mark.parametrize("each", SHOWN, ids=lambda each: f"{each.page.stem}: {each.command}"[:60])
def test_what_a_page_shows_is_what_is_printed(trial: Path, each: Shown) -> None:
    lines = printed(each.command, trial)
    assert tuple(lines[: len(each.lines)]) == each.lines, (
        f"{each.page.name}: python -m tests.docs.shown FOLDER"
    )

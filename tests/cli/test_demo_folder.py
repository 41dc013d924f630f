"""The demo's folder: made anew where a demo made it, refused where somebody else did, one demo at a time."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli import rehearsal
from cli.main import app
from quartermaster.errors import InputError

MARK = ".quartermaster-demo"


class StoppedError(Exception):
    """The rehearsal is not wanted here."""


def demo(folder: Path) -> BaseException | None:
    return CliRunner().invoke(app, ["demo", "--quick", "--keep", "--dir", str(folder)]).exception


@pytest.fixture(autouse=True)
def _no_rehearsal(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(folder: Path, **_: object) -> None:
        raise StoppedError(sorted(each.name for each in folder.iterdir()))

    monkeypatch.setattr(rehearsal, "rehearse", stop)


def test_what_a_demo_left_is_made_anew_and_other_files_stay(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    assert str(demo(tmp_path)) == str([MARK, "notes.txt"])
    (tmp_path / "ledger").mkdir()
    (tmp_path / "report.html").touch()
    assert str(demo(tmp_path)) == str([MARK, "notes.txt"])


@pytest.mark.parametrize("name", ["quartermaster.yaml", "ledger", "report.html"])
def test_what_somebody_else_made_is_refused_and_stays(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    assert "no demo made it" in str(demo(tmp_path))
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_a_second_demo_leaves_the_first_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[BaseException | None] = []

    def first(folder: Path, **_: object) -> None:
        (folder / "ledger").mkdir()
        monkeypatch.setattr(rehearsal, "rehearse", _never)
        met.append(demo(folder))
        assert (folder / "ledger").is_dir()
        raise StoppedError

    monkeypatch.setattr(rehearsal, "rehearse", first)
    assert isinstance(demo(tmp_path), StoppedError)
    assert isinstance(met[0], InputError)
    assert "another demo is at work" in met[0].what


def _never(*_: object, **__: object) -> None:
    raise AssertionError


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "cannot be written" in str(demo(tmp_path / "file" / "below"))

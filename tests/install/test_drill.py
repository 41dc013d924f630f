"""The drills of docs/operations.md, command by command: a backup comes back; a rollback leaves a newer ledger alone."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from quartermaster.errors import LedgerVersionError
from sql.catalog import Cursor
from sql.ledger import open_ledger
from tests.ledgers import new_ledger
from tests.money.books import Books
from tests.reports.conftest import fill


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a configuration, a ledger of nine weeks and the key of its pseudonyms."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "quartermaster.yaml").write_text("business: {time_zone: UTC}\nclusters: [{name: demo}]\n")
    with new_ledger(folder / "ledger") as ledger:
        fill(Books(ledger))
    return folder


def say(folder: Path, *arguments: str) -> str:
    done = CliRunner().invoke(app, ["--config", str(folder / "quartermaster.yaml"), *arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def figures(folder: Path) -> object:
    """What a month's bill says, but for when it was made."""
    told = json.loads(say(folder, "report", "--month", "2026-11", "--json"))
    return {key: value for key, value in told.items() if key != "generated_at"}


@pytest.mark.patient
def test_a_backup_comes_back_elsewhere_with_the_same_bill(site: Path, tmp_path: Path) -> None:
    say(site, "ledger", "backup", str(tmp_path / "backup"))
    assert "is whole" in say(site, "ledger", "restore", str(tmp_path / "backup"), "--verify")
    drill = tmp_path / "drill"
    drill.mkdir()
    shutil.copy(site / "quartermaster.yaml", drill)
    assert "again" in say(drill, "ledger", "restore", str(tmp_path / "backup"))
    assert figures(drill) == figures(site)


@pytest.mark.patient
def test_an_older_program_leaves_a_newer_ledger_alone_and_the_backup_is_the_way_back(
    site: Path, tmp_path: Path
) -> None:
    place = tmp_path / "upgraded"
    place.mkdir()
    shutil.copy(site / "quartermaster.yaml", place)
    shutil.copytree(site / "ledger", place / "ledger")
    backup = tmp_path / "before-upgrade"
    say(place, "ledger", "backup", str(backup))
    before = figures(place)

    def newer(cursor: Cursor) -> None:
        cursor.execute("update alembic_version set version_num = '9999'")

    with open_ledger(place / "ledger") as ledger:  # what a newer version's upgrade leaves
        ledger.write("newer", newer)
    for command in (("rollup",), ("ledger", "upgrade"), ("report",)):
        with pytest.raises(LedgerVersionError, match="9999"):
            say(place, *command)
    shutil.rmtree(place / "ledger")
    say(place, "ledger", "restore", str(backup))
    say(place, "ledger", "upgrade")
    assert figures(place) == before

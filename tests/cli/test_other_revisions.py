"""A ledger of another program's revision: every command says so, and what to do; none shows half of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sql.room
from cli import main
from quartermaster.errors import LedgerVersionError
from quartermaster.person import pseudonym
from sql import revision
from sql.ledger import open_ledger
from sql.upgrade import upgrade

COMMANDS = [
    ["sql", "select 1"],
    ["sql", "--name", "gaps-by-reason"],
    ["why", "somebody"],
    ["why", "somebody", "--sources"],
    ["report"],
    ["status"],
    ["findings"],
    ["findings", "--at", "2026-11-24T12:00:00Z"],
    ["rollup"],
    ["dashboard", "--no-browser", "--port", "18599"],
    ["person", "export", pseudonym(7)],
    ["ledger", "check"],
    ["won-back"],
    ["actions"],
    ["audit", "verify"],
    ["audit", "show"],
    ["bookings"],
    ["book", "a", "1", "--pool", "p", "--to", "fri"],
    ["offer", "a", "1", "--pool", "p", "--to", "fri"],
    ["keep", "4h", "Job/a/b"],
    ["approve", "3f8a07c2"],
    ["freeze", "--cluster", "c"],
    ["thaw", "--cluster", "c"],
    ["plan", "show"],
    ["enforce", "regret"],
    ["restore", "Job/a/b"],
    ["down", "--restore-all", "--yes"],
]
KUBE = """\
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: u, user: {}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
"""


def at_revision(folder: Path, number: str | None) -> Path:
    """A configuration and its ledger at a revision; None: without any table."""
    with open_ledger(folder / "ledger") as ledger:
        if number is not None:
            upgrade(ledger)
            ledger.write(
                "t/0/0",
                lambda cursor: (
                    cursor.execute("update lake.alembic_version set version_num = ?", [number]) and None
                ),
            )
    (folder / "quartermaster.yaml").write_text(
        "clusters: [{name: c, kubernetes: {kubeconfig: kube}}]\nteams: [{name: a}]\n", encoding="utf-8"
    )
    (folder / "kube").write_text(KUBE, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return at_revision(tmp_path_factory.mktemp("newer"), "9999")


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return at_revision(tmp_path_factory.mktemp("without"), None)


def refusal(
    folder: Path,
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> str:
    given = ["quartermaster", "--config", str(folder / "quartermaster.yaml"), *arguments]
    monkeypatch.setattr(sys, "argv", given)
    with pytest.raises(SystemExit) as ended:
        main.run()
    told = capsys.readouterr()
    assert ended.value.code == 4
    assert told.out == ""
    return told.err


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.patient
def test_a_newer_ledger(
    arguments: list[str], newer: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refusal(newer, arguments, monkeypatch, capsys)
    assert "is at revision 9999, unknown to this program" in told
    assert "try: install the version of Quartermaster that wrote it, or a newer one" in told


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.patient
def test_an_empty_ledger(
    arguments: list[str], without: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refusal(without, arguments, monkeypatch, capsys)
    assert "is empty" in told
    assert "try: run quartermaster ledger upgrade" in told


@pytest.mark.parametrize(
    "arguments", [["why", "x"], ["report"], ["status"], ["bookings"], ["freeze"]], ids=" ".join
)
@pytest.mark.patient
def test_an_older_ledger(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = at_revision(tmp_path, "0001")
    monkeypatch.setattr(revision, "known", lambda: ["0001", "0002"])
    told = refusal(folder, arguments, monkeypatch, capsys)
    assert "is at revision 0001, this program at 0002" in told
    assert "try: run quartermaster ledger upgrade (a backup first: ledger backup)" in told


@pytest.mark.patient
def test_an_older_ledger_through_the_door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The door's own process sees no monkeypatch: here its room is entered directly."""
    folder = at_revision(tmp_path, "0001")
    monkeypatch.setattr(revision, "known", lambda: ["0001", "0002"])
    with pytest.raises(LedgerVersionError, match="this program at 0002"):
        sql.room.open_room(str(folder / "ledger"), "sqlite")


@pytest.mark.patient
def test_a_ledger_with_the_views_of_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Same revision, other views: what a newer program reads is not there yet."""
    folder = at_revision(tmp_path, "0001")
    with open_ledger(folder / "ledger") as ledger:
        ledger.write("t/0/1", lambda cursor: cursor.execute("drop view lake.allocations") and None)
        ledger.write(
            "t/0/2", lambda cursor: cursor.execute("comment on table lake.alembic_version is 'x'") and None
        )
    told = refusal(folder, ["why", "somebody"], monkeypatch, capsys)
    assert "has the views of another version of this program" in told
    assert "try: run quartermaster ledger upgrade" in told
    monkeypatch.setattr(
        sys, "argv", ["q", "--config", str(folder / "quartermaster.yaml"), "ledger", "upgrade"]
    )
    with pytest.raises(SystemExit) as ended:
        main.run()
    assert not ended.value.code
    with open_ledger(folder / "ledger", read_only=True) as ledger:
        ledger.query("select * from allocations")


@pytest.mark.patient
def test_completion_and_help_need_no_ledger(newer: Path) -> None:
    for arguments in (["--help"], ["report", "--help"], ["version"], ["sql", "--list"]):
        told = subprocess.run(
            [sys.executable, "-m", "cli", *arguments], capture_output=True, cwd=newer, check=False,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        )  # fmt: skip
        assert told.returncode == 0, arguments

"""What was won back as people read it: in the week's report, and by its own command."""

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from analytics.reports.document import to_document
from analytics.reports.figures import Report
from analytics.reports.html import render
from analytics.reports.weekly import weekly
from analytics.wonback import METHOD
from cli.bill import text
from cli.main import app
from sql.ledger import Ledger
from tests.ledgers import new_ledger
from tests.money.books import Books
from tests.usage.small import gpu, m
from tests.wonback.test_wonback import OTHER, done, scene, told


def lived(ledger: Ledger, *, taken: bool = True) -> None:
    """A day of lab's two GPUs; its workload is stopped in minute 60, and vision has one of them for an hour."""
    books = Books(ledger)
    books.usage("2025-11-24T00:00:00Z", hours=24, gpus=2, team="lab", computing=1)
    books.rolled_until("2025-12-01T00:00:00Z")
    books.fill()
    small = scene()
    other = small.pod("t0", 61, 121, gpu(0), workload_id=OTHER)
    told(ledger, small, {other: "vision"})
    if taken:
        done(ledger, "stop", 60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("won")
    with new_ledger(path / "ledger") as ledger:
        lived(ledger)
    body = {
        "ledger": {"path": str(path / "ledger")},
        "clusters": [{"name": "c", "dcgm": {"targets": ["http://127.0.0.1:1/metrics"]}}],
    }
    (path / "q.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")
    return path


def report(folder: Path, team: str | None = None) -> Report:
    from sql.ledger import open_ledger

    with open_ledger(folder / "ledger") as ledger:
        return weekly(ledger, "2025-W48", team, now_ms=m(6000))


@pytest.mark.patient
def test_the_week_says_it_in_every_form(folder: Path):
    told = report(folder)
    sentence = "1 workload was stopped; others held their GPUs for 1.0 GPU-hours."
    assert sentence in text(told)
    assert " ".join(METHOD.split()) in " ".join(text(told).split())
    assert sentence in render(told)
    assert to_document(told)["won_back"] == {
        "stopped": 1,
        "started_again": 0,
        "given": {"pms": 168_000 * 3_600_000, "gpu_hours": 1.0},
        "method": METHOD,
    }


def test_a_team_reads_of_its_own(folder: Path):
    of_lab = text(report(folder, "lab"))
    assert "Of team lab 1 workload was stopped; the team was given 0 GPU-hours" in " ".join(of_lab.split())


@pytest.mark.patient
def test_where_nothing_was_taken_nothing_is_said(tmp_path: Path):
    with new_ledger(tmp_path / "ledger") as ledger:
        lived(ledger, taken=False)
    told = report(tmp_path)
    assert told.won_back is None
    assert to_document(told)["won_back"] is None
    assert "Won back" not in text(told) + render(told)


@pytest.mark.patient
def test_the_command_says_to_whom_and_how_it_is_counted(folder: Path):
    arguments = ["--config", str(folder / "q.yaml"), "won-back", "--since", "2025-11-24T12:00Z"]
    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert (said["gpu_hours"], said["method"]) == ("1.00", METHOD)
    assert said["teams"] == [{"team": "vision", "gpu_hours": "1.00"}]
    assert [(each["workload"], each["started_again"]) for each in said["workloads"]] == [
        ("Job/lab/sleeper", None)
    ]
    shown = " ".join(CliRunner().invoke(app, arguments).stdout.split())
    assert "Job/lab/sleeper" in shown
    assert "Won back since 2025-11-24T12:00Z: 1.00 GPU-hours. Of each workload" in shown


def test_the_command_says_that_nothing_was_taken(folder: Path):
    arguments = ["--config", str(folder / "q.yaml"), "won-back"]
    assert "Nothing was taken since" in CliRunner().invoke(app, arguments).stdout


@pytest.mark.parametrize("command", ["won-back", "actions"])
@pytest.mark.parametrize("wanted", [[], ["--cluster", "c"]], ids=["all", "that one"])
@pytest.mark.patient
def test_what_was_done_to_a_cluster_that_the_configuration_has_no_more_is_told(
    folder: Path, command: str, wanted: list[str]
):
    file = folder / "without.yaml"
    text = (folder / "q.yaml").read_text(encoding="utf-8").replace("name: c\n", "name: later\n")
    assert "name: later" in text
    file.write_text(text, encoding="utf-8")
    arguments = ["--config", str(file), command, "--since", "2025-11-24T00:00Z", "--json", *wanted]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    told = said["workloads"] if command == "won-back" else said
    assert [(each["cluster"], each["workload"]) for each in told] == [("c", "Job/lab/sleeper")]

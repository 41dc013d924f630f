"""`quartermaster report`: from a configuration and a ledger on disk to the bill in each form."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from analytics.money.charges import charge
from cli.main import app
from quartermaster.errors import InputError
from tests.ledgers import new_ledger
from tests.money.books import Books

YAML = """
ledger: {path: ledger}
business: {time_zone: Europe/Berlin}
clusters: [{name: demo, dcgm: {targets: ["http://127.0.0.1:9400/metrics"]}}]
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a configuration and a ledger of one complete week and the day after it."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "quartermaster.yaml").write_text(YAML)
    with new_ledger(folder / "ledger") as ledger:
        books = Books(ledger)
        books.card()
        books.rate("2")
        books.usage("2026-11-23T00:00:00Z", hours=4, team="vision", computing=0.5)
        books.usage("2026-11-30T00:00:00Z", hours=4, team="speech")
        books.rolled_until("2026-11-30T04:00:00Z")
        charge(books.fill(), 0, "Europe/Berlin")
    return folder


def run(site: Path, *arguments: str) -> Result:
    """The command's result; its errors are raised."""
    result = CliRunner().invoke(app, ["--config", str(site / "quartermaster.yaml"), "report", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.mark.patient
def test_without_a_week_it_is_the_last_complete_one(site: Path) -> None:
    told = run(site).stdout
    assert "Week 2026-W48 · 23–29 November 2026 · Europe/Berlin · complete" in told
    assert "8.00" in told
    assert "vision" in told


@pytest.mark.patient
def test_the_current_week_is_provisional(site: Path) -> None:
    told = run(site, "--week", "2026-W49").stdout
    assert "Week 2026-W49 · 30 November – 6 December 2026 · Europe/Berlin · provisional" in told
    assert "Provisional: the week is not complete (known until 2026-11-30 04:00 UTC)." in told


@pytest.mark.patient
def test_json(site: Path) -> None:
    for arguments in (("--json",), ("--format", "json")):
        document = json.loads(run(site, *arguments).stdout)
        assert (document["week"], document["pool_cost"]) == ("2026-W48", "8.000000")


@pytest.mark.patient
def test_csv(site: Path) -> None:
    assert run(site, "--format", "csv", "--team", "vision").stdout.startswith("section,span,")


@pytest.mark.parametrize(
    ("form", "begins"), [("table", "Week 2026-W48"), ("csv", "section,"), ("html", "<!")]
)
@pytest.mark.patient
def test_into_a_file(site: Path, tmp_path: Path, form: str, begins: str) -> None:
    file = tmp_path / f"bill.{form}"
    result = run(site, "--format", form, "--output", str(file))
    assert result.stdout == ""
    assert str(file) in result.stderr
    assert file.read_text(encoding="utf-8").startswith(begins)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--week", "next"], "'next' is no ISO week"),
        (["--week", "2026-W20"], "there is no usage in 2026-W20"),
        (["--team", "visoin"], "there is no team visoin in 2026-W48"),
        (["--output", "/proc/nowhere/bill"], "/proc/nowhere/bill: it cannot be written"),
    ],
)
@pytest.mark.patient
def test_what_is_wrong_is_said_with_the_next_step(site: Path, arguments: list[str], told: str) -> None:
    with pytest.raises(InputError) as error:
        run(site, *arguments)
    assert told in error.value.what
    assert error.value.hint


def test_wrong_usage_is_exit_code_2(site: Path) -> None:
    assert run(site, "--format", "docx").exit_code == 2

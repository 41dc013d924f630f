"""`quartermaster period`, `invoice`, `dispute` and `budgets`, on a configuration and a ledger on disk."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from analytics.money.charges import charge
from cli.main import app
from quartermaster.errors import InputError
from sql.ledger import open_ledger
from tests.ledgers import new_ledger
from tests.money.books import Books

YAML = """
ledger: {path: ledger}
clusters: [{name: demo, dcgm: {targets: ["http://127.0.0.1:9400/metrics"]}}]
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a configuration, and a ledger with two days of October 2025."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "quartermaster.yaml").write_text(YAML)
    (folder / "invoice.csv").write_text("model,amount\nNVIDIA H100,62\n")
    with new_ledger(folder / "ledger") as ledger:
        books = Books(ledger)
        books.card(start="2025-01-01T00:00:00Z", author="anna")
        books.rate("2", start_at="2025-01-01T00:00:00Z")
        for day in ("2025-10-01", "2025-10-02"):
            books.usage(f"{day}T00:00:00Z", hours=4, team="vision")
        books.name("vision-job", "Job", "train")
        books.add(
            "budgets_versions", budget_id=1, team="vision", period="", start_at=0, revision=0, currency="EUR"
        )
        books.rows["budgets_versions"][0] |= {"amount": 5, "alerts": "[500]"}
        books.rolled_until("2025-11-01T00:00:00Z")
        charge(books.fill(), 0, "UTC")
    return folder


def run(site: Path, *arguments: str, code: int = 0) -> Result:
    """The command's result; its errors are raised."""
    result = CliRunner().invoke(app, ["--config", str(site / "quartermaster.yaml"), *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


@pytest.mark.patient
def test_a_periods_whole_life(site: Path) -> None:
    listed = json.loads(run(site, "period", "list", "--json").stdout)
    assert (listed[0]["period"], listed[0]["state"], listed[0]["number"]) == ("2025-10", "open", None)
    told = run(
        site,
        "invoice",
        "import",
        str(site / "invoice.csv"),
        "-p",
        "2025-10",
        "-n",
        "R-1",
        "--cluster",
        "demo",
    )
    assert "R-1: 62.00 EUR for 2025-10" in told.stdout
    assert "differ from the card by 46.00 EUR" in told.stdout
    assert "62.00" in run(site, "invoice", "list").stdout
    closed = run(site, "period", "close", "2025-10", "--as", "bert").stdout
    assert "2025-10 is closed with number 1" in closed
    assert (site / "books" / "2025-10" / "1" / "manifest.json").is_file()
    assert "as it was closed" in " ".join(run(site, "period", "verify").stdout.split())
    with open_ledger(site / "ledger", read_only=True) as ledger:
        line = ledger.query("select charge_id from charges where kind = 'base' order by business_day limit 1")
    charge_id = str(line.item())
    assert "4.000 GPU-hours × 2" in " ".join(run(site, "report", "explain", charge_id).stdout.split())
    raised = json.loads(run(site, "dispute", "raise", charge_id, "--reason", "in repair", "--json").stdout)
    decided = run(
        site, "dispute", "decide", str(raised["dispute_id"]), "--credit", "all", "--reason", "yes"
    ).stdout
    assert "granted: 8.000000 EUR" in " ".join(decided.split())
    assert "granted" in run(site, "dispute", "list").stdout
    assert "no team" not in run(site, "budgets", "--period", "2025-10").stdout
    budget = json.loads(run(site, "budgets", "--period", "2025-10", "--json").stdout)
    assert (budget[0]["team"], budget[0]["spent"], budget[0]["reached_permille"]) == ("vision", "4", [500])
    run(site, "period", "reopen", "2025-10", "--reason", "the invoice was wrong")
    run(site, "invoice", "withdraw", "R-1", "--period", "2025-10")
    assert "number 2" in run(site, "period", "close", "2025-10", "--as", "bert").stdout
    (site / "books" / "2025-10" / "2" / "sums.json").write_text("[]")
    assert "sums.json has been changed" in " ".join(run(site, "period", "verify", code=1).stdout.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("period", "close", "november"), "is no period"),
        (("period", "open", "2025-12"), "is not closing"),
        (("period", "reopen", "2025-12", "--reason", "x"), "is not closed"),
        (("period", "verify", "2025-12"), "is not closed"),
        (("report", "explain", "5"), "no line of cost 5"),
        (("invoice", "import", "nowhere.csv", "-p", "2025-12", "-n", "1", "--sku", "x"), "is no pair"),
        (("invoice", "import", "nowhere.csv", "-p", "2025-12", "-n", "1", "--share", "x"), "held or own"),
        (("invoice", "withdraw", "R", "-p", "2025-12"), "has no invoice R"),
        (("dispute", "raise", "5", "--reason", "x"), "no line of cost 5"),
        (("dispute", "decide", "5", "--credit", "x", "--reason", "x"), "'x' is no amount"),
        (("budgets", "--period", "x"), "is no period"),
    ],
)
@pytest.mark.patient
def test_what_is_wrong_is_said(site: Path, arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        run(site, *arguments)

"""`quartermaster prices`: from a configuration and a ledger on disk to what is read on a terminal, and set."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from analytics.money.charges import charge
from cli.main import app
from quartermaster.config.load import load_configuration
from quartermaster.config.problem import BrokenConfigurationError
from quartermaster.errors import InputError, QuartermasterError
from sql.declare import declare
from tests.ledgers import new_ledger
from tests.money.books import Books

YAML = """
ledger: {path: ledger}
clusters: [{name: demo, dcgm: {targets: ["http://127.0.0.1:9400/metrics"]}}]
teams: [{name: vision}]
tariffs: [{kwh: "0.20", pue: 1.3, grams_per_kwh: 400}]
rate_cards:
  - card: "2026"
    currency: USD
    author: "finance \\x1B[31m"
    prices: [{model: "*H100*", gpu_hour: "3.10", borrowed: "2.00"}, {gpu_hour: "1"}]
    discounts: [{team: "v*", off: 0.1}]
""".replace("\\x1B[31m", "[red]")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with a configuration and a ledger of one day, in dollars."""
    (tmp_path / "quartermaster.yaml").write_text(YAML)
    with new_ledger(tmp_path / "ledger") as ledger:
        declare(ledger, load_configuration(tmp_path / "quartermaster.yaml", {}), 0)
        books = Books(ledger, emptied=True)
        books.usage(
            "2026-11-23T00:00:00Z", hours=4, team="vision", energy_j=3_600_000, energy_known_pms=10**9
        )
        charge(books.fill(), 0, "UTC")
    return tmp_path


def run(site: Path, *arguments: str, given: str | None = None) -> Result:
    """The command's result; its errors are raised."""
    command = ["--config", str(site / "quartermaster.yaml"), "prices", *arguments]
    result = CliRunner().invoke(app, command, input=given)
    if isinstance(result.exception, QuartermasterError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.patient
def test_what_is_listed_and_shown(site: Path) -> None:
    listed = run(site, "list").stdout
    assert "2026" in listed
    assert "finance [red]" in listed
    (row,) = json.loads(run(site, "list", "--json").stdout)
    assert (row["prices"], row["source"], row["in_force"]) == (2, "configuration", True)
    shown = run(site, "show").stdout
    assert "model *H100*: 3.1 a GPU-hour, borrowed 2" in shown
    assert "discount of v*: 10 %" in shown
    assert json.loads(run(site, "show", "2026", "--json").stdout)["prices"][0]["borrowed"] == "2.000000000"
    with pytest.raises(InputError, match="there is no rate card '2027'"):
        run(site, "show", "2027")


@pytest.mark.patient
def test_a_card_is_set_from_an_instant_and_a_broken_one_refused_with_its_line(site: Path) -> None:
    sale = '{card: sale, prices: [{gpu_hour: "1.90"}]}'
    arguments = ("--from", "2026-12-01T00:00:00Z", "--author", "finance", "--json")
    done = json.loads(run(site, "set", "-", *arguments, given=sale).stdout)
    assert done == {"card": "sale", "version": 1, "from": "2026-12-01T00:00:00.000Z", "prices": 1}
    assert "1.9 a GPU-hour" in run(site, "show", "--at", "2026-12-01T00:00:00Z").stdout
    assert "3.1 a GPU-hour" in run(site, "show", "--at", "2026-11-30T23:59:59Z").stdout
    with pytest.raises(BrokenConfigurationError, match="has an error\n  stdin:1:34: error"):
        run(site, "set", "-", *arguments, given=sale.replace('"1.90"', "-1"))


@pytest.mark.patient
def test_what_teams_owe_in_another_currency_by_a_recorded_rate_alone(site: Path) -> None:
    """4 × 3.10 = 12.40, less 10 % = 11.16 USD × 0.9 = 10.044 EUR."""
    span = ("--from", "2026-11-01", "--to", "2026-12-01")
    with pytest.raises(InputError, match="no rate of USD in EUR is recorded for 2026-11-23"):
        run(site, "owed", "--in", "EUR", *span)
    assert "recorded" in run(site, "fx", "USD", "EUR", "0.9", *span, "--source", "ECB").stdout
    assert "already" in run(site, "fx", "USD", "EUR", "0.9", *span, "--source", "ECB").stdout
    (owed,) = json.loads(run(site, "owed", "--in", "EUR", *span, "--json").stdout)
    assert owed == {"team": "vision", "amount": "10.044000", "charged_in": ["USD"], "currency": "EUR"}
    assert "0.900000000" in run(site, "fx").stdout


@pytest.mark.patient
def test_energy_and_an_hours_own_intensity(site: Path) -> None:
    """1 kWh × PUE 1.3 × 0.20 = 0.26; × 400 g = 0.52 kg, and × 100 g once the hour has its own."""
    span = ("--from", "2026-11-23", "--to", "2026-11-24")
    (row,) = json.loads(run(site, "energy", *span, "--json").stdout)
    assert (row["team"], row["kwh"], row["cost"], row["kg_co2"]) == (
        "vision",
        "1.300000",
        "0.260000",
        "0.520000",
    )
    hours = site / "hours.csv"
    hours.write_text("start,grams_per_kwh\n2026-11-23T00:00:00Z,100\n")
    assert "1 hours of demo" in run(site, "carbon", str(hours), "--cluster", "demo").stdout
    assert "0.130000" in run(site, "energy", *span, "--by", "day").stdout


@pytest.mark.patient
def test_true_cost_shows_its_arithmetic(site: Path) -> None:
    figures = ("--gpus", "64", "--purchase", "2,400,000", "--years", "5", "--watts", "58000", "--kwh", "0.21")
    told = run(site, "true-cost", *figures, "--pue", "1.3", "--staff", "180000", "--used", "0.7").stdout
    assert "58,000 W × 8,760 h × PUE 1.3 = 660,504.00 kWh, × 0.21" in told
    assert "1.424632" in told
    with pytest.raises(InputError, match="--gpus 'many' is no number"):
        run(site, "true-cost", *("--gpus", "many"), *figures[2:])

"""`quartermaster export …`: from a configuration and a ledger on disk to finance's files."""

import csv
import json
import re
import sys
import urllib.request
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from quartermaster.errors import InputError, LedgerError
from tests.focus.lines import every_kind
from tests.ledgers import new_ledger
from tests.servers.process import Process

YAML = """
ledger: {path: ledger}
business: {time_zone: Europe/Berlin, accounts: {provider: Our GPUs, fleet: CC-0}}
clusters: [{name: demo, dcgm: {targets: ["http://127.0.0.1:9400/metrics"]}}]
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a configuration and a ledger of a month's lines."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "quartermaster.yaml").write_text(YAML)
    with new_ledger(folder / "ledger") as ledger:
        every_kind().write(ledger)
    return folder


def run(site: Path, *arguments: str) -> Result:
    """The command's result; its errors are raised."""
    result = CliRunner().invoke(app, ["--config", str(site / "quartermaster.yaml"), "export", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def november() -> Decimal:
    """What all pools cost in November."""
    return sum((row["amount"] for row in every_kind().rows if row["business_day"] > "2026-11"), Decimal(0))


@pytest.mark.patient
def test_focus_of_a_period_as_csv(site: Path, tmp_path: Path) -> None:
    file = tmp_path / "november.csv"
    told = run(site, "focus", "--period", "2026-11", "-o", str(file))
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert "".join(told.stdout.split()) == f"{file}:FOCUS1.2of2026-11(open),{len(rows)}rows"
    assert sum(Decimal(row["BilledCost"]) for row in rows) == november()
    assert {row["ProviderName"] for row in rows} == {"Our GPUs"}
    assert "CC-0" in {row["BillingAccountId"] for row in rows}


def test_focus_of_some_days_as_parquet_in_another_version(site: Path, tmp_path: Path) -> None:
    file = tmp_path / "days.parquet"
    days = ("--from", "2026-11-24", "--to", "2026-11-24", "--focus", "1.3", "--json")
    told = json.loads(run(site, "focus", *days, "-o", str(file)).stdout)
    frame = pl.read_parquet(file)
    assert told == {"file": str(file), "rows": len(frame), "what": "FOCUS 1.3 of 2026-11-24..2026-11-24"}
    assert set(frame["x_Kind"]) == {"correction"}
    assert "HostProviderName" in frame.columns


@pytest.mark.parametrize(
    ("days", "says"),
    [
        ((), "which days"),
        (("--period", "2026-11", "--from", "2026-11-01"), "which days"),
        (("--from", "2026-11-01"), "which days"),
        (("--period", "FY2026-P11"), "no period of this calendar"),
        (("--from", "yesterday", "--to", "2026-11-01"), "no day"),
    ],
)
@pytest.mark.patient
def test_days_that_are_not_said_or_make_no_sense_are_refused(
    site: Path, tmp_path: Path, days: tuple[str, ...], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        run(site, "focus", *days, "-o", str(tmp_path / "f.csv"))
    assert not list(tmp_path.iterdir())


def test_without_a_ledger_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "quartermaster.yaml").write_text(YAML)
    with pytest.raises(LedgerError, match="there is no ledger"):
        run(tmp_path, "focus", "--period", "2026-11", "-o", str(tmp_path / "f.csv"))


def test_a_journal_of_a_period(site: Path, tmp_path: Path) -> None:
    file = tmp_path / "journal.csv"
    told = json.loads(run(site, "general-ledger", "--period", "2026-11", "-o", str(file), "--json").stdout)
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert told == {"file": str(file), "rows": len(rows), "what": "journal of 2026-11 (open)"}
    (recovery,) = (row for row in rows if row["account"] == "gpu-recovery")
    assert (recovery["cost_centre"], recovery["credit"]) == ("CC-0", f"{november():.2f}")


def test_a_month_as_parquet(site: Path, tmp_path: Path) -> None:
    told = run(site, "parquet", "--month", "2026-11", "--to", str(tmp_path / "lake")).stdout
    assert "charges/month=2026-11/data.parquet" in told
    files = json.loads(run(site, "parquet", "-m", "2026-11", "--to", str(tmp_path / "lake"), "--json").stdout)
    assert pl.read_parquet(files[1]["file"])["amount"].sum() == november()
    with pytest.raises(InputError, match="no period"):
        run(site, "parquet", "--month", "november", "--to", str(tmp_path))


def test_metrics_are_written_for_the_textfile_collector(site: Path, tmp_path: Path) -> None:
    file = tmp_path / "quartermaster.prom"
    assert "".join(run(site, "metrics", "-o", str(file)).stdout.split()) == f"{file}:written"
    assert "quartermaster_ledger_up 1.0" in file.read_text()


@pytest.mark.patient
def test_metrics_are_served_until_it_is_told_to_stop(site: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cli", "--config", str(site / "quartermaster.yaml"), "serve", "metrics"]
    process = Process("metrics", [*command, "--listen", "127.0.0.1:0"], tmp_path)
    try:
        listening = re.compile(r"Listening on (http://127\.0\.0\.1:\d+/metrics)")
        process.wait_for(lambda: bool(listening.search(process.tail())), "a line with its address")
        found = listening.search(process.tail())
        assert found
        with urllib.request.urlopen(found[1], timeout=30) as response:
            assert b"quartermaster_ledger_up 1.0" in response.read()
    finally:
        process.stop()

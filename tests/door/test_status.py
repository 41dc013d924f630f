"""Status: a missing ledger, an empty one, and one with sources and a roll-up."""

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from cli.main import app
from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.errors import LedgerError
from sql.ledger import memory_ledger, open_ledger
from sql.status import status
from sql.upgrade import upgrade

NOW = 1_796_000_000_000


def test_a_ledger_with_sources_and_a_roll_up():
    mark = {"cluster": ["c", "c"], "source": ["dcgm"] * 2, "covers": ["telemetry"] * 2}
    gap = {
        "cluster": ["c"],
        "gap_id": [1],
        "start_at": [0],
        "end_at": [None],
        "source": ["dcgm"],
        "covers": ["telemetry"],
        "reason": ["refused"],
    }
    usage = {
        "cluster": ["c"],
        "row_start_at": [NOW - 2 * HOUR_MS],
        "capacity_pms": [604_800_000_000],
        "held_pms": [604_800_000_000],
        "unknown_pms": [60_480_000_000],
    }
    rolled = {"cluster": ["c"], "rolled_until_at": [NOW - HOUR_MS]}
    with memory_ledger() as ledger:
        empty = status(ledger, NOW)
        assert (empty.sources, empty.clusters, empty.samples, empty.last_sample_ms) == ((), (), 0, None)
        tables = {
            "watermarks": mark | {"complete_until_at": [NOW - HOUR_MS, NOW - MINUTE_MS]},
            "gaps_versions": gap,
        }
        tables |= {"usage_hourly": usage, "rollup_marks": rolled}
        ledger.append("x/1/1", {table: pl.DataFrame(rows) for table, rows in tables.items()})
        found = status(ledger, NOW)
    assert [(each.source, each.lag_ms, each.open_gaps) for each in found.sources] == [("dcgm", MINUTE_MS, 1)]
    assert [(each.lag_ms, each.held_gpu_h, each.coverage) for each in found.clusters] == [(HOUR_MS, 1.0, 0.9)]


def test_the_command_on_a_missing_and_an_empty_ledger(tmp_path: Path):
    (tmp_path / "quartermaster.yaml").write_text("clusters: [{name: c}]\n", encoding="utf-8")
    command = ["--config", str(tmp_path / "quartermaster.yaml"), "status"]
    missing = CliRunner().invoke(app, command)
    assert isinstance(missing.exception, LedgerError)
    assert "there is no ledger" in missing.exception.what
    assert not (tmp_path / "ledger").exists()
    with open_ledger(tmp_path / "ledger") as ledger:
        upgrade(ledger)
    empty = CliRunner().invoke(app, command, catch_exceptions=False)
    assert "start quartermaster collect" in empty.output.replace("\n", " ")
    told = json.loads(CliRunner().invoke(app, [*command, "--json"], catch_exceptions=False).output)
    assert told["samples"] == 0


@pytest.mark.parametrize(
    ("lag_ms", "expected"), [(None, ""), (90_000, "90 s"), (600_000, "10 min"), (2 * 86_400_000, "2 d")]
)
def test_lags_as_people_say_them(lag_ms: int | None, expected: str):
    from cli.status import _lag

    assert _lag(lag_ms) == expected

"""Status: a missing ledger, an empty one, and one with sources and a roll-up."""

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from cli.main import app
from quartermaster.clock import DAY_MS, HOUR_MS, MINUTE_MS
from quartermaster.errors import LedgerError
from sql.ledger import memory_ledger
from sql.status import status
from tests.ledgers import lay_ledger, new_ledger

NOW = 1_796_000_000_000


@pytest.mark.patient
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


@pytest.mark.patient
def test_the_command_on_a_missing_and_an_empty_ledger(tmp_path: Path):
    (tmp_path / "quartermaster.yaml").write_text("clusters: [{name: c}]\n", encoding="utf-8")
    command = ["--config", str(tmp_path / "quartermaster.yaml"), "status"]
    missing = CliRunner().invoke(app, command)
    assert isinstance(missing.exception, LedgerError)
    assert "there is no ledger" in missing.exception.what
    assert not (tmp_path / "ledger").exists()
    lay_ledger(tmp_path / "ledger")
    empty = CliRunner().invoke(app, command, catch_exceptions=False)
    assert "start quartermaster collect" in empty.output.replace("\n", " ")
    told = json.loads(CliRunner().invoke(app, [*command, "--json"], catch_exceptions=False).output)
    assert told["samples"] == 0


GPU_H = 604_800_000_000


def rows(**columns: Sequence[object]) -> pl.DataFrame:
    return pl.DataFrame(columns)


def told_sources() -> dict[str, pl.DataFrame]:
    """Two clusters: a, whose dcgm is heard and whose watch has been away for ten minutes; b, which is over for long."""
    day = [NOW - HOUR_MS] * 3
    return {
        "watermarks": rows(
            cluster=["a", "a", "a", "b"],
            source=["dcgm", "kubernetes", "labels", "dcgm"],
            covers=["telemetry", "holders", "holders", "telemetry"],
            complete_until_at=[NOW - MINUTE_MS, NOW - 2 * MINUTE_MS, NOW - DAY_MS, NOW - 9 * DAY_MS],
            recorded_at=[NOW - MINUTE_MS, NOW - 2 * MINUTE_MS, NOW - DAY_MS, NOW - 9 * DAY_MS],
        ),
        "gaps_versions": rows(
            cluster=["a", "a", "a"],
            gap_id=[1, 2, 3],
            start_at=[NOW - 10 * MINUTE_MS, NOW - HOUR_MS, NOW - 2 * HOUR_MS],
            end_at=[None, None, NOW - HOUR_MS],
            source=["kubernetes", "dcgm", "dcgm"],
            covers=["holders", "telemetry", "telemetry"],
            node=["", "n1", "n1"],
        ),
        "samples": rows(cluster=["a"], source=["dcgm"], series_id=[1], sampled_at=[NOW - 40_000]),
        "targets_versions": rows(
            cluster=["a"], target_id=[1], start_at=[0], end_at=[None], source=["dcgm"], interval_ms=[30_000]
        ),
        "rollup_marks": rows(cluster=["a"], rolled_until_at=[NOW]),
        "usage_hourly": rows(
            cluster=["a"] * 3,
            row_start_at=day,
            device_id=[1, 2, 3],
            capacity_pms=[GPU_H] * 3,
            held_pms=[GPU_H, GPU_H, 0],
            unknown_pms=[0, GPU_H // 2, 0],
            unobserved_pms=[0, 0, GPU_H * 3 // 10],
        ),
        "devices_versions": rows(
            cluster=["a"] * 3,
            device_id=[1, 2, 3],
            start_at=[0] * 3,
            end_at=[None] * 3,
            gpu_uuid=["G1", "G2", "G3"],
            gi_id=[""] * 3,
        ),
        "series_versions": rows(
            cluster=["a"] * 3,
            series_id=[1, 2, 3],
            start_at=[0] * 3,
            end_at=[None] * 3,
            source=["dcgm", "nvml", "dcgm"],
            gpu_uuid=["G1", "G2", "G3"],
            gi_id=[""] * 3,
        ),
        "authority_versions": rows(
            cluster=["a"] * 2,
            authority_id=[1, 2],
            start_at=[0] * 2,
            end_at=[None] * 2,
            source=["labels", "kubernetes"],
            rank=[90, 10],
            kind=["holders"] * 2,
        ),
    }


@pytest.mark.patient
def test_each_source_with_its_lag_and_coverage():
    asked = [("a", "dcgm", "telemetry"), ("a", "kubernetes", "holders"), ("a", "kubernetes", "quota")]
    with memory_ledger() as ledger:
        ledger.append("x/1/1", told_sources())
        found = {
            (each.cluster, each.source, each.covers): each for each in status(ledger, NOW, asked).sources
        }
    dcgm, watch = found["a", "dcgm", "telemetry"], found["a", "kubernetes", "holders"]
    assert (dcgm.heard_ms, dcgm.lag_ms, dcgm.open_gaps) == (NOW - 40_000, MINUTE_MS, 1)
    assert dcgm.coverage == 0.5  # of two devices held it knows one wholly; what nvml knows is not its own
    assert not dcgm.behind  # one exporter of many that is away is a gap, and no more
    assert (watch.heard_ms, watch.lag_ms) == (NOW - 10 * MINUTE_MS, 2 * MINUTE_MS)
    assert watch.watch_lag_ms == 8 * MINUTE_MS
    assert watch.coverage == 0.9  # observed ÷ capacity
    assert watch.behind
    assert found["a", "labels", "holders"].coverage is None  # nobody believes it
    never = found["a", "kubernetes", "quota"]
    assert never.behind
    assert never.heard_ms is None
    strangers = [each for each in found.values() if not each.asked]
    assert {each.cluster for each in strangers} == {"a", "b"}
    assert not any(each.behind for each in strangers)  # nobody waits for what the configuration does not have


@pytest.mark.patient
def test_a_clock_that_is_apart_is_told_and_taken_into_account():
    told = told_sources()
    ahead = 3 * 60_000  # the API server's clock; all that its source tells is on it
    told["watermarks"] = told["watermarks"][1:2].with_columns(complete_until_at=NOW + ahead - 3 * MINUTE_MS)
    del told["gaps_versions"]
    told["findings_versions"] = rows(
        cluster=["a"],
        finding_id=[1],
        start_at=[NOW - HOUR_MS],
        end_at=[NOW - 20 * MINUTE_MS],
        kind=["clocks apart"],
        evidence=[json.dumps({"ahead_ms": ahead})],
    )
    with memory_ledger() as ledger:
        ledger.append("x/1/1", told)
        (found,) = (each for each in status(ledger, NOW).sources if each.source == "kubernetes")
    assert (found.clock_ahead_ms, found.lag_ms) == (ahead, 3 * MINUTE_MS)
    assert found.watch_lag_ms == MINUTE_MS  # it told two minutes ago, all of a minute before that


@pytest.mark.parametrize(("late_ms", "code"), [(MINUTE_MS, 0), (6 * MINUTE_MS, 0), (7 * MINUTE_MS, 6)])
@pytest.mark.patient
def test_the_exit_code_tells_whether_a_source_is_behind(
    late_ms: int, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Behind is later than five minutes and two and a half intervals of 30 s."""
    monkeypatch.setattr("cli.status.now_ms", lambda: NOW)
    (tmp_path / "quartermaster.yaml").write_text(
        "clusters: [{name: a, dcgm: {targets: ['http://127.0.0.1:1/metrics']}}]\n", encoding="utf-8"
    )
    with new_ledger(tmp_path / "ledger") as ledger:
        told = told_sources()
        at = pl.lit(NOW - late_ms)
        heard = {
            "watermarks": told["watermarks"][:1].with_columns(complete_until_at=at),
            "samples": told["samples"].with_columns(sampled_at=at),
            "targets_versions": told["targets_versions"],
        }
        ledger.append("x/1/1", heard)
    command = ["--config", str(tmp_path / "quartermaster.yaml"), "status"]
    for arguments in (command, [*command, "--json"]):
        ended = CliRunner().invoke(app, arguments)
        assert ended.exit_code == code
    assert [each["behind"] for each in json.loads(ended.stdout)["sources"]] == [code == 6]
    shown = CliRunner().invoke(app, command).output
    assert ("Behind: dcgm of a (telemetry)" in shown.replace("\n", " ")) == (code == 6)


@pytest.mark.parametrize(
    ("lag_ms", "expected"), [(None, ""), (90_000, "90 s"), (600_000, "10 min"), (2 * 86_400_000, "2 d")]
)
def test_lags_as_people_say_them(lag_ms: int | None, expected: str):
    from cli.status import _lag

    assert _lag(lag_ms) == expected

"""The command: an estimate, a run, a kill in the middle and the next run, beside what is collected live."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from cli.main import app
from collector.dcgm.fetch import Fetched
from collector.prometheus.command import backfill_of
from collector.prometheus.coverage import Covered, holes
from collector.prometheus.estimate import Estimate
from collector.round import Round
from collector.targets import Target
from quartermaster.clock import HOUR_MS, MINUTE_MS, to_iso
from quartermaster.config.load import load_configuration
from quartermaster.config.model import Configuration
from quartermaster.errors import ConfigurationError, InputError, SourceError
from sql import checks
from sql.ledger import Ledger, open_ledger
from tests.backfill.history import Scraper, bare, simulated
from tests.servers.prometheus import PrometheusServer

START_MS = 1_795_046_400_000 // HOUR_MS * HOUR_MS
END_MS = START_MS + HOUR_MS
INTERVAL_MS = 30_000
SMALL_SLICES = (
    "from collector.prometheus import chunks; chunks.SLICE_SAMPLES = 2_000; "
    "from cli.__main__ import run; run()"
)
Start = Callable[..., PrometheusServer]
Configured = Callable[..., Configuration]
SAMPLES = (
    "select s.*, x.node from samples as s inner join series as x on s.series_id = x.series_id "
    "and s.sampled_at >= x.start_at and (x.end_at is null or s.sampled_at < x.end_at) order by all"
)
HELD = (
    "select a.pod, a.start_at, a.end_at, a.gpu_parts, h.device_id from allocations as a "
    "left join holdings as h on a.allocation_id = h.allocation_id order by all"
)


@cache
def scraped(nodes: int = 3) -> Scraper:
    """An hour of some nodes."""
    simulation, scraper = simulated(5, START_MS - 2 * HOUR_MS), Scraper()
    simulation.advance(START_MS - INTERVAL_MS)
    for at_ms in range(START_MS, END_MS, INTERVAL_MS):
        simulation.advance(at_ms)
        for node in tuple(simulation.nodes)[:nodes]:
            scraper.page(bare(node), simulation.page(node, at_ms), at_ms)
    return scraper


def command(file: Path, *more: str) -> list[str]:
    span = ["--cluster", "sim", "--from", to_iso(START_MS), "--to", to_iso(END_MS)]
    return ["--config", str(file), "backfill", *span, *more]


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command runs a day after the test's history."""
    monkeypatch.setattr("cli.backfill.now_ms", lambda: END_MS + 24 * HOUR_MS)


def test_an_estimate_makes_no_ledger_and_the_run_is_what_it_said(
    prometheus: Start, configured: Configured, tmp_path: Path, now: None
) -> None:
    del now
    server = prometheus()
    scraped().send(server.url)
    configured(server.url)
    file, run = tmp_path / "quartermaster.yaml", CliRunner()
    tried = run.invoke(app, command(file, "--dry-run", "--json"))
    assert tried.exit_code == 0, tried.output
    expected = json.loads(tried.output)["estimate"]
    assert not (tmp_path / "ledger").exists()
    assert expected["missing"] == [{"from": to_iso(START_MS), "to": to_iso(END_MS)}]
    done = run.invoke(app, command(file, "--json"))
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert abs(expected["samples"] - told["samples"]) < 0.1 * told["samples"]
    assert expected["series"] > 0
    assert told["rows"] > 0
    assert [each["source"] for each in told["told"]] == ["labels"]
    again = run.invoke(app, command(file))
    assert "has all of it already" in again.output
    assert "has all of it already" in run.invoke(app, command(file, "--dry-run")).output


def test_a_kill_in_the_middle_loses_nothing_and_doubles_nothing(
    prometheus: Start, configured: Configured, tmp_path: Path
) -> None:
    """Killed whenever some more slices are committed, and given again, until it is done."""
    server = prometheus()
    scraped().send(server.url)
    configured(server.url)
    file = tmp_path / "quartermaster.yaml"
    with open_ledger(tmp_path / "whole") as ledger:
        from sql.upgrade import upgrade

        upgrade(ledger)
        with backfill_of(load_configuration(file, {}), "sim") as work:
            work.run(ledger, (START_MS, END_MS), END_MS, lambda _at, _samples: None)
        whole = (ledger.query(SAMPLES), ledger.query(HELD))
    kills = 0
    while True:
        process = subprocess.Popen(
            [sys.executable, "-c", SMALL_SLICES, *command(file)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        if kills < 2:
            data = tmp_path / "ledger" / "data" / "main" / "samples"
            before = _files(data)
            end = time.monotonic() + 60
            while _files(data) < before + 2 and process.poll() is None and time.monotonic() < end:
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL if kills else signal.SIGINT)
            kills += 1
            process.communicate(timeout=60)
            assert process.returncode == (-signal.SIGKILL if kills == 2 else 130)
            continue
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert "next: quartermaster rollup" in out
        break
    with open_ledger(tmp_path / "ledger") as ledger:
        assert ledger.query(SAMPLES).equals(whole[0])
        assert ledger.query(HELD).equals(whole[1])
        assert checks.run(ledger) == []
        assert ledger.query("select count(*) as n from targets where source = 'prometheus'")["n"].item() == 1


def _files(folder: Path) -> int:
    return sum(1 for _ in folder.rglob("*.parquet")) if folder.exists() else 0


def test_what_is_collected_live_is_not_read_again(
    prometheus: Start, ledger: Ledger, configured: Configured
) -> None:
    """History ends where live telemetry begins: nothing is there twice, and holders go on across the seam."""
    import asyncio

    from collector.batch import Batch, commit, joined
    from collector.holders import read_labels

    server, middle_ms = prometheus(), START_MS + 30 * MINUTE_MS
    scraped(nodes=2).send(server.url)
    simulation = simulated(5, START_MS - 2 * HOUR_MS)
    nodes, pages = tuple(simulation.nodes)[:2], dict[str, bytes | None]()

    class Pages:
        async def fetch(self, target: Target) -> Fetched:
            return Fetched(pages[target.node] or b"", "text/plain")

    live = Round("sim", INTERVAL_MS, Pages())
    targets = [Target("sim", f"http://{node}:9400/metrics", node) for node in nodes]
    frames: dict[str, pl.DataFrame] = {}
    for at_ms in range(middle_ms, END_MS, INTERVAL_MS):
        simulation.advance(at_ms)
        pages |= {node: simulation.page(node, at_ms) for node in nodes}
        frames = joined(frames, asyncio.run(live.collect(targets, at_ms)).frames)
    commit(ledger, Batch("live/1/1", END_MS, frames))
    read_labels(ledger, "sim", (), END_MS)
    with backfill_of(configured(server.url), "sim") as work:
        done = work.run(ledger, (START_MS, END_MS), END_MS, lambda _at, _samples: None)
    assert done.filled.spans == [(START_MS, middle_ms)]
    sources = ledger.query(
        "select source, epoch_ms(min(sampled_at)), epoch_ms(max(sampled_at)) from samples group by all order by all"
    ).rows()
    assert sources == [
        ("dcgm", middle_ms, END_MS - INTERVAL_MS),
        ("prometheus", START_MS, middle_ms - INTERVAL_MS),
    ]
    held = ledger.query(
        "select device_id, epoch_ms(start_at) as start_ms, epoch_ms(end_at) as end_ms from holdings "
        "order by device_id, start_ms"
    )
    overlapping = held.filter(
        pl.col("device_id").shift(-1).eq(pl.col("device_id"))
        & (pl.col("end_ms").is_null() | (pl.col("end_ms") > pl.col("start_ms").shift(-1)))
    )
    assert overlapping.is_empty()
    nodes_told = ledger.query(
        "select node, epoch_ms(start_at), epoch_ms(end_at) from nodes order by node, start_at"
    ).rows()
    assert nodes_told == [
        row for node in sorted(nodes) for row in ((node, START_MS, middle_ms), (node, middle_ms, None))
    ]
    assert checks.run(ledger) == []
    authority = ledger.query("select epoch_ms(start_at), epoch_ms(end_at) from authority order by start_at")
    assert authority.rows() == [(START_MS, middle_ms), (middle_ms, None)]


@pytest.mark.patient
def test_the_roll_up_waits_for_history_only_until_live_data_pass_it(ledger: Ledger) -> None:
    from analytics.usage import roll_up
    from quartermaster.parts import GPU_PARTS
    from quartermaster.records import Authority, Device, Node, Watermark

    ledger.append(
        "t/1/1",
        {
            "nodes_versions": [Node("sim", "n1", START_MS, None, "p", "H100", 1)],
            "devices_versions": [Device("sim", 7, START_MS, None, "n1", 0, "GPU-1", "gpu", GPU_PARTS)],
            "authority_versions": [Authority("sim", 1, START_MS, None, "labels", 90)],
            "watermarks": [
                Watermark("sim", "prometheus", "telemetry", START_MS + HOUR_MS),
                Watermark("sim", "kube-state-metrics", "holders", START_MS + HOUR_MS),
            ],
        },
    )
    (rolled,) = roll_up(ledger, END_MS + 24 * HOUR_MS).clusters
    assert rolled.until_ms is None
    later = START_MS + 3 * HOUR_MS + 10 * MINUTE_MS
    ledger.append("t/1/2", {"watermarks": [Watermark("sim", "dcgm", "telemetry", later)]})
    (rolled,) = roll_up(ledger, END_MS + 24 * HOUR_MS).clusters
    assert rolled.slowest == "kube-state-metrics (holders)"
    ledger.append("t/1/3", {"watermarks": [Watermark("sim", "kubernetes", "holders", later)]})
    (rolled,) = roll_up(ledger, END_MS + 24 * HOUR_MS).clusters
    assert rolled.until_ms == START_MS + 3 * HOUR_MS


@pytest.mark.parametrize(
    ("more", "what"),
    [
        (("--from", "2026-11-40"), "--from 2026-11-40"),
        (("--from", "2w"), "--from 2w"),
        (("--from", "1h", "--to", "2h"), "is not before"),
        (("--cluster", "other"), "there is no cluster 'other'"),
    ],
)
def test_wrong_usage_is_said(
    configured: Configured, tmp_path: Path, more: tuple[str, ...], what: str
) -> None:
    configured("http://127.0.0.1:9")
    usual = ("--cluster", "sim", "--from", "30d")
    file = str(tmp_path / "quartermaster.yaml")
    ran = CliRunner().invoke(app, ["--config", file, "backfill", *usual, *more])
    assert isinstance(ran.exception, InputError)
    assert what in ran.exception.what


def test_what_was_only_partly_answered_is_not_called_read(capsys: pytest.CaptureFixture[str]) -> None:
    from cli.backfill import _say
    from collector.prometheus.backfill import Filled
    from collector.prometheus.command import Backfilled

    filled = Filled(partial=[(START_MS, END_MS, "a store is away")], questions=1)
    _say("sim", Backfilled(Estimate(((START_MS, END_MS),), (), 0, 0, 0.0), filled), 1.0)
    told = capsys.readouterr().out
    assert "read 2026" not in told
    assert "all of it already" not in told
    assert "a store is away" in told
    filled.read((START_MS, END_MS))
    filled.read((END_MS, END_MS + HOUR_MS))
    filled.read((END_MS + 2 * HOUR_MS, END_MS + 3 * HOUR_MS))
    assert filled.spans == [(START_MS, END_MS + HOUR_MS), (END_MS + 2 * HOUR_MS, END_MS + 3 * HOUR_MS)]


def test_what_is_not_kept_there_stays_a_hole(
    prometheus: Start, ledger: Ledger, configured: Configured
) -> None:
    """Before the first sample nothing is called read: another server may have it."""
    server = prometheus()
    scraped().send(server.url)
    settings = configured(server.url)
    with backfill_of(settings, "sim") as work:
        done = work.run(ledger, (START_MS - 48 * HOUR_MS, END_MS), END_MS, lambda _at, _samples: None)
    assert done.filled.rows > 0
    (read,) = ledger.query("select epoch_ms(start_at), epoch_ms(end_at) from targets").rows()
    assert START_MS - 12 * HOUR_MS <= read[0] <= START_MS
    assert read[1] == END_MS
    other = configured(server.url, more=", match: [{name: cluster, value: other}]")
    with backfill_of(other, "sim") as work, pytest.raises(SourceError, match="cluster='other'") as raised:
        work.run(ledger, (START_MS - 48 * HOUR_MS, END_MS), END_MS, lambda _at, _samples: None)
    assert "match" in raised.value.hint


def test_a_cluster_without_a_prometheus_is_told_what_to_add(configured: Configured, tmp_path: Path) -> None:
    configured("http://127.0.0.1:9")
    file = tmp_path / "quartermaster.yaml"
    file.write_text(file.read_text().replace('    prometheus: {url: "http://127.0.0.1:9"}\n', ""))
    ran = CliRunner().invoke(app, ["--config", str(file), "backfill", "--cluster", "sim", "--from", "30d"])
    assert isinstance(ran.exception, ConfigurationError)
    assert "prometheus: {url:" in ran.exception.hint


def test_holes_are_what_nothing_covers() -> None:
    known = [
        Covered("prometheus", 10, 20, 1, 0),
        Covered("prometheus", 20, 25, 2, 0),
        Covered("live", 40, None),
    ]
    assert holes(known, 0, 100) == [(0, 10), (25, 40)]
    assert holes(known, 12, 22) == []
    assert holes(known, 12, 30) == [(25, 30)]
    assert holes([], 0, 5) == [(0, 5)]
    assert holes([Covered("live", 0, None)], 0, 5) == []

"""A whole round of 1,250 targets over loopback HTTP, committed; then minutes of 1 s rounds."""

import asyncio
import gc
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.exporters import allow_many_connections, exporters
from bench.machine import Result
from collector.batch import Batch, commit
from collector.dcgm.fetch import Fetcher
from collector.round import Round
from collector.targets import Target
from quartermaster.clock import now_ms
from quartermaster.config.clusters import DcgmPart
from sql.ledger import Ledger, open_ledger
from sql.upgrade import upgrade

TARGETS, GPUS = 1_250, 8
ROUNDS = 8
CPU_S, COMMIT_P99_MS, RSS_MB = 0.35, 150, 600
# The first visits of so many targets are spread over 12.5 s.
WARM_UP_S = 16
# A full run is ten minutes: QUARTERMASTER_BENCH_SECONDS=600.
SECONDS = int(os.environ.get("QUARTERMASTER_BENCH_SECONDS", "60"))


def run() -> list[Result]:
    """The round's CPU, and what minutes of rounds look like."""
    allow_many_connections()
    with exporters(TARGETS) as urls:
        return [_one_round(urls), *_minutes(urls)]


def _one_round(urls: Sequence[str]) -> Result:
    with tempfile.TemporaryDirectory() as folder, open_ledger(Path(folder)) as ledger:
        upgrade(ledger)
        figures = asyncio.run(_rounds(ledger, [Target("bench", url) for url in urls]))
    cpu_s, wall_s = min(figures[2:])
    detail = f"{wall_s:.2f} s wall; the first round, when everything is new, {figures[0][0]:.2f} s CPU"
    return Result(
        f"a round of {TARGETS} targets × {GPUS} GPUs × 25 metrics, committed",
        f"≤ {CPU_S} s CPU",
        f"{cpu_s:.3f} s CPU",
        cpu_s <= CPU_S,
        detail,
    )


async def _rounds(ledger: Ledger, targets: list[Target]) -> list[tuple[float, float]]:
    """CPU and wall seconds of each round, from the first request to the commit."""
    figures: list[tuple[float, float]] = []
    async with Fetcher(DcgmPart()) as fetcher:
        made = Round("bench", 30_000, fetcher)
        for number in range(ROUNDS):
            cpu, wall = time.process_time(), time.perf_counter()
            outcome = await made.collect(targets, now_ms())
            commit(ledger, Batch(f"bench/1/{number}", now_ms(), outcome.frames))
            figures.append((time.process_time() - cpu, time.perf_counter() - wall))
            assert outcome.samples == TARGETS * GPUS, outcome.missed
            if number == 1:
                gc.collect()
                gc.freeze()
    gc.unfreeze()
    return figures


def _minutes(urls: Sequence[str]) -> list[Result]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "targets.json").write_text(json.dumps([{"targets": [url.split("/")[2] for url in urls]}]))
        (folder / "quartermaster.yaml").write_text(
            "clusters: [{name: bench, dcgm: {interval: 1s, timeout: 900ms, file_sd: [targets.json]}}]\n"
            'collector: {listen: "127.0.0.1:19499"}\n'
        )
        ran = _collect(folder)
    commits = [int(ms) for ms in re.findall(r" committed .* milliseconds=(\d+)", ran.log)]
    commits = sorted(commits[-int(ran.risen("committed_batches_total")) :])
    p99 = commits[int(len(commits) * 0.99)]
    missed = ran.risen("visits_skipped_total") + ran.risen("missed_visits_total")
    waiting, rounds = _total(ran.after, "waiting_batches"), ran.risen("rounds_total")
    rows = f"{ran.risen('samples_total'):.0f} rows in {rounds:.0f} rounds"
    what = f"{SECONDS} s of 1 s rounds, {TARGETS} targets, with compaction"
    return [
        Result(
            f"{what}: visits missed",
            "0",
            f"{missed:.0f}",
            missed == 0,
            rows,
        ),
        Result(
            f"{what}: commit p99",
            f"≤ {COMMIT_P99_MS} ms",
            f"{p99} ms",
            p99 <= COMMIT_P99_MS,
            f"p50 {commits[len(commits) // 2]} ms, max {commits[-1]} ms; "
            f"{ran.cpu_s / SECONDS:.2f} s CPU a second",
        ),
        Result(f"{what}: batches waiting at the end", "≤ 1", f"{waiting:.0f}", waiting <= 1),
        Result(f"{what}: RSS at its peak", f"≤ {RSS_MB} MB", f"{ran.rss_mb:.0f} MB", ran.rss_mb <= RSS_MB),
    ]


@dataclass(frozen=True)
class _Minutes:
    """A run's log, its metrics after the warm-up and at the end, its peak RSS, and its CPU seconds in
    between."""

    log: str
    before: str
    after: str
    rss_mb: float
    cpu_s: float

    def risen(self, name: str) -> float:
        return _total(self.after, name) - _total(self.before, name)


def _collect(folder: Path) -> _Minutes:
    """Run the command for the time."""
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "cli", "collect"], cwd=folder, env=_environment(), stderr=log
        )
        while "watching" not in (folder / "log").read_text() and process.poll() is None:
            time.sleep(0.1)
        time.sleep(WARM_UP_S)
        before, cpu_before = _metrics(), _cpu_s(process.pid)
        time.sleep(SECONDS)
        after, cpu_s = _metrics(), _cpu_s(process.pid) - cpu_before
        status = Path(f"/proc/{process.pid}/status").read_text()
        peak = re.search(r"VmHWM:\s+(\d+)", status)
        process.send_signal(signal.SIGTERM)
        process.wait()
    rss_mb = int(peak[1]) / 1024 if peak else 0.0
    return _Minutes((folder / "log").read_text(), before, after, rss_mb, cpu_s)


def _metrics() -> str:
    with urllib.request.urlopen("http://127.0.0.1:19499/metrics") as answer:
        return answer.read().decode()


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}


def _total(metrics: str, name: str) -> float:
    return sum(
        float(value)
        for value in re.findall(
            rf"^quartermaster_collector_{name}(?:{{[^}}]*}})? (\S+)$", metrics, re.MULTILINE
        )
    )

"""A whole round of 1,250 targets over loopback HTTP, committed; then minutes of 1 s rounds by the real command."""

import asyncio
import gc
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from bench.exporters import allow_many_connections, exporters
from bench.machine import Result
from collector.batch import Batch, commit
from collector.dcgm.fetch import Fetcher
from collector.round import Round
from collector.targets import Target
from quartermaster.clock import now_ms
from quartermaster.config.model import DcgmPart
from sql.ledger import Ledger, open_ledger
from sql.upgrade import upgrade

TARGETS, GPUS = 1_250, 8
ROUNDS = 8
CPU_S, COMMIT_P99_MS, RSS_MB = 0.35, 150, 600
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
        log, metrics, rss_mb, cpu_s = _collect(folder)
        with open_ledger(folder / "ledger", read_only=True) as ledger:
            rows = ledger.query("select count(*) as n from samples")["n"].item()
    commits = sorted(int(ms) for ms in re.findall(r" committed .* milliseconds=(\d+)", log))
    p99 = commits[int(len(commits) * 0.99)] if commits else 10**6
    skipped = _total(metrics, "visits_skipped_total") + _total(metrics, "missed_visits_total")
    waiting = _total(metrics, "waiting_batches")
    what = f"{SECONDS} s of 1 s rounds, {TARGETS} targets, with compaction"
    return [
        Result(
            f"{what}: visits missed",
            "0",
            f"{skipped:.0f}",
            skipped == 0,
            f"{rows} rows, {len(commits)} commits",
        ),
        Result(
            f"{what}: commit p99",
            f"≤ {COMMIT_P99_MS} ms",
            f"{p99} ms",
            p99 <= COMMIT_P99_MS,
            f"p50 {commits[len(commits) // 2]} ms, max {commits[-1]} ms; {cpu_s / SECONDS:.2f} s CPU a second",
        ),
        Result(f"{what}: batches waiting at the end", "≤ 1", f"{waiting:.0f}", waiting <= 1),
        Result(f"{what}: RSS at its peak", f"≤ {RSS_MB} MB", f"{rss_mb:.0f} MB", rss_mb <= RSS_MB),
    ]


def _collect(folder: Path) -> tuple[str, str, float, float]:
    """Run the command for the time; its log, its metrics near the end, its peak RSS in MB and its CPU seconds."""
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "cli", "collect"], cwd=folder, env=_environment(), stderr=log
        )
        while "watching" not in (folder / "log").read_text() and process.poll() is None:
            time.sleep(0.1)
        time.sleep(SECONDS)
        with urllib.request.urlopen("http://127.0.0.1:19499/metrics") as answer:
            metrics = answer.read().decode()
        status = Path(f"/proc/{process.pid}/status").read_text()
        peak = re.search(r"VmHWM:\s+(\d+)", status)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process.send_signal(signal.SIGTERM)
        process.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (folder / "log").read_text(), metrics, int(peak[1]) / 1024 if peak else 0.0, cpu_s


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}


def _total(metrics: str, name: str) -> float:
    return sum(
        float(value)
        for value in re.findall(
            rf"^quartermaster_collector_{name}(?:{{[^}}]*}})? (\S+)$", metrics, re.MULTILINE
        )
    )

"""Backfill: a Prometheus 3 with a noisy fleet's history, read into a ledger, beside a plain client in the same run.

QUARTERMASTER_BENCH_GPUS (1000) and QUARTERMASTER_BENCH_DAYS (0.5) set its size; 30 days are 432 million samples.
The server is filled by remote write once, and kept in ~/.cache/quartermaster/bench.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np

from bench import history
from bench.machine import Result
from quartermaster.clock import DAY_MS, HOUR_MS, to_iso

GPUS = int(os.environ.get("QUARTERMASTER_BENCH_GPUS", "1000"))
DAYS = float(os.environ.get("QUARTERMASTER_BENCH_DAYS", "0.5"))
FILE = """\
ledger: {{path: {folder}/ledger}}
clusters: [{{name: bench, prometheus: {{url: "{url}"}}}}]
pools: [{{name: training, models: ["*H100*"]}}]
"""


def run() -> list[Result]:
    """Speed, memory, and the plain client."""
    span = (history.START_MS, history.START_MS + int(DAYS * DAY_MS))
    with history.server(GPUS, DAYS) as (url, pid, filled_s), TemporaryDirectory() as folder:
        plain = _plain(url, span[0] + HOUR_MS)
        (Path(folder) / "quartermaster.yaml").write_text(
            FILE.format(folder=folder, url=url), encoding="utf-8"
        )
        before_s = history.cpu_s(pid)
        began = time.monotonic()
        told, client_s, rss_mib = _backfill(Path(folder), span)
        seconds = time.monotonic() - began
        server_s = history.cpu_s(pid) - before_s
    samples = int(told["samples"])
    size = f"{GPUS:,} GPUs × {DAYS:g} days × 30 s × {len(history.METRICS)} metrics"
    speed = samples / seconds
    return [
        Result(
            what=f"backfill, end to end ({size}, {samples / 1e6:.1f} M samples)",
            goal="2 M samples/s",
            figure=f"{speed / 1e6:.2f} M samples/s",
            reached=speed >= 2e6,
            detail=f"{seconds:.1f} s; CPU {client_s:.1f} s and the server's {server_s:.1f} s"
            + (f"; filled in {filled_s:.0f} s" if filled_s else ""),
        ),
        Result("backfill, memory", "1 GB", f"{rss_mib:,} MB", reached=rss_mib <= 1000),
        Result(
            what="backfill against prometheus-api-client (custom_query of the same ranges, to numpy)",
            goal="faster",
            figure=f"{speed / plain:.1f}×",
            reached=speed > plain,
            detail=f"the plain client reads {plain / 1e6:.2f} M samples/s, and only reads",
        ),
    ]


def _plain(url: str, at_ms: int) -> float:
    """Samples a second of prometheus-api-client alone: an hour of each metric, decoded and made columns."""
    from prometheus_api_client.prometheus_connect import PrometheusConnect

    client = cast(Any, PrometheusConnect)(url)
    read, began = 0, time.monotonic()
    for metric in history.METRICS:
        kind = "PROF" if metric.startswith("GR") else "DEV"
        found = client.custom_query(f"DCGM_FI_{kind}_{metric}[1h]", {"time": at_ms / 1000})
        for series in found:
            columns = np.array([(float(at), float(value)) for at, value in series["values"]])
            read += len(columns)
    client.close()
    return read / (time.monotonic() - began)


def _backfill(folder: Path, span: tuple[int, int]) -> tuple[dict[str, Any], float, int]:
    """The command in a process of its own: what it said, its CPU in seconds, its largest RSS in MiB."""
    command = [
        *(sys.executable, "-m", "cli", "--config", str(folder / "quartermaster.yaml"), "backfill"),
        *("--cluster", "bench", "--from", to_iso(span[0]), "--to", to_iso(span[1]), "--json"),
    ]
    output = folder / "told.json"
    with output.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(command, stdout=file)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"backfill ended with {process.returncode}")
    return (
        json.loads(output.read_text(encoding="utf-8")),
        used.ru_utime + used.ru_stime,
        used.ru_maxrss // 1024,
    )

"""A Prometheus with the history of a noisy fleet, filled by remote write once and kept for later runs."""

import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from bench import remotewrite
from bench.prometheus import free_port, wait_until_ready
from tests.servers.prometheus import prometheus_program

START_MS = 1_790_000_000_000 // 7_200_000 * 7_200_000
INTERVAL_MS = 30_000
METRICS = ("GR_ENGINE_ACTIVE", "GPU_UTIL", "POWER_USAGE", "TOTAL_ENERGY_CONSUMPTION", "FB_USED")
_AT_ONCE_MS = 3_600_000
_PODS_MS = 8 * 3_600_000  # so long a pod has its GPU


def folder(gpus: int, days: float) -> Path:
    """Where the data of such a fleet is kept."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "quartermaster" / "bench" / f"prometheus-{gpus}-{days:g}"


@contextmanager
def server(gpus: int, days: float) -> Generator[tuple[str, int, float]]:
    """A running Prometheus 3 with the data: its address, its process, and how long filling took (0: kept)."""
    place = folder(gpus, days)
    program = prometheus_program("3")
    if program is None:
        raise LookupError("there is no Prometheus 3.x (make servers)")
    filled_s = 0.0
    if not (place / "filled").exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        began = time.monotonic()
        with _running(program, place) as (url, _):
            for many in _requests(gpus, days):
                remotewrite.send(url, many)
        filled_s = time.monotonic() - began
        (place / "filled").write_text(json.dumps({"gpus": gpus, "days": days}), encoding="utf-8")
    with _running(program, place) as (url, pid):
        yield url, pid, filled_s


@contextmanager
def _running(program: Path, place: Path) -> Generator[tuple[str, int]]:
    (place / "prometheus.yml").write_text(
        "storage: {tsdb: {out_of_order_time_window: 1h}}\n", encoding="utf-8"
    )
    url = f"http://127.0.0.1:{(port := free_port())}"
    command = [
        *(program, f"--config.file={place / 'prometheus.yml'}", f"--storage.tsdb.path={place / 'data'}"),
        *(f"--web.listen-address=127.0.0.1:{port}", "--web.enable-remote-write-receiver"),
        *("--storage.tsdb.retention.time=10y", "--log.level=error"),
    ]
    with (place / "log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        wait_until_ready(url, seconds=300)
        yield url, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _requests(gpus: int, days: float) -> Iterator[list[bytes]]:
    """The fleet's series in order of time, an hour of a metric each."""
    random = np.random.default_rng(7)
    energy = random.uniform(1e11, 9e11, gpus)
    for from_ms in range(START_MS, START_MS + int(days * 86_400_000), _AT_ONCE_MS):
        at_ms = np.arange(from_ms, from_ms + _AT_ONCE_MS, INTERVAL_MS)
        active = np.clip(
            random.uniform(0, 1, (gpus, 1)) + random.normal(0, 0.02, (gpus, len(at_ms))), 0.0, 1.0
        )
        power = 70 + 600 * active + random.normal(0, 5, active.shape)
        spent = energy[:, np.newaxis] + np.cumsum(power * INTERVAL_MS, axis=1)
        energy = spent[:, -1]
        shown = (
            np.round(active, 6),
            np.ceil(active * 100),
            np.round(power, 3),
            np.floor(spent),
            np.floor(active * 70_000),
        )
        for metric, values in zip(METRICS, shown, strict=True):
            kind = "PROF" if metric.startswith("GR") else "DEV"
            name = f"DCGM_FI_{kind}_{metric}"
            yield [
                remotewrite.series(
                    _labels(name, gpu, from_ms), at_ms + gpu // 8 * 37 % INTERVAL_MS, values[gpu]
                )
                for gpu in range(gpus)
            ]


def _labels(name: str, gpu: int, at_ms: int) -> dict[str, str]:
    node = f"gpu-node-{gpu // 8:04d}"
    pod = (at_ms - START_MS + gpu % 7 * 3_600_000) // _PODS_MS
    return {
        "__name__": name,
        "gpu": str(gpu % 8),
        "UUID": f"GPU-{gpu:08x}-7d6e-4c1b-9a55-0242ac120002",
        "pci_bus_id": f"00000000:{gpu % 8:02X}:00.0",
        "device": f"nvidia{gpu % 8}",
        "modelName": "NVIDIA H100 80GB HBM3",
        "Hostname": node,
        "DCGM_FI_DRIVER_VERSION": "580.95.05",
        "container": "main",
        "namespace": f"team-{gpu % 5}",
        "pod": f"train-{gpu // 8}-{pod}",
        "instance": f"10.0.{gpu // 8 // 256}.{gpu // 8 % 256}:9400",
        "job": "dcgm-exporter",
    }


def cpu_s(pid: int) -> float:
    """The CPU that a process has used, in seconds."""
    used = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")


def answers(url: str, query: str, at_ms: int) -> int:
    """How many bytes the server answers to a query."""
    with urllib.request.urlopen(f"{url}/api/v1/query?query={query}&time={at_ms / 1000}") as answer:
        return len(answer.read())

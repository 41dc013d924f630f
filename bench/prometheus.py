"""Prometheus as the peer: the same numbers by remote write into a server of its own, and the bytes that it takes."""

import json
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from bench import remotewrite
from bench.noise import Numbers


def bytes_per_sample(
    rounds: Sequence[Mapping[str, Numbers]], times_ms: Sequence[int], folder: Path
) -> float | None:
    """The bytes that Prometheus takes for one sample of the rounds, index included; None where it is not installed."""
    program = shutil.which("prometheus")
    if program is None:
        return None
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "prometheus.yml").write_text("{}\n", encoding="utf-8")
    command = [
        *(program, f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'tsdb'}"),
        *(
            f"--web.listen-address=127.0.0.1:{port}",
            "--web.enable-remote-write-receiver",
            "--web.enable-admin-api",
        ),
        "--log.level=error",
    ]
    server = subprocess.Popen(command, cwd=folder)
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until_ready(url)
        for request in _requests(rounds, times_ms):
            remotewrite.send(url, request)
        name = json.loads(_post(f"{url}/api/v1/admin/tsdb/snapshot"))["data"]["name"]
        snapshot = folder / "tsdb" / "snapshots" / name
        size = sum(file.stat().st_size for file in snapshot.rglob("*") if file.is_file())
        blocks = [json.loads(meta.read_text(encoding="utf-8")) for meta in snapshot.glob("*/meta.json")]
        return size / sum(block["stats"]["numSamples"] for block in blocks)
    finally:
        server.terminate()
        server.wait()


def _requests(
    rounds: Sequence[Mapping[str, Numbers]], times_ms: Sequence[int], at_once: int = 60
) -> Iterator[list[bytes]]:
    """Remote-write requests in order of time, half an hour of all series of one metric each."""
    for first in range(0, len(rounds), at_once):
        part = rounds[first : first + at_once]
        times = np.array(times_ms[first : first + at_once], dtype=np.int64)
        for metric in part[0]:
            values = np.stack([shown[metric] for shown in part], axis=1)
            yield [
                remotewrite.series(_labels(metric, number), times, row) for number, row in enumerate(values)
            ]


def _labels(metric: str, number: int) -> dict[str, str]:
    """Labels as dcgm-exporter's."""
    return {
        "Hostname": f"node-{number // 8:04d}",
        "UUID": f"GPU-{number:08x}-0000-0000-0000-000000000000",
        "__name__": f"DCGM_FI_{metric.upper()}",
        "gpu": str(number % 8),
    }


def _post(url: str) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, b"", method="POST"), timeout=60) as answer:
        return answer.read()


def wait_until_ready(url: str, seconds: float = 30) -> None:
    """Wait until a Prometheus answers."""
    until = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=1):
                return
        except OSError:
            if time.monotonic() > until:
                raise
        time.sleep(0.05)


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

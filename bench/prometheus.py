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
import numpy.typing as npt

from bench.noise import Numbers

_SAMPLE = np.dtype([("head", "u1", 3), ("value", "<f8"), ("tag", "u1"), ("at", "u1", 6)])


def bytes_per_sample(
    rounds: Sequence[Mapping[str, Numbers]], times_ms: Sequence[int], folder: Path
) -> float | None:
    """The bytes that Prometheus takes for one sample of the rounds, index included; None where it is not installed."""
    program = shutil.which("prometheus")
    if program is None:
        return None
    port = _free_port()
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
        _wait_until_ready(url)
        for request in _requests(rounds, times_ms):
            _post(f"{url}/api/v1/write", request)
        name = json.loads(_post(f"{url}/api/v1/admin/tsdb/snapshot", b""))["data"]["name"]
        snapshot = folder / "tsdb" / "snapshots" / name
        size = sum(file.stat().st_size for file in snapshot.rglob("*") if file.is_file())
        blocks = [json.loads(meta.read_text(encoding="utf-8")) for meta in snapshot.glob("*/meta.json")]
        return size / sum(block["stats"]["numSamples"] for block in blocks)
    finally:
        server.terminate()
        server.wait()


def _requests(
    rounds: Sequence[Mapping[str, Numbers]], times_ms: Sequence[int], at_once: int = 60
) -> Iterator[bytes]:
    """Remote-write requests in order of time, half an hour of all series of one metric each."""
    for first in range(0, len(rounds), at_once):
        part = rounds[first : first + at_once]
        times = np.array(times_ms[first : first + at_once], dtype=np.uint64)
        for metric in part[0]:
            values = np.stack([shown[metric] for shown in part], axis=1)
            series = (_series(metric, number, times, row) for number, row in enumerate(values))
            yield _snappy(b"".join(_field(1, one) for one in series))


def _series(metric: str, number: int, times: npt.NDArray[np.uint64], values: Numbers) -> bytes:
    """A TimeSeries message: labels as dcgm-exporter's, and fixed-length samples packed at once."""
    names = {
        "Hostname": f"node-{number // 8:04d}",
        "UUID": f"GPU-{number:08x}-0000-0000-0000-000000000000",
        "__name__": f"DCGM_FI_{metric.upper()}",
        "gpu": str(number % 8),
    }
    labels = b"".join(
        _field(1, _field(1, key.encode()) + _field(2, text.encode())) for key, text in names.items()
    )
    packed = np.zeros(len(times), dtype=_SAMPLE)
    packed["head"] = (0x12, 16, 0x09)  # field 2 of 16 bytes: its field 1, a double; its field 2, a varint
    packed["value"] = values
    packed["tag"] = 0x10
    for byte in range(6):
        septet = (times >> np.uint64(7 * byte)) & np.uint64(0x7F)
        packed["at"][:, byte] = septet | np.uint64(0x80 if byte < 5 else 0)
    return labels + packed.tobytes()


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _snappy(data: bytes) -> bytes:
    """The data in snappy's format, as literals: nothing has to be small on a loopback."""
    out = [_varint(len(data))]
    for start in range(0, len(data), 65_536):
        piece = data[start : start + 65_536]
        out.append(bytes([61 << 2]) + (len(piece) - 1).to_bytes(2, "little") + piece)
    return b"".join(out)


def _post(url: str, body: bytes) -> bytes:
    headers = {"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf"} if body else {}
    with urllib.request.urlopen(
        urllib.request.Request(url, body, headers, method="POST"), timeout=60
    ) as answer:
        return answer.read()


def _wait_until_ready(url: str) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=1):
                return
        except OSError:
            if time.monotonic() > until:
                raise
        time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

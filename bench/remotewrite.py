"""Remote write by hand: series with labels and samples as the bytes that a Prometheus takes at /api/v1/write."""

import urllib.request
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

_SAMPLE = np.dtype([("head", "u1", 3), ("value", "<f8"), ("tag", "u1"), ("at", "u1", 6)])


def series(labels: Mapping[str, str], at_ms: npt.NDArray[np.int64], values: npt.NDArray[np.float64]) -> bytes:
    """A TimeSeries message: its labels (`__name__` among them), its samples packed at once."""
    written = b"".join(
        _field(1, _field(1, key.encode()) + _field(2, labels[key].encode())) for key in sorted(labels)
    )
    times = at_ms.astype(np.uint64)
    packed = np.zeros(len(times), dtype=_SAMPLE)
    packed["head"] = (0x12, 16, 0x09)  # field 2 of 16 bytes: its field 1, a double; its field 2, a varint
    packed["value"] = values
    packed["tag"] = 0x10
    for byte in range(6):
        septet = (times >> np.uint64(7 * byte)) & np.uint64(0x7F)
        packed["at"][:, byte] = septet | np.uint64(0x80 if byte < 5 else 0)
    return written + packed.tobytes()


def send(url: str, many: Iterable[bytes]) -> None:
    """Write the series to the server at `url` in one request."""
    body = _snappy(b"".join(_field(1, one) for one in many))
    headers = {"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf"}
    request = urllib.request.Request(f"{url}/api/v1/write", body, headers, method="POST")
    with urllib.request.urlopen(request, timeout=60) as answer:
        answer.read()


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

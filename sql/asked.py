"""Who asked what through the remote door: noted on the disk before the answer leaves, in the ledger soon after."""

import contextlib
import hashlib
import json
import os
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

import polars as pl

from quartermaster.clock import now_ms
from quartermaster.errors import LedgerError
from sql.ledger import Ledger
from sql.lock import file_lock

_SCHEMA = {"rows": pl.Int64, "took_ms": pl.Int64, "token_id": pl.Int64}


@dataclass(frozen=True)
class Asked:
    """A question and what came of it, as a row of `sql_asked`."""

    asked_at: int
    token_id: int
    token: str
    question: str
    query: str
    parameters: str
    form: str
    outcome: str  # answered | refused | stopped | failed
    rows: int
    took_ms: int
    words: str


class Journal:
    """The file of what is not in the ledger yet. `note` returns when the line is on the disk.

    One process has a file, by a lock; what an earlier one left is sent by the next. Threads may share it.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._sending = file.with_suffix(".sending")
        self._lock = threading.Lock()
        self._held = contextlib.ExitStack()
        self._held.enter_context(file_lock(file.with_suffix(".lock"), wait_s=0))
        self._stream: BinaryIO = file.open("ab")

    def note(self, asked: Asked) -> None:
        """Write the line and sync it. Raises LedgerError when the disk does not take it."""
        text = json.dumps(asdict(asked), ensure_ascii=False)
        line = text.encode("utf-8", "replace") + b"\n"
        with self._lock:
            try:
                self._stream.write(line)
                self._stream.flush()
                os.fdatasync(self._stream.fileno())
            except OSError as error:
                raise LedgerError(
                    f"{self._file} cannot be written: {error}",
                    "nothing is answered that is not noted: make room",
                ) from error

    def send(self, ledger: Ledger) -> int:
        """Move what is noted into the ledger, once: how many rows. Raises LedgerError; then it stays noted."""
        if not self._sending.exists():
            with self._lock:
                if self._file.stat().st_size == 0:
                    return 0
                self._stream.close()
                self._file.rename(self._sending)
                self._stream = self._file.open("ab")
        content = self._sending.read_bytes()
        rows = [json.loads(line) for line in content.splitlines() if line.endswith(b"}")]
        if rows:
            hashed = [row | {"query_hash": _hash(row["query"])} for row in rows]
            frame = pl.DataFrame(hashed, schema_overrides=_SCHEMA)
            key = f"asked/{hashlib.sha256(content).hexdigest()}"
            ledger.append(key, {"sql_asked": frame}, recorded_at=now_ms())
        self._sending.unlink()
        return len(rows)

    def close(self) -> None:
        """Close the file; what is in it is sent by the next process that opens it."""
        with self._lock:
            self._stream.close()
            self._held.close()


def _hash(query: str) -> str:
    return hashlib.sha256(query.encode("utf-8", "surrogatepass")).hexdigest()

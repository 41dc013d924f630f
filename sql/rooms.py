"""Rooms kept warm: each has opened the ledger, answers one question in a process of its own, and is then replaced."""

import collections
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quartermaster.errors import LedgerError
from sql.door import Limits, environment

_OLDEST_S = (
    300.0  # a room that waited longer is not asked any more: the ledger may have been exchanged under it
)
_CHUNK = 2**16


@dataclass
class _Waiting:
    """A room that waits for its question."""

    talk: socket.socket
    watched: int
    since_s: float

    def is_fit(self) -> bool:
        """Whether it lives, and has not waited for too long."""
        is_dead = bool(select.select([self.watched], [], [], 0)[0])
        return not is_dead and time.monotonic() - self.since_s < _OLDEST_S

    def end(self) -> None:
        """Kill it, if it lives."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.watched, signal.SIGKILL)
        os.close(self.watched)
        self.talk.close()


class Rooms:
    """A porter, and `warm` rooms that wait. Threads may share it; `close` ends them all."""

    def __init__(self, folder: Path, catalog: str, warm: int) -> None:
        self._place = {"folder": str(folder.absolute()), "catalog": catalog}
        self._warm = warm
        self._lock = threading.Lock()
        self._waiting: collections.deque[_Waiting] = collections.deque()
        self._door, self._porter = self._start()
        for _ in range(warm):
            self._prepare()

    def answer(self, request: dict[str, Any], limits: Limits) -> tuple[bytes, bool]:
        """What a room says to `sql.door.request`'s request, and whether it had to be killed for the time it took.

        Raises LedgerError when no room can be had.
        """
        room = self._take()
        try:
            return _ask(room, json.dumps(request).encode(), limits)
        finally:
            room.end()
            self._prepare()

    def close(self) -> None:
        """End the porter and every room."""
        with self._lock:
            while self._waiting:
                self._waiting.pop().end()
            self._stop()

    def _take(self) -> _Waiting:
        with self._lock:
            while self._waiting:
                room = self._waiting.popleft()
                if room.is_fit():
                    return room
                room.end()
            return self._new()

    def _prepare(self) -> None:
        with self._lock, contextlib.suppress(LedgerError):  # told by who asks next
            if len(self._waiting) < self._warm:
                self._waiting.append(self._new())

    def _new(self) -> _Waiting:
        """A room of the porter's; a porter that has died is replaced once."""
        for attempt in (1, 2):
            mine, theirs = socket.socketpair()
            try:
                with theirs:
                    socket.send_fds(self._door, [b"room"], [theirs.fileno()])
                told, numbers, _, _ = socket.recv_fds(self._door, 16, 1)
                if told:
                    return _Waiting(mine, numbers[0], time.monotonic())
            except OSError:
                pass
            mine.close()
            if attempt == 1:
                self._stop()
                self._door, self._porter = self._start()
        raise LedgerError("no process for the question could be started", "look at the machine's memory")

    def _start(self) -> tuple[socket.socket, "subprocess.Popen[bytes]"]:
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            porter = subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", "sql.porter", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env=environment() | {"OPENBLAS_NUM_THREADS": "1"},
            )
        mine.send(json.dumps(self._place).encode())
        return mine, porter

    def _stop(self) -> None:
        self._door.close()
        if self._porter.poll() is None:
            self._porter.kill()
        self._porter.wait()


def _ask(room: _Waiting, request: bytes, limits: Limits) -> tuple[bytes, bool]:
    give_up_at = time.monotonic() + limits.seconds
    most = (limits.answer_mib * 2 + 1) * 2**20
    parts: list[bytes] = []
    size = 0
    try:
        room.talk.settimeout(limits.seconds)
        room.talk.sendall(request)
        room.talk.shutdown(socket.SHUT_WR)
        while size < most:
            left_s = give_up_at - time.monotonic()
            if left_s <= 0 or not select.select([room.talk], [], [], left_s)[0]:
                return b"", True
            part = room.talk.recv(_CHUNK)
            if not part:
                break
            parts.append(part)
            size += len(part)
    except TimeoutError:
        return b"", True
    except OSError:
        return b"".join(parts), False
    return b"".join(parts), False

"""Locks of a ledger on one machine (flock: in order of arrival, free when the holder dies), and its sync."""

import contextlib
import ctypes
import errno
import fcntl
import os
import threading
import time
from collections.abc import Generator
from pathlib import Path

from quartermaster.errors import LedgerBusyError, LedgerError

WAIT_S = 60.0
_LIBC = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def file_lock(path: Path, *, wait_s: float = WAIT_S) -> Generator[None]:
    """Hold the lock file at `path` alone on this machine.

    Raises LedgerBusyError, which names the holder, when it is not free within `wait_s` seconds.
    """
    descriptor = _open(path)
    try:
        if not _take(descriptor):
            os.close(descriptor)
            descriptor = -1
            descriptor = _wait(path, wait_s)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)


@contextlib.contextmanager
def shared_lock(path: Path) -> Generator[None]:
    """Hold the lock file at `path` together with others who share it."""
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def momentary_lock(path: Path, *, wait_s: float) -> Generator[None]:
    """Hold the lock file at `path` alone, if nobody shares it at some moment within `wait_s` seconds.

    It does not queue, so nobody who shares it waits behind. Raises LedgerBusyError when there is no such moment.
    """
    descriptor = _open(path)
    try:
        until = time.monotonic() + wait_s
        while not _take(descriptor):
            if time.monotonic() > until:
                raise LedgerBusyError(f"{path} is shared by readers all the time", "try again later")
            time.sleep(0.002)
        yield
    finally:
        os.close(descriptor)


def holder(path: Path) -> int | None:
    """The process that holds the lock file at `path` now; None when it is free or was never used."""
    if not path.exists():
        return None
    descriptor = _open(path)
    try:
        return None if _take(descriptor) else int(os.pread(descriptor, 32, 0) or b"0")
    finally:
        os.close(descriptor)


def syncfs(folder: Path) -> None:
    """Put all that was written on the folder's file system onto the disk: DuckLake syncs no Parquet."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if _LIBC.syncfs(descriptor) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), str(folder))
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o660)
    except OSError as error:
        raise LedgerError(
            f"{path} cannot be opened: {error.strerror}",
            "who reads a ledger locks it too: see to the folder and its rights, or read a copy of it",
        ) from error


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in {errno.EWOULDBLOCK, errno.EINTR}:
            return False
        raise
    return True


class _Waiter:
    """Stands in the kernel's queue for the lock, so that one can give up: who gets it too late lets it go."""

    def __init__(self, path: Path) -> None:
        self.descriptor = _open(path)
        self._settled = threading.Lock()
        self._given_up = False
        self.taken = False
        self._thread = threading.Thread(target=self._queue, daemon=True)

    def wait(self, wait_s: float) -> None:
        """Wait for the lock."""
        self._thread.start()
        self._thread.join(wait_s)

    def _queue(self) -> None:
        fcntl.flock(self.descriptor, fcntl.LOCK_EX)
        with self._settled:
            self.taken = not self._given_up
        if not self.taken:
            os.close(self.descriptor)

    def give_up(self) -> bool:
        """Whether the lock came too late; False when it is held after all."""
        with self._settled:
            self._given_up = not self.taken
        return self._given_up


def _wait(path: Path, wait_s: float) -> int:
    if (
        wait_s <= 0
    ):  # who does not wait does not stand in the queue either: it would be handed the lock, for a moment
        raise _busy(path, wait_s)
    waiter = _Waiter(path)
    waiter.wait(wait_s)
    busy = _busy(path, wait_s)
    if waiter.give_up():
        raise busy
    return waiter.descriptor


def _busy(path: Path, wait_s: float) -> LedgerBusyError:
    who = path.read_text(encoding="ascii", errors="replace").strip() or "unknown"
    return LedgerBusyError(
        f"{path} has been held for {wait_s:g} s by process {who}",
        "wait for it to end, or look what it does: the lock is freed when it ends",
    )

"""The write lock of a ledger on one machine, and the sync of its data before a commit."""

import contextlib
import ctypes
import fcntl
import os
from collections.abc import Generator
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def write_lock(kind: str, folder: Path) -> Generator[None]:
    """Hold the inter-process write lock (first come, first served; freed by the kernel when its holder dies).

    A PostgreSQL catalog needs none: its appends do not conflict.
    """
    if kind == "postgres":
        yield
        return
    descriptor = os.open(folder / "write.lock", os.O_RDWR | os.O_CREAT, 0o660)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def syncfs(folder: Path) -> None:
    """Put everything written on the folder's file system onto the disk. DuckLake syncs no Parquet of its own."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if _LIBC.syncfs(descriptor) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), str(folder))
    finally:
        os.close(descriptor)

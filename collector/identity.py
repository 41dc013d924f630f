"""Who a collector is: one live process a spool, a name that lasts, an epoch that is new each start."""

import contextlib
import fcntl
import json
import os
import re
import secrets
import socket
from collections.abc import Generator
from pathlib import Path

from collector.spool import sync_folder
from quartermaster.errors import InputError
from sql.writer import Writer

_FILE, _LOCK = "identity.json", "lock"


@contextlib.contextmanager
def only_collector(folder: Path) -> Generator[Writer]:
    """Be the only collector that uses the spool's folder, as the writer with its name, in a new epoch.

    The kernel frees the lock when its holder dies. Raises InputError while another process has it, and where
    nothing can be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o660)
    except OSError as error:
        raise _unusable(folder, error) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip()
            raise InputError(
                f"another collector (process {holder or 'unknown'}) has the spool {folder}",
                "stop it first, or give this one a spool of its own: collector.spool.path",
            ) from error
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
            writer = _next(folder)
        except OSError as error:
            raise _unusable(folder, error) from error
        yield writer
    finally:
        os.close(descriptor)


def _unusable(folder: Path, error: OSError) -> InputError:
    return InputError(
        f"the spool {folder} cannot be written: {error.strerror}",
        "make room, or let the user write there; or name another folder: collector.spool.path",
    )


def _next(folder: Path) -> Writer:
    path = folder / _FILE
    name, epoch = _fresh_name(), 0
    if path.exists():
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
            name, epoch = str(known["writer"]), int(known["epoch"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path} is damaged: {error}",
                "delete it: the collector takes a new name, and nothing is doubled",
            ) from error
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8") as file:
        json.dump({"writer": name, "epoch": epoch + 1}, file)
        file.flush()
        os.fsync(file.fileno())
    part.rename(path)
    sync_folder(folder)
    return Writer(name, epoch + 1)


def _fresh_name() -> str:
    host = re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname())[:60] or "host"
    return f"collector-{host}-{secrets.token_hex(4)}"

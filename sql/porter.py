"""The porter: a process that has loaded all that a room needs, and forks one whenever it is asked.

`sql.rooms` starts it and holds the other end of its socket. It opens no database itself and has one thread, so that
its children begin as clean as a new process, in a hundredth of the time. A room opens the ledger, waits for one
request, answers it and ends. When the socket closes the porter ends, and its rooms with it.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import sys

from quartermaster.errors import QuartermasterError
from quartermaster.lean import without_pandas
from sql.catalog import extension_file
from sql.room import Room, open_room, told

_LONGEST = 2**20
_DIE_WITH_PARENT = 1  # prctl's PR_SET_PDEATHSIG


def main(number: int) -> None:
    """Serve on the socket with this file number. The first message names the ledger, each other one brings a room's."""
    without_pandas()
    importlib.import_module("pyarrow")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for rooms: they are watched by pidfd
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started this
    door = socket.socket(fileno=number)
    place = json.loads(door.recv(_LONGEST))
    _load(place["catalog"])
    gc.freeze()
    while True:
        message, numbers, _, _ = socket.recv_fds(door, 16, 1)
        if not message:
            return
        _begin(door, numbers[0], place)


def _load(catalog: str) -> None:
    """Bring DuckDB's extensions into memory, which all rooms then share."""
    names = {"sqlite": ["ducklake", "sqlite_scanner"], "postgres": ["ducklake", "postgres_scanner"]}
    for name in names.get(catalog.partition(":")[0], []):
        with contextlib.suppress(OSError, QuartermasterError):
            ctypes.CDLL(str(extension_file(name)))


def _begin(door: socket.socket, number: int, place: dict[str, str]) -> None:
    """Fork a room that answers on the file number, and tell its pidfd."""
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            door.close()
            ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
            if os.getppid() == parent:
                _serve(socket.socket(fileno=number), place)
        finally:
            os._exit(0)
    os.close(number)
    watched = os.pidfd_open(child)
    socket.send_fds(door, [b"room"], [watched])
    os.close(watched)


def _serve(asked: socket.socket, place: dict[str, str]) -> None:
    room: Room | None = None
    with contextlib.suppress(QuartermasterError):  # it is told when somebody asks
        room = open_room(place["folder"], place["catalog"], is_checked=True)  # by whoever serves
    with asked.makefile("rb") as stream:
        text = stream.read()
    if text:
        asked.sendall(told(json.loads(text), room))


if __name__ == "__main__":
    main(int(sys.argv[1]))

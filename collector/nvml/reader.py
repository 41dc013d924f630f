"""The reader: a process of its own that looks at this host, once for each line that it is sent, until they end.

Apart from the collector because it loads the driver's library: that one can hang, end the process, or be older than
a driver that was loaded anew. Then the collector ends the reader and begins another. A line is a JSON object:
`pids` are processes that the collector wants to know of beside those on the GPUs.
"""

import grp
import json
import os
import pwd
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from collector.nvml.jobs import jobs_on
from collector.nvml.library import Library, SessionError
from collector.nvml.look import Gpu, Look, Unusable, User, to_line
from collector.nvml.owner import owner_of
from collector.nvml.procfs import Proc

# A user's groups are looked up again after so long.
_USERS_KEPT_S = 600.0


class Reader:
    """Looks at the host whose /proc and control groups are below these roots."""

    def __init__(self, proc: Path, cgroup: Path) -> None:
        self._proc, self._cgroup = proc, cgroup
        self._library = Library()
        self._users: dict[int, tuple[float, User]] = {}

    def open(self) -> None:
        """Begin a session with the driver. Raises SessionError."""
        self._library.open()

    def look(self, also: Iterable[int]) -> Look:
        """All that is seen now. Raises SessionError, OSError."""
        at_ms = time.time_ns() // 1_000_000
        gpus = self._library.gpus()
        proc = Proc(self._proc, at_ms)
        found = {pid: proc.process(pid) for pid in sorted({*_pids(gpus), *also})}
        processes = {pid: process for pid, process in found.items() if process is not None}
        jobs = jobs_on(self._cgroup, proc)
        uids = {each.uid for each in (*processes.values(), *jobs)}
        uids |= {owner_of(process.cgroup, process.uid).uid for process in processes.values()}
        return Look(
            at_ms=at_ms,
            boot_id=proc.boot_id,
            booted_ms=proc.booted_ms,
            driver=self._library.driver(),
            gpus=gpus,
            processes=processes,
            jobs=jobs,
            users={uid: self._user(uid) for uid in sorted(uids)},
            others_unseen=proc.others_unseen(),
            hidden=proc.hidden(),
        )

    def _user(self, uid: int) -> User:
        known = self._users.get(uid)
        if known is not None and time.monotonic() - known[0] < _USERS_KEPT_S:
            return known[1]
        self._users[uid] = (time.monotonic(), _look_up(uid))
        return self._users[uid][1]


def _pids(gpus: Iterable[Gpu]) -> Iterable[int]:
    for gpu in gpus:
        for one in (gpu, *gpu.instances):
            yield from one.pids or ()


def _look_up(uid: int) -> User:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return User(uid, str(uid))
    names: list[str] = []
    for gid in os.getgrouplist(entry.pw_name, entry.pw_gid):
        try:
            names.append(grp.getgrgid(gid).gr_name)
        except KeyError:
            names.append(str(gid))
    return User(uid, entry.pw_name, tuple(sorted(names)))


def main(arguments: list[str]) -> None:
    """Answer every line of standard input with one: a look, or why there is none."""
    proc, cgroup = (Path(each) for each in arguments)
    # The driver's library may write where it likes: what it writes must not stand between our lines.
    with os.fdopen(os.dup(1), "wb", buffering=0) as answers:
        os.dup2(2, 1)
        _serve(Reader(proc, cgroup), sys.stdin.buffer, answers)


def _serve(reader: Reader, lines: BinaryIO, answers: BinaryIO) -> None:
    began = False
    for line in lines:
        try:
            if not began:
                reader.open()
                began = True
            answer: Look | Unusable = reader.look(json.loads(line)["pids"])
        except SessionError as error:
            answer = Unusable(error.reason, error.detail)
        except Exception as error:  # noqa: BLE001  what breaks the reader is told, and costs this look alone
            answer = Unusable("not understood", f"{type(error).__name__}: {error}")
        answers.write(to_line(answer))


if __name__ == "__main__":
    main(sys.argv[1:])

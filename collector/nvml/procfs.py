"""What /proc says: when the host was booted, and of a process its user, its start and its control group."""

import os
from pathlib import Path

from collector.nvml.look import Process

_HERTZ = os.sysconf("SC_CLK_TCK")
# The number of the first namespace of processes, in which the driver counts them (include/linux/proc_ns.h).
_FIRST_NAMESPACE = "pid:[4026531836]"
_DEAD = ("Z", "X")


class Proc:
    """One reading of /proc (or of a tree like it) at an instant, epoch ms by our clock."""

    def __init__(self, root: Path, at_ms: int) -> None:
        """Raises OSError where it is not there."""
        self._root = root
        self.boot_id = _text(root / "sys/kernel/random/boot_id").strip()
        self.booted_ms = at_ms - int(float(_text(root / "uptime").split()[0]) * 1000)

    def process(self, pid: int) -> Process | None:
        """The process, None where there is none (any more), or it may not be seen."""
        folder = self._root / str(pid)
        try:
            head, _, tail = _text(folder / "stat").rpartition(")")
            fields = tail.split()
            if fields[0] in _DEAD:
                return None
            ticks = int(fields[19])
            return Process(
                pid=pid,
                ticks=ticks,
                start_ms=self.booted_ms + ticks * 1000 // _HERTZ,
                uid=_uid(_text(folder / "status")),
                name=head.partition("(")[2],
                cgroup=_text(folder / "cgroup"),
            )
        except (OSError, ValueError, IndexError):
            return None

    def environment(self, pid: int, wanted: tuple[str, ...]) -> dict[str, str] | None:
        """Of the process' first environment the variables that are wanted; None where it may not be read."""
        try:
            content = (self._root / str(pid) / "environ").read_bytes()
        except OSError:
            return None
        pairs = (each.decode("utf-8", "replace").partition("=") for each in content.split(b"\0"))
        return {key: value for key, _, value in pairs if key in wanted}

    def others_unseen(self) -> bool:
        """Whether this process' numbers of processes are not the host's, which are those that the driver tells."""
        try:
            return str((self._root / "self/ns/pid").readlink()) != _FIRST_NAMESPACE
        except OSError:
            return False

    def hidden(self) -> bool:
        """Whether /proc is mounted so that other users' processes cannot be seen."""
        try:
            mounts = _text(self._root / "self/mounts").splitlines()
        except OSError:
            return False
        told = [line.split() for line in mounts]
        here = {"/proc", str(self._root)}
        options = [each[3] for each in told if len(each) > 3 and each[1] in here and each[2] == "proc"]
        return os.geteuid() != 0 and any(
            option in {"hidepid=2", "hidepid=4", "hidepid=invisible", "hidepid=ptraceable"}
            for each in options
            for option in each.split(",")
        )

    def device_major(self, name: str) -> int | None:
        """The number of a driver's character devices, by /proc/devices."""
        for line in _lines(self._root / "devices"):
            words = line.split()
            if len(words) == 2 and words[1] == name and words[0].isdigit():
                return int(words[0])
        return None

    def caps(self) -> dict[int, str]:
        """The MIG instance that each of /dev/nvidia-caps lets in: `gpu0/gi3` or `gpu0/gi3/ci0`, by minor number."""
        found: dict[int, str] = {}
        for line in _lines(self._root / "driver/nvidia-caps/mig-minors"):
            name, _, minor = line.partition(" ")
            if name.startswith("gpu") and name.endswith("/access") and minor.strip().isdigit():
                found[int(minor)] = name.removesuffix("/access")
        return found


def _uid(status: str) -> int:
    line = next(line for line in status.splitlines() if line.startswith("Uid:"))
    return int(line.split()[1])


def _lines(path: Path) -> list[str]:
    try:
        return _text(path).splitlines()
    except OSError:
        return []


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")

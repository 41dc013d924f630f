"""A pretended host: a script of GPUs for the stand-in library, and a tree of /proc and control groups."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

HERTZ = os.sysconf("SC_CLK_TCK")
H100 = "NVIDIA H100 80GB HBM3"
ACTIVITY = {"util": 50, "mem_util": 20, "gr": 40, "sm_util": 30, "tensor": 10, "dram": 20}
BOARD = {"power": 300_000, "energy": 1_000_000, "temp": 50, "mem_temp": 60, "sm": 1500, "mem_clock": 2600}
Values = Mapping[str, object]


@dataclass
class Script:
    """What the stand-in library answers; `write` puts it in force at once."""

    file: Path
    gpus: dict[int, dict[str, object]] = field(default_factory=dict)
    instances: list[tuple[int, dict[str, object]]] = field(default_factory=list)
    processes: dict[int, list[str]] = field(default_factory=dict)
    library: str = "570.86"
    kernel: str = "570.86"
    generation: int = 1
    lines: list[str] = field(default_factory=list)

    def gpu(self, index: int, **values: object) -> None:
        """A GPU, with all that an H100 tells; None leaves a value out."""
        told: dict[str, object] = {
            "uuid": f"GPU-{index}",
            "name": H100,
            "persistence": 1,
            "mig": 0,
            "used": 1024,
        }
        told |= {**ACTIVITY, **BOARD, **values}
        self.gpus[index] = {key: value for key, value in told.items() if value is not None}

    def instance(self, gpu: int, gi: int, profile: str, ci: int = 0, **values: object) -> None:
        """A MIG device of a GPU."""
        told = {"uuid": f"MIG-{gpu}-{gi}-{ci}", "gi": gi, "ci": ci, "profile": profile, **values}
        self.instances.append((gpu, told))

    def write(self) -> None:
        lines = [f"library {self.library}", f"kernel {self.kernel}", f"generation {self.generation}"]
        lines += [f"gpu {index} {_words(values)}" for index, values in self.gpus.items()]
        lines += [f"inst {gpu} {_words(values)}" for gpu, values in self.instances]
        lines += [f"proc {gpu} {who}" for gpu, theirs in self.processes.items() for who in theirs]
        part = self.file.with_suffix(".part")
        part.write_text("\n".join([*lines, *self.lines]) + "\n")
        part.rename(self.file)


def _words(values: Values) -> str:
    return " ".join(
        f"{key}={quote(value, safe=':-_.') if isinstance(value, str | bytes) else value}"
        for key, value in values.items()
    )


@dataclass
class Tree:
    """A tree like /proc, and one like /sys/fs/cgroup. Time in it is its own: `uptime_s` is now."""

    root: Path
    uptime_s: float = 100_000.0
    boot: str = "boot-1"

    @property
    def proc(self) -> Path:
        return self.root / "proc"

    @property
    def cgroup(self) -> Path:
        return self.root / "cgroup"

    def write(self) -> None:
        _put(self.proc / "uptime", f"{self.uptime_s:.2f} 1.00\n")
        _put(self.proc / "sys/kernel/random/boot_id", self.boot + "\n")
        self.cgroup.mkdir(parents=True, exist_ok=True)

    def process(
        self,
        pid: int,
        *,
        uid: int = 0,
        age_s: float = 0.0,
        cgroup: str = "0::/",
        name: str = "python3",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """A process that began so long ago."""
        ticks = int((self.uptime_s - age_s) * HERTZ)
        folder = self.proc / str(pid)
        _put(folder / "stat", f"{pid} ({name}) S 1 {pid} {pid} 0 -1 4194560 {'0 ' * 12}{ticks} 0 0\n")
        _put(folder / "status", f"Name:\t{name}\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n")
        _put(folder / "cgroup", cgroup + "\n")
        if environment is not None:
            _put(folder / "environ", "\0".join(f"{key}={value}" for key, value in environment.items()) + "\0")

    def end(self, pid: int) -> None:
        for path in (self.proc / str(pid)).iterdir():
            path.unlink()
        (self.proc / str(pid)).rmdir()

    def job(self, folder: str, *pids: int, devices: str | None = None) -> None:
        """A Slurm job's control group, with a step of these processes."""
        _put(self.cgroup / folder / "step_0" / "cgroup.procs", "".join(f"{pid}\n" for pid in pids))
        if devices is not None:
            _put(self.cgroup / folder / "devices.list", devices)


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="surrogateescape")

"""A look at one host through NVIDIA's binding and the stand-in library: CPU of the reader and of the collector.

Much of the reader's part is the stand-in, which reads its script anew at each call; a driver has its own cost.
"""

import asyncio
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.machine import Result
from collector.nvml.fetch import Fetcher, Places
from collector.nvml.look import Look
from collector.nvml.picture import Picture
from collector.nvml.settings import Settings
from tests.nvml.host import Script, Tree

GPUS, PROCESSES, JOBS, LOOKS = 8, 64, 50, 100
GOAL_MS = 50.0
_SOURCE = Path(__file__).parents[1] / "tests" / "nvml" / "standin" / "nvml.c"


def run() -> Iterator[Result]:
    """One host with all GPUs shared and many jobs."""
    what = f"a look at {GPUS} GPUs, {PROCESSES} processes, {JOBS} Slurm jobs"
    goal = f"≤ {GOAL_MS:.0f} ms of CPU"
    if shutil.which("gcc") is None:
        yield Result(what, goal, "not measured", reached=False, detail="gcc is not here")
        return
    with tempfile.TemporaryDirectory() as folder, _pretended(Path(folder)) as tree:
        reader_ms, own_ms, mib = asyncio.run(_look(tree))
    detail = (
        f"{reader_ms:.1f} ms in the reader ({mib:.0f} MiB), {own_ms:.1f} ms in the collector; no GPU here"
    )
    total_ms = reader_ms + own_ms
    yield Result(what, goal, f"{total_ms:.1f} ms", reached=total_ms <= GOAL_MS, detail=detail)


@contextmanager
def _pretended(folder: Path) -> Generator[Tree]:
    library = folder / "libnvidia-ml.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, _SOURCE], check=True)
    script, tree = Script(folder / "gpus.txt"), Tree(folder / "host")
    tree.write()
    for gpu in range(GPUS):
        script.gpu(gpu)
    for number in range(PROCESSES):
        group = f"0::/user.slice/user-{number}.slice/session-{number}.scope"
        tree.process(1000 + number, uid=number % 4, age_s=60, cgroup=group)
        script.processes.setdefault(number % GPUS, []).append(str(1000 + number))
    for number in range(JOBS):
        tree.process(5000 + number, uid=1, age_s=60, environment={"SLURM_JOB_GPUS": str(number % GPUS)})
        tree.job(f"system.slice/slurmstepd.scope/job_{number}", 5000 + number)
    script.write()
    before = dict(os.environ)
    os.environ.update({"LD_LIBRARY_PATH": str(folder), "NVML_STANDIN": str(script.file)})
    try:
        yield tree
    finally:
        os.environ.clear()
        os.environ.update(before)


async def _look(tree: Tree) -> tuple[float, float, float]:
    """CPU a look of the reader and of this process in ms, and the reader's memory in MiB."""
    fetcher = Fetcher(Places(tree.proc, tree.cgroup), timeout_ms=60_000)
    picture = Picture(Settings("bench", "host", person_key=b"sixteen bytes ok"))
    first = await fetcher.fetch()
    pid = fetcher.pid
    if not isinstance(first, Look) or pid is None:
        raise RuntimeError(f"no look: {first}")
    reader_s, own_s = _cpu_s(pid), time.process_time()
    for number in range(LOOKS):
        look = await fetcher.fetch(picture.pids())
        if not isinstance(look, Look):
            raise RuntimeError(f"no look: {look}")  # noqa: TRY004
        picture.see(look)
        picture.take(look.at_ms + number)
    reader_ms, own_ms = (_cpu_s(pid) - reader_s) * 1000 / LOOKS, (time.process_time() - own_s) * 1000 / LOOKS
    mib = _memory_mib(pid)
    await fetcher.close()
    return reader_ms, own_ms, mib


def _memory_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

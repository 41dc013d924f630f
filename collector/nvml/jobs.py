"""Slurm's jobs on this host, read from its control groups: which there are, and which GPUs each was given.

The environment of the job's processes tells, which Slurm sets and root (or the job's own user) may read. A device
control group of version 1 tells everybody, but only where all but the job's devices are refused: Slurm itself (22.05)
allows all and refuses the others' GPUs one by one, which the kernel does not show. Version 2 shows nothing.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from collector.nvml.look import Job, Process
from collector.nvml.procfs import Proc

# Where jobs' folders are below the control groups' root: version 2, version 1 with devices, version 1 without.
_PLACES = (
    "system.slice/*slurmstepd.scope/job_*",
    "devices/slurm*/uid_*/job_*",
    "devices/system.slice/*slurmstepd.scope/job_*",
    "freezer/slurm*/uid_*/job_*",
    "memory/slurm*/uid_*/job_*",
)
_NVIDIA_MAJOR, _LAST_GPU_MINOR = 195, 253
_JOB_GPUS, _STEP_GPUS, _VISIBLE = "SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "CUDA_VISIBLE_DEVICES"


def jobs_on(root: Path, proc: Proc) -> tuple[Job, ...]:
    """The jobs whose control groups are below the root, each once, in order of their numbers."""
    folders: dict[str, Path] = {}
    for place in _PLACES:
        for folder in sorted(root.glob(place)):
            number = folder.name.removeprefix("job_")
            if number.isdigit():
                folders.setdefault(number, folder)
    found = (_job(number, folder, proc) for number, folder in folders.items())
    return tuple(sorted((job for job in found if job is not None), key=lambda job: int(job.job)))


def _job(number: str, folder: Path, proc: Proc) -> Job | None:
    """The job; None when nothing of it runs any more."""
    there = [process for pid in _pids(folder) if (process := proc.process(pid)) is not None]
    if not there:
        return None
    there.sort(key=lambda process: (process.start_ms, process.pid))
    minors, caps = _devices(folder, proc)
    return Job(
        job=number,
        uid=_user(folder, there),
        start_ms=there[0].start_ms,
        minors=minors,
        caps=caps,
        told=_told(there, proc),
    )


def _pids(folder: Path) -> Iterator[int]:
    for path in sorted(folder.rglob("cgroup.procs")):
        try:
            yield from (int(word) for word in path.read_text(encoding="ascii").split())
        except (OSError, ValueError):
            continue


def _user(folder: Path, there: Iterable[Process]) -> int:
    """The job's user: by the folder's name, else the first process that is not root's (those are Slurm's own)."""
    above = folder.parent.name.removeprefix("uid_")
    if above.isdigit():
        return int(above)
    return next((process.uid for process in there if process.uid != 0), 0)


def _devices(folder: Path, proc: Proc) -> tuple[tuple[int, ...] | None, tuple[str, ...]]:
    """The GPUs' minor numbers and MIG instances that the device cgroup lets in; None where it lets in everything."""
    try:
        lines = (folder / "devices.list").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None, ()
    minors: set[int] = set()
    caps: set[str] = set()
    major, known = proc.device_major("nvidia-caps"), proc.caps()
    for line in lines:
        kind, _, rest = line.partition(" ")
        one, _, two = rest.partition(" ")[0].partition(":")
        if kind == "a" or (kind == "c" and one in {"*", str(_NVIDIA_MAJOR)} and two == "*"):
            return None, ()
        if kind != "c" or not one.isdigit() or not two.isdigit():
            continue
        if int(one) == _NVIDIA_MAJOR and int(two) <= _LAST_GPU_MINOR:
            minors.add(int(two))
        elif int(one) == major and int(two) in known:
            caps.add(known[int(two)])
    return tuple(sorted(minors)), tuple(sorted(caps))


def _told(there: Iterable[Process], proc: Proc) -> tuple[str, ...] | None:
    """What the environment says: of the job, else of its steps together; CUDA's own list only where it names UUIDs,
    for its numbers may be the job's own. None where no environment may be read."""
    found = [proc.environment(process.pid, (_JOB_GPUS, _STEP_GPUS, _VISIBLE)) for process in there]
    readable = [variables for variables in found if variables is not None]
    for name in (_JOB_GPUS, _STEP_GPUS, _VISIBLE):
        lists = [_listed(variables[name]) for variables in readable if variables.get(name)]
        if name == _VISIBLE:
            lists = [each for each in lists if all(one.startswith(("GPU-", "MIG-")) for one in each)]
        if lists:
            return tuple(dict.fromkeys(one for each in lists for one in each))
    return () if readable else None


def _listed(value: str) -> tuple[str, ...]:
    """`0,2`, `0-3` or UUIDs, one each."""
    found: list[str] = []
    for each in value.split(","):
        first, dash, last = each.strip().partition("-")
        if dash and first.isdigit() and last.isdigit() and int(first) <= int(last) < 1024:
            found += [str(number) for number in range(int(first), int(last) + 1)]
        elif each.strip():
            found.append(each.strip())
    return tuple(found)

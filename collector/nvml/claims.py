"""Who is on which device, from a look: by the processes there, and by what Slurm gave its jobs; pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from collector.nvml.fleet import gi_id
from collector.nvml.look import Gpu, Instance, Job, Look
from collector.nvml.owner import JOB, Owner, owner_of
from collector.nvml.settings import SLURM, Settings
from quartermaster.ids import device_id

PROCESS, GIVEN = "process", "slurm"
# /proc hides whose process it is: somebody holds the GPU, nobody knows who.
NOBODY_KNOWS = Owner("unknown", "", -1)
# NVIDIA's own server of MPS has a context on behalf of its clients, who are counted themselves.
_SERVERS = ("nvidia-cuda-mps",)
Mark = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Claim:
    """An owner on a device: since when at the earliest (epoch ms), by which processes (number and ticks), and what
    the first of them is called. Without processes Slurm alone tells of it."""

    start_ms: int
    marks: frozenset[Mark] = frozenset()
    name: str = ""
    evidence: str = PROCESS


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims by device, of every device whose holders are known; and jobs of which nobody can tell the GPUs."""

    on: Mapping[int, Mapping[Owner, Claim]] = field(default_factory=dict[int, Mapping[Owner, Claim]])
    untold_jobs: tuple[str, ...] = ()


def claims_of(look: Look, settings: Settings) -> Claims:
    """All claims of a look; none are known where the processes' numbers are not the host's."""
    if look.others_unseen:
        return Claims()
    job_users = {job.job: job.uid for job in look.jobs}
    on: dict[int, dict[Owner, Claim]] = {}
    for gpu, instance in _units(look.gpus):
        pids = (instance or gpu).pids
        if pids is not None:
            device = _device(settings, gpu, instance)
            on[device] = _by_processes(look, pids, job_users, only_jobs=settings.source == SLURM)
    for job in look.jobs:
        owner = Owner(JOB, job.job, job.uid)
        for device in _given(job, look.gpus, settings):
            if device in on:
                known = on[device].get(owner)
                start_ms = min(job.start_ms, known.start_ms) if known else job.start_ms
                marks = known.marks if known else frozenset[Mark]()
                on[device][owner] = Claim(start_ms, marks, job.job, GIVEN)
    untold = tuple(job.job for job in look.jobs if job.minors is None and job.told is None)
    return Claims(on, untold)


def _units(gpus: Iterable[Gpu]) -> Iterator[tuple[Gpu, Instance | None]]:
    """What can be held: whole GPUs and instances, of the GPUs that answer."""
    for gpu in gpus:
        if gpu.trouble or not gpu.uuid:
            continue
        if gpu.mig:
            yield from ((gpu, instance) for instance in gpu.instances)
        else:
            yield gpu, None


def _device(settings: Settings, gpu: Gpu, instance: Instance | None) -> int:
    return device_id(settings.cluster, gpu.uuid, gi_id(instance) if instance else "")


def _by_processes(
    look: Look, pids: Iterable[int], job_users: Mapping[str, int], *, only_jobs: bool
) -> dict[Owner, Claim]:
    found: dict[Owner, Claim] = {}
    for pid in pids:
        process = look.processes.get(pid)
        if process is None:
            if look.hidden and not only_jobs:
                found[NOBODY_KNOWS] = Claim(look.at_ms)
            continue
        if process.name in _SERVERS:
            continue
        owner = owner_of(process.cgroup, process.uid)
        if owner.kind == JOB:
            owner = Owner(JOB, owner.name, job_users.get(owner.name, owner.uid))
        elif only_jobs:
            continue
        known = found.get(owner)
        mark = frozenset({(pid, process.ticks)})
        if known is None:
            found[owner] = Claim(process.start_ms, mark, process.name)
        else:
            first = known.start_ms <= process.start_ms
            name = known.name if first else process.name
            found[owner] = Claim(min(known.start_ms, process.start_ms), known.marks | mark, name)
    return found


def _given(job: Job, gpus: Iterable[Gpu], settings: Settings) -> set[int]:
    """The devices that Slurm gave the job: by its device cgroup where that says, else by its environment."""
    return {
        _device(settings, gpu, instance)
        for gpu, instance in _units(gpus)
        if (_lets_in(job, gpu, instance) if job.minors is not None else _names(job.told or (), gpu, instance))
    }


def _lets_in(job: Job, gpu: Gpu, instance: Instance | None) -> bool:
    if instance is None:
        return gpu.minor in (job.minors or ())
    whole = f"gpu{gpu.minor}/gi{instance.gi}"
    # A cap of the GPU instance comes with that of each compute instance that may be used.
    parts = [cap for cap in job.caps if cap.startswith(f"{whole}/ci")]
    return f"{whole}/ci{instance.ci}" in parts if parts else whole in job.caps


def _names(told: Iterable[str], gpu: Gpu, instance: Instance | None) -> bool:
    # Slurm's numbers are those of the device files.
    number = gpu.index if gpu.minor is None else gpu.minor
    names = {instance.uuid} if instance else {gpu.uuid, str(number)}
    return any(each in names for each in told)

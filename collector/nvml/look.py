"""A look at one host: its GPUs, the processes on them, the jobs that hold them, all at one instant; as values.

The reader (a process of its own) makes it and sends it as one line of JSON; everything else is told from it.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from quartermaster.errors import SourceError

# Why a GPU answers nothing.
LOST, RESET = "GPU is lost", "GPU needs a reset"


@dataclass(frozen=True, slots=True)
class Instance:
    """A MIG device: one compute instance of a GPU instance.

    signals  by column of `samples`, in dcgm-exporter's units; what is not known is left out
    pids     the processes that compute on it; None where that may not be known
    """

    gi: int
    ci: int
    uuid: str
    profile: str
    signals: Mapping[str, float] = field(default_factory=dict[str, float])
    pids: tuple[int, ...] | None = ()


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU by its index; with a `trouble` it answered nothing but, perhaps, its UUID.

    `signals` and `pids` as an Instance has them; `xids` are those since the last look, oldest first.
    """

    index: int
    uuid: str = ""
    model: str = ""
    minor: int | None = None
    trouble: str = ""
    mig: bool = False
    persistent: bool | None = None
    signals: Mapping[str, float] = field(default_factory=dict[str, float])
    pids: tuple[int, ...] | None = ()
    xids: tuple[int, ...] = ()
    instances: tuple[Instance, ...] = ()


@dataclass(frozen=True, slots=True)
class Process:
    """A process that is there: `ticks` tell it from another with the same number, `cgroup` is /proc's text."""

    pid: int
    ticks: int
    start_ms: int
    uid: int
    name: str
    cgroup: str


@dataclass(frozen=True, slots=True)
class Job:
    """A Slurm job that runs here, and the GPUs that Slurm gave it.

    minors   of /dev/nvidia<minor>, by the device cgroup; None where that does not say
    caps     of /dev/nvidia-caps/nvidia-cap<minor>: MIG instances, as `gpu<minor>/gi<id>` (with `/ci<id>`)
    told     by its environment: indices or UUIDs; None where no environment of it may be read
    """

    job: str
    uid: int
    start_ms: int
    minors: tuple[int, ...] | None = None
    caps: tuple[str, ...] = ()
    told: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class User:
    """A Unix user by name, with the names of all its groups; the number stands for a name that is not known."""

    uid: int
    name: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen. `others_unseen`: the processes' numbers are another namespace's; `hidden`: /proc hides those
    of other users; then holders are not known, or not all."""

    at_ms: int
    boot_id: str
    booted_ms: int
    driver: str = ""
    gpus: tuple[Gpu, ...] = ()
    processes: Mapping[int, Process] = field(default_factory=dict[int, Process])
    jobs: tuple[Job, ...] = ()
    users: Mapping[int, User] = field(default_factory=dict[int, User])
    others_unseen: bool = False
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why nothing could be seen: a reason in few words, and what happened and what to do."""

    reason: str
    detail: str = ""


def to_line(answer: Look | Unusable) -> bytes:
    """The answer as a line of JSON."""
    kind = "look" if isinstance(answer, Look) else "unusable"
    return json.dumps({kind: asdict(answer)}).encode() + b"\n"


def from_line(line: bytes) -> Look | Unusable:
    """The answer that `to_line` wrote. Raises SourceError for anything else."""
    try:
        answer = cast(dict[str, dict[str, Any]], json.loads(line))
        if "unusable" in answer:
            return Unusable(**answer["unusable"])
        return _look(answer["look"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SourceError(
            f"this is no look at a host: {error}", "the reader and the collector differ"
        ) from error


def _look(told: dict[str, Any]) -> Look:
    told["gpus"] = tuple(_gpu(each) for each in told["gpus"])
    told["processes"] = {int(pid): Process(**each) for pid, each in told["processes"].items()}
    told["jobs"] = tuple(Job(**_with_tuples(each, "minors", "caps", "told")) for each in told["jobs"])
    told["users"] = {int(uid): User(**_with_tuples(each, "groups")) for uid, each in told["users"].items()}
    return Look(**told)


def _gpu(told: dict[str, Any]) -> Gpu:
    told["instances"] = [Instance(**_with_tuples(each, "pids")) for each in told["instances"]]
    return Gpu(**_with_tuples(told, "pids", "xids", "instances"))


def _with_tuples(told: dict[str, Any], *keys: str) -> dict[str, Any]:
    """JSON's lists as the tuples that they were; null stays none."""
    for key in keys:
        told[key] = None if told[key] is None else tuple(told[key])
    return told

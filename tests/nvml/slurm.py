"""A real Slurm of one node, of the system's packages: its own ports, its own munge, GPUs that are mere device files."""

import contextlib
import os
import secrets
import shutil
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.servers.process import Process, free_port

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "sinfo")
HOW = "apt-get install slurmctld slurmd slurm-client munge"
CGROUPS = Path("/sys/fs/cgroup")
GPUS = 3
_PATIENCE_S = 30


@dataclass(frozen=True)
class Slurm:
    """A running Slurm; `node` is what its control groups are called after."""

    folder: Path
    node: str
    processes: Sequence[Process]

    def call(self, *command: str) -> str:
        """What one of its commands prints."""
        environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}
        done = subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def submit(self, command: str, *, gpus: int, uid: int) -> str:
        """A job of a user, once it runs; its number."""
        what = (f"--gres=gpu:{gpus}", f"--uid={uid}", "-D", "/", "-o", "/dev/null")
        number = self.call("sbatch", "--parsable", *what, "--wrap", command)
        self.wait_for(
            lambda: self.call("squeue", "-h", "-j", number, "-o", "%T") == "RUNNING", f"job {number}"
        )
        return number

    def cancel(self, *numbers: str) -> None:
        """End these jobs, and wait until they are over."""
        self.call("scancel", *numbers)
        self.wait_for(lambda: not set(numbers) & set(self.jobs()), "the jobs' end")

    def jobs(self) -> list[str]:
        """The jobs that are not over."""
        return self.call("squeue", "-h", "-o", "%A").split()

    def wait_for(self, done: Callable[[], bool], what: str) -> None:
        """Wait until it is so."""
        end = time.monotonic() + _PATIENCE_S
        while not done():
            if time.monotonic() > end:
                raise AssertionError(f"{what}: not within {_PATIENCE_S} s\n{self.processes[-1].tail()}")
            time.sleep(0.1)

    def stop(self) -> None:
        """End it with all its jobs, and take away its control groups."""
        with contextlib.suppress(subprocess.CalledProcessError, AssertionError):
            if jobs := self.jobs():
                self.cancel(*jobs)
        for process in reversed(self.processes):
            process.stop()
        for hierarchy in CGROUPS.glob(f"*/slurm_{self.node}"):
            for folder, _, _ in os.walk(hierarchy, topdown=False):
                with contextlib.suppress(OSError):
                    Path(folder).rmdir()
        shutil.rmtree(self.folder, ignore_errors=True)


def possible() -> bool:
    """Whether this kernel and this user allow control groups of version 1 to be made."""
    return all(os.access(CGROUPS / each / "tasks", os.W_OK) for each in ("devices", "freezer"))


def start_slurm(folder: Path) -> Slurm:
    """Start munge, the controller and the node's daemon in a folder that all users may enter."""
    for name in ("state", "spool", "munge", "dev"):
        (folder / name).mkdir()
    node = f"qm{os.getpid()}"
    for index in range(GPUS):
        os.mknod(folder / "dev" / f"nvidia{index}", stat.S_IFCHR | 0o666, os.makedev(195, index))
    (folder / "slurm.conf").write_text(_conf(folder, node))
    (folder / "gres.conf").write_text(f"AutoDetect=off\nName=gpu File={folder}/dev/nvidia[0-{GPUS - 1}]\n")
    (folder / "cgroup.conf").write_text(
        f"CgroupAutomount=no\nCgroupPlugin=cgroup/v1\nCgroupMountpoint={CGROUPS}\nConstrainDevices=yes\n"
    )
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(64))
    key.chmod(0o600)
    files = {
        "socket": "munge/socket",
        "pid-file": "munge/pid",
        "log-file": "munge/log",
        "seed-file": "munge/seed",
    }
    options = [f"--{option}={folder / file}" for option, file in {**files, "key-file": "munge.key"}.items()]
    environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    processes: list[Process] = []
    slurm = Slurm(folder, node, processes)
    processes.append(Process("munged", ["munged", "--foreground", "--force", *options], folder))
    processes[-1].wait_for((folder / "munge" / "socket").exists, "socket")
    processes.append(Process("slurmctld", ["slurmctld", "-D"], folder, environment))
    processes.append(Process("slurmd", ["slurmd", "-D", "-N", node], folder, environment))
    processes[-1].wait_for(lambda: _idle(slurm), "node that is idle")
    return slurm


def _idle(slurm: Slurm) -> bool:
    with contextlib.suppress(subprocess.CalledProcessError):
        return slurm.call("sinfo", "-h", "-o", "%T") == "idle"
    return False


def _conf(folder: Path, node: str) -> str:
    host = socket.gethostname()
    return f"""\
ClusterName=t
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldPort={free_port()}
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
GresTypes=gpu
ReturnToService=2
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs=2 RealMemory=500 Gres=gpu:{GPUS}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

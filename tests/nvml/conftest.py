"""The stand-in for NVIDIA's library, built by gcc once a version of its source, and a host that is pretended."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.nvml.host import Script, Tree
from tests.nvml.slurm import HOW, PROGRAMS, Slurm, possible, start_slurm
from tests.servers.plugin import leave_out

_SOURCE = Path(__file__).parent / "standin" / "nvml.c"


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the stand-in's libnvidia-ml.so.1."""
    compiler = shutil.which("gcc")
    if compiler is None:
        leave_out("gcc, for the stand-in of NVIDIA's library,", "apt-get install gcc libc6-dev")
    version = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quartermaster" / "nvml"
    folder = cache / version
    if not (folder / "libnvidia-ml.so.1").exists():
        built = tmp_path_factory.mktemp("nvml") / "libnvidia-ml.so.1"
        flags = ("-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-truncation")
        subprocess.run([compiler, *flags, "-o", built, _SOURCE], check=True)
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"part.{os.getpid()}"
        shutil.copy(built, part)
        part.rename(folder / "libnvidia-ml.so.1")
    return folder


@pytest.fixture
def script(nvml_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    """A script that the stand-in answers by, in every process that this test begins."""
    made = Script(tmp_path / "gpus.txt")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(nvml_library))
    monkeypatch.setenv("NVML_STANDIN", str(made.file))
    made.write()
    return made


@pytest.fixture
def slurm() -> Iterator[Slurm]:
    """A Slurm of one node, whose control groups are the kernel's own, of version 1."""
    if any(shutil.which(program) is None for program in PROGRAMS):
        leave_out("Slurm", HOW)
    if not possible():
        pytest.skip("a real Slurm needs root, and a kernel with control groups of version 1")
    # Not pytest's folder: the users of jobs may not enter its parents.
    folder = Path(tempfile.mkdtemp(prefix="qm-slurm-"))
    folder.chmod(0o755)
    server = start_slurm(folder)
    yield server
    server.stop()


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A host's /proc and control groups, without any process."""
    made = Tree(tmp_path / "host")
    made.write()
    return made

"""Slurm's jobs and their GPUs from a tree of control groups, in both versions; and what is lost without root."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.nvml.claims import claims_of
from collector.nvml.jobs import jobs_on
from collector.nvml.look import Gpu, Instance, Job, Look, Process
from collector.nvml.owner import JOB, UNIT, Owner, owner_of
from collector.nvml.procfs import Proc
from collector.nvml.settings import SLURM, Settings
from quartermaster.ids import device_id
from tests.nvml.host import Tree

NOW = 1_800_000_000_000
V1, V2 = "devices/slurm/uid_1000/job_7", "system.slice/slurmstepd.scope/job_7"
SETTINGS = Settings("lab", "n1")


def jobs(tree: Tree) -> tuple[Job, ...]:
    tree.write()
    return jobs_on(tree.cgroup, Proc(tree.proc, NOW))


def test_version_1_tells_the_devices_to_everybody(tree: Tree):
    tree.process(50, uid=1000, age_s=30)
    tree.process(51, uid=1000, age_s=20)
    tree.job(
        V1, 51, 50, devices="c 1:3 rwm\nc 195:255 rwm\nc 195:254 rw\nc 195:0 rwm\nc 195:2 rwm\nb 7:* rwm\n"
    )
    (job,) = jobs(tree)
    assert (job.job, job.uid, job.minors, job.caps) == ("7", 1000, (0, 2), ())
    assert NOW - job.start_ms == pytest.approx(30_000, abs=20)


@pytest.mark.parametrize("devices", ["a *:* rwm\n", "c 195:* rwm\n"])
def test_a_group_that_lets_in_everything_says_nothing(tree: Tree, devices: str):
    tree.process(50, uid=1000)
    tree.job(V1, 50, devices=devices)
    (job,) = jobs(tree)
    assert (job.minors, job.told) == (None, None)


def test_mig_instances_are_let_in_by_their_caps(tree: Tree):
    tree.process(50, uid=1000)
    (tree.proc / "driver/nvidia-caps").mkdir(parents=True)
    (tree.proc / "driver/nvidia-caps/mig-minors").write_text(
        "config 1\nmonitor 2\ngpu0/gi3/access 30\ngpu0/gi3/ci0/access 31\ngpu0/gi5/access 48\n"
    )
    (tree.proc / "devices").write_text("Character devices:\n195 nvidia\n237 nvidia-caps\n\nBlock devices:\n")
    tree.job(V1, 50, devices="c 195:0 rwm\nc 237:30 rwm\nc 237:31 rwm\nc 238:48 rwm\n")
    (job,) = jobs(tree)
    assert job.caps == ("gpu0/gi3", "gpu0/gi3/ci0")
    mine, other = Instance(3, 0, "MIG-a", "1g.10gb"), Instance(5, 0, "MIG-b", "1g.10gb")
    gpu = Gpu(0, "GPU-a", "H100", minor=0, mig=True, instances=(mine, other))
    on = claims_of(Look(NOW, "b", 0, gpus=(gpu,), jobs=(job,)), SETTINGS).on
    assert set(on[device_id("lab", "GPU-a", "3")]) == {Owner(JOB, "7", 1000)}
    assert on[device_id("lab", "GPU-a", "5")] == {}


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"SLURM_JOB_GPUS": "0,2", "CUDA_VISIBLE_DEVICES": "0,1"}, ("0", "2")),
        ({"SLURM_JOB_GPUS": "1-3"}, ("1", "2", "3")),
        ({"SLURM_STEP_GPUS": "3"}, ("3",)),
        ({"CUDA_VISIBLE_DEVICES": "GPU-a,MIG-b"}, ("GPU-a", "MIG-b")),
        ({"CUDA_VISIBLE_DEVICES": "0,1"}, ()),  # numbers of the job's own
        ({"SLURM_JOB_GPUS": "9999999999-0,,"}, ("9999999999-0",)),
        ({}, ()),
    ],
)
def test_version_2_tells_by_the_environment(tree: Tree, environment: dict[str, str], told: tuple[str, ...]):
    tree.process(49, uid=0, age_s=9, name="slurmstepd")
    tree.process(50, uid=1000, environment=environment)
    tree.job(V2, 49, 50)
    (job,) = jobs(tree)
    assert (job.uid, job.minors, job.told) == (1000, None, told)


def test_steps_of_one_job_add_up(tree: Tree):
    tree.process(50, uid=1000, environment={"SLURM_STEP_GPUS": "2"})
    tree.process(51, uid=1000, environment={"SLURM_STEP_GPUS": "0,2"})
    tree.process(52, uid=1000)
    tree.job(V2, 50, 51, 52)
    (job,) = jobs(tree)
    assert job.told == ("2", "0")


def test_an_environment_that_may_not_be_read_is_not_known(tree: Tree):
    tree.process(50, uid=1000)
    tree.job(V2, 50)
    (job,) = jobs(tree)
    assert job.told is None
    claims = claims_of(Look(NOW, "b", 0, gpus=(Gpu(0, "GPU-a", minor=0),), jobs=(job,)), SETTINGS)
    assert claims.untold_jobs == ("7",)


def test_jobs_that_are_over_or_are_none(tree: Tree):
    tree.job("system.slice/slurmstepd.scope/job_8")
    tree.job("system.slice/slurmstepd.scope/job_x", 50)
    tree.process(50)
    assert jobs(tree) == ()
    assert jobs_on(tree.root / "nowhere", Proc(tree.proc, NOW)) == ()


def test_a_job_holds_what_it_was_given_with_and_without_processes(tree: Tree):
    job = Job("7", 1000, NOW - 60_000, minors=(0, 1))
    inside = Process(50, 1, NOW - 30_000, 0, "python", f"9:devices:/{V1.removeprefix('devices/')}/step_0")
    outside = Process(60, 2, NOW - 10_000, 1001, "python", "0::/user.slice/user-1001.slice/session-1.scope")
    root = Process(51, 3, NOW - 20_000, 0, "python", "0::/system.slice/slurmstepd.scope/job_7/step_1")
    gpus = (Gpu(0, "GPU-a", minor=1, pids=(50, 51, 60)), Gpu(1, "GPU-b", minor=0), Gpu(2, "GPU-c", minor=2))
    look = Look(NOW, "b", 0, gpus=gpus, processes={50: inside, 51: root, 60: outside}, jobs=(job,))
    on = claims_of(look, SETTINGS).on
    owner, stranger = Owner(JOB, "7", 1000), Owner(UNIT, "session-1.scope", 1001)
    a, b, c = (device_id("lab", f"GPU-{each}") for each in "abc")
    assert {device: set(theirs) for device, theirs in on.items()} == {
        a: {owner, stranger},
        b: {owner},
        c: set(),
    }
    assert (on[a][owner].start_ms, on[a][owner].evidence, on[a][owner].marks) == (
        NOW - 60_000,
        "slurm",
        {(50, 1), (51, 3)},
    )
    only_jobs = claims_of(look, Settings("lab", "n1", source=SLURM)).on
    assert set(only_jobs[a]) == {owner}


def test_what_the_environment_names():
    """Slurm's numbers are those of the device files; a MIG device has only its UUID."""
    mine, other = Instance(3, 0, "MIG-a", "1g.10gb"), Instance(5, 0, "MIG-b", "1g.10gb")
    gpus = (
        *(Gpu(0, "GPU-a", minor=1), Gpu(1, "GPU-b", minor=0), Gpu(2, "GPU-c")),
        Gpu(3, "GPU-d", minor=3, mig=True, instances=(mine, other)),
    )
    names = {device_id("lab", f"GPU-{each}"): each for each in "abc"}
    names |= {device_id("lab", "GPU-d", "3"): "d3", device_id("lab", "GPU-d", "5"): "d5"}
    for told, given in (
        (("1",), {"a"}),
        (("0", "2"), {"b", "c"}),
        (("GPU-a",), {"a"}),
        (("3",), set()),
        (("MIG-b", "x"), {"d5"}),
        ((), set()),
    ):
        look = Look(NOW, "b", 0, gpus=gpus, jobs=(Job("7", 1000, NOW, told=told),))
        on = claims_of(look, SETTINGS).on
        assert {names[device] for device, theirs in on.items() if theirs} == given, told


def test_who_is_not_counted():
    server = Process(50, 1, NOW, 0, "nvidia-cuda-mps", "0::/system.slice/mps.service")
    look = Look(NOW, "b", 0, gpus=(Gpu(0, "GPU-a", pids=(50, 51)),), processes={50: server})
    device = device_id("lab", "GPU-a")
    assert claims_of(look, SETTINGS).on == {device: {}}
    hidden = Look(NOW, "b", 0, gpus=look.gpus, processes=look.processes, hidden=True)
    assert [owner.kind for owner in claims_of(hidden, SETTINGS).on[device]] == ["unknown"]
    elsewhere = Look(NOW, "b", 0, gpus=look.gpus, processes=look.processes, others_unseen=True)
    assert claims_of(elsewhere, SETTINGS).on == {}


@pytest.fixture
def real_job() -> Iterator[Path]:
    """A folder for a job in the kernel's own device control group, where it may be made."""
    above = Path(f"/sys/fs/cgroup/devices/slurm_{os.getpid()}")
    folder = above / "uid_1000" / "job_7"
    try:
        folder.mkdir(parents=True)
    except OSError:
        pytest.skip("no device control group of version 1 may be made here: it wants root, and such a kernel")
    yield folder
    for each in (folder / "step_0", folder, folder.parent, above):
        if each.exists():
            each.rmdir()


def test_the_kernels_own_list_of_devices(real_job: Path):
    (real_job / "devices.deny").write_text("a")
    for line in ("c 195:0 rwm", "c 195:3 rwm", "c 195:255 rwm", "c 1:3 rwm"):
        (real_job / "devices.allow").write_text(line)
    (real_job / "step_0").mkdir()
    began_ms = time.time_ns() // 1_000_000
    with subprocess.Popen(["sleep", "60"]) as process:
        (real_job / "step_0" / "cgroup.procs").write_text(str(process.pid))
        now_ms = time.time_ns() // 1_000_000
        jobs = jobs_on(real_job.parents[3], Proc(Path("/proc"), now_ms))
        seen = Proc(Path("/proc"), now_ms).process(process.pid)
        process.kill()
    assert [(job.job, job.uid, job.minors) for job in jobs] == [("7", 1000, (0, 3))]
    assert began_ms - 50 <= jobs[0].start_ms <= now_ms
    assert seen is not None
    assert owner_of(seen.cgroup, seen.uid) == Owner(JOB, "7", 1000)


def test_proc_tells_its_namespace_and_what_it_hides(tree: Tree):
    proc = Proc(tree.proc, NOW)
    assert (proc.others_unseen(), proc.hidden()) == (False, False)
    (tree.proc / "self/ns").mkdir(parents=True)
    (tree.proc / "self/ns/pid").symlink_to("pid:[4026532213]")
    (tree.proc / "self/mounts").write_text("proc /proc proc rw,nosuid,hidepid=2 0 0\n")
    assert (proc.others_unseen(), proc.hidden()) == (True, os.geteuid() != 0)


def test_a_process_with_any_name(tree: Tree):
    tree.process(50, uid=5, name="a) S (b\udcff")
    process = Proc(tree.proc, NOW).process(50)
    assert process is not None
    assert (process.name, process.uid) == ("a) S (b\N{REPLACEMENT CHARACTER}", 5)
    whole = (tree.proc / "50/stat").read_text(errors="surrogateescape")
    (tree.proc / "50/stat").write_text(whole.replace(") S 1 ", ") Z 1 "), errors="surrogateescape")
    assert Proc(tree.proc, NOW).process(50) is None
    (tree.proc / "50/stat").write_text("nonsense")
    assert Proc(tree.proc, NOW).process(50) is None
    assert Proc(Path(tree.proc), NOW).process(51) is None

"""Whose a process is by its control group: as systemd, Slurm, Docker, Podman, containerd, CRI-O and LXC write it."""

import pytest

from collector.nvml.owner import CONTAINER, JOB, POD, UNIT, USER, Owner, owner_of, short

ID = "3f2c" * 16
USERS = "/user.slice/user-1000.slice"
POD_UID = "0f3c1d52-8a4e-4a57-9c11-2b6f6d1f2a10"
POD_SLICE = f"pod{POD_UID.replace('-', '_')}.slice"


@pytest.mark.parametrize(
    ("cgroup", "expected"),
    [
        (f"0::{USERS}/session-3.scope", Owner(UNIT, "session-3.scope", 1000)),
        (
            f"0::{USERS}/user@1000.service/app.slice/vte-spawn-7a.scope",
            Owner(UNIT, "vte-spawn-7a.scope", 1000),
        ),
        ("0::/system.slice/jupyterhub.service", Owner(UNIT, "jupyterhub.service", 77)),
        ("0::/", Owner(USER, "", 77)),
        ("", Owner(USER, "", 77)),
        # Slurm: version 2, version 1, several slurmd on a host, a job that made groups of its own
        ("0::/system.slice/slurmstepd.scope/job_123/step_0/user/task_0", Owner(JOB, "123", 77)),
        ("0::/system.slice/n1_slurmstepd.scope/job_123/step_batch", Owner(JOB, "123", 77)),
        (
            "9:devices:/slurm/uid_1000/job_123/step_0\n1:name=systemd:/system.slice/slurmd.service",
            Owner(JOB, "123", 1000),
        ),
        ("9:devices:/slurm_n1/uid_1000/job_123/step_0/task_1", Owner(JOB, "123", 1000)),
        # as a Slurm 22.05 was seen to do it
        (
            "9:name=systemd:/\n6:freezer:/slurm_vm/uid_33/job_2/step_batch\n"
            "5:devices:/slurm_vm/uid_33/job_2/step_batch/task_0\n4:memory:/\n0::/",
            Owner(JOB, "2", 33),
        ),
        ("0::/system.slice/slurmstepd.scope/job_123/step_0/user/docker-" + ID + ".scope", Owner(JOB, "123", 77)),
        # what users name as they like is theirs, and no job of others
        (f"0::{USERS}/user@1000.service/slurm/uid_0/job_9", Owner(USER, "", 1000)),
        (f"0::{USERS}/s.scope/system.slice/slurmstepd.scope/job_9/x", Owner(UNIT, "slurmstepd.scope", 1000)),
        # a user's own manager is that user: the number stands in no name
        (f"0::{USERS}/user@1000.service", Owner(USER, "", 1000)),
        # containers
        ("0::/system.slice/docker-" + ID + ".scope", Owner(CONTAINER, ID, 77)),
        ("12:devices:/docker/" + ID, Owner(CONTAINER, ID, 77)),
        ("0::/machine.slice/libpod-" + ID + ".scope/container", Owner(CONTAINER, ID, 77)),
        (
            f"0::{USERS}/user@1000.service/user.slice/libpod-{ID}.scope",
            Owner(CONTAINER, ID, 1000),
        ),
        ("0::/lxc.payload.lab/init.scope", Owner(CONTAINER, "lab", 77)),
        ("8:memory:/lxc/lab", Owner(CONTAINER, "lab", 77)),
        # Kubernetes' pods
        (
            f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-{POD_SLICE}/cri-containerd-{ID}.scope",
            Owner(POD, POD_UID, 77),
        ),
        (f"4:memory:/kubepods/besteffort/pod{POD_UID}/{ID}", Owner(POD, POD_UID, 77)),
        (
            f"0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-{POD_SLICE}/crio-{ID}.scope",
            Owner(POD, POD_UID, 77),
        ),
        # nothing that is expected
        ("0::/../../x", Owner(USER, "", 77)),
        ("garbage\n::\n\x00", Owner(USER, "", 77)),
    ],
)  # fmt: skip
def test_the_owner(cgroup: str, expected: Owner):
    assert owner_of(cgroup, 77) == expected


def test_a_containers_id_is_shortened_its_name_is_not():
    assert short(Owner(CONTAINER, ID, 0)) == ID[:12]
    assert short(Owner(CONTAINER, "lab", 0)) == "lab"

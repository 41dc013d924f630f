"""Whose a process is, by its control group: a Slurm job's, a container's, a session's or service's; pure.

A control group cannot be forged upwards: only root puts a process into Slurm's or another user's. Below their own
slice users name groups as they like, so what stands there is only believed of that same user.
"""

import re
from dataclasses import dataclass

JOB, CONTAINER, POD, UNIT, USER = "job", "container", "pod", "unit", "user"
_JOB = re.compile(r"^/slurm[^/]*/uid_(?P<uid>\d+)/job_(?P<job>\d+)(?:/|$)")
_JOB_V2 = re.compile(r"^/system\.slice/[^/]*slurmstepd\.scope/job_(?P<job>\d+)(?:/|$)")
_POD = re.compile(
    r"^/(?:[^/]+/)*?[^/]*kubepods[^/]*/(?:.*/)?[^/]*pod(?P<pod>[0-9a-f]{8}[-_][0-9a-f_-]{27})(?:\.slice)?(?:/|$)"
)
_CONTAINER = re.compile(r"(?:^|[/:-])(?P<container>[0-9a-f]{64})(?:\.scope)?(?:/|$)")
_NAMED = re.compile(
    r"^/(?:lxc(?:\.payload)?[./]|machine\.slice/machine-)(?P<container>[^/]+?)(?:\.scope)?(?:/|$)"
)
_SLICE = re.compile(r"(?:^|/)user-(?P<uid>\d+)\.slice(?:/|$)")
_UNIT = re.compile(r"/(?P<unit>[^/]+\.(?:scope|service))(?=/|$)")
_SHORT = 12


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    """What holds: `kind` with its `name` (a job's number, a container's id, a unit), for a Unix user."""

    kind: str
    name: str
    uid: int


def owner_of(cgroup: str, uid: int) -> Owner:
    """The owner by the text of /proc/<pid>/cgroup (both versions) and the process' own user.

    A container that runs below a user's own slice is that user's, whatever user it claims inside.
    """
    paths = [path for _, path in _lines(cgroup)]
    job = next((found for path in paths if (found := _JOB.match(path) or _JOB_V2.match(path))), None)
    if job is not None:
        return Owner(JOB, job["job"], int(job.groupdict().get("uid") or uid))
    uid = next((int(found["uid"]) for path in paths if (found := _SLICE.search(path))), uid)
    pod = next((found["pod"] for path in paths if (found := _POD.match(path))), None)
    if pod is not None:
        return Owner(POD, pod.replace("_", "-"), uid)
    container = next((found["container"] for path in paths if (found := _container(path))), None)
    if container is not None:
        return Owner(CONTAINER, container, uid)
    unit = next((units[-1] for path in _of_systemd(cgroup) if (units := _units(path))), None)
    return Owner(USER, "", uid) if unit is None else Owner(UNIT, unit, uid)


def short(owner: Owner) -> str:
    """The name as people know it: of a container the first twelve digits of its id."""
    hexadecimal = owner.kind == CONTAINER and re.fullmatch(r"[0-9a-f]{64}", owner.name)
    return owner.name[:_SHORT] if hexadecimal else owner.name


def _container(path: str) -> re.Match[str] | None:
    return _CONTAINER.search(path) or _NAMED.match(path)


def _units(path: str) -> list[str]:
    """The units of a path; a user's own manager (`user@1000.service`) is that user, whose number names nothing."""
    return [unit for unit in _UNIT.findall(path) if not unit.startswith("user@")]


def _of_systemd(cgroup: str) -> list[str]:
    return [path for controllers, path in _lines(cgroup) if controllers in {"", "name=systemd"}]


def _lines(cgroup: str) -> list[tuple[str, str]]:
    """Controllers and path of each line, `0::/…` or `5:devices:/…`."""
    found = (line.split(":", 2) for line in cgroup.splitlines())
    return [(each[1], each[2]) for each in found if len(each) == 3]

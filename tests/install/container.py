"""Containers without a container runtime: a root that is read-only, a user, volumes and a network, by namespaces."""

import os
import shlex
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.install.apart import alone
from tests.install.compose import ROOT
from tests.servers.process import Process

# An overlay of this machine's root, so that folders can be made in it; what is mounted in it comes along.
_ROOT = r"""
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$OVER"
mkdir "$OVER/u" "$OVER/w" "$OVER/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$OVER/u,workdir=$OVER/w" "$OVER/root"
R="$OVER/root"
for each in /proc /dev /sys; do mount --rbind "$each" "$R$each"; done
bind() {
  if [ -d "$1" ]; then mkdir -p "$R$2"; else mkdir -p "$R$(dirname "$2")"; [ -e "$R$2" ] || touch "$R$2"; fi
  mount --rbind "$1" "$R$2"
}
mount -t tmpfs tmpfs "$R/tmp"
mkdir -p "$R/var/lib/quartermaster" "$R/etc/quartermaster"  # as the image has them
"""
_ENTER = (
    'exec chroot "$R" setpriv --reuid {user} --regid {group} --clear-groups --no-new-privs '
    "--inh-caps=-all,+dac_read_search --ambient-caps=-all,+dac_read_search --bounding-set=-all,+dac_read_search "
    'sh -c \'cd "$0" && exec "$@"\' {folder} {command}'
)


@dataclass
class Host:
    """A host with a network of its own, on which the names of all services are itself."""

    folder: Path
    network: Process
    hosts: Path
    started: dict[str, Process] = field(default_factory=dict[str, Process])

    def inside(self, command: Sequence[str]) -> list[str]:
        """The command in the host's network."""
        return ["nsenter", "--net", "--target", str(self.network.pid), "--", *command]

    def volume(self, name: str, user: str) -> Path:
        """A volume's folder, which belongs to the first who has it."""
        made = self.folder / "volumes" / name
        if not made.exists():
            made.mkdir(parents=True)
            uid, _, gid = user.partition(":")
            os.chown(made, int(uid), int(gid))
        return made

    def start(self, name: str, service: Mapping[str, Any], command: Sequence[str], folder: str) -> Process:
        """Start a service's command as its container would: its user, root, volumes, environment. The checkout and its
        Python are read from where they lie, for which it has one right that a container's user has not."""
        over = self.folder / "over" / name
        over.mkdir(parents=True)
        lines = [f"OVER={shlex.quote(str(over))}", _ROOT, f"bind {shlex.quote(str(self.hosts))} /etc/hosts"]
        lines += [f"bind {shlex.quote(each)} {shlex.quote(each)}" for each in (str(ROOT), sys.base_prefix)]
        for each in service.get("volumes", []):
            source, target, *options = each.split(":")
            path = (
                (ROOT / source).resolve() if source.startswith(".") else self.volume(source, service["user"])
            )
            lines.append(f"bind {shlex.quote(str(path))} {shlex.quote(target)}")
            if options == ["ro"]:
                lines.append(f'mount -o remount,bind,ro "$R"{shlex.quote(target)}')
        if service.get("read_only"):
            lines.append('mount -o remount,ro "$R"')
        uid, _, gid = service["user"].partition(":")
        lines.append(_ENTER.format(user=uid, group=gid, folder=folder, command=shlex.join(command)))
        script = self.folder / f"{name}.sh"
        script.write_text("\n".join(lines), encoding="utf-8")
        whole = self.inside(["unshare", "--mount", "--", "sh", str(script)])
        self.started[name] = Process(name, whole, self.folder, self.environment(service))
        return self.started[name]

    def environment(self, service: Mapping[str, Any]) -> dict[str, str]:
        """The image's variables, and the service's own."""
        path = f"{Path(sys.prefix) / 'bin'}:/usr/lib/postgresql/15/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        image = {"PATH": path, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
        image |= {"HOME": "/var/lib/quartermaster", "LC_ALL": "C.UTF-8"}
        return image | {key: str(value) for key, value in service.get("environment", {}).items()}

    def check(self, service: Mapping[str, Any]) -> "subprocess.CompletedProcess[str]":
        """The service's health check, run once."""
        kind, *command = service["healthcheck"]["test"]
        assert kind == "CMD"
        environment = self.environment(service)
        return subprocess.run(
            self.inside(command), env=environment, capture_output=True, text=True, check=False
        )


@contextmanager
def host(folder: Path, names: Sequence[str]) -> Generator[Host]:
    """A host for services of these names. Skips where namespaces are not allowed; what was started ends with it."""
    network = Process("network", alone(["sleep", "3600"]), folder)
    hosts = folder / "hosts"
    hosts.write_text(f"127.0.0.1 localhost {' '.join(names)}\n", encoding="utf-8")
    made = Host(folder, network, hosts)
    try:
        network.wait_for(lambda: _sleeps(network.pid), "network")
        _probe(made)
        yield made
    finally:
        for each in reversed(made.started.values()):
            each.stop(30)
        network.kill()


def _sleeps(pid: int) -> bool:
    return b"sleep" in Path(f"/proc/{pid}/cmdline").read_bytes()


def _probe(made: Host) -> None:
    """Skip where overlays are not allowed."""
    service = {"user": "10001:10001", "read_only": True}
    process = made.start("probe", service, ["true"], "/")
    process.wait_for(lambda: not process.alive, "an end") if process.alive else None
    if process._popen.wait(30) != 0:
        pytest.skip(f"a root of one's own is not allowed here: {process.tail(3)}")
    del made.started["probe"]

"""A network of a test's own: every port is free there, so that parts can take those that people know."""

import subprocess
from collections.abc import Sequence
from functools import cache

import pytest

_UP = 'ip link set lo up && exec "$@"'


def alone(command: Sequence[str]) -> list[str]:
    """The command, in a network namespace that has a loopback alone. Skips where the kernel or our rights forbid it."""
    if not _allowed():
        pytest.skip(
            "a network namespace of one's own is not allowed here (it needs root, iproute2 and util-linux)"
        )
    return ["unshare", "--net", "--", "sh", "-c", _UP, "sh", *command]


def beside(pid: int, command: Sequence[str]) -> list[str]:
    """The command, in the network of a process that `alone` started."""
    return ["nsenter", "--net", "--target", str(pid), "--", *command]


@cache
def _allowed() -> bool:
    try:
        done = subprocess.run(
            ["unshare", "--net", "--", "sh", "-c", _UP, "sh", "true"], capture_output=True, check=False
        )
    except FileNotFoundError:
        return False
    return done.returncode == 0

"""A leash: a part that `quartermaster up` started ends with it, however that ends."""

import ctypes
import os
import signal
import sys

VARIABLE = "QUARTERMASTER_LEASH"
_PR_SET_PDEATHSIG = 1


def held(environment: dict[str, str]) -> dict[str, str]:
    """The environment of a child that this process holds."""
    return environment | {VARIABLE: str(os.getpid())}


def hold_on() -> None:
    """Where we were started on a leash: have the kernel send us SIGTERM when the one who holds it has ended."""
    holder = os.environ.pop(VARIABLE, "")
    if not holder or sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if str(os.getppid()) != holder:  # it has ended before we asked
        sys.exit(128 + signal.SIGTERM)

"""A server that a test needs: started on free ports of 127.0.0.1, waited for, ended by its pid, its log at hand."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

_TAKEN: set[int] = set()
_STEP_S = 0.02


class ServerError(Exception):
    """A server did not start, or ended by itself; the text has the end of its log."""


class Process:
    """A running server, and the log of everything it has written."""

    running: ClassVar[list["Process"]] = []

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        folder: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start the program in the folder, with its log there. It ends when this process does, however that ends."""
        self.name = name
        self.log = folder / f"{name}.log"
        # The kernel ends the server with us even when we are killed: then no clean-up of ours runs.
        guard = ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []
        with self.log.open("ab") as log:
            self._popen = subprocess.Popen(
                [*guard, *map(str, command)],
                cwd=folder,
                env=dict(os.environ if environment is None else environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        Process.running.append(self)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._popen.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._popen.poll() is None

    def wait_for(self, ready: Callable[[], bool], what: str, seconds: float = 60) -> Self:
        """Wait until it is ready. Raises ServerError when it ends before, or is not ready in time."""
        end = time.monotonic() + seconds
        while not ready():
            code = self._popen.poll()
            if code is not None:
                raise ServerError(f"{self.name} ended with {code} before {what}:\n{self.tail()}")
            if time.monotonic() > end:
                raise ServerError(f"{self.name}: no {what} within {seconds:.0f} s:\n{self.tail()}")
            time.sleep(_STEP_S)
        return self

    def stop(self, kill_after_s: float = 5) -> None:
        """End it: SIGTERM, and SIGKILL when that does not do."""
        if self in Process.running:
            Process.running.remove(self)
        if self._popen.poll() is None:
            self._popen.terminate()
            try:
                self._popen.wait(kill_after_s)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """End it at once, as a crash does."""
        if self in Process.running:
            Process.running.remove(self)
        if self._popen.poll() is None:
            self._popen.send_signal(signal.SIGKILL)
            self._popen.wait()

    def tail(self, lines: int = 30) -> str:
        """The end of its log."""
        text = self.log.read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-lines:])


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on and this process has not given out before.

    It lies below the ports that the kernel gives to outgoing connections, so none of those can take it meanwhile.
    """
    while True:
        # Not `random`: pytest-randomly gives each test process the same seed.
        port = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in _TAKEN:
            _TAKEN.add(port)
            return port


def answers(url: str) -> bool:
    """Whether a GET of a plain URL is answered with a 2xx."""
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return 200 <= response.status < 300
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def listens(port: int) -> bool:
    """Whether somebody listens on the port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0

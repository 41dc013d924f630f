"""A real JupyterHub, whose users' servers are pods on a test's API server, as KubeSpawner makes them."""

import json
import os
import secrets
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.servers.controlplane import ControlPlane
from tests.servers.objects import make
from tests.servers.process import Process, answers, free_port
from tests.servers.recipes import HUB, MODULES

NAMESPACE = "jhub"


@dataclass
class JupyterHub:
    """A running Hub: its API, the token of a service with the rights that are asked for, and of one that only reads."""

    url: str
    token: str
    reading: str
    people: str
    plane: ControlPlane
    process: Process
    again: Callable[[], Process]

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """What people do, as an administrator's service. Raises HTTPError."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"token {self.people}"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            said = answer.read()
        return json.loads(said) if said else None

    def start(self, user: str, server: str = "") -> dict[str, Any]:
        """A user whose server runs; its pod."""
        with suppress(urllib.error.HTTPError):  # there is one already
            self.call("POST", f"/users/{quote(user)}")
        self.call("POST", f"/users/{quote(user)}/{f'servers/{server}' if server else 'server'}")
        self.wait(lambda: self.servers(user).get(server, {}).get("ready") is True)
        pod = self.pod(user, server)
        assert pod is not None
        return pod

    def servers(self, user: str) -> dict[str, Any]:
        """The servers of a user that run, or are on their way up or down."""
        return self.call("GET", f"/users/{quote(user)}")["servers"]

    def pod(self, user: str, server: str = "") -> dict[str, Any] | None:
        """The server's pod; None without one."""
        name = f"jupyter-{user}" + (f"--{server}" if server else "")
        try:
            return self.plane.call("GET", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}")
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return None

    def remove(self, user: str) -> None:
        """Stop a user's servers, and take the user away."""
        for name in self.servers(user):
            self.call("DELETE", f"/users/{quote(user)}/{f'servers/{name}' if name else 'server'}")
        self.wait(lambda: not self.servers(user))
        self.call("DELETE", f"/users/{quote(user)}")

    def wait(self, ready: Callable[[], bool], seconds: float = 20) -> None:
        """Wait until it is so."""
        end = time.monotonic() + seconds
        while not ready():
            assert time.monotonic() < end, self.process.tail()
            time.sleep(0.05)

    def restart(self) -> None:
        """It runs again after it was stopped; its users and their servers are there still."""
        self.process = self.again()

    def stop(self) -> None:
        """End it; what it does for its users goes on without it."""
        self.process.stop(kill_after_s=2)


def start_hub(plane: ControlPlane, folder: Path) -> JupyterHub:
    """A Hub with its database and log in the folder. Raises ServerError."""
    make(plane, "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    port, notebooks = free_port(), free_port()
    ours, people, reading = (secrets.token_hex(16) for _ in range(3))
    environment = {
        **{key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ},
        "PYTHONPATH": str(HUB.folder),
        "TEST_API": plane.url,
        "TEST_TOKEN": plane.token,
        "TEST_CA": str(plane.certificate.certificate),
        "TEST_NAMESPACE": NAMESPACE,
        "TEST_PORT": str(port),
        "TEST_NOTEBOOKS": str(notebooks),
        "TEST_OURS": ours,
        "TEST_PEOPLE": people,
        "TEST_READERS": reading,
    }
    python = getattr(sys, "_base_executable", sys.executable)
    command = [python, "-m", "jupyterhub", "-f", MODULES / "hub" / "config.py"]
    url = f"http://127.0.0.1:{port}/hub/api"

    def begin() -> Process:
        process = Process("jupyterhub", command, folder, environment)
        return process.wait_for(lambda: answers(f"{url}/"), "answer of the Hub's API")

    return JupyterHub(url, ours, reading, people, plane, begin(), begin)

"""Five thousand pods on a real API server, watched by a collector's source in a process of its own.

Pods and nodes are plain objects, written side by side by clients of their own; no controller and no kubelet runs.
"""

import http.client
import json
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.kubernetes import node, pod
from bench.machine import Result
from bench.watched import WRITTEN
from sql.ledger import open_ledger
from sql.upgrade import upgrade
from tests.servers.controlplane import ControlPlane, start_api_server
from tests.servers.recipes import program

CLIENTS = 8
CHANGES_A_SECOND, SECONDS = 50, 30
PATCH = "application/merge-patch+json"


class Clients:
    """Requests side by side, each thread on a connection that stays open."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._here = threading.local()

    def ask(self, method: str, path: str, body: object, kind: str = "application/json") -> dict[str, Any]:
        """The answer to one request, which must succeed."""
        if not hasattr(self._here, "connection"):
            trusted = ssl.create_default_context(cafile=self._plane.certificate.certificate)
            here = http.client.HTTPSConnection("127.0.0.1", self._plane.port, timeout=60, context=trusted)
            self._here.connection = here
        headers = {"Authorization": f"Bearer {self._plane.token}", "Content-Type": kind}
        self._here.connection.request(method, path, json.dumps(body), headers)
        answer = self._here.connection.getresponse()
        said = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {said[:300]!r}")
        return json.loads(said)

    def all(self, work: Callable[[int], None], count: int) -> None:
        """The work for each number, side by side."""
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(work, range(count)))


def run(pods: int = 5000) -> list[Result]:
    """The source's figures against the goals; nothing where no API server is built."""
    if not is_built():
        return []
    with filled(pods) as (plane, clients, folder):
        return _watch(plane, clients, pods, folder / "ledger")


def is_built() -> bool:
    """Whether an API server is here to be started."""
    return program("kube-apiserver") is not None and program("etcd") is not None


@contextmanager
def filled(pods: int) -> Generator[tuple[ControlPlane, Clients, Path]]:
    """An API server that has so many running pods, clients of it, and a folder; all of it goes at the end."""
    with tempfile.TemporaryDirectory(prefix="qm-bench-") as folder:
        plane = start_api_server(Path(folder))
        try:
            clients = Clients(plane)
            _fill(clients, pods)
            yield plane, clients, Path(folder)
        finally:
            plane.stop()


def _fill(clients: Clients, pods: int) -> None:
    """Running pods of one GPU, a Job and a node for each eight."""

    def make_node(number: int) -> None:
        clients.ask("POST", "/api/v1/nodes", {**node(number), "apiVersion": "v1", "kind": "Node"})
        # A new node is tainted until a controller has seen it Ready.
        clients.ask("PATCH", f"/api/v1/nodes/n{number}", {"spec": {"taints": None}}, PATCH)

    jobs: dict[int, str] = {}

    def make_job(number: int) -> None:
        spec = {**json.loads(pod(number, "Running"))["spec"], "restartPolicy": "Never"}
        body = {"metadata": {"name": f"j{number}"}, "spec": {"parallelism": 8, "template": {"spec": spec}}}
        made = clients.ask("POST", "/apis/batch/v1/namespaces/default/jobs", body)
        jobs[number] = made["metadata"]["uid"]

    def make_pod(number: int) -> None:
        whole = json.loads(pod(number, "Running"))
        whole["metadata"] = {key: whole["metadata"][key] for key in ("name", "labels", "ownerReferences")}
        whole["metadata"]["ownerReferences"][0]["uid"] = jobs[number // 8]
        path = "/api/v1/namespaces/default/pods"
        clients.ask("POST", path, {"apiVersion": "v1", "kind": "Pod", **whole})
        clients.ask("PATCH", f"{path}/p{number}/status", {"status": whole["status"]}, PATCH)

    clients.all(make_node, pods // 8 + 1)
    clients.all(make_job, pods // 8 + 1)
    clients.all(make_pod, pods)


def _watch(plane: ControlPlane, clients: Clients, pods: int, ledger: Path) -> list[Result]:
    with open_ledger(ledger) as opened:
        upgrade(opened)
    changes = min(CHANGES_A_SECOND * SECONDS, pods)
    command = [sys.executable, "-m", "bench.watched", str(plane.kubeconfig), str(changes), str(ledger)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watcher:
        try:
            figures = _figures(watcher)
            full = next(figures)
            _change(clients, changes)
            then = next(figures)
        finally:
            watcher.kill()
    share = 100 * then["cpu_s"] / then["wall_s"]
    what = f"{pods:,} pods of a real API server"
    detail = f"{full['allocations']:,.0f} allocations after {full['wall_s']:.1f} s"
    memory = f"{full['before_mib']:.0f} MB of them before it began"
    known = (
        f"half within {then['median_ms']:.0f} ms; {then['ended']:,.0f} ends in the ledger with the next batch"
    )
    cpu_s, peak_mib, most_ms = full["cpu_s"], full["peak_mib"], then["most_ms"]
    pace = f"{changes / then['wall_s']:.0f} pod changes a second, watched"
    return [
        Result(f"a full picture of {what}", "≤ 1 s of CPU", f"{cpu_s:.2f} s", cpu_s <= 1, detail),
        Result(f"the process for {what}", "≤ 150 MB RSS", f"{peak_mib:.0f} MB", peak_mib <= 150, memory),
        Result(
            "a change is known after it was asked for", "≤ 1 s", f"{most_ms:.0f} ms", most_ms <= 1000, known
        ),
        Result(pace, "≤ 5 % of a core", f"{share:.1f} %", share <= 5),
    ]


def _figures(watcher: "subprocess.Popen[str]") -> Iterator[dict[str, float]]:
    for line in watcher.stdout or ():
        if line.startswith("{"):
            yield json.loads(line)
    raise RuntimeError(f"the watcher ended with {watcher.wait()}")


def _change(clients: Clients, changes: int) -> None:
    """End so many pods, at a steady pace: each write says when it was begun."""
    began = time.monotonic()
    finished = {"name": "main", "image": "x", "imageID": "", "ready": False, "restartCount": 0}

    def end(number: int) -> None:
        time.sleep(max(0.0, began + number / CHANGES_A_SECOND - time.monotonic()))
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        state = {"terminated": {"exitCode": 0, "startedAt": "2026-11-30T11:00:03Z", "finishedAt": at}}
        status = {"phase": "Succeeded", "containerStatuses": [{**finished, "state": state}]}
        notes = {"annotations": {WRITTEN: str(time.time_ns())}}
        path = f"/api/v1/namespaces/default/pods/p{number}/status"
        clients.ask("PATCH", path, {"metadata": notes, "status": status}, PATCH)

    clients.all(end, changes)

"""The enforcer as a process, on a real API server with a thousand nodes: its memory, and its way to the first plan.

Nodes, Jobs and pods are plain objects; no controller and no kubelet runs. Some pods of an owner wait for GPUs that
another team has borrowed, so that there is something to plan; there is no telemetry, so that nothing is idle.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from bench.apiserver import Clients, filled, is_built
from bench.machine import Result
from tests.servers.controlplane import ControlPlane

WAITING = 64
STAYS_S = 30.0


def run(pods: int = 8000) -> list[Result]:
    """The figures against the goals; nothing where no API server is built."""
    if not is_built():
        return []
    with filled(pods) as (plane, clients, folder):
        _wait(plane, clients)
        return _watched(plane, folder, pods)


def _wait(plane: ControlPlane, clients: Clients) -> None:
    """Pods of an owner that no node has room for."""
    plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": "owner"}})
    gpu = {"nvidia.com/gpu": "1"}
    container = {"name": "main", "image": "x", "resources": {"requests": gpu, "limits": gpu}}

    def make(number: int) -> None:
        body = {"metadata": {"name": f"w{number}"}, "spec": {"containers": [container]}}
        clients.ask("POST", "/api/v1/namespaces/owner/pods", {"apiVersion": "v1", "kind": "Pod", **body})

    clients.all(make, WAITING)


def _watched(plane: ControlPlane, folder: Path, pods: int) -> list[Result]:
    file = folder / "q.yaml"
    file.write_text(yaml.safe_dump(_configuration(plane, folder)), encoding="utf-8")
    command = [sys.executable, "-m", "cli", "--config", str(file)]
    subprocess.run([*command, "ledger", "upgrade"], check=True, capture_output=True)
    began = time.monotonic()
    with subprocess.Popen(
        [*command, "enforce", "--plan", "--json"], stdout=subprocess.PIPE, text=True
    ) as loop:
        try:
            plan = next(each for each in _lines(loop) if "policy_hash" in each)
            first_s, first_cpu_s = time.monotonic() - began, _cpu_s(loop.pid)
            time.sleep(STAYS_S)
            peak_mib, more_cpu_s = _peak_mib(loop.pid), _cpu_s(loop.pid) - first_cpu_s
        finally:
            loop.terminate()
            loop.wait(60)
    what = f"{pods // 8:,} nodes and {pods:,} pods of a real API server"
    told = f"first plan after {first_s:.1f} s and {first_cpu_s:.1f} s of CPU: {_verdict(plan)}"
    share = 100 * more_cpu_s / STAYS_S
    return [
        Result(f"the enforcer for {what}", "≤ 500 MB RSS", f"{peak_mib:.0f} MB", peak_mib <= 500, told),
        Result("the same, while nothing changes", "≤ 15 % of a core", f"{share:.1f} %", share <= 15),
    ]


def _verdict(plan: dict[str, Any]) -> str:
    return "; ".join(sorted({each["verdict"] for each in plan["answers"]})) or "nobody asks"


def _lines(loop: "subprocess.Popen[str]") -> Iterator[dict[str, Any]]:
    for line in loop.stdout or ():
        if line.startswith("{"):
            yield json.loads(line)
    raise RuntimeError(f"the enforcer ended with {loop.wait()}")


def _configuration(plane: ControlPlane, folder: Path) -> dict[str, Any]:
    return {
        "ledger": {"path": str(folder / "ledger")},
        "clusters": [
            {"name": "c", "holders": "kubernetes", "kubernetes": {"kubeconfig": str(plane.kubeconfig)}}
        ],
        "pools": [{"name": "gpus", "models": ["*"]}],
        "teams": [{"name": "a"}, {"name": "b"}],
        "team_rules": [{"team": "a", "namespace": "default"}, {"team": "b", "namespace": "owner"}],
        "guarantees": [{"team": "b", "pool": "gpus", "gpus": WAITING}],
        "policy": {"acting": {"mode": "plan"}},
    }


def _peak_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def _cpu_s(pid: int) -> float:
    """User and system time of the process, all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

"""A company of three teams on a control plane, its collector and its enforcer as processes: what the scenes play on."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from tests.enforced.exporter import Exporter
from tests.servers.fleet import GROUND, Ground

POLICY: dict[str, Any] = {
    "minimum_runtime": "1s",
    "back_off": "6s",
    "bind_wait": "5s",
    "grace": "1s",
    # The counter tells nothing after its last sample, and 95 % of the window are to be known: thirty intervals.
    "idle": [{"kinds": ["StatefulSet"], "warn": "300s", "again": "310s", "take": "320s"}],
    "acting": {
        "mode": "act",
        "after_start": "1s",
        "after_policy_change": "1s",
        "team_an_hour": 5,
        "pool_share_a_day": 1,
        "namespace": "quartermaster",
    },
}


@dataclass
class Company:
    """`nodes` GPUs of each node; guarantees by team; where people are told."""

    ground: Ground
    folder: Path
    guarantees: dict[str, int]
    webhook: str
    policy: dict[str, Any] = field(default_factory=lambda: POLICY)
    nodes: int = 5
    quiet: set[str] = field(default_factory=set[str])
    interval_s: int = 5

    def __enter__(self) -> Self:
        names = [self.ground.node(gpus=8) for _ in range(self.nodes)]
        self.exporter = Exporter(self.ground.plane, dict.fromkeys(names, 8), self.quiet)
        self.exporter.__enter__()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        plane = self.ground.plane
        configuration = {
            "ledger": {"path": "ledger"},
            "business": {"time_zone": "UTC"},
            "clusters": [
                {
                    "name": "c",
                    "holders": "kubernetes",
                    "dcgm": {
                        "interval": f"{self.interval_s}s",
                        "timeout": "2s",
                        "targets": self.exporter.targets,
                    },
                    "kubernetes": {"kubeconfig": str(plane.kubeconfig)},
                }
            ],
            "pools": [{"name": "gpus", "node_labels": {GROUND: self.ground.namespace}}],
            "teams": [{"name": team} for team in self.guarantees],
            "team_rules": [
                {"team": team, "label": {"key": "team", "value": team}} for team in self.guarantees
            ],
            "guarantees": [
                {"team": team, "pool": "gpus", "gpus": gpus} for team, gpus in self.guarantees.items()
            ],
            "rate_cards": [{"card": "2026", "from": "2026-01-01", "prices": [{"gpu_hour": "3.00"}]}],
            "collector": {"listen": "127.0.0.1:0"},
            "policy": self.policy,
            "notify": {
                "channels": [{"name": "chat", "url": "${env:CHAT_URL}"}],
                "routes": [{"team": "*", "channels": ["chat"]}],
            },
        }
        self.file.write_text(yaml.safe_dump(configuration), encoding="utf-8")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in list(self._processes):
            self.end(name)
        self.exporter.__exit__(kind, error, trace)
        if error is not None:
            for log in sorted(self.folder.glob("*.log")):
                error.add_note(f"{log.name}:\n{log.read_text(errors='replace')[-6000:]}")

    @property
    def file(self) -> Path:
        """The configuration."""
        return self.folder / "q.yaml"

    # --- processes --------------------------------------------------------------------------------------------------

    def begin(self, name: str, *words: str) -> None:
        """Begin a command of Quartermaster in the background, its words into a log."""
        with (self.folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                self._command(words), stdout=log, stderr=log, env=self._environment()
            )

    def end(self, name: str) -> int:
        """End it as systemd would."""
        process = self._processes.pop(name)
        process.send_signal(signal.SIGTERM)
        return process.wait(60)

    def run(self, *words: str) -> str:
        """What a command says, that ends well."""
        done = subprocess.run(
            self._command(words),
            capture_output=True,
            text=True,
            timeout=120,
            env=self._environment(),
            check=False,
        )
        assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def ask(self, *words: str) -> Any:
        """The same as JSON."""
        return json.loads(self.run(*words, "--json"))

    # --- the cluster ------------------------------------------------------------------------------------------------

    def job(self, name: str, team: str, gpus: int, pods: int = 1) -> None:
        """A Job that runs until it is stopped."""
        template = self._template(name, team, gpus, restartPolicy="Never")
        spec = {"parallelism": pods, "completions": pods, "template": template}
        self._make("/apis/batch/v1", "jobs", {"kind": "Job", "metadata": _named(name, team), "spec": spec})

    def lab(self, name: str, team: str, gpus: int) -> None:
        """A StatefulSet of one pod."""
        template = self._template(name, team, gpus)
        selector = {"matchLabels": {"workload": name}}
        spec = {"replicas": 1, "serviceName": name, "selector": selector, "template": template}
        body = {"kind": "StatefulSet", "metadata": _named(name, team), "spec": spec}
        self._make("/apis/apps/v1", "statefulsets", body)

    def drop(self, resource: str, name: str) -> None:
        """Delete something with its pods."""
        group = {"jobs": "/apis/batch/v1", "statefulsets": "/apis/apps/v1"}[resource]
        path = f"{group}/namespaces/{self.ground.namespace}/{resource}/{name}"
        self.ground.plane.call("DELETE", path, {"propagationPolicy": "Background"})

    def running(self) -> dict[str, int]:
        """How many pods of each workload run, by the beginning of their names."""
        pods = self.ground.plane.call("GET", f"{self.ground.path}/pods")["items"]
        found: dict[str, int] = {}
        for pod in pods:
            if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]:
                name = pod["metadata"]["labels"]["workload"]
                found[name] = found.get(name, 0) + 1
        return found

    def turns(self) -> int:
        """How many plans the enforcer told of."""
        return (self.folder / "enforce.log").read_text(encoding="utf-8").count('"policy_hash"')

    def until_runs(self, name: str, pods: int = 1) -> float:
        """Wait until so many pods of a workload run; after how many seconds it was."""
        return self.until(lambda: self.running().get(name) == pods, f"{name} runs")

    def until(self, holds: Callable[[], bool], what: str, seconds: float = 180) -> float:
        """Wait until it is so; after how many seconds it was."""
        began = time.monotonic()
        while not holds():
            if time.monotonic() > began + seconds:
                raise TimeoutError(f"not after {seconds:.0f} s: {what}; running: {self.running()}")
            time.sleep(0.1)
        return time.monotonic() - began

    def _template(self, name: str, team: str, gpus: int, **more: Any) -> dict[str, Any]:
        limits = {"nvidia.com/gpu": str(gpus)}
        container = {"name": "main", "image": "example.test/work", "resources": {"limits": limits}}
        spec = {"containers": [container], "terminationGracePeriodSeconds": 1} | more
        return {"metadata": _named(name, team), "spec": self.ground.on_own_nodes(spec)}

    def _make(self, group: str, resource: str, body: dict[str, Any]) -> None:
        path = f"{group}/namespaces/{self.ground.namespace}/{resource}"
        self.ground.plane.call("POST", path, {"apiVersion": group.removeprefix("/apis/")} | body)

    def _command(self, words: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "cli", "--config", str(self.file), *words]

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "COVERAGE_PROCESS_START": "",
            "CHAT_URL": self.webhook,
            "NO_COLOR": "1",
            "COLUMNS": "200",
        }


def _named(name: str, team: str) -> dict[str, Any]:
    return {"name": name, "labels": {"team": team, "workload": name}}

"""A real Prometheus, of the generation that a test asks for, with data that it scrapes or is sent."""

import json
import re
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.servers.process import Process, answers, free_port
from tests.servers.recipes import installed, program

GENERATIONS = ("2", "3")
HOW = {"2": "apt-get install prometheus, on Debian 12", "3": "make servers"}


@dataclass(frozen=True)
class PrometheusServer:
    """A running Prometheus: where it is, and its process."""

    url: str
    generation: str
    process: Process

    def query(self, expression: str, **parameters: str) -> list[dict[str, Any]]:
        """The result of an instant query."""
        return self._api("query", {"query": expression} | parameters)["result"]

    def _api(self, path: str, parameters: dict[str, str]) -> dict[str, Any]:
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=30) as response:
            return json.load(response)["data"]


@cache
def prometheus_program(generation: str, name: str = "prometheus") -> Path | None:
    """The program of a generation (`prometheus` or `promtool`): the system's own, else the built one; None: neither."""
    for found in (installed(name), program(name)):
        if found is not None and major(found) == generation:
            return found
    return None


@cache
def major(path: Path) -> str:
    """The first number of a program's version."""
    said = subprocess.run([str(path), "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"version v?(\d+)\.", said)
    return found[1] if found else ""


def start_prometheus(
    generation: str,
    folder: Path,
    targets: Sequence[str] = (),
    *,
    interval: str = "1s",
    scrape: Sequence[dict[str, Any]] = (),
    options: Sequence[str] = (),
    out_of_order: str = "0s",
) -> PrometheusServer:
    """A Prometheus, ready, with its data and log in the folder. Raises ServerError.

    It scrapes the targets (`host:port/path`), and the scrape configurations that are given as they are; it takes remote
    writes as old as `out_of_order`.
    """
    path = prometheus_program(generation)
    if path is None:
        raise LookupError(f"there is no Prometheus {generation}.x ({HOW[generation]})")
    jobs = [job(f"target{number}", target) for number, target in enumerate(targets, 1)]
    settings = {
        "global": {"scrape_interval": interval, "scrape_timeout": interval},
        "storage": {"tsdb": {"out_of_order_time_window": out_of_order}},
        "scrape_configs": [*jobs, *scrape],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    port = free_port()
    command: list[str | Path] = [
        path,
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        "--storage.tsdb.retention.time=10y",
        f"--web.listen-address=127.0.0.1:{port}",
        "--web.enable-remote-write-receiver",
        # 3.x scrapes a new target at once then; 2.x waits 5 s all the same.
        "--scrape.discovery-reload-interval=100ms",
        *options,
    ]
    url = f"http://127.0.0.1:{port}"
    process = Process(f"prometheus-{generation}", command, folder)
    try:
        process.wait_for(lambda: answers(f"{url}/-/ready"), "an answer of /-/ready")
    except BaseException:
        process.stop()
        raise
    return PrometheusServer(url, generation, process)


def job(name: str, target: str) -> dict[str, Any]:
    """The scrape configuration of one page, `host:port/path`; its labels win over Prometheus' own."""
    host, _, path = target.removeprefix("http://").partition("/")
    return {
        "job_name": name,
        "honor_labels": True,
        "metrics_path": f"/{path or 'metrics'}",
        "static_configs": [{"targets": [host]}],
    }

"""`quartermaster collect` as a process of its own upon a ledger of the test's: started, killed, asked what it told."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from quartermaster.errors import LedgerVersionError
from sql.ledger import Ledger, open_ledger
from tests.servers.controlplane import ControlPlane

ALLOCATIONS = """
select
  pod_uid, pod, node, gpu_parts, end_evidence, cpu_milli, memory_mib,
  epoch_ms(start_at) as start_ms, epoch_ms(end_at) as end_ms, epoch_ms(started_at) as started_ms,
  epoch_ms(sure_end_at) as sure_ms, allocation_id, workload_id
from allocations where namespace = ?
"""
Rows = dict[str, dict[str, Any]]


class Collector:
    """A collector of cluster `c`, which is the control plane; `more` are further words of that cluster's part."""

    def __init__(self, plane: ControlPlane, folder: Path, more: str = "") -> None:
        (folder / "q.yaml").write_text(
            "ledger: {path: ledger}\nbusiness: {time_zone: UTC}\n"
            "clusters: [{name: c, holders: kubernetes, dcgm: {interval: 1s, timeout: 500ms}, "
            f"kubernetes: {{kubeconfig: '{plane.kubeconfig}'{more}}}}}]\n"
            "collector: {listen: '127.0.0.1:0'}\n"
        )
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """A life begins."""
        with (self.folder / "log").open("ab") as log:
            command = [sys.executable, "-m", "cli", "--config", str(self.folder / "q.yaml"), "collect"]
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, env={**os.environ, "COVERAGE_PROCESS_START": ""}
            )

    def end(self, how: signal.Signals) -> int:
        """The life ends; between which two instants is the caller's to note. The instant after."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(60)
            self.process = None
        return time.time_ns() // 1_000_000

    def ledger(self) -> AbstractContextManager[Ledger]:
        """The ledger, open."""
        return open_ledger(self.folder / "ledger")

    def rows(self, namespace: str) -> Rows:
        """The allocations of a namespace, by the pod's uid."""
        if not (self.folder / "ledger" / "catalog.sqlite").exists():
            return {}
        try:
            with self.ledger() as ledger:
                return {row["pod_uid"]: row for row in ledger.query(ALLOCATIONS, [namespace]).to_dicts()}
        except LedgerVersionError:
            return {}  # it is being made just now

    def until(self, namespace: str, holds: Callable[[Rows], bool], seconds: float = 90) -> None:
        """Wait until the ledger says it."""
        end = time.monotonic() + seconds
        while not holds(self.rows(namespace)):
            if time.monotonic() > end:
                tail = (self.folder / "log").read_text()[-3000:]
                raise TimeoutError(f"the ledger never said so: {self.rows(namespace)}\n{tail}")
            time.sleep(0.4)

"""A Kubernetes source in a process of its own, measured: `python -m bench.watched <kubeconfig> <changes> <ledger>`.

It writes a line of JSON when its picture is full, and one when so many changes have come and are in the ledger.
"""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from collector.batch import Batch, commit
from collector.kubernetes.settings import Settings
from collector.kubernetes.source import KubernetesSource
from collector.kubernetes.stream import Event
from collector.kubernetes.talk import connect
from collector.kubernetes.values import mapping
from collector.log import Log
from quartermaster.clock import now_ms
from quartermaster.config.clusters import KubernetesPart
from sql.ledger import open_ledger

# A writer puts the instant (epoch ns) at which it wrote into this annotation.
WRITTEN = "quartermaster.bench/written"


class Measured(KubernetesSource):
    """A source that notes how long each change took to arrive."""

    lags_ms: list[float]

    def _deliver(self, events: Sequence[Event]) -> None:  # pyright: ignore[reportImplicitOverride]
        now_ns = time.time_ns()
        for event in events:
            written = mapping(mapping(event.object.get("metadata")).get("annotations")).get(WRITTEN)
            if written is not None:
                self.lags_ms.append((now_ns - int(written)) / 1e6)
        super()._deliver(events)


def main(kubeconfig: Path, changes: int, ledger: Path) -> None:
    """Watch until so many changes have come."""
    before_mib = _peak_mib()
    part = KubernetesPart.model_construct(kubeconfig=kubeconfig, context=None, in_cluster=False)
    api = connect(part, "c", 40)
    source = Measured(Settings("c", telemetry=False), api, now_ms, Log("plain"), 180_000)
    source.lags_ms = []
    cpu, wall = time.process_time(), time.monotonic()
    source.start()
    while not source.complete:
        time.sleep(0.02)
    taken = source.take(now_ms())
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    told = taken.frames["allocations_versions"].height
    full = {
        "cpu_s": cpu,
        "wall_s": wall,
        "before_mib": before_mib,
        "peak_mib": _peak_mib(),
        "allocations": told,
    }
    with open_ledger(ledger) as opened:
        commit(opened, Batch("bench/1/1", now_ms(), taken.frames, (), taken.openings, taken.censuses))
        cpu, wall = time.process_time(), time.monotonic()
        _say(**full)
        while len(source.lags_ms) < changes:
            time.sleep(0.05)
        cpu, wall = time.process_time() - cpu, time.monotonic() - wall
        commit(opened, Batch("bench/1/2", now_ms(), source.take(now_ms()).frames))
        ended = opened.query("select count(*) as n from allocations where end_at is not null")["n"].item()
    lags = sorted(source.lags_ms)
    _say(cpu_s=cpu, wall_s=wall, median_ms=lags[len(lags) // 2], most_ms=lags[-1], ended=ended)
    source.stop()


def _say(**figures: float) -> None:
    sys.stdout.write(json.dumps(figures) + "\n")
    sys.stdout.flush()


def _peak_mib() -> float:
    """The most memory that this process had; getrusage would give its parent's, where that had more."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


if __name__ == "__main__":
    # As the collector does: DuckDB would import it, where it can.
    sys.modules.setdefault("pandas", cast(Any, None))
    main(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))

"""Traces: a real cluster's nodes and pods, read from files in the openb format, as they are or made dense.

nodes.csv has `sn, cpu_milli, memory_mib, gpu, model`; pods.csv has `name, num_gpu, gpu_milli, qos,
creation_time, deletion_time, scheduled_time, …`, in seconds from the first pod; without a scheduled_time it
never ran.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import polars as pl

from quartermaster.clock import DAY_MS, HOUR_MS
from quartermaster.errors import InputError

SECOND = 1000
DENSE_DAYS = 34
JITTER_MS = 6 * HOUR_MS
_NODES = {"sn": pl.String, "cpu_milli": pl.Int64, "memory_mib": pl.Int64, "gpu": pl.Int64, "model": pl.String}
_PODS = {
    "name": pl.String,
    "cpu_milli": pl.Int64,
    "memory_mib": pl.Int64,
    "num_gpu": pl.Int64,
    "gpu_milli": pl.Int64,
    "qos": pl.String,
    "pod_phase": pl.String,
    "creation_time": pl.Int64,
    "deletion_time": pl.Int64,
    "scheduled_time": pl.Int64,
}


@dataclass(frozen=True, slots=True)
class TraceNode:
    """A machine of the trace."""

    name: str
    model: str
    gpus: int
    cpu_milli: int
    memory_mib: int


@dataclass(frozen=True, slots=True)
class TracePod:
    """A pod that asks for GPUs; times are ms from the trace's first pod. `bound_ms` None: it never ran.

    `gpus` whole GPUs, or, with `milli` below 1000, that many thousandths of one.
    """

    name: str
    gpus: int
    milli: int
    qos: str
    failed: bool
    created_ms: int
    bound_ms: int | None
    deleted_ms: int
    cpu_milli: int
    memory_mib: int

    @property
    def load(self) -> int:
        """What it asks for, in thousandths of a GPU."""
        return self.gpus * self.milli


@dataclass(frozen=True)
class Trace:
    """Nodes, and pods that ask for GPUs, in order of creation."""

    name: str
    nodes: Sequence[TraceNode]
    pods: Sequence[TracePod]
    start_ms: int
    end_ms: int


def read(folder: Path) -> Trace:
    """The trace of a folder. Raises InputError for a file that is missing or is not in the format."""
    nodes = _read(folder / "nodes.csv", _NODES)
    pods = _read(folder / "pods.csv", _PODS).filter(pl.col("num_gpu") > 0)
    if not len(nodes) or not len(pods):
        raise InputError(f"{folder}: no node, or no pod that asks for a GPU")
    found = [
        TracePod(
            name=row["name"],
            gpus=row["num_gpu"],
            milli=row["gpu_milli"] if row["num_gpu"] == 1 else 1000,
            qos=row["qos"],
            failed=row["pod_phase"] == "Failed",
            created_ms=row["creation_time"] * SECOND,
            bound_ms=None if row["scheduled_time"] is None else row["scheduled_time"] * SECOND,
            deleted_ms=row["deletion_time"] * SECOND,
            cpu_milli=row["cpu_milli"],
            memory_mib=row["memory_mib"],
        )
        for row in pods.sort("creation_time", "name").iter_rows(named=True)
    ]
    machines = [
        TraceNode(row["sn"], row["model"], row["gpu"], row["cpu_milli"], row["memory_mib"])
        for row in nodes.iter_rows(named=True)
    ]
    return Trace(folder.name, machines, found, 0, max(pod.deleted_ms for pod in found))


def dense(trace: Trace, *, copies: int, demand: float, seed: int) -> Trace:
    """The trace made dense: the pods of its last 34 days, `copies` times each, on a part of the nodes.

    The part is drawn by seed, and as large as makes what is asked for `demand` × what there is; pods then
    wait for room. Each copy's times move by up to six hours either way, by seed. Raises InputError where
    there are too few nodes for that, or nothing to copy.
    """
    if copies < 1 or not demand > 0:
        raise InputError("a dense trace has at least one copy, and a demand above zero")
    start = max(trace.start_ms, trace.end_ms - DENSE_DAYS * DAY_MS)
    random = Random(f"{seed}/dense")
    pods: list[TracePod] = []
    for pod in trace.pods:
        if pod.bound_ms is None or pod.bound_ms < start:
            continue
        for copy in range(copies):
            jitter = random.randrange(-JITTER_MS, JITTER_MS + 1) // SECOND * SECOND
            created = min(max(pod.bound_ms + jitter, start), trace.end_ms - SECOND)
            ends = created + pod.deleted_ms - pod.bound_ms
            pods.append(
                replace(pod, name=f"{pod.name}-{copy}", created_ms=created, bound_ms=created, deleted_ms=ends)
            )
    asked = sum(pod.load * (min(pod.deleted_ms, trace.end_ms) - pod.created_ms) for pod in pods)
    needed = asked / (trace.end_ms - start) / demand
    nodes: list[TraceNode] = []
    have = 0
    widest = max((pod.gpus for pod in pods), default=0)
    for node in sorted(
        random.sample(list(trace.nodes), len(trace.nodes)), key=lambda node: node.gpus < widest
    ):
        if nodes and have >= needed:
            break
        nodes.append(node)
        have += node.gpus * 1000
    if not pods or have < needed:
        raise InputError(
            f"{trace.name}: {copies} copies ask for {needed / 1000:.0f} GPUs, and there are {have // 1000}",
            "take fewer copies",
        )
    pods.sort(key=lambda pod: (pod.created_ms, pod.name))
    return Trace(f"{trace.name}×{copies}", nodes, pods, start, trace.end_ms)


def _read(path: Path, columns: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    try:
        found = pl.read_csv(path, columns=list(columns), schema_overrides=dict(columns))
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: there is no such file", "name a folder with nodes.csv and pods.csv"
        ) from error
    except (pl.exceptions.PolarsError, OSError) as error:
        first = str(error).splitlines()[0]
        raise InputError(f"{path} is no trace in the openb format: {first}") from error
    return found.select(list(columns))

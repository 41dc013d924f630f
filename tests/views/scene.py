"""A small fleet by hand: two nodes, a GPU that MIG has cut, three teams, two hours; what waits, lends, is silent."""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from quartermaster.clock import HOUR_MS, from_iso
from quartermaster.parts import GPU_PARTS
from sql.ledger import Ledger

START = from_iso("2026-11-25T10:00:00Z")
NOON = START + 2 * HOUR_MS
HOSTILE = "<script>alert(1)</script>\"'&[x](http://evil.example)=cmd()"
STATES = ("computing", "idle", "unknown", "unallocated", "unavailable", "unobserved")
_OTHERS = (
    *("idle_confirmed", "stalled", "faulted", "not_started", "borrowed", "estimated", "overbooked"),
    *("energy_known", "activity_permille"),
)
Named = Callable[[str], str]

# device: node, index, kind, profile, parts
DEVICES = {
    1: ("n1", 0, "gpu", "", GPU_PARTS),
    2: ("n1", 1, "gpu", "", GPU_PARTS),
    3: ("n2", 0, "mig", "3g.40gb", GPU_PARTS * 3 // 7),
    4: ("n2", 0, "mig", "2g.20gb", GPU_PARTS * 2 // 7),
    5: ("n2", 0, "rest", "", GPU_PARTS * 2 // 7),
    6: ("n2", 1, "gpu", "", GPU_PARTS),
}
# device: (team, workload, share of the hour, state), …
USED = {
    1: (("vision", 11, 0.75, "computing"), ("vision", 11, 0.25, "idle")),
    2: (("speech", 12, 0.5, "idle"), (None, None, 0.5, "unallocated")),
    3: (("vision", 13, 1.0, "unknown"),),
    4: (("speech", 12, 0.25, "computing"), ("vision", 11, 0.5, "idle"), (None, None, 0.25, "unallocated")),
    5: ((None, None, 1.0, "unallocated"),),
    6: ((None, None, 0.75, "unallocated"), (None, None, 0.25, "unavailable")),
}
WORKLOADS = {
    11: ("Notebook", "lab", "drafts"),
    12: ("PyTorchJob", "speech", "conformer"),
    13: ("Job", "vision", "sweep"),
}


def fill(ledger: Ledger, name: Named = str) -> None:
    """The fleet's rows; `name` changes every name in them."""
    usage = [row for at in (START, START + HOUR_MS) for row in _usage(at, name)]
    ledger.append(
        "scene/fleet",
        {
            "usage_hourly": _frame(usage),
            "usage_daily": _frame(_daily(usage)),
            "devices_versions": _frame(_devices(name)),
            "nodes_versions": _frame(_nodes(name)),
            "workloads_versions": _frame(_workloads(name)),
            "gaps_versions": _frame(_gaps(name)),
            "rollup_marks": _frame(
                [{"cluster": "main", "snapshot_id": 1, "rolled_until_at": NOON, "time_zone": "UTC"}]
            ),
        },
    )


def _frame(rows: list[dict[str, object]]) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None)


def _usage(at_ms: int, name: Named) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for device, spans in USED.items():
        node, *_, parts = DEVICES[device]
        for team, workload, share, state in spans:
            pms = round(parts * HOUR_MS * share)
            row: dict[str, object] = {f"{each}_pms": 0 for each in (*STATES, *_OTHERS)}
            row |= {f"{state}_pms": pms, "capacity_pms": pms, "held_pms": pms if team else 0, "energy_j": 0}
            row |= {"cluster": "main", "row_start_at": at_ms, "row_end_at": at_ms + HOUR_MS}
            row |= {"pool": name("training"), "model": name("H100"), "node": name(node), "device_id": device}
            row |= {"allocation_id": workload, "workload_id": workload, "team": name(team) if team else None}
            found.append(row)
    return found


def _daily(usage: list[dict[str, object]]) -> list[dict[str, object]]:
    gone = {"row_start_at", "row_end_at", "node", "device_id", "allocation_id"}
    return [
        {key: value for key, value in row.items() if key not in gone} | {"business_day": "2026-11-25"}
        for row in usage
    ]


def _devices(name: Named) -> list[dict[str, object]]:
    return [
        {
            "cluster": "main",
            "device_id": device,
            "start_at": START - 24 * HOUR_MS,
            "node": name(node),
            "device_index": index,
            "gpu_uuid": f"GPU-{node}-{index}",
            "gi_id": str(device),
            "kind": kind,
            "profile": profile and name(profile),
            "parts": parts,
            "healthy": device != 6,
            "revision": 0,
        }
        for device, (node, index, kind, profile, parts) in DEVICES.items()
    ]


def _nodes(name: Named) -> list[dict[str, object]]:
    return [
        {
            "cluster": "main",
            "node": name(node),
            "start_at": START - 24 * HOUR_MS,
            "pool": name("training"),
            "model": name("H100"),
            "gpu_count": 2,
            "schedulable": node == "n1",
            "ready": True,
            "revision": 0,
        }
        for node in ("n1", "n2")
    ]


def _workloads(name: Named) -> list[dict[str, object]]:
    return [
        {
            "cluster": "main",
            "workload_id": workload,
            "start_at": START - HOUR_MS,
            "kind": name(kind),
            "namespace": name(namespace),
            "name": name(called),
            "uid": f"uid-{workload}",
            "revision": 0,
        }
        for workload, (kind, namespace, called) in WORKLOADS.items()
    ]


def _gaps(name: Named) -> list[dict[str, object]]:
    common: dict[str, object] = {
        "cluster": "main",
        "covers": "telemetry",
        "source": "dcgm",
        "target": "t",
        "revision": 0,
    }
    return [
        common
        | {
            "gap_id": 1,
            "node": name("n1"),
            "start_at": START + HOUR_MS - 90_000,
            "end_at": START + HOUR_MS + 90_000,
            "reason": name("refused"),
        },
        common
        | {
            "gap_id": 2,
            "node": name("n2"),
            "start_at": NOON - 600_000,
            "end_at": None,
            "reason": name("timeout"),
        },
    ]


def configuration(folder: Path, ledger: Path) -> Path:
    """A configuration of the ledger, for the pages."""
    file = folder / "quartermaster.yaml"
    file.write_text(f"ledger: {{path: {ledger}}}\nbusiness: {{time_zone: UTC}}\nclusters: [{{name: main}}]\n")
    return file

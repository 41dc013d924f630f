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
            "team_rules_versions": _frame(_rules(name)),
            "demand_versions": _frame(_demand(name)),
            "quota_hourly": _frame(_quota(name)),
            "lending_hourly": _frame(_lending(name)),
            "allocations_versions": _frame(_allocations()),
            "holdings_versions": _frame(_holdings()),
            "watermarks": _frame(
                [{"cluster": "main", "source": "kubernetes", "covers": "holders", "complete_until_at": NOON}]
            ),
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
            "person_id": 7 if workload == 13 else None,
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


def _rules(name: Named) -> list[dict[str, object]]:
    rules = {"vision": ("lab", "vision"), "speech": ("speech",), "language": ("nlp",)}
    return [
        {
            "rule_id": position,
            "start_at": 0,
            "position": position,
            "team": name(team),
            "namespace_glob": f"{namespace}*",
            "revision": 0,
        }
        for position, (team, namespace) in enumerate(
            (team, namespace) for team, namespaces in rules.items() for namespace in namespaces
        )
    ]


def _demand(name: Named) -> list[dict[str, object]]:
    waits = (  # namespace, GPUs, pods, since and until in hours from the start
        ("lab", 1, 1, 0.5, None),
        ("speech", 4, 2, 1.0, None),
        ("nlp", 8, 1, 1.5, None),
        ("vision", 2, 1, -3.0, 1.0),
        ("speech", 1, 1, -2.0, -1.5),
        ("elsewhere", 1, 1, 0.0, 0.25),
    )
    return [
        {
            "cluster": "main",
            "demand_id": number,
            "start_at": START + round(since * HOUR_MS),
            "end_at": None if until is None else START + round(until * HOUR_MS),
            "workload_id": None,
            "namespace": name(namespace),
            "pool": name("training"),
            "gpu_parts": gpus * GPU_PARTS,
            "pods": pods,
            "reason": name("not enough is free"),
            "labels": "{}",
            "user_patterns": "[]",
            "revision": 0,
        }
        for number, (namespace, gpus, pods, since, until) in enumerate(waits)
    ]


QUOTA = {  # team: guaranteed, held, within, borrowed, lent, waiting, in GPUs
    "vision": (1, 2, 1, 1, 0, 1),
    "speech": (2, 0.5, 0.5, 0, 1, 4),
    "language": (0, 0, 0, 0, 0, 8),
}


def _quota(name: Named) -> list[dict[str, object]]:
    kinds = ("guaranteed", "held", "within", "borrowed", "lent", "waiting")
    found: list[dict[str, object]] = []
    for at in (START, START + HOUR_MS):
        for team, figures in QUOTA.items():
            row: dict[str, object] = {"cluster": "main", "row_start_at": at, "row_end_at": at + HOUR_MS}
            row |= {"team": name(team), "pool": name("training"), "from_spare_pms": 0, "unused_pms": 0}
            found.append(
                row
                | {
                    f"{kind}_pms": round(gpus * GPU_PARTS * HOUR_MS)
                    for kind, gpus in zip(kinds, figures, strict=True)
                }
            )
    return found


def _lending(name: Named) -> list[dict[str, object]]:
    return [
        {
            "cluster": "main",
            "row_start_at": at,
            "row_end_at": at + HOUR_MS,
            "pool": name("training"),
            "lender": name("speech"),
            "borrower": name(borrower),
            "lent_pms": round(gpus * GPU_PARTS * HOUR_MS),
        }
        for at in (START, START + HOUR_MS)
        for borrower, gpus in {"vision": 0.75, "language": 0.25}.items()
    ]


def _allocations() -> list[dict[str, object]]:
    return [
        {
            "cluster": "main",
            "allocation_id": workload,
            "workload_id": workload,
            "start_at": START - HOUR_MS,
            "node": "n1",
            "gpu_parts": GPU_PARTS,
            "labels": "{}",
            "user_patterns": "[]",
            "revision": 0,
        }
        for workload in WORKLOADS
    ]


def _holdings() -> list[dict[str, object]]:
    return [
        {
            "cluster": "main",
            "holding_id": device,
            "allocation_id": allocation,
            "device_id": device,
            "start_at": START - HOUR_MS,
            "parts": DEVICES[device][4],
            "revision": 0,
        }
        for allocation, device in ((11, 1), (12, 2), (13, 3))
    ]


def configuration(folder: Path, ledger: Path) -> Path:
    """A configuration of the ledger, for the pages."""
    file = folder / "quartermaster.yaml"
    file.write_text(f"ledger: {{path: {ledger}}}\nbusiness: {{time_zone: UTC}}\nclusters: [{{name: main}}]\n")
    return file

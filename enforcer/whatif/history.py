"""History: a cluster's past as the ledger has it: what was asked for and ran, where, and what was promised."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import polars as pl

import sql
from analytics.judged import SERVING
from analytics.measure import FOREVER_MS, Cursor
from enforcer.book import rows, spared_until_ms
from enforcer.promised import Promised
from enforcer.snapshot import Promise
from enforcer.whatif.asked import Asked, Machine, Past, Turn
from quartermaster.parts import GPU_PARTS
from quartermaster.team import UNASSIGNED

_QUERIES = Path(sql.__file__).parent / "queries" / "whatif"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class History:
    """The past, the promises that stand at its end (bookings and offers left out), and what is not in it.

    `waited_ms` and `held_pms` are as it was in truth, of what was asked for in the span and of all.
    """

    past: Past
    promises: tuple[Promise, ...]
    never: int  # workloads that never ran
    never_parts: int  # what they asked for
    waited_ms: tuple[int, ...]
    held_pms: int


def read(cursor: Cursor, cluster: str, from_ms: int, until_ms: int) -> History:
    """The history of [from, until)."""
    given = {"cluster": cluster, "from_ms": from_ms, "until_ms": until_ms, "forever": FOREVER_MS}
    told = {
        name: rows(cursor, name, given) for name in ("promises", "departments", "nodes", "devices", "teams")
    }
    believed = rows(cursor, "believed", given).to_dicts()
    nodes = told["nodes"].sort("node", "start_ms").to_dicts()
    pools = {row["node"]: row["pool"] for row in nodes}
    machines, turns = _machines(nodes, told["devices"].to_dicts(), from_ms, until_ms)
    teams = _Teams(told["teams"].to_dicts())
    idle: dict[int, list[tuple[int, int]]] = {}
    for row in _rows(cursor, "idle", given).iter_rows(named=True):
        idle.setdefault(row["workload_id"], []).append((row["start_ms"], row["end_ms"]))
    found = [
        row
        for row in _rows(cursor, "asked", given).iter_rows(named=True)
        if row["parts"] and row["node"] in pools and _believed(believed, row)
    ]
    asked = tuple(
        _asked(gang, teams.of(gang[0]), pools[gang[0]["node"]], idle.get(gang[0]["workload_id"], ()), from_ms)
        for gang in _gangs(found)
    )
    never = _rows(cursor, "never", given).row(0, named=True)
    keys = {(each.team, each.pool) for each in asked}
    promised = Promised(told["promises"], told["departments"])
    return History(
        Past(from_ms, until_ms, asked, machines, turns),
        promised.guarantees_at(until_ms - 1, keys),
        never["workloads"],
        never["parts"],
        tuple(row["bound_ms"] - row["asked_ms"] for row in found if row["bound_ms"] >= from_ms),
        sum(row["parts"] * (min(row["end_ms"], until_ms) - max(row["bound_ms"], from_ms)) for row in found),
    )


def _gangs(found: Iterable[Row]) -> Iterator[list[Row]]:
    """Pods of a workload that has to have several at once, while they overlap; each other pod by itself."""
    gang: list[Row] = []
    for row in found:
        together = (
            gang
            and row["gang_minimum"] > 1
            and row["workload_id"] == gang[0]["workload_id"]
            and row["bound_ms"] < max(each["end_ms"] for each in gang)
        )
        if gang and not together:
            yield gang
            gang = []
        gang.append(row)
    if gang:
        yield gang


def _asked(gang: Sequence[Row], team: str, pool: str, idle: Sequence[tuple[int, int]], from_ms: int) -> Asked:
    first = gang[0]
    pods = sorted(gang, key=lambda row: (-row["parts"], row["allocation_id"]))
    bound_ms, end_ms = first["bound_ms"], max(row["end_ms"] for row in gang)
    ran_already = bound_ms < from_ms
    stretches = ((max(bound_ms, start), min(end_ms, end)) for start, end in idle)
    return Asked(
        str(min(row["allocation_id"] for row in gang)),
        team,
        pool,
        min(row["asked_ms"] for row in gang),
        tuple(row["parts"] for row in pods),
        end_ms - bound_ms,
        priority=max(row["priority"] for row in gang),
        preemptible=all(row["preemptible"] for row in gang),
        idle=tuple((start - bound_ms, end - bound_ms) for start, end in stretches if start < end),
        begun_ms=bound_ms if ran_already else None,
        nodes=tuple(row["node"] for row in pods) if ran_already else (),
        kind=first["kind"],
        namespace=first["namespace"],
        name=first["name"] or first["pod"],
        serving=first["kind"] in SERVING,
        spared_until_ms=max(spared_until_ms(_labels(row["labels"])) for row in gang),
        labels=_labels(first["labels"]),
    )


def _machines(
    nodes: Sequence[Row], devices: Sequence[Row], from_ms: int, until_ms: int
) -> tuple[tuple[Machine, ...], tuple[Turn, ...]]:
    """Every node that there was, with the most GPUs that it had; and when each took pods."""
    parts: dict[str, dict[int, int]] = {}
    for row in devices:
        at_ms = max(row["start_ms"], from_ms)
        of = parts.setdefault(row["node"], {})
        of[at_ms] = of.get(at_ms, 0) + row["parts"]
    machines: dict[str, Machine] = {}
    turns: list[Turn] = []
    for number, row in enumerate(nodes):
        node, takes = row["node"], row["ready"] and row["schedulable"]
        at_start = row["start_ms"] <= from_ms
        if node not in machines:
            gpus = max(parts.get(node, {0: 0}).values()) // GPU_PARTS or row["gpu_count"]
            machines[node] = Machine(node, row["pool"], gpus, open=at_start and takes)
        if not at_start:
            turns.append(Turn(row["start_ms"], node, takes))
        later = number + 1 < len(nodes) and nodes[number + 1]["node"] == node
        if row["end_ms"] < until_ms and not (later and nodes[number + 1]["start_ms"] == row["end_ms"]):
            turns.append(Turn(row["end_ms"], node, open=False, gone=True))
    return tuple(machines.values()), tuple(turns)


class _Teams:
    """Whose a pod is, by rows of sql/queries/enforce/teams.sql."""

    def __init__(self, told: Iterable[Row]) -> None:
        self._rules: dict[tuple[str, str, str], list[Row]] = {}
        for row in told:
            key = row["namespace"], row["labels"], row["user_patterns"]
            self._rules.setdefault(key, []).append(row)

    def of(self, pod: Row) -> str:
        rules = self._rules.get((pod["namespace"], pod["labels"], pod["user_patterns"]), ())
        at_ms = pod["bound_ms"]
        return next((row["team"] for row in rules if row["start_ms"] <= at_ms < row["end_ms"]), UNASSIGNED)


def _believed(believed: Iterable[Row], pod: Row) -> bool:
    """Whether the pod's source was the one that is believed when it was bound."""
    at_ms = pod["bound_ms"]
    standing = (row["source"] for row in believed if row["start_ms"] <= at_ms < row["end_ms"])
    return next(standing, pod["source"]) == pod["source"]


def _labels(text: str) -> dict[str, str]:
    told = json.loads(text)
    return (
        {str(key): str(value) for key, value in cast(dict[object, object], told).items()}
        if isinstance(told, dict)
        else {}
    )


def _rows(cursor: Cursor, name: str, given: Mapping[str, object]) -> pl.DataFrame:
    text = (_QUERIES / f"{name}.sql").read_text(encoding="utf-8")
    cursor.execute(text, {key: value for key, value in given.items() if f"${key}" in text})
    return cursor.pl()

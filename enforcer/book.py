"""The book: what the ledger tells of a cluster over a span, read once; it has a snapshot for any instant of it.

What the ledger does not keep stands in `UNTOLD`: where pods may be placed, so that nobody is taken for pods that wait.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import polars as pl

import sql
from analytics.judged import SERVING
from analytics.measure import FOREVER_MS, Cursor
from enforcer import snapshot
from enforcer.act.way import WAYS, Ways
from enforcer.promised import Promised, then
from enforcer.shape import Shape
from enforcer.snapshot import (
    Node,
    Pod,
    Snapshot,
    Taking,
    Waiting,
    Workload,
)
from enforcer.ways import lost_for_good, way_down
from quartermaster.clock import from_iso
from quartermaster.parts import GPU_PARTS
from quartermaster.team import UNASSIGNED

UNTOLD = "node selectors, affinity, taints and tolerations, which the ledger does not keep"
ASSUMED = (
    "No PodDisruptionBudget is in the ledger: each stop is as if none covered its pods. The cluster is asked before "
    "anything is done.",
    "Warnings count as sent when a plan would have sent them. In shadow nobody is told anything.",
    "Annotations are not in the ledger: work counts as lost since the start, whatever was saved since.",
)
EXCLUDE, EXCLUDE_UNTIL = "quartermaster/exclude", "quartermaster/exclude-until"
_QUERIES = Path(sql.__file__).parent / "queries" / "enforce"
_NEVER_ENDS = snapshot.FOREVER_MS
_SHAPE = Shape((), unsure=(UNTOLD,))
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Told:
    """A snapshot of an instant, and the ledger's ids of its workloads by UID."""

    snapshot: Snapshot
    ids: Mapping[str, int]


class Book:
    """All that is told of a cluster that touches [from, until]. Instants are epoch milliseconds."""

    def __init__(self, cursor: Cursor, cluster: str, from_ms: int, until_ms: int, ways: Ways = WAYS) -> None:
        self.cluster = cluster
        self.from_ms, self.until_ms = from_ms, until_ms
        self._ways = ways
        given = {"cluster": cluster, "from_ms": from_ms, "until_ms": until_ms, "forever": FOREVER_MS}
        read = {
            name: rows(cursor, name, given)
            for name in (
                *("allocations", "waiting", "promises", "nodes", "devices"),
                *("departments", "silences", "believed", "sources"),
            )
        }
        self._allocations, self._waiting, self._nodes = read["allocations"], read["waiting"], read["nodes"]
        self._devices = read["devices"]
        self.promised = Promised(read["promises"], read["departments"])
        self._silences, self._believed = read["silences"].to_dicts(), read["believed"].to_dicts()
        self._sources = read["sources"].to_dicts()
        self._teams: dict[tuple[str, str, str], list[Row]] = {}
        for row in rows(cursor, "teams", given).iter_rows(named=True):
            key = row["namespace"], row["labels"], row["user_patterns"]
            self._teams.setdefault(key, []).append(row)

    def believed(self, at_ms: int) -> str:
        """The source that is believed about holders then; "" for none."""
        return next((each["source"] for each in self._believed if _stands(each, at_ms)), "")

    def lags(self, at_ms: int) -> dict[tuple[str, str], tuple[int | None, int]]:
        """How far each source that counts is behind at the instant, by (source, what it covers), and its interval.

        None: it never told. What was told later counts as told in time; a gap of the whole cluster does not.
        """
        believed = self.believed(at_ms)
        found: dict[tuple[str, str], tuple[int | None, int]] = {(believed, "holders"): (None, 0)}
        for each in self._sources:
            source, covers = each["source"], each["covers"]
            if covers == "holders" and source != believed:
                continue
            silent = [
                gap["start_ms"]
                for gap in self._silences
                if gap["source"] == source and gap["covers"] == covers and _stands(gap, at_ms)
            ]
            until = min([at_ms, each["complete_ms"], *silent])
            found[source, covers] = at_ms - until, each["interval_ms"]
        if not any(covers == "telemetry" for _, covers in found):
            found["", "telemetry"] = None, 0
        return found

    def told(self, at_ms: int, takings: Sequence[Taking] = ()) -> Told:
        """The snapshot of the instant. Pods that end later stand in it as they stood."""
        workloads, ids = self._workloads(at_ms, self.pools(at_ms))
        waiting = self._those_who_wait(at_ms)
        teams = {(each.team, each.pool) for each in (*workloads, *waiting)}
        lag_ms = self.lags(at_ms)[self.believed(at_ms), "holders"][0]
        uids = {each.uid for each in (*workloads, *waiting)}
        picture = Snapshot(
            self.cluster,
            at_ms,
            at_ms - lag_ms if lag_ms is not None else 0,
            self._nodes_then(at_ms),
            workloads,
            waiting,
            self.promised.at(at_ms, teams),
            takings=tuple(each for each in takings if each.uid in uids),
        )
        return Told(picture, ids)

    def pools(self, at_ms: int) -> dict[str, str]:
        """The pool of each node that was there at the instant."""
        return {row["node"]: row["pool"] for row in then(self._nodes, at_ms).iter_rows(named=True)}

    def _workloads(self, at_ms: int, pools: Mapping[str, str]) -> tuple[tuple[Workload, ...], dict[str, int]]:
        believed = self.believed(at_ms)
        there = self._allocations.filter(
            (pl.col("bound_ms") <= at_ms) & (pl.col("end_ms") > at_ms) & (pl.col("source") == believed)
        )
        of: dict[int, list[Row]] = {}
        for row in there.sort("workload_id", "bound_ms", "pod_uid").iter_rows(named=True):
            of.setdefault(row["workload_id"], []).append(row)
        found: list[Workload] = []
        ids: dict[str, int] = {}
        for number, theirs in of.items():
            first = theirs[0]
            uid = first["uid"] or str(number)
            ids[uid] = number
            labels = _labels(first["labels"])
            found.append(
                Workload(
                    uid,
                    first["kind"],
                    first["namespace"],
                    first["name"] or first["pod"],
                    self._team(first, at_ms),
                    pools.get(first["node"], ""),
                    tuple(_pod(each, at_ms) for each in theirs),
                    priority=max(each["priority"] for each in theirs),
                    preemptible=all(each["preemptible"] for each in theirs),
                    serving=first["kind"] in SERVING,
                    labels=labels,
                    lost_for_good=lost_for_good(first["kind"]),
                    spared_until_ms=max(spared_until_ms(_labels(each["labels"])) for each in theirs),
                    way_down=way_down(self._ways, first["kind"]),
                )
            )
        return tuple(found), ids

    def _those_who_wait(self, at_ms: int) -> tuple[Waiting, ...]:
        found: dict[str, Waiting] = {}
        for row in then(self._waiting, at_ms).sort("demand_id").iter_rows(named=True):
            pods = max(1, row["pods"])
            uid = row["uid"] or str(row["demand_id"])
            found[uid] = Waiting(
                uid,
                row["kind"],
                row["namespace"],
                row["name"],
                self._team(row, at_ms),
                row["pool"],
                ((_SHAPE, pods, row["parts"] // pods),),
                row["since_ms"],
                gang_minimum=row["gang_minimum"],
                way_down=way_down(self._ways, row["kind"]),
            )
        return tuple(found.values())

    def _nodes_then(self, at_ms: int) -> tuple[Node, ...]:
        sizes: dict[str, dict[tuple[str, int], int]] = {}
        for row in then(self._devices, at_ms).iter_rows(named=True):
            of = sizes.setdefault(row["node"], {})
            key = row["unit"], row["parts"]
            of[key] = of.get(key, 0) + 1
        found: list[Node] = []
        for row in then(self._nodes, at_ms).sort("node").iter_rows(named=True):
            replicas = max(1, row["replicas"])
            there = sizes.get(row["node"]) or {("gpu", GPU_PARTS): row["gpu_count"]}
            units = [
                (f"{unit}/{parts}", count * replicas, parts // replicas)
                for (unit, parts), count in sorted(there.items())
            ]
            found.append(
                Node(
                    row["node"],
                    row["pool"],
                    tuple((unit, count) for unit, count, _ in units),
                    tuple((unit, parts) for unit, _, parts in units),
                    ready=row["ready"],
                    schedulable=row["schedulable"],
                )
            )
        return tuple(found)

    def _team(self, row: Row, at_ms: int) -> str:
        fitting = self._teams.get((row["namespace"], row["labels"], row["user_patterns"]), ())
        return next((each["team"] for each in fitting if _stands(each, at_ms)), UNASSIGNED)


def rows(cursor: Cursor, name: str, given: Mapping[str, object]) -> pl.DataFrame:
    """What one of the enforcer's queries finds."""
    text = (_QUERIES / f"{name}.sql").read_text(encoding="utf-8")
    cursor.execute(text, {key: value for key, value in given.items() if f"${key}" in text})
    return cursor.pl()


def spared_until_ms(labels: Mapping[str, str]) -> int:
    """Until when the labels opt out: for ever with `quartermaster/exclude: "true"`, or an end that nobody can read."""
    if labels.get(EXCLUDE, "").lower() == "true":
        return _NEVER_ENDS
    until = labels.get(EXCLUDE_UNTIL)
    if until is None:
        return 0
    try:
        return from_iso(until)
    except ValueError:
        return _NEVER_ENDS


def _pod(row: Row, at_ms: int) -> Pod:
    started = row["started_ms"]
    return Pod(
        row["pod_uid"],
        row["namespace"],
        row["pod"],
        row["node"],
        _SHAPE,
        row["parts"],
        row["bound_ms"],
        started if started is not None and started <= at_ms else None,
    )


@lru_cache(maxsize=65_536)
def _labels(text: str) -> Mapping[str, str]:
    told = json.loads(text)
    if not isinstance(told, dict):
        return {}
    return {str(key): str(value) for key, value in cast(dict[object, object], told).items()}


def _stands(row: Row, at_ms: int) -> bool:
    return row["start_ms"] <= at_ms < row["end_ms"]

"""The openb replay, a real cluster's pods: the roll-up and the accountant agree on its busiest nodes and hours."""

import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analytics.measure import Measure
from quartermaster import records
from simulator.replay import Replay
from simulator.trace import read
from tests.usage.accountant import account
from tests.usage.histories import ORIGIN
from tests.usage.history import History, Sample
from tests.usage.test_accountant import same
from tests.usage.toy import TABLES, empty, measured, tell, toy

MINUTE, HOUR = 60_000, 3_600_000
HOURS, NODES = 4, 6
KINDS: dict[str, Any] = {
    "nodes": records.Node,
    "devices": records.Device,
    "workloads": records.Workload,
    "allocations": records.Allocation,
    "holdings": records.Holding,
    "demand": records.Demand,
    "quotas": records.Quota,
    "authority": records.Authority,
    "series": records.Series,
}


@pytest.fixture(scope="module")
def told() -> dict[str, pl.DataFrame]:
    """Everything that the replay tells but samples, with times floored to minutes, that the accountant can walk."""
    folder = Path(os.environ.get("QUARTERMASTER_OPENB", Path(__file__).parents[3] / "shared/data/openb"))
    if not folder.is_dir():
        pytest.skip(f"the openb trace is not in {folder}: set QUARTERMASTER_OPENB to its folder")
    tables = Replay(read(folder), seed=1, start_ms=ORIGIN).records()
    times = pl.selectors.ends_with("_at")
    return {name: rows.with_columns(times.cast(pl.Int64) // MINUTE * MINUTE) for name, rows in tables.items()}


def part(told: dict[str, pl.DataFrame], nodes: list[str], start: int, end: int) -> History:
    """What is told of some nodes in a span."""
    there = (pl.col("start_at") < end) & (pl.col("end_at").fill_null(end) > start)
    h = History()
    for name, kind in KINDS.items():
        rows = told.get(TABLES[name], pl.DataFrame())
        if not rows.height:
            continue
        if "node" in rows.columns:
            rows = rows.filter(pl.col("node").is_in(nodes))
        if name == "allocations":
            rows = rows.filter(there & (pl.col("end_at").fill_null(end) > pl.col("start_at")))
        if name == "holdings":
            rows = rows.filter(pl.col("allocation_id").is_in([a.allocation_id for a in h.allocations]))
        fields = [field for field in kind.__slots__ if field in rows.columns]
        setattr(h, name, [kind(**row) for row in rows.select(fields).iter_rows(named=True)])
    return h


@pytest.mark.patient
def test_the_busiest_nodes_and_hours(told: dict[str, pl.DataFrame]) -> None:
    held = told["allocations_versions"]
    busiest_hour = held.group_by(pl.col("start_at") // HOUR * HOUR).len().sort("len", "start_at").row(-1)[0]
    start, end = busiest_hour - HOUR, busiest_hour + (HOURS - 1) * HOUR
    there = held.filter((pl.col("start_at") < end) & (pl.col("end_at").fill_null(end) > start))
    nodes = [
        row[0]
        for row in there.group_by("node").len().sort("len", "node", descending=True).head(NODES).iter_rows()
    ]
    h = part(told, nodes, start, end)
    for place, series in enumerate(h.series):
        h.samples += [
            Sample(
                series.cluster,
                series.series_id,
                t,
                "dcgm",
                5 * MINUTE,
                gr_engine_permille=(t // MINUTE + place) % 40,
            )
            for t in range(start - 10 * MINUTE, end, 2 * MINUTE)
            if (t // MINUTE + place) % 7
        ]
    connection = toy()
    empty(connection)
    tell(connection, [h], h)
    cluster = h.nodes[0].cluster
    found = measured(Measure(connection, [cluster], start, end), {cluster: (start, end)})[cluster]
    assert sum(row["held_pms"] for row in found.usage.values()) > 0
    assert sum(row["computing_pms"] for row in found.usage.values()) > 0
    same("openb", found, account(h, cluster, start, end, MINUTE))

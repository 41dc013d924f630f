"""The roll-up of a day of 1,000 GPUs at 30 s (2.9 million samples), from Parquet to committed rows."""

import os
import statistics
import tempfile
import time
from pathlib import Path

import polars as pl

from analytics.usage import roll_up
from bench.machine import Result
from quartermaster import records
from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.ids import content_id, device_id
from quartermaster.parts import GPU_PARTS
from sql.ledger import Cursor, Ledger, open_ledger
from sql.upgrade import upgrade

CLUSTER = "bench"
NODES, GPUS_A_NODE, HOURS, EVERY_MS = 125, 8, 24, 30_000
START = 1_764_000_000_000 // HOUR_MS * HOUR_MS
END = START + HOURS * HOUR_MS
TEAMS = 20
RUNS = 3

# Each series at an offset of its own, from before the day until after it; a fifth of the GPUs idle at any time.
SAMPLES = f"""
insert into samples by name
select
  '{CLUSTER}' as cluster, s.series_id,
  make_timestamptz(({START} + s.i * {EVERY_MS} + hash(s.series_id) % {EVERY_MS})::bigint * 1000) as sampled_at,
  'dcgm' as source, {EVERY_MS * 5 // 2}::integer as hold_ms,
  case when idle then 0 else 300 + hash(s.series_id, s.i) % 700 end::integer as gr_engine_permille,
  case when idle then 0 else 500 + hash(s.series_id, s.i, 1) % 50 * 10 end::integer as gpu_util_permille,
  case when idle then 0 else hash(s.series_id, s.i, 2) % 600 end::integer as tensor_permille,
  case when idle then 0 else hash(s.series_id, s.i, 3) % 500 end::integer as dram_permille,
  case when idle then 0 else hash(s.series_id, s.i, 4) % 100 end::integer as mem_copy_permille,
  (1000 + hash(s.series_id, s.i, 5) % 6000)::integer as power_dw,
  (s.i * 9000 + hash(s.series_id, s.i, 6) % 3000)::bigint as energy_j, 60 as gpu_temp_c, 70 as memory_temp_c,
  1500 as sm_clock_mhz, 2000 as memory_clock_mhz,
  (hash(s.series_id, s.i // 20) % 80000)::integer as fb_used_mib
from (
  select series_id, i, (i // 120 + hash(series_id)) % 5 = 0 as idle
  from series, range(-100, {HOURS * HOUR_MS // EVERY_MS + 10}) as t(i)
  where cluster = '{CLUSTER}'
) as s
"""


def fleet(lending: bool) -> dict[str, list[object]]:
    """1,000 GPUs that 11,000 pods hold one after another, for 20 to 240 minutes each; with promises or without."""
    found: dict[str, list[object]] = {
        name: []
        for name in (
            "nodes_versions",
            "devices_versions",
            "series_versions",
            "allocations_versions",
            "holdings_versions",
            "quotas_versions",
            "workloads_versions",
        )
    }
    for number in range(NODES):
        node = f"node-{number}"
        found["nodes_versions"].append(
            records.Node(CLUSTER, node, START, None, f"pool-{number % 2}", "NVIDIA H100", GPUS_A_NODE)
        )
        for index in range(GPUS_A_NODE):
            uuid = f"GPU-{number}-{index}"
            device = device_id(CLUSTER, uuid)
            series = content_id("series", CLUSTER, "dcgm", node, uuid, "", "")
            found["devices_versions"].append(
                records.Device(CLUSTER, device, START, None, node, index, uuid, "gpu", GPU_PARTS)
            )
            found["series_versions"].append(
                records.Series(
                    CLUSTER,
                    series,
                    START,
                    None,
                    "dcgm",
                    node,
                    uuid,
                    "",
                    "",
                    "",
                    "NVIDIA H100",
                    index,
                    "gpu",
                    "5",
                    node,
                )
            )
            at_ms, turn = START + content_id(uuid) % HOUR_MS, 0
            while at_ms < END:
                busy = (20 + content_id(uuid, turn) % 220) * MINUTE_MS
                name = content_id("allocation", uuid, turn)
                team = content_id("team", uuid, turn) % TEAMS
                found["allocations_versions"].append(
                    records.Allocation(
                        CLUSTER, name, at_ms, at_ms + 20_000, min(at_ms + busy, END + HOUR_MS), "kubernetes", team,
                        node, f"team-{team}", f"pod-{turn}",
                        gpu_parts=GPU_PARTS, labels=f'{{"team": "t{team}"}}', preemptible=turn % 3 > 0,
                    )
                )  # fmt: skip
                found["holdings_versions"].append(
                    records.Holding(
                        CLUSTER, content_id("holding", name), at_ms, None, name, device, GPU_PARTS, "kubelet"
                    )
                )
                at_ms, turn = (
                    at_ms + busy + (content_id(uuid, turn, "free") % 15) * MINUTE_MS + 7_000,
                    turn + 1,
                )
    if lending:
        for team in range(TEAMS):
            for pool in ("pool-0", "pool-1"):
                found["quotas_versions"].append(
                    records.Quota(
                        CLUSTER,
                        content_id("quota", team, pool),
                        START,
                        None,
                        f"team-{team}",
                        pool,
                        (5 + team * 2) * GPU_PARTS,
                    )
                )
    found["workloads_versions"] = [
        records.Workload(CLUSTER, team, START, None, "batch", "Job", f"team-{team}", f"job-{team}")
        for team in range(TEAMS)
    ]
    found["authority_versions"] = [records.Authority(CLUSTER, 1, START, None, "kubernetes", 0)]
    found["watermarks"] = [records.Watermark(CLUSTER, "dcgm", "telemetry", END + 5 * MINUTE_MS)]
    return found


def fill(ledger: Ledger, *, lending: bool) -> None:
    """The fleet, its rules (a team a namespace) and a day of its samples."""
    rules = pl.DataFrame(
        {
            "rule_id": list(range(TEAMS)),
            "start_at": [0] * TEAMS,
            "end_at": [None] * TEAMS,
            "position": list(range(TEAMS)),
            "team": [f"team-{team}" for team in range(TEAMS)],
            "namespace_glob": [f"team-{team}" for team in range(TEAMS)],
            "revision": [0] * TEAMS,
        }
    )
    ledger.append(
        "bench/0/fleet",
        {name: rows for name, rows in fleet(lending).items() if rows} | {"team_rules_versions": rules},
    )

    def insert(cursor: Cursor) -> None:
        cursor.execute(SAMPLES)

    ledger.write("bench/0/samples", insert)


def measure(*, lending: bool, runs: int = RUNS) -> tuple[float, float, int]:
    """Seconds of wall clock and of CPU of the median run, and the rows of usage that it commits."""
    with tempfile.TemporaryDirectory() as folder, open_ledger(Path(folder)) as ledger:
        upgrade(ledger)
        fill(ledger, lending=lending)
        walls: list[float] = []
        cpus: list[float] = []
        rows = 0
        for _ in range(runs):
            ledger.write(f"bench/again/{len(walls)}", forget)
            wall, cpu = time.perf_counter(), time.process_time()
            rows = roll_up(ledger, END + HOUR_MS, "UTC").rows
            walls.append(time.perf_counter() - wall)
            cpus.append(time.process_time() - cpu)
        return statistics.median(walls), statistics.median(cpus), rows


def forget(cursor: Cursor) -> None:
    """Undo the roll-up, so that it can be measured again."""
    for table in ("usage_hourly", "usage_daily", "quota_hourly", "lending_hourly", "rollup_marks"):
        cursor.execute(f"delete from {table}")


def run() -> list[Result]:
    """The two lines of the table: without lending and with it."""
    found: list[Result] = []
    for lending, goal_s in ((False, 1.0), (True, 2.0)):
        wall, cpu, rows = measure(lending=lending)
        what = f"rollup of a day of 1,000 GPUs at 30 s, {'with' if lending else 'without'} lending"
        detail = f"{cpu:.2f} s of CPU on {os.cpu_count()} cores, {rows:,} rows of usage"
        found.append(Result(what, f"<= {goal_s:g} s", f"{wall:.2f} s", wall <= goal_s, detail))
    return found

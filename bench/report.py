"""The weekly report of a large fleet: 10,000 GPUs for 90 days in the ledger, one week of it told."""

import statistics
import tempfile
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl

from analytics.money.charges import charge
from analytics.reports.figures import GPU_HOUR_PMS
from analytics.reports.weekly import weekly
from bench.machine import Result
from sql.ledger import Cursor, Ledger, open_ledger
from sql.upgrade import upgrade

GPUS = 10_000
DAYS = 3
FIRST = datetime(2026, 11, 23, tzinfo=UTC)
WEEK = "2026-W48"
TEAMS = 40
RUNS = 7
GOAL_S = 0.5

# Ten pools of a thousand GPUs, a tenth of each free. In pool n workloads hold 1 + n % 8 GPUs each, for three days; nine
# tenths of that time they compute, and of a hundred workloads one does nothing at all.
HOURLY = f"""
insert into usage_hourly by name
with device as (select unnest(range({GPUS})) as d),
hour as (select unnest(range(24)) as h),
holder as (
  select d, d // 1000 as pool, d % 1000 >= 100 as held, d // (1 + d // 1000 % 8) + ($day // 3) * {GPUS} as workload
  from device
),
row as (select *, {GPU_HOUR_PMS} as pms, case when workload % 100 = 0 then 0 else pms * 9 // 10 end as busy from holder, hour)
select
  'cluster-' || pool % 2 as cluster, $start + to_hours(h) as row_start_at, $start + to_hours(h + 1) as row_end_at,
  'pool-' || pool as pool, case when pool % 3 = 0 then 'NVIDIA A100' else 'NVIDIA H100' end as model,
  'node-' || d // 8 as node, d as device_id, case when held then workload * 1000 + d end as allocation_id,
  case when held then workload end as workload_id, case when held then 'team-' || workload % {TEAMS} end as team,
  pms as capacity_pms, case when held then pms else 0 end as held_pms, case when held then busy else 0 end as computing_pms,
  case when held then pms - busy else 0 end as idle_pms, 0 as unknown_pms, case when held then 0 else pms end as unallocated_pms,
  0 as unavailable_pms, 0 as unobserved_pms, 0 as idle_confirmed_pms, 0 as stalled_pms, 0 as faulted_pms,
  0 as not_started_pms, 0 as borrowed_pms, 0 as estimated_pms, 0 as overbooked_pms, 2000000 as energy_j,
  pms as energy_known_pms, busy * 850 as activity_permille_pms, 900 as activity_peak_permille, 6800 as power_peak_dw,
  60000 as fb_used_peak_mib
from row
"""
_SUMS = ("capacity", "held", "computing", "idle", "unknown", "unallocated", "unavailable", "unobserved", "idle_confirmed")
_SUMS += ("stalled", "faulted", "not_started", "borrowed", "estimated", "overbooked", "energy_known", "activity_permille")
DAILY = f"""
insert into usage_daily by name
select
  cluster, $name as business_day, pool, model, team, workload_id, sum(energy_j)::decimal(38, 0) as energy_j,
  {", ".join(f"sum({name}_pms)::decimal(38, 0) as {name}_pms" for name in _SUMS)},
  max(activity_peak_permille) as activity_peak_permille, max(power_peak_dw) as power_peak_dw
from usage_hourly where row_start_at >= $start and row_start_at < $start + interval 1 day group by all
"""
QUOTA = f"""
insert into quota_hourly by name
select
  'cluster-' || p % 2 as cluster, $start + to_hours(h) as row_start_at, $start + to_hours(h + 1) as row_end_at,
  'team-' || t as team, 'pool-' || p as pool, 20 * {GPU_HOUR_PMS} as guaranteed_pms, 18 * {GPU_HOUR_PMS} as held_pms,
  18 * {GPU_HOUR_PMS} as within_pms, 0 as borrowed_pms, 0 as lent_pms, 0 as from_spare_pms, 2 * {GPU_HOUR_PMS} as unused_pms,
  0 as waiting_pms
from range(10) as pools(p), range({TEAMS}) as teams(t), range(24) as hours(h)
"""
NAMES = f"""
insert into workloads_versions by name
select distinct
  cluster, workload_id, $start as start_at, case workload_id % 3 when 0 then 'Notebook' else 'PyTorchJob' end as kind,
  'ns-' || workload_id % {TEAMS} as namespace, 'job-' || workload_id as name, 0 as revision, $start as recorded_at
from usage_daily where business_day = $name and workload_id is not null
"""


def run() -> list[Result]:
    """A report from a ledger opened for it, in a process that has its libraries loaded: the median of seven."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        began = time.perf_counter()
        with open_ledger(place) as ledger:
            upgrade(ledger)
            charging_s, lines = _fill(ledger)
            rows = {
                table: ledger.query(f"select count(*) as n from {table}").item()
                for table in ("usage_hourly", "usage_daily", "charges", "quota_hourly", "workloads_versions")
            }
        filled_s = time.perf_counter() - began
        opened, warm = [], []
        for _ in range(RUNS):
            start = time.perf_counter()
            with open_ledger(place, read_only=True) as ledger:
                weekly(ledger, WEEK, now_ms=0)
                opened.append(time.perf_counter() - start)
                start = time.perf_counter()
                weekly(ledger, WEEK, now_ms=0)
                warm.append(time.perf_counter() - start)
    took = statistics.median(opened)
    there = ", ".join(f"{count:,} {table}" for table, count in rows.items())
    return [
        Result(
            f"report of a week, {GPUS:,} GPUs × {DAYS} days in the ledger",
            f"≤ {GOAL_S} s",
            f"{took:.2f} s",
            took <= GOAL_S,
            f"opening the ledger included; {statistics.median(warm):.2f} s in an open one; rows: {there}",
        ),
        Result(
            f"charges of {DAYS} days of {GPUS:,} GPUs, a day at a time",
            "—",
            f"{charging_s / DAYS:.2f} s a day",
            True,
            f"{lines:,} lines; the whole ledger was made in {filled_s:.0f} s",
        ),
    ]


def _fill(ledger: Ledger) -> tuple[float, int]:
    card = {"card_id": 1, "card": "2026", "start_at": FIRST, "currency": "EUR", "bill_faulted": False, "revision": 0}
    card |= dict.fromkeys(("share_unallocated", "share_unavailable", "share_unobserved"), "held")
    rate = {"rate_id": 1, "card": "2026", "version": 1, "position": 0, "measure": "gpu_hour", "start_at": FIRST}
    rate |= {"cluster_glob": "*", "pool_glob": "*", "model_glob": "*", "price": Decimal("2.35"), "currency": "EUR"}
    ledger.append("bench/prices", {"cards_versions": pl.DataFrame([card]), "rates": pl.DataFrame([rate])})
    charging_s, lines = 0.0, 0
    for day in range(DAYS):
        start = FIRST + timedelta(days=day)
        name = start.date().isoformat()
        _write(ledger, day, {"day": day, "start": start, "name": name})
        began = time.perf_counter()
        lines += charge(ledger, 0, "UTC", [name]).lines
        charging_s += time.perf_counter() - began
    return charging_s, lines


def _write(ledger: Ledger, day: int, parameters: dict[str, object]) -> None:
    def work(cursor: Cursor) -> None:
        for statement in (HOURLY, DAILY, QUOTA, NAMES):
            cursor.execute(statement, {name: value for name, value in parameters.items() if f"${name}" in statement})

    ledger.write(f"bench/{day}", work)

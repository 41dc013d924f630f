"""The weekly report of a large fleet: 10,000 GPUs for 90 days in the ledger, one week of it told."""

import statistics
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl

from analytics.business import iso_week
from analytics.money.charges import charge
from analytics.reports.weekly import weekly
from bench.machine import Result
from sql.ledger import Cursor, Ledger, open_ledger
from sql.upgrade import upgrade

GPUS = 10_000
DAYS = 90
STEP_DAYS = 10  # of one commit: files of the size that compaction leaves
FIRST = datetime(2026, 9, 1, tzinfo=UTC)
WEEK = "2026-W48"
RUNS = 7
GOAL_S, WEEK_GOAL_S = 0.5, 5

TABLES = ("usage_hourly", "usage_daily", "charges", "quota_hourly", "workloads_versions", "gaps_versions")
FLEET = (Path(__file__).parent / "fleet.sql").read_text(encoding="utf-8").split("\n;\n")


def run() -> list[Result]:
    """A report from a ledger opened for it, the process's libraries loaded before: the median of seven."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        began = time.perf_counter()
        with open_ledger(place) as ledger:
            upgrade(ledger)
            charging_s, lines = fill(ledger)
            rows = {table: ledger.query(f"select count(*) as n from {table}").item() for table in TABLES}
        filled_s = time.perf_counter() - began
        opened, warm, cpu = list[float](), list[float](), list[float]()
        for _ in range(RUNS):
            start, begun = time.perf_counter(), time.process_time()
            with open_ledger(place, read_only=True) as ledger:
                weekly(ledger, WEEK, now_ms=0)
                opened.append(time.perf_counter() - start)
                cpu.append(time.process_time() - begun)
                start = time.perf_counter()
                weekly(ledger, WEEK, now_ms=0)
                warm.append(time.perf_counter() - start)
        with open_ledger(place) as ledger:
            week_s, week_cpu_s, week_lines = _charge_week(ledger)
    took = statistics.median(opened)
    there = ", ".join(f"{count:,} {table}" for table, count in rows.items())
    return [
        Result(
            f"report of a week, {GPUS:,} GPUs × {DAYS} days in the ledger",
            f"≤ {GOAL_S} s",
            f"{took:.2f} s",
            took <= GOAL_S,
            f"opening the ledger included, {statistics.median(cpu):.2f} s of CPU; "
            f"{statistics.median(warm):.2f} s in an open one; rows: {there}",
        ),
        Result(
            f"charges of {DAYS} days of {GPUS:,} GPUs, {STEP_DAYS} days at a time",
            "—",
            f"{charging_s / DAYS:.2f} s of CPU a day",
            True,
            f"{lines:,} lines; the whole ledger was made in {filled_s:.0f} s",
        ),
        Result(
            f"charges of a week of {GPUS:,} GPUs anew, every price a new one",
            f"≤ {WEEK_GOAL_S} s",
            f"{week_s:.2f} s",
            week_s <= WEEK_GOAL_S,
            f"{week_lines:,} lines, with prices for borrowed, preemptible, reserved, lent and idle time; "
            f"{week_cpu_s:.2f} s of CPU",
        ),
    ]


def _charge_week(ledger: Ledger) -> tuple[float, float, int]:
    """The week charged at other prices, and written: seconds, seconds of CPU, lines."""
    row = {"card": "2026", "version": 2, "position": 0, "start_at": FIRST, "currency": "EUR"}
    row |= dict.fromkeys(("cluster_glob", "pool_glob", "model_glob", "profile_glob"), "*")
    prices = {
        "gpu_hour": "2.36",
        "borrowed": "2",
        "preemptible": "1",
        "reserved": "0.5",
        "lent": "0.2",
        "idle": "1",
    }
    rates = [
        row | {"rate_id": 10 + number, "measure": measure, "price": Decimal(price)}
        for number, (measure, price) in enumerate(prices.items())
    ]
    ledger.append("bench/week", {"rates": pl.DataFrame(rates)})
    days = [day.day for day in iso_week(WEEK, "UTC").days]
    began, begun = time.perf_counter(), time.process_time()
    lines = charge(ledger, 0, "UTC", days).lines
    return time.perf_counter() - began, time.process_time() - begun, lines


def fill(ledger: Ledger, fleet: Sequence[str] = FLEET, days: int = DAYS) -> tuple[float, int]:
    """Write the days of a fleet, at a price, and charge them: how long charging took, and how many lines it gave."""
    shares = dict.fromkeys(("share_unallocated", "share_unavailable", "share_unobserved"), "held")
    card = {
        "card_id": 1,
        "card": "2026",
        "start_at": FIRST,
        "currency": "EUR",
        "bill_faulted": False,
        "revision": 0,
    }
    rate = {
        "rate_id": 1,
        "card": "2026",
        "version": 1,
        "position": 0,
        "measure": "gpu_hour",
        "start_at": FIRST,
    }
    globs = dict.fromkeys(("cluster_glob", "pool_glob", "model_glob"), "*")
    prices = {
        "cards_versions": pl.DataFrame([card | shares]),
        "rates": pl.DataFrame([rate | globs | {"price": Decimal("2.35"), "currency": "EUR"}]),
    }
    ledger.append("bench/prices", prices)
    charging_s, lines = 0.0, 0
    for day in range(0, days, STEP_DAYS):
        names = [(FIRST + timedelta(days=day + n)).date().isoformat() for n in range(STEP_DAYS)]
        given: dict[str, object] = {
            "day": day,
            "days": STEP_DAYS,
            "start": FIRST,
            "first_day": names[0],
            "last_day": names[-1],
        }
        _write(ledger, fleet, day, given)
        began = time.process_time()
        lines += charge(ledger, 0, "UTC", names).lines
        charging_s += time.process_time() - began
    return charging_s, lines


def _write(ledger: Ledger, fleet: Sequence[str], day: int, parameters: dict[str, object]) -> None:
    def work(cursor: Cursor) -> None:
        for statement in fleet:
            used = {name: value for name, value in parameters.items() if f"${name}" in statement}
            cursor.execute(statement, used)

    ledger.write(f"bench/{day}", work)

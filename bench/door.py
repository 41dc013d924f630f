"""The remote door: a named question over 90 days by day, alone and with 20 sessions, while a collector writes."""

import http.client
import json
import multiprocessing
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from multiprocessing.synchronize import Event
from pathlib import Path

import polars as pl

from bench.machine import Result
from quartermaster.clock import DAY_MS, now_ms
from sql.ledger import Cursor, open_ledger
from sql.tokens import create
from sql.upgrade import upgrade

DAYS = 90
STEP_DAYS = 30  # of one commit
SESSIONS = 20
EVERY_S = 5.0
SPAN_S = 60.0
SERIES = 2_000
ALONE, ALONE_GOAL_S = 15, 0.1
CROWD_GOAL_S = 0.3
PATH = "/v1/questions/utilization-by-team?from=2026-09-01&to=2026-11-29"
DAILY = (Path(__file__).parent / "door.sql").read_text(encoding="utf-8")


def run() -> list[Result]:
    """Asked over HTTP on this machine, from request to the answer's last byte."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        fleet, team = _fill(place)
        address, server = _serve(place)
        spawned = multiprocessing.get_context("spawn")
        over = spawned.Event()
        collector = spawned.Process(target=_collect, args=(place / "ledger", over))
        try:
            for _ in range(3):
                _ask(address, fleet)
                time.sleep(1)
            alone = [_after(1.0, address, fleet) for _ in range(ALONE)]
            own = [_after(1.0, address, team) for _ in range(ALONE)]
            collector.start()
            crowd = _crowd(address, [fleet, team])
        finally:
            over.set()
            if collector.is_alive():
                collector.join()
            server.terminate()
            server.wait()
    p95 = statistics.quantiles(crowd, n=20)[-1]
    one, scoped = statistics.median(alone), statistics.median(own)
    rows = f"{DAYS * 2000:,} rows of usage_daily"
    return [
        Result(
            f"a named question over {DAYS} days by day, alone, over HTTP",
            f"≤ {ALONE_GOAL_S * 1000:.0f} ms",
            f"{one * 1000:.0f} ms",
            one <= ALONE_GOAL_S,
            f"median of {ALONE}; {rows}; of a token for one team of 40 {scoped * 1000:.0f} ms",
        ),
        Result(
            f"the same, {SESSIONS} sessions that each ask every {EVERY_S:g} s while a collector writes",
            f"p95 ≤ {CROWD_GOAL_S * 1000:.0f} ms",
            f"p95 {p95 * 1000:.0f} ms",
            p95 <= CROWD_GOAL_S,
            f"median {statistics.median(crowd) * 1000:.0f} ms of {len(crowd)} questions in {SPAN_S:g} s; "
            f"half of them by a token for one team; {SERIES:,} samples a second written meanwhile",
        ),
    ]


def _fill(place: Path) -> tuple[str, str]:
    """The ledger, and the words of a token for all teams and of one for one team."""
    (place / "quartermaster.yaml").write_text("clusters: [{name: cluster-0}]\n", encoding="utf-8")
    with open_ledger(place / "ledger") as ledger:
        upgrade(ledger)
        for day in range(0, DAYS, STEP_DAYS):

            def work(cursor: Cursor, day: int = day) -> None:
                cursor.execute(DAILY, {"day": day, "days": STEP_DAYS})

            ledger.write(f"bench/{day}", work)
        now = now_ms()
        words = [
            create(
                ledger, name, teams=teams, per_minute=10_000, author="bench", now_ms=now, end_ms=now + DAY_MS
            )[1]
            for name, teams in (("fleet", None), ("team", ["team-7"]))
        ]
    return words[0], words[1]


def _serve(place: Path) -> tuple[str, "subprocess.Popen[str]"]:
    command = [
        sys.executable,
        "-m",
        "cli",
        "-c",
        str(place / "quartermaster.yaml"),
        "serve",
        "sql",
        "--port",
        "0",
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout
    return server.stdout.readline().split("//")[-1].strip(), server


def _collect(folder: Path, over: Event) -> None:
    """A batch of samples a second, as a collector's round."""
    with open_ledger(folder) as ledger:
        number = 0
        while not over.wait(1.0):
            number += 1
            rows = {
                "cluster": ["cluster-0"] * SERIES,
                "series_id": list(range(SERIES)),
                "sampled_at": [now_ms()] * SERIES,
                "source": ["dcgm"] * SERIES,
                "power_dw": [3000] * SERIES,
            }
            ledger.append(f"bench-collect/1/{number}", {"samples": pl.DataFrame(rows)})


def _ask(address: str, word: str) -> float:
    began = time.perf_counter()
    connection = http.client.HTTPConnection(address, timeout=30)
    connection.request("GET", PATH, headers={"authorization": f"Bearer {word}"})
    answer = connection.getresponse()
    told = json.load(answer)
    connection.close()
    assert answer.status == 200, told
    assert told["rows"]
    return time.perf_counter() - began


def _after(pause_s: float, address: str, word: str) -> float:
    time.sleep(pause_s)
    return _ask(address, word)


def _crowd(address: str, words: list[str]) -> list[float]:
    """How long each question of all sessions took; they begin evenly over their pause."""
    took: list[float] = []

    def session(number: int) -> None:
        next_at = time.perf_counter() + number * EVERY_S / SESSIONS
        end_at = time.perf_counter() + SPAN_S
        while next_at < end_at:
            time.sleep(max(0.0, next_at - time.perf_counter()))
            took.append(_ask(address, words[number % len(words)]))
            next_at += EVERY_S

    sessions = [threading.Thread(target=session, args=(number,)) for number in range(SESSIONS)]
    for each in sessions:
        each.start()
    for each in sessions:
        each.join()
    return took

"""The whole openb replay, a real cluster's 149 days: trace into a ledger, usage, bill."""

import os
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from analytics.money.charges import charge
from analytics.usage import roll_up
from bench.machine import Result
from quartermaster.clock import HOUR_MS, from_iso
from quartermaster.config.load import load_configuration
from simulator.configuration import of_replay
from simulator.landing import land
from simulator.replay import Replay
from simulator.trace import read
from sql.declare import declare
from sql.ledger import open_ledger
from sql.upgrade import upgrade

GOAL_S = 30.0
START_MS = from_iso("2026-01-01")
WHAT = "the whole openb replay: ledger, usage, bill"
BESIDE = Path(__file__).parents[2] / "shared/data/openb"


def run() -> list[Result]:
    """Replay the trace that QUARTERMASTER_OPENB names (else one beside the checkout), with hourly samples."""
    folder = Path(os.environ.get("QUARTERMASTER_OPENB", BESIDE))
    goal = f"≤ {GOAL_S:g} s"
    if not (folder / "pods.csv").is_file():
        detail = "the public trace is not part of the project: set QUARTERMASTER_OPENB to its folder"
        return [Result(WHAT, goal, "not measured", False, detail)]
    marks = [time.perf_counter()]
    with tempfile.TemporaryDirectory() as place:
        replay = Replay(read(folder), 1, START_MS)
        file = Path(place) / "quartermaster.yaml"
        file.write_text(of_replay(replay), encoding="utf-8")
        with open_ledger(Path(place) / "ledger") as ledger:
            upgrade(ledger)
            declare(ledger, load_configuration(file, {}), START_MS)
            rows = land(replay, ledger, HOUR_MS, lambda _: None)
            marks.append(time.perf_counter())
            rolled = roll_up(ledger, replay.end_ms + HOUR_MS)
            marks.append(time.perf_counter())
            charged = charge(ledger, replay.end_ms + HOUR_MS, "UTC")
            marks.append(time.perf_counter())
    landing, usage, bill = (later - earlier for earlier, later in pairwise(marks))
    detail = (
        f"{len(replay.placed):,} pods on {rows['devices_versions']:,} GPUs and {rows['samples']:,} samples "
        f"in {landing:.1f} s; "
        f"{rolled.rows:,} rows of usage in {usage:.1f} s; {charged.lines:,} lines of cost in {bill:.1f} s"
    )
    whole = marks[-1] - marks[0]
    return [Result(WHAT, goal, f"{whole:.1f} s", whole <= GOAL_S, detail)]

"""Bytes a stored sample: a day of 1,000 noisy GPUs at 30 s, 12 metrics a row, compacted; and Prometheus on it."""

import tempfile
import time
from pathlib import Path

import numpy as np

from bench.machine import Result
from bench.noise import METRICS, START_MS, Noise, Numbers, exposed
from bench.prometheus import bytes_per_sample
from quartermaster.clock import now_ms
from sql.ledger import open_ledger
from sql.upgrade import upgrade
from sql.upkeep import Pace, compact

GPUS = 1_000
ROUNDS = 2_880
GOAL_BYTES = 0.65
GOAL_RATIO = 5.0
# Prometheus compresses series by series: a tenth of the fleet gives its figure.
PEER_GPUS = 100


def run() -> list[Result]:
    """Write round by round with upkeep in passing, as a collector does; then compact, and weigh the files."""
    noise = Noise(GPUS)
    peer: list[dict[str, Numbers]] = []
    rounded: list[dict[str, Numbers]] = []
    times_ms = [START_MS + number * 30_000 for number in range(ROUNDS)]
    commits: list[float] = []
    held: list[float] = []
    with tempfile.TemporaryDirectory() as folder, open_ledger(Path(folder) / "ledger") as ledger:
        upgrade(ledger)
        pace = Pace()
        for number in range(ROUNDS):
            shown = noise.round(number)
            rows = noise.rows(number, shown)
            few = {name: values[:PEER_GPUS] for name, values in shown.items()}
            peer.append({name: exposed(name, values) for name, values in few.items()})
            rounded.append({name: np.rint(values) for name, values in few.items()})
            begun = time.monotonic()
            ledger.append(f"bench/1/{number}", {"samples": rows})
            commits.append(time.monotonic() - begun)
            if number % 30 == 29:
                held += [step.held_s for step in compact(ledger, now_ms(), pace=pace)]
        held += [step.held_s for step in compact(ledger, now_ms(), budget_s=300, everything=True, pace=pace)]
        size, files, count = ledger.query(
            "select sum(data_file_size_bytes)::bigint, count(*), (select count(*) from samples) "
            "from ducklake_list_files('lake', 'samples')"
        ).row(0)
        assert count == GPUS * ROUNDS
        peer_bytes = bytes_per_sample(peer, times_ms, Path(folder) / "pages")
        rounded_bytes = bytes_per_sample(rounded, times_ms, Path(folder) / "rounded")
    ours = size / (count * len(METRICS))
    commits.sort()
    held.sort()
    detail = (
        f"{count:,} rows in {files} files; commit p50 {commits[len(commits) // 2] * 1000:.0f} ms, "
        f"p99 {commits[len(commits) * 99 // 100] * 1000:.0f} ms; "
        f"upkeep held the write lock {held[len(held) * 99 // 100]:.2f} s at p99, {held[-1]:.2f} s at most"
    )
    what = f"bytes a stored sample, {GPUS} GPUs, a day at 30 s"
    results = [Result(what, f"≤ {GOAL_BYTES}", f"{ours:.3f}", ours <= GOAL_BYTES, detail)]
    goal = f"Prometheus ≥ {GOAL_RATIO:g} ×"
    if peer_bytes is None or rounded_bytes is None:
        return [
            *results,
            Result(f"{what}, against Prometheus", goal, "not measured", False, "it is not installed"),
        ]
    ratio = peer_bytes / ours
    told = (
        f"Prometheus takes {peer_bytes:.2f} bytes a sample of {PEER_GPUS} of the GPUs, with the numbers of their "
        f"pages; {rounded_bytes:.2f} if it were given the ledger's rounded integers"
    )
    return [
        *results,
        Result(f"{what}, against Prometheus", goal, f"{ratio:.1f} ×", ratio >= GOAL_RATIO, told),
    ]

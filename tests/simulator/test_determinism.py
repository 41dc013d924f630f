"""The same seed gives the same bytes: in any process, however the clock is stepped."""

import hashlib
import os
import subprocess
import sys

import pytest

from quartermaster.clock import HOUR_MS, MINUTE_MS, SECOND_MS, from_iso
from quartermaster.records import Watermark
from simulator.scenario import demo

START_MS = from_iso("2026-11-23")
SPAN_MS = 9 * HOUR_MS


def digest(seed: int, step_ms: int) -> str:
    simulation = demo(seed, START_MS, START_MS + SPAN_MS, quick=True)
    found = hashlib.sha256()
    for at in range(START_MS + step_ms, START_MS + SPAN_MS + 1, step_ms):
        simulation.advance(at)
    for node in simulation.nodes:
        found.update(simulation.page(node, START_MS + SPAN_MS) or b"down")
    found.update(repr(simulation.truth()).encode())
    found.update(simulation.configuration("http://127.0.0.1:1").encode())
    return found.hexdigest()


@pytest.mark.parametrize("step_ms", [30 * SECOND_MS, 7 * SECOND_MS + 1, 5 * MINUTE_MS, SPAN_MS])
@pytest.mark.patient
def test_the_steps_of_the_clock_do_not_matter(step_ms: int):
    assert digest(3, step_ms) == digest(3, HOUR_MS)


def test_another_seed_is_another_cluster():
    assert digest(3, HOUR_MS) != digest(4, HOUR_MS)


@pytest.mark.patient
def test_another_process_with_another_hash_seed_says_the_same():
    program = (
        "import importlib.util as u, sys;"
        f"s = u.spec_from_file_location('digest', {__file__!r}); m = u.module_from_spec(s);"
        "s.loader.exec_module(m); print(m.digest(3, m.HOUR_MS))"
    )
    said = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONHASHSEED": "20"},
    )
    assert said.stdout.strip() == digest(3, HOUR_MS)


def test_what_was_told_is_told_in_pieces_too():
    whole = demo(5, START_MS, START_MS + SPAN_MS, quick=True)
    whole.advance(START_MS + SPAN_MS)
    stepped = demo(5, START_MS, START_MS + SPAN_MS, quick=True)
    pieces: dict[str, list[object]] = {}
    since: int | None = None
    for hour in range(10):
        stepped.advance(START_MS + hour * HOUR_MS)
        told = stepped.truth(since)
        marks = [mark for mark in told.pop("watermarks") if isinstance(mark, Watermark)]
        assert [mark.complete_until_at for mark in marks] == [stepped.clock_ms] * 2
        for table, records in told.items():
            pieces.setdefault(table, []).extend(records)
        since = stepped.clock_ms
    expected = whole.truth()
    del expected["watermarks"]
    assert pieces == expected

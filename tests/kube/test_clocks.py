"""The API server's clock against the collector's: bounds by each answer, and what follows where they are apart."""

import json
import time
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.health import Metrics
from collector.kubernetes.clocks import APART_MS, ServerClock
from collector.kubernetes.drift import Drift
from collector.kubernetes.source import KubernetesSource
from collector.kubernetes.talk import connect
from collector.log import Log
from quartermaster.clock import HOUR_MS, from_iso, now_ms, to_iso
from quartermaster.config.clusters import KubernetesPart
from tests.kube.raws import T0, node, pod, replaced
from tests.kube.standin import line, listed, standing_in, stream


def observed(
    clock: ServerClock, ours_ms: int, offset_ms: int, took_ms: int = 0, told_after_ms: int = 0
) -> None:
    """An answer asked for at `ours_ms`, written `told_after_ms` later by the server's clock, that took so long."""
    server_ms = ours_ms + told_after_ms + offset_ms
    clock.observe(ours_ms, ours_ms + took_ms, formatdate(server_ms // 1000, usegmt=True))


@given(
    st.integers(-600_000, 600_000),
    st.lists(
        st.tuples(st.integers(0, 60_000), st.integers(0, 500), st.integers(0, 500)), min_size=1, max_size=70
    ),
)
def test_the_true_offset_is_within_the_bounds(offset_ms: int, asked: list[tuple[int, int, int]]):
    clock, now = ServerClock(), T0
    for wait, before, after in asked:
        now += wait
        observed(clock, now, offset_ms, before + after, before)
    bounds = clock.bounds()
    assert bounds is not None
    assert bounds[0] <= offset_ms < bounds[1]
    assert bounds[1] - bounds[0] <= 2000


def test_many_answers_tell_more_than_the_second_of_one():
    clock = ServerClock()
    for number in range(64):
        observed(clock, T0 + number * 1017, 300, 2)
    least, most = clock.bounds() or (0, 0)
    assert most - least < 100
    assert abs(clock.offset_ms - 300) < 100
    assert clock.apart_ms == 0, "less than two seconds is one clock"


def test_a_clock_that_is_set_is_followed():
    clock = ServerClock()
    for number in range(10):
        observed(clock, T0 + number * 1017, 180_000)
    assert abs(clock.apart_ms - 180_000) < 600
    observed(clock, T0 + 20_000, 0)
    assert clock.apart_ms == 0
    assert abs(clock.offset_ms) < 1000


@pytest.mark.parametrize("date", ["", "yesterday", "Mon, 99 Nov 2026 12:00:00 GMT", "\x00", "9" * 400])
def test_a_date_that_is_none_tells_nothing(date: str):
    clock = ServerClock()
    clock.observe(T0, T0, date)
    assert clock.bounds() is None
    assert (clock.offset_ms, clock.apart_ms) == (0, 0)


def test_apart_is_only_what_is_surely_so():
    clock = ServerClock()
    observed(clock, T0, APART_MS + 400)
    assert clock.apart_ms == 0, "one answer bounds it to a second"
    observed(clock, T0 + 5000, APART_MS + 1400)
    assert clock.apart_ms == 0 or clock.apart_ms > APART_MS


def test_a_drift_is_a_finding_while_it_lasts():
    """Told when it begins, once an hour while it is so, and when it ends: versions of one finding."""
    drift = Drift("c")
    assert drift.observe(T0, 0, None) is None
    first = drift.observe(T0 + 1000, 9000, (8800, 9200))
    assert first is not None
    assert json.loads(first.evidence) == {"ahead_ms": 9000, "least_ms": 8800, "most_ms": 9200}
    assert drift.observe(T0 + 60_000, 9000, (8800, 9200)) is None
    later = drift.observe(T0 + 2 * HOUR_MS, 9100, (8900, 9300))
    last = drift.observe(T0 + 3 * HOUR_MS, 0, (-100, 100))
    assert later is not None
    assert last is not None
    spans = [(each.finding_id, each.start_at, each.revision) for each in (first, later, last)]
    assert spans == [(first.finding_id, T0 + 1000, revision) for revision in range(3)]
    assert [later.end_at, last.end_at] == [T0 + 2 * HOUR_MS, T0 + 3 * HOUR_MS]
    assert drift.observe(T0 + 4 * HOUR_MS, 0, None) is None


@pytest.mark.parametrize("ahead_s", [180, -180])
@pytest.mark.patient
def test_a_server_whose_clock_is_minutes_apart_is_told_on_its_own_clock(
    ahead_s: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """A pod bound by the server's clock and taken by force, which only we see: its end is after its binding."""
    bound = to_iso(now_ms() + ahead_s * 1000)[:19] + "Z"
    running = pod("p", started=0)
    running["status"]["conditions"][0]["lastTransitionTime"] = bound
    told: dict[str, list[dict[str, Any]]] = {}
    with standing_in() as server:
        server.ahead_s = ahead_s
        server.script("/api/v1/nodes", stream(line("ADDED", node(), "8"), listed()))
        gone = line("DELETED", running, "12")
        server.script("/api/v1/pods", stream(line("ADDED", running, "8"), listed(), gone))
        server.script("/api/v1/resourcequotas", stream(listed()))
        part = KubernetesPart.model_construct(
            kubeconfig=server.kubeconfig(tmp_path), context=None, in_cluster=False
        )
        source = KubernetesSource(replaced(), connect(part, "c", 30), now_ms, Log("plain"), 180_000)
        source.start()
        end = time.monotonic() + 30
        while not any(row["end_at"] for row in told.get("allocations_versions", [])):
            assert time.monotonic() < end, (told, source.troubles)
            for table, rows in source.take(now_ms()).frames.items():
                told.setdefault(table, []).extend(rows.to_dicts())
            time.sleep(0.05)
        source.stop()
    row = told["allocations_versions"][-1]
    assert row["start_at"] == from_iso(bound)
    assert 0 <= row["end_at"] - row["start_at"] < 20_000, "not what the two clocks are apart"
    metrics = Metrics()
    metrics.note_watches("c", source, now_ms())
    value = metrics.registry.get_sample_value
    offset = value("quartermaster_collector_api_clock_offset_seconds", {"cluster": "c"})
    lag = value("quartermaster_collector_watch_lag_seconds", {"cluster": "c", "resource": "pods"})
    assert offset is not None
    assert lag is not None
    assert abs(offset - ahead_s) < 1.5
    assert -1.5 < lag < 30, "on the server's clock too"
    (finding,) = [each for each in told["findings_versions"] if each["kind"] == "clocks apart"]
    assert abs(json.loads(finding["evidence"])["ahead_ms"] - ahead_s * 1000) < 1500
    said = capsys.readouterr()
    assert "NTP" in said.out + said.err

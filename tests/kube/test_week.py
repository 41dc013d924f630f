"""A scripted week on a real control plane, the collector killed three times: the ledger against the script's record."""

import signal
from pathlib import Path
from typing import Any

from analytics.usage import provisional
from collector.gaps import DOWN
from quartermaster.clock import HOUR_MS
from quartermaster.ids import device_id
from sql.checks import run
from sql.ledger import Ledger
from tests.kube.accountant import Accountant
from tests.kube.collecting import Collector, Rows
from tests.kube.recorder import Recorder, write
from tests.kube.replaying import lives_of, picture_of, written
from tests.kube.week import G, Week
from tests.servers.controlplane import ControlPlane
from tests.servers.fleet import Ground
from tests.servers.objects import make_device_class


def test_a_week_in_a_minute(control_plane: ControlPlane, ground: Ground, tmp_path: Path):
    """Jobs, a gang, workspaces, MIG, DRA, time-slices, evictions, force, a lost node, three SIGKILLs.

    kwok stands in for the kubelets (their times, as a kubelet's, are whole seconds); all else is real.
    """
    make_device_class(control_plane)
    recorder = Recorder(ground).start()
    week = Week(ground, Collector(control_plane, tmp_path))
    try:
        week.play()
    finally:
        week.collector.end(signal.SIGKILL)
        lines = recorder.stop()
    rows = week.collector.rows(ground.namespace)
    the_intervals_are_the_scripts(week, rows)
    with week.collector.ledger() as ledger:
        the_rest_is_the_scripts(week, ledger, rows)
        rule_one_to_the_millisecond(week, ledger)
        assert [(broken.check, broken.count) for broken in run(ledger)] == []
    the_accountant_agrees(rows, lines)
    every = {**week.facts, **week.ghosts}
    record = {uid: [fact.name, fact.parts, fact.start_ms, fact.end] for uid, fact in every.items()}
    write(tmp_path / "recorded.jsonl", record, lines)


def the_intervals_are_the_scripts(week: Week, rows: Rows) -> None:
    """To the millisecond of the API's times; what only was seen, within what the script saw."""
    assert {row["pod"] for row in rows.values()} == {fact.name for fact in week.facts.values()}
    assert set(rows) == set(week.facts), "none that lived and died while nobody watched is invented"
    for uid, fact in week.facts.items():
        row = rows[uid]
        assert (row["start_ms"], row["gpu_parts"]) == (fact.start_ms, fact.parts), fact
        if fact.end is None:
            assert row["end_ms"] is None, fact
            continue
        assert fact.end[0] <= row["end_ms"] <= fact.end[1], (fact, row)
        if fact.unseen_since is None:
            assert row["sure_ms"] == row["end_ms"], (fact, row)
        else:
            assert row["sure_ms"] <= fact.unseen_since < row["end_ms"], (fact, row)


def the_rest_is_the_scripts(week: Week, ledger: Ledger, rows: Rows) -> None:
    """Devices, workloads, nodes, and the spans in which nobody watched."""
    held: dict[int, set[int]] = {}
    for row in ledger.query("select allocation_id, device_id from holdings").to_dicts():
        held.setdefault(row["allocation_id"], set()).add(row["device_id"])
    for uid, fact in week.facts.items():
        named = {device_id("c", uuid) for uuid in fact.devices}
        assert held.get(rows[uid]["allocation_id"], set()) == named, fact
    stuck = next(row for row in rows.values() if row["pod"] == "stuck")
    assert (stuck["started_ms"], stuck["end_ms"]) == (None, None), "held, and not started"
    kinds = {
        row["workload_id"]: row["kind"]
        for row in ledger.query("select workload_id, kind from workloads").to_dicts()
    }
    found: dict[str, set[str]] = {}
    for row in rows.values():
        found.setdefault(f"{kinds[row['workload_id']]}/{row['workload_id']}", set()).add(row["pod"])
    gangs = [pods for name, pods in found.items() if name.startswith("Job/")]
    assert sorted(len(pods) for pods in gangs) == [2, 4]
    assert sorted(pods.pop() for name, pods in found.items() if name.startswith("workspace/")) == [
        "jupyter-ada",
        "lab-0",
    ]
    nodes = "select node, schedulable, ready, gpu_count from nodes"
    states = {(row["node"], row["schedulable"], row["ready"]) for row in ledger.query(nodes).to_dicts()}
    assert (week.nodes["two"], False, True) in states
    assert (week.nodes["frail"], True, False) in states
    sick = ledger.query("select node from devices where not healthy").to_dicts()
    assert [row["node"] for row in sick] == [week.nodes["one"]]
    query = """
        select epoch_ms(start_at) as start_ms, epoch_ms(end_at) as end_ms
        from gaps where covers = 'holders' and reason = ? order by start_at
    """
    gaps = ledger.query(query, [DOWN]).rows()
    assert len(gaps) == len(week.down) == 3
    for (start, end), (killed, revived) in zip(gaps, week.down, strict=True):
        assert start <= killed + 1000
        assert end >= revived - 1000
    for ghost in week.ghosts.values():
        assert ghost.end is not None
        in_gap = [start <= ghost.start_ms + 999 and ghost.end[1] <= end for start, end in gaps]
        assert any(in_gap), "who was never known was in a gap"


def rule_one_to_the_millisecond(week: Week, ledger: Ledger) -> None:
    """Each row adds up, and each pod's usage is exactly its parts times its span."""
    ends = [row["end_ms"] for row in week.collector.rows(week.ground.namespace).values() if row["end_ms"]]
    first_ms = min(fact.start_ms for fact in week.facts.values()) // HOUR_MS * HOUR_MS
    usage = provisional(ledger, "c", first_ms, max(ends)).usage
    assert usage.height
    for row in usage.to_dicts():
        of = {name.removesuffix("_pms"): value for name, value in row.items() if name.endswith("_pms")}
        assert of["capacity"] == of["held"] + of["unallocated"] + of["unavailable"] + of["unobserved"]
        assert of["held"] == of["computing"] + of["idle"] + of["unknown"]
    ids = {
        row["pod_uid"]: row["allocation_id"] for row in week.collector.rows(week.ground.namespace).values()
    }
    for uid, fact in week.facts.items():
        if fact.end is not None and fact.end[0] == fact.end[1]:
            held: Any = usage.filter(usage["allocation_id"] == ids[uid])["held_pms"].sum()
            assert held == fact.parts * (fact.end[0] - fact.start_ms), fact
    ten = next(fact for fact in week.facts.values() if fact.name == "ten")
    assert ten.end is not None
    assert ten.parts == G
    assert 9_000 <= ten.end[0] - ten.start_ms <= 30_000


def the_accountant_agrees(rows: Rows, lines: list[Any]) -> None:
    """On what another watch recorded: with a replay in all things, with the ledger in all that the API shows."""
    books = written(Accountant().read(lines))
    assert lives_of(picture_of(lines)) == books
    for uid, row in rows.items():
        life = books[uid]
        assert (row["start_ms"], row["gpu_parts"], row["node"]) == (life.start_ms, life.parts, life.node)
        if row["end_evidence"] == "containers finished":
            assert row["end_ms"] == life.end_ms, life

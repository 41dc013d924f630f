"""What was won back: given stops and holdings, the GPU-time that others had of it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analytics.wonback import LONGEST_MS, Given, Stop, by_team, won_back
from enforcer.audit.chain import Chain
from enforcer.audit.deed import Deed, Phase, Result
from quartermaster import records
from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.parts import GPU_PARTS
from sql.ledger import Ledger
from tests.ledgers import new_ledger
from tests.usage.small import CLUSTER, Small, gpu, m
from tests.usage.toy import frames

G = GPU_PARTS
VICTIM, OTHER = 1, 2


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with new_ledger(tmp_path / "ledger") as opened:
        yield opened


def scene(gpus: int = 2) -> Small:
    """The victim's pod holds all GPUs from minute 0 to 60."""
    small = Small(gpus)
    small.h.workloads = [
        records.Workload(CLUSTER, VICTIM, m(-600), None, "batch", "Job", "lab", "sleeper", uid="uid-sleeper"),
        records.Workload(CLUSTER, OTHER, m(-600), None, "batch", "Job", "vision", "train", uid="uid-train"),
    ]
    small.pod("s0", 0, 60, *map(gpu, range(gpus)))
    return small


def told(ledger: Ledger, small: Small, teams: dict[int, str] | None = None) -> None:
    """The scene, and the roll-up's rows that say whose an allocation is."""
    ledger.append("told", frames(small.h))
    for number, team in (teams or {}).items():
        span = f"make_timestamptz({m(0) * 1000}), make_timestamptz({m(600) * 1000})"
        row = f"select '{CLUSTER}', {span}, {number}, '{team}'"
        names = "(cluster, row_start_at, row_end_at, allocation_id, team)"
        ledger.cursor().execute(f"insert into lake.usage_hourly {names} {row}")


def deed(act: str, minute: float, **more: Any) -> Deed:
    at_ms = m(0) + round(minute * MINUTE_MS)
    base = Deed(CLUSTER, at_ms, Phase.INTENT, act, "p" * 64, object_uid="uid-sleeper", cause="idle")
    return replace(base, kind="Job", namespace="lab", name="sleeper", team="lab", pool="p", **more)


def done(ledger: Ledger, act: str, minute: float, result: Result = Result.DONE, **more: Any) -> str:
    """An intent, and a tenth of a minute later what came of it; the intent's hash."""
    chain = Chain(ledger, CLUSTER)
    (intent,) = chain.write([deed(act, minute, **more)])
    chain.write([replace(deed(act, minute + 0.1, **more), phase=Phase.OUTCOME, result=result, intent=intent)])
    return intent


def found(ledger: Ledger, start: int = 0, end: int = 600) -> list[Stop]:
    with ledger.reading() as cursor:
        return list(won_back(cursor, m(start), m(end)))


@pytest.mark.patient
def test_what_others_held_on_its_gpus_until_it_was_started_again_is_won_back(ledger: Ledger):
    small = scene()
    first = small.pod("t0", 61, 121, gpu(0), workload_id=OTHER)
    second = small.pod("t1", 90, None, gpu(1), workload_id=OTHER)
    told(ledger, small, {first: "vision", second: "speech"})
    done(ledger, "stop", 60, frees_parts=2 * G)
    done(ledger, "restore", 179.9)
    (stop,) = found(ledger)
    assert (stop.kind, stop.namespace, stop.name, stop.team, stop.cause) == (
        "Job",
        "lab",
        "sleeper",
        "lab",
        "idle",
    )
    assert (stop.stopped_ms, stop.back_ms) == (m(60) + 6_000, m(180))
    assert stop.given == (Given("speech", 90 * MINUTE_MS * G), Given("vision", HOUR_MS * G))
    assert by_team([stop, stop]) == {"speech": 180 * MINUTE_MS * G, "vision": 2 * HOUR_MS * G}


@pytest.mark.patient
def test_only_the_time_between_the_two_instants_counts(ledger: Ledger):
    small = scene(1)
    small.pod("t0", 60, 300, gpu(0), workload_id=OTHER)
    told(ledger, small)
    done(ledger, "stop", 60)
    assert found(ledger, 120, 180)[0].given == (Given(None, HOUR_MS * G),)
    assert found(ledger, 0, 60) == []
    assert found(ledger, 300, 360)[0].given == ()


def test_its_own_pods_those_who_were_there_before_and_other_gpus_are_not_won_back(ledger: Ledger):
    small = Small(3)
    scene_ = scene(1)
    small.h.workloads = scene_.h.workloads
    small.pod("s0", 0, 60, gpu(0), gpu(1), parts=G // 2)
    small.pod("near", 30, 240, gpu(1), workload_id=OTHER, parts=G // 2)
    small.pod("s1", 70, 100, gpu(0), parts=G // 2)
    small.pod("far", 70, 100, gpu(2), workload_id=OTHER)
    told(ledger, small)
    done(ledger, "stop", 60)
    assert found(ledger)[0].given == ()


def test_of_a_gpu_in_parts_no_more_is_won_back_than_it_held(ledger: Ledger):
    small = scene(1)
    small.h.holdings = [replace(each, parts=G // 2) for each in small.h.holdings]
    for number in range(4):
        small.pod(f"p{number}", 60, None, gpu(0), workload_id=OTHER, parts=G // 4)
    told(ledger, small)
    done(ledger, "stop", 60)
    assert found(ledger, 0, 120)[0].given == (Given(None, HOUR_MS * G // 2),)


@pytest.mark.parametrize("result", [Result.NO_EFFECT, Result.FAILED, Result.ABANDONED])
@pytest.mark.patient
def test_what_was_not_done_won_nothing(ledger: Ledger, result: Result):
    small = scene()
    small.pod("t0", 61, None, gpu(0), workload_id=OTHER)
    told(ledger, small)
    done(ledger, "stop", 60, result)
    done(ledger, "hold", 60)
    assert found(ledger) == []


def test_what_somebody_else_started_again_counts_until_then(ledger: Ledger):
    small = scene(1)
    small.pod("t0", 60, None, gpu(0), workload_id=OTHER)
    told(ledger, small)
    intent = done(ledger, "stop", 60)
    undone = replace(deed("stop", 90), phase=Phase.OUTCOME, result=Result.UNDONE, intent=intent)
    Chain(ledger, CLUSTER).write([undone])
    assert (found(ledger)[0].back_ms, found(ledger)[0].given_pms) == (m(90), 30 * MINUTE_MS * G)


@pytest.mark.patient
def test_two_stops_of_one_workload_count_one_after_the_other(ledger: Ledger):
    small = scene(1)
    small.pod("t0", 60, 90, gpu(0), workload_id=OTHER)
    small.pod("s1", 91, 120, gpu(0))
    small.pod("t1", 120, 150, gpu(0), workload_id=OTHER)
    told(ledger, small)
    done(ledger, "stop", 60)
    done(ledger, "start", 90)
    done(ledger, "stop", 120)
    assert [(each.back_ms, each.given_pms) for each in found(ledger)] == [
        (m(90) + 6_000, 30 * MINUTE_MS * G),
        (None, 30 * MINUTE_MS * G),
    ]


def test_after_seven_days_nothing_more_is_counted(ledger: Ledger):
    small = scene(1)
    small.pod("t0", 60, None, gpu(0), workload_id=OTHER)
    told(ledger, small)
    done(ledger, "stop", 60)
    assert found(ledger, 0, 30 * 24 * 60)[0].given_pms == (LONGEST_MS + 6_000) * G
    assert found(ledger, 9 * 24 * 60, 10 * 24 * 60) == []


def test_another_cluster_is_another_cluster(ledger: Ledger):
    small = scene(1)
    small.pod("t0", 60, None, gpu(0), workload_id=OTHER)
    told(ledger, small)
    done(ledger, "stop", 60)
    with ledger.reading() as cursor:
        assert won_back(cursor, m(0), m(600), "other") == ()
        assert len(won_back(cursor, m(0), m(600), CLUSTER)) == 1

"""Shadow mode now: a plan of what the ledger knows at this instant, recorded once; none where it knows too little."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from enforcer.freshness import Refusal, stale, thin
from enforcer.plan import Act, Plan
from enforcer.recorded import read, record
from enforcer.shadow import Ruling, Shadow, cycle, make
from enforcer.written import differ, write
from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.config.findings import FindingsPart
from quartermaster.config.policy import PolicyPart
from sql.ledger import Ledger, memory_ledger
from tests.enforcer import scenes
from tests.enforcer.scenes import ask, job, node, promise, scene
from tests.enforcer.scenes import made as plan_made
from tests.findings import scene as noticed
from tests.findings.scene import Scene
from tests.usage.small import CLUSTER, gpu, m, pod
from tests.usage.toy import insert

RULING = Ruling(PolicyPart(), FindingsPart(), "UTC")


@pytest.fixture(scope="module")
def ledger() -> Iterator[Ledger]:
    with memory_ledger() as opened:
        yield opened


def now(
    told: Scene, *, telemetry_until: int | None = None, before: list[dict[str, Any]] | None = None
) -> Shadow | Refusal:
    """The shadow plan of the scene's instant; `before`: rows of actions that earlier plans recorded."""
    mark: dict[str, Any] = {"cluster": CLUSTER, "source": "dcgm", "covers": "telemetry"}
    mark["complete_until_at"] = m(telemetry_until or told.at)
    told.more["watermarks"] = [mark]
    told.found()
    connection = noticed._CONNECTION
    connection.execute("delete from actions")
    if before:
        insert(connection, "actions", pl.DataFrame(before))
    return make(connection, CLUSTER, m(told.at), RULING)


def deed(act: str, minute: int, stage: str = "") -> dict[str, Any]:
    return {
        "cluster": CLUSTER,
        "mode": "shadow",
        "act": act,
        "stage": stage,
        "object_uid": "uid-train",
        "planned_at": m(minute),
    }


def trained() -> Scene:
    """A job that computed until minute 100, beside one that works; the hours before the window are rolled up."""
    told = Scene(2)
    told.workload("Job", "train", 0)
    told.busy(0, 0, 100)
    told.idle(0, 101)
    told.workload("Job", "other", 1)
    told.busy(1)
    rolled(told, "cciii")
    return told


def rolled(told: Scene, letters: str) -> None:
    """Hours of the job, from hour 0 on, as the roll-up has them."""
    told.more["usage_hourly"] = [
        {
            "cluster": CLUSTER,
            "row_start_at": m(60 * hour),
            "row_end_at": m(60 * hour + 60),
            "device_id": gpu(0),
            "allocation_id": pod("0-train"),
            "workload_id": 100,
            "computing_pms": int(letter == "c"),
        }
        for hour, letter in enumerate(letters)
    ]


def deeds(made: Shadow | Refusal) -> list[tuple[str, str]]:
    assert isinstance(made, Shadow), made
    return [(each.stage or each.act.value, each.target.name) for each in made.plan.actions]


@pytest.mark.patient
def test_an_idle_job_is_warned_as_the_policy_says() -> None:
    made = now(trained())
    assert deeds(made) == [("warn", "train")]
    assert isinstance(made, Shadow)
    (action,) = made.plan.actions
    assert "idle for 4 h;" in action.why[0]  # by the hour, before what is looked at minute by minute
    assert (action.target.way_down, action.harm and action.harm.lost_pms) == (
        "suspend",
        168_000 * 6 * HOUR_MS,
    )
    assert made.ids["uid-train"] == 100


@pytest.mark.patient
def test_after_two_recorded_warnings_it_would_be_taken() -> None:
    warned = [deed("warn", 200, "warn"), deed("warn", 300, "again")]
    assert deeds(now(trained(), before=warned[:1])) == [("again", "train")]
    assert deeds(now(trained(), before=warned)) == [("stop", "train")]


@pytest.mark.patient
def test_where_the_roll_up_is_behind_nobody_is_taken() -> None:
    """Then it is not known for how long it is idle, and warnings from before that count for nothing."""
    told = trained()
    rolled(told, "cc")
    assert deeds(now(told, before=[deed("warn", 200, "warn"), deed("warn", 290, "again")])) == [
        ("warn", "train")
    ]


@pytest.mark.patient
def test_a_warning_from_before_it_computed_last_counts_for_nothing() -> None:
    assert deeds(now(trained(), before=[deed("warn", 60, "warn"), deed("warn", 90, "again")])) == [
        ("warn", "train")
    ]


@pytest.mark.patient
def test_what_is_recorded_for_this_instant_or_later_is_not_remembered() -> None:
    assert deeds(now(trained(), before=[deed("warn", 360, "warn")])) == [("warn", "train")]


@pytest.mark.patient
def test_it_is_taken_once_until_it_computes_again() -> None:
    warned = [deed("warn", 200, "warn"), deed("warn", 300, "again")]
    assert deeds(now(trained(), before=[*warned, deed("stop", 320)])) == []
    told = Scene(2, at=480)
    told.workload("Job", "train", 0)
    told.idle(0, 0, 369)
    told.busy(0, 370, 390)
    told.idle(0, 391)
    told.workload("Job", "other", 1)
    told.busy(1)
    rolled(told, "cciiiici")
    assert deeds(now(told, before=[*warned, deed("stop", 320)])) == [("warn", "train")]


@pytest.mark.patient
def test_what_never_computed_is_idle_from_its_grace_on() -> None:
    told = Scene(2)
    told.workload("Job", "train", 0)
    told.idle(0)
    told.workload("Job", "other", 1)
    told.busy(1)
    rolled(told, "iiiii")
    made = now(told)
    assert isinstance(made, Shadow)
    assert "idle for 5 h 40 min" in made.plan.actions[0].why[0]


@pytest.mark.parametrize("behind", ["holders", "telemetry"])
@pytest.mark.patient
def test_where_a_source_is_behind_nothing_is_planned(behind: str) -> None:
    told = trained()
    if behind == "holders":
        told.heard_until = told.at - 3
    made = now(told, telemetry_until=told.at - 3 if behind == "telemetry" else None)
    source = "kubernetes" if behind == "holders" else "dcgm"
    assert isinstance(made, Refusal)
    assert made.reasons == (
        f"{source} told about {behind} 180 s ago; nothing is planned on what is older than 120 s",
    )
    assert made.heard_ms == m(told.at - 3)


@pytest.mark.patient
def test_where_too_little_is_known_nothing_is_planned() -> None:
    quiet = Scene(4)
    for index in range(4):
        quiet.workload("Job", f"job-{index}", index)
    for index in range(3):
        quiet.busy(index)
    made = now(quiet)
    assert isinstance(made, Refusal)
    assert len(made.reasons) == 1
    assert "nothing is planned below 90 %" in made.reasons[0]


def test_reasons_of_sources() -> None:
    policy = PolicyPart()
    assert list(stale({("k", "holders"): (120_000, 0), ("d", "telemetry"): (180_000, 90_000)}, policy)) == []
    assert list(stale({("k", "holders"): (120_001, 60_000)}, policy)) != []
    assert list(stale({("d", "telemetry"): (180_001, 90_000)}, policy)) != []
    assert list(stale({("", "telemetry"): (None, 0)}, policy)) == ["no source has never told about telemetry"]
    assert list(thin(0, 0)) == []
    assert list(thin(1000, 900)) == []
    assert list(thin(1000, 899)) != []


@pytest.mark.patient
def test_a_ledger_in_which_nobody_told_anything(ledger: Ledger) -> None:
    made, recorded = cycle(ledger, "nowhere", 1_796_000_400_000, RULING)
    assert isinstance(made, Refusal)
    assert (len(made.reasons), made.heard_ms, recorded) == (2, None, False)


def taking() -> Plan:
    """A plan with a stop: an owner asks, a borrower has what it is promised."""
    return plan_made(
        scene(
            (node("n1"),),
            job("j", "b", "n1", gpus=8),
            ask("w", "a", gpus=8),
            promise("a", 8),
            promise("b", 0),
        )
    )


def at(plan: Plan, later_ms: int) -> Plan:
    return replace(plan, at_ms=plan.at_ms + later_ms)


def count(ledger: Ledger, table: str) -> int:
    return ledger.query(f"select count(*) from {table}").item()


def test_a_plan_is_recorded_once_and_read_back(ledger: Ledger) -> None:
    plan = taking()
    assert [each.act for each in plan.actions] == [Act.STOP]
    assert record(ledger, plan, {"j": 42})
    assert not record(ledger, plan, {"j": 42})
    assert not record(ledger, at(plan, 10_000), {"j": 42})  # the same ten seconds later
    assert (count(ledger, "plans"), count(ledger, "actions")) == (1, 1)
    row = ledger.query("select * from actions").to_dicts()[0]
    assert (row["act"], row["object_uid"], row["workload_id"], row["for_uid"]) == ("stop", "j", 42, "w")
    assert (row["frees_parts"], row["mode"]) == (8 * 168_000, "shadow")
    found = read(ledger, plan.hash[:8], "here")
    assert found == write(plan)
    assert found is not None
    assert found["doing_nothing"]["idle_gpus"] == "0"  # what is taken for an owner does not stand idle
    assert "are waited for" in found["doing_nothing"]["words"]
    assert found["assumed"]
    nothing = Plan("here", plan.at_ms + MINUTE_MS, plan.policy_hash)
    assert record(ledger, nothing, {})
    assert record(ledger, at(plan, HOUR_MS), {"j": 42})  # other plans came in between
    assert [count(ledger, "plans"), count(ledger, "actions")] == [3, 2]
    assert read(ledger, "", "elsewhere") is None


def test_how_two_plans_differ() -> None:
    first, second = write(taking()), write(Plan("here", scenes.NOW, "x"))
    told = differ(first, second)
    assert [each["uid"] for each in told.less] == ["j"]
    assert (told.more, told.same) == ((), 0)
    assert differ(first, first).same == 1

"""Shadow mode over the past: the ladder climbed hour by hour, from what is known of each instant, not of later."""

from typing import Any

import pytest

from analytics.regret import Outcome, tally, together, watch
from enforcer.plan import Act, Verdict
from enforcer.replay import Replay, replay
from enforcer.shadow import Ruling, Shadow
from quartermaster.clock import HOUR_MS
from quartermaster.config.findings import FindingsPart
from quartermaster.config.policy import PolicyPart
from quartermaster.parts import GPU_PARTS
from tests.enforcer.past import CLUSTER, Past, h
from tests.usage.small import m

POLICY: dict[str, Any] = {
    "idle": (
        {"kinds": ("serving",)},
        {"kinds": ("Notebook",), "warn": "2h", "again": "4h", "take": "8h"},
        {"kinds": ("*",), "warn": "1h", "again": "2h", "take": "3h"},
    )
}
RULING = Ruling(PolicyPart.model_validate(POLICY), FindingsPart(), "UTC")


def planned(past: Past, first: int = 1, last: int | None = None, **more: Any) -> Replay:
    return replay(past.told(), CLUSTER, (h(first), h(past.hours if last is None else last)), RULING, **more)


def deeds(past: Past, first: int = 1, last: int | None = None) -> list[tuple[int, str, str]]:
    """Every deed: at which hour, what, to whom."""
    made: list[Shadow] = []
    done = planned(past, first, last, keep=made.append)
    assert done.plans == len(made)
    return [
        ((each.plan.at_ms - h(0)) // HOUR_MS, action.stage or action.act.value, action.target.name)
        for each in made
        for action in each.plan.actions
    ]


def test_a_job_that_stands_idle_is_warned_twice_then_taken_once() -> None:
    past = Past(12)
    past.did("train", "Job", 1, "ccc" + "i" * 9)
    # Idle from the end of hour 2; an hour later the first warning, and the others as the policy has them.
    assert deeds(past) == [(4, "warn", "train"), (5, "again", "train"), (6, "stop", "train")]


def test_what_is_known_later_changes_no_plan_before() -> None:
    short, long = Past(12), Past(12)
    short.did("train", "Job", 1, "ccc" + "i" * 9)
    long.did("train", "Job", 1, "ccciii" + "c" * 6)
    long.did("later", "Job", 2, "iiiiii", start=6)
    assert deeds(short, last=6) == deeds(long, last=6)


def test_a_workload_that_ends_later_stands_in_the_snapshot_as_it_stood() -> None:
    past = Past(12)
    past.did("train", "Job", 1, "ciiii")
    done = planned(past, last=4)
    assert isinstance(done.last, Shadow)
    assert "uid-train" in done.last.ids


def test_one_that_was_taken_counts_again_only_when_it_has_computed_in_between() -> None:
    past = Past(24)
    past.did("still", "Job", 1, "c" + "i" * 8 + "u" * 3 + "i" * 12)
    past.did("back", "Job", 2, "c" + "i" * 8 + "c" * 3 + "i" * 12)
    names = [each.name for each in planned(past).victims]
    assert sorted(names) == ["vision/back", "vision/back", "vision/still"]


@pytest.mark.parametrize(("letter", "taken"), [("u", 0), ("a", 0), ("t", 0), ("n", 1), ("i", 1)])
def test_only_what_is_idle_by_two_signals_for_95_percent_is_ground(letter: str, taken: int) -> None:
    past = Past(8, gpus=14)
    for index in range(2, 14):  # so that enough is known of the cluster
        past.did(f"works-{index}", "Job", index, "c" * 8)
    past.did("train", "Job", 1, "c" + letter * 7)
    done = planned(past)
    assert (done.refusals, len(done.victims), done.warned) == ([], taken, 2 * taken)


def test_every_gpu_of_it_must_be_idle() -> None:
    past = Past(8)
    past.did("train", "Job", 1, "c" + "i" * 7)
    past.did("train", "Job", 2, "c" * 8)
    assert planned(past).warned == 0


def test_what_has_ended_is_not_in_the_snapshot() -> None:
    past = Past(8)
    past.did("train", "Job", 1, "cii")
    (at_two, at_three) = (planned(past, last=hour).last for hour in (2, 3))
    assert isinstance(at_two, Shadow)
    assert isinstance(at_three, Shadow)
    assert sorted(at_two.ids) == ["uid-busy", "uid-train"]
    assert sorted(at_three.ids) == ["uid-busy"]


def test_on_a_thin_hour_nothing_is_planned() -> None:
    past = Past(6)
    past.did("dark", "Job", 1, "ccuuuu")
    done = planned(past)
    assert [each.at_ms for each in done.refusals] == [h(hour) for hour in (3, 4, 5, 6)]
    assert done.refusals[0].reasons == ("of what is held 50 % is known; nothing is planned below 90 %",)
    assert done.plans == 2


def test_an_hour_that_is_not_rolled_up_is_refused() -> None:
    past = Past(6)
    done = planned(past, first=6, last=7)
    assert [each.reasons[-1] for each in done.refusals] == ["the hour before it is not rolled up"]


def test_a_gap_of_the_whole_cluster_is_no_time_to_plan() -> None:
    past = Past(8)
    past.did("train", "Job", 1, "c" + "i" * 7)
    past.small.gap("holders", "kubernetes", 170, 310, node="")  # from 2:50 to 5:10
    done = planned(past)
    assert [each.at_ms for each in done.refusals] == [h(3), h(4), h(5)]
    assert done.refusals[1].reasons == (
        "kubernetes told about holders 1 h 10 min ago; nothing is planned on what is older than 120 s",
    )
    assert done.refusals[1].heard_ms == m(170)


def test_what_serves_what_a_service_may_stand_before_and_what_opted_out_are_left() -> None:
    past = Past(14, gpus=6)
    past.did("api", "InferenceService", 1, "c" + "i" * 13)
    past.did("web", "Deployment", 2, "c" + "i" * 13)
    past.did("mine", "Job", 3, "c" + "i" * 13, labels='{"quartermaster/exclude": "true"}')
    past.did("odd", "Job", 4, "c" + "i" * 13, labels='{"quartermaster/exclude-until": "next week"}')
    past.did("done", "Job", 5, "c" + "i" * 13, labels='{"quartermaster/exclude-until": "1970-01-02"}')
    done = planned(past)
    assert [each.name for each in done.victims] == ["vision/done"]
    assert isinstance(done.last, Shadow)
    reasons = {each.title: each.reason for each in done.last.plan.spared}
    assert reasons["InferenceService vision/api"] == "workloads of its kind are reported only"
    assert "Service" in reasons["Deployment vision/web"]
    assert reasons["Job vision/mine"] == reasons["Job vision/odd"] == "it opted out"


def test_what_nothing_brings_back_is_not_taken() -> None:
    past = Past(14)
    past.did("bare", "Pod", 1, "c" + "i" * 13)
    past.did("own", "MyKind", 2, "c" + "i" * 13)
    done = planned(past, first=7)
    assert done.victims == []


def test_all_idle_at_once_is_a_fault_of_telemetry() -> None:
    past = Past(10)
    past.usage.clear()
    past.did("train", "Job", 1, "ci" + "i" * 8)
    assert planned(past).victims == []


def test_for_who_waits_nobody_is_taken_as_the_ledger_does_not_know_where_its_pods_fit() -> None:
    from quartermaster import records

    past = Past(6)
    past.did("borrower", "Job", 1, "cccccc", team="nlp")
    past.small.promise("vision", 4)
    past.small.h.demand.append(
        records.Demand(
            CLUSTER, 1, h(2), None, 900, "vision", "p", 2 * GPU_PARTS, 2, 2, "no room", "kubernetes"
        )
    )
    done = planned(past)
    assert isinstance(done.last, Shadow)
    (answer,) = done.last.plan.answers
    assert answer.verdict is Verdict.UNSURE
    assert "taints" in answer.words
    assert answer.waited_pms == 2 * GPU_PARTS * 4 * HOUR_MS
    assert not [each for each in done.last.plan.actions if each.act is Act.STOP]
    balance = {each.team: each for each in done.last.plan.balances}
    assert balance["nlp"].held_before_parts == balance["nlp"].held_after_parts == GPU_PARTS
    assert balance["vision"].guaranteed_parts == 4 * GPU_PARTS


def test_each_would_be_victim_is_watched() -> None:
    past = Past(40, gpus=8)
    past.did("back", "Job", 1, "c" + "i" * 4 + "c" * 35)  # taken at 4, computes in hour 5
    past.did("later", "Job", 2, "c" + "i" * 9 + "c" * 30)  # computes at 10, six hours after
    past.did("still", "Job", 3, "c" + "i" * 39)
    past.did("dark", "Job", 4, "c" + "i" * 3 + "u" * 2 + "i" * 34)  # unknown right after
    past.did("gone", "Job", 5, "c" + "i" * 5)  # ends at 6
    past.did("young", "Notebook", 6, "c" * 20 + "i" * 20)  # taken at 28: the day is not over
    for index in (7,):
        past.did(f"works-{index}", "Job", index, "c" * 40)
    connection = past.told()
    done = replay(connection, CLUSTER, (h(1), h(40)), RULING)
    told = {each.victim.name.rpartition("/")[2]: each for each in watch(connection, done.victims)}
    assert {name: [each.name for each in one.outcomes] for name, one in told.items()} == {
        "back": ["BACK", "BACK", "BACK"],
        "later": ["IDLE", "BACK", "BACK"],
        "still": ["IDLE", "IDLE", "IDLE"],
        "dark": ["UNKNOWN", "UNKNOWN", "UNKNOWN"],
        "gone": ["IDLE", "ENDED", "ENDED"],
        "young": ["IDLE", "IDLE", "OPEN"],
    }
    assert told["back"].back_ms == h(5)
    hours = {name: each.given_pms / (GPU_PARTS * HOUR_MS) for name, each in told.items()}
    # known idle from the taking (hour 4, the notebook 28) until it computed, ended, or the ledger's end
    assert hours == {"back": 1, "later": 6, "still": 36, "dark": 34, "gone": 2, "young": 12}
    jobs, notebooks = tally(told.values())
    assert (jobs.kind, jobs.taken, notebooks.kind, notebooks.taken) == ("Job", 5, "Notebook", 1)
    assert jobs.outcomes[8] == {
        Outcome.BACK: 2,
        Outcome.IDLE: 1,
        Outcome.ENDED: 1,
        Outcome.UNKNOWN: 1,
        Outcome.OPEN: 0,
    }
    assert together(list(told.values())).taken == 6


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"back_ms": 1, "held_2_pms": 100, "unknown_2_pms": 100}, Outcome.BACK),
        ({"held_2_pms": 100, "unknown_2_pms": 5}, Outcome.IDLE),
        ({"held_2_pms": 100, "unknown_2_pms": 6}, Outcome.UNKNOWN),
        ({"held_2_pms": 100, "until_2_ms": HOUR_MS}, Outcome.ENDED),
        ({"held_2_pms": 0, "until_2_ms": 0}, Outcome.ENDED),
        ({"rolled_until_ms": 2 * HOUR_MS - 1}, Outcome.OPEN),
        ({"back_ms": 2 * HOUR_MS, "held_2_pms": 100}, Outcome.IDLE),
    ],
)
def test_outcomes(row: dict[str, int], expected: Outcome) -> None:
    from analytics.regret import outcome

    whole: dict[str, int | None] = {
        "back_ms": None,
        "held_2_pms": 100,
        "unknown_2_pms": 0,
        "until_2_ms": 2 * HOUR_MS,
        "rolled_until_ms": 24 * HOUR_MS,
    }
    assert outcome(whole | row, 0, 2) is expected

"""`quartermaster enforce` and `plan`: what people see of shadow mode, on a ledger of a day."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest

from cli import again, enforce, main
from quartermaster.clock import to_iso
from sql.ledger import Ledger
from tests.enforcer.past import CLUSTER, Past, h
from tests.findings.scene import Scene
from tests.ledgers import new_ledger
from tests.usage.small import m
from tests.usage.toy import frames

HOURS = 24
PAINT = "\x1b[31m\x1b]0;owned\x07\u202e[bold]"
YAML = f"""
clusters: [{{name: {CLUSTER}, dcgm: {{targets: ["http://127.0.0.1:9400/metrics"]}}}}]
policy: {{idle: [{{kinds: ["*"], warn: 1h, again: 2h, take: 3h}}]}}
"""


def fill(ledger: Ledger, past: Past) -> None:
    """The past as a ledger has it."""
    rows = frames(past.small.h)
    marks = [("kubernetes", "holders"), ("dcgm", "telemetry")]
    rows["watermarks"] = pl.DataFrame(
        {
            "cluster": [CLUSTER] * 2,
            "source": [source for source, _ in marks],
            "covers": [covers for _, covers in marks],
            "complete_until_at": [h(HOURS)] * 2,
        }
    )
    rows["rollup_marks"] = pl.DataFrame(
        {"cluster": [CLUSTER], "rolled_from_at": [h(0)], "rolled_until_at": [h(HOURS)]}
    )
    rows["usage_hourly"] = pl.DataFrame(past.usage)
    ledger.append("test/1/1", rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("shadow")
    (made / "quartermaster.yaml").write_text(YAML, encoding="utf-8")
    past = Past(HOURS, gpus=6)
    past.did("train", "Job", 1, "c" + "i" * 23)  # warned at 2, at 3, taken at 4
    past.did("back", "Job", 2, "c" + "i" * 5 + "c" * 18)  # taken at 4, computes in hour 6
    past.did("dark", "Job", 3, "c" + "i" * 4 + "u" * 2 + "c" * 17)
    past.did(f"odd{PAINT}", "Job", 4, "c" * 18 + "i" * 6, namespace=f"ns{PAINT}")  # taken at 21
    with new_ledger(made / "ledger") as ledger:
        fill(ledger, past)
    return made


Say = Callable[..., tuple[int, str]]


@pytest.fixture
def say(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    """Give the command; its exit code, and all that it says."""

    return lambda *arguments: told_by(folder, arguments, monkeypatch, capsys)


def told_by(
    folder: Path,
    arguments: Sequence[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> tuple[int, str]:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(sys, "argv", ["quartermaster", "-c", str(folder / "quartermaster.yaml"), *arguments])
    try:
        main.run()
    except SystemExit as end:
        return int(end.code or 0), "".join(capsys.readouterr())
    return 0, "".join(capsys.readouterr())


def instant(hour: int) -> str:
    return to_iso(h(hour))


@pytest.mark.patient
def test_on_a_ledger_that_is_not_fresh_there_is_no_plan_and_it_says_why(say: Say) -> None:
    code, told = say("enforce")
    assert code == 0
    assert "c: nothing is planned as of" in told
    told = " ".join(told.split())  # as the terminal breaks it
    assert "kubernetes told about holders" in told
    assert "dcgm told about telemetry" in told
    assert f"quartermaster enforce --at {instant(24)[:13]}:00Z" in told
    (value,) = json.loads(say("enforce", "--once", "--json")[1])
    assert len(value["refused"]) == 2
    assert value["complete_until"] == instant(24)
    assert say("plan", "show") == (
        2,
        "error: no plan is recorded\n"
        "  try: quartermaster enforce records one; an instant in place of a hash makes one anew\n",
    )


@pytest.mark.patient
def test_the_plan_of_an_hour_in_the_past(say: Say) -> None:
    code, told = say("enforce", "--at", instant(4))
    assert code == 0
    assert "Shadow: nothing is done." in told
    assert "Job vision/train of team vision in pool p, frees 1 GPU." in told
    assert "its people were warned twice" in told
    assert "If nothing is done: 3 GPUs go on standing idle, 72.0 GPU-hours a day" in told
    assert "No PodDisruptionBudget is in the ledger" in told
    (value,) = json.loads(say("enforce", "--at", instant(4), "--json")[1])
    assert [each["act"] for each in value["actions"]] == ["stop"] * 3
    team = next(each for each in value["teams"] if each["team"] == "vision")
    assert (team["before_gpus"], team["after_gpus"]) == ("4", "1")
    assert json.loads(say("plan", "show", instant(4), "--json")[1]) == value


def test_one_workload_explained(say: Say) -> None:
    code, told = say("plan", "explain", "train", instant(4))
    assert code == 0
    assert "Job vision/train of team vision would be taken: it stands idle." in told
    assert "idle for 3 h; take is due after 3 h" in told
    assert "record what was there, stop its owner, evict its pods that are still there" in told
    code, told = say("plan", "explain", "nobody", instant(4))
    assert code == 2
    assert "it names: Job vision/back, Job vision/dark, Job vision/train" in told


@pytest.mark.patient
def test_two_hours_compared(say: Say) -> None:
    code, told = say("plan", "diff", instant(3), instant(4))
    assert code == 0
    assert "3 more, 3 fewer, 0 the same" in told
    value = json.loads(say("plan", "diff", instant(3), instant(4), "--json")[1])
    assert {each["act"] for each in value["more"]} == {"stop"}
    assert {each["stage"] for each in value["less"]} == {"again"}


@pytest.mark.patient
def test_regret_over_the_past(say: Say) -> None:
    code, told = say("enforce", "regret")
    assert code == 0
    assert "c, 2025-11-24T17:00Z to 2025-11-25T16:00Z: 22 plans, one every 1 h; 2 refused" in told
    assert "refused 2 times: too little of what is held is known" in told
    assert "Of 4 that would have been taken 2 computed again within 24 hours" in told
    value = json.loads(say("enforce", "regret", "--json")[1])
    (here,) = value["clusters"]
    assert here["from"] == instant(1)
    (jobs,) = here["by_rule_and_kind"]
    assert (jobs["rule"], jobs["kind"], jobs["taken"]) == ("it stands idle", "Job", 4)
    assert jobs["within_hours"]["2"] == {
        "computed again": 0,
        "stayed idle": 3,
        "ended by itself": 0,
        "unknown": 1,
        "not over yet": 0,
    }
    assert jobs["within_hours"]["8"] == {
        "computed again": 2,
        "stayed idle": 1,
        "ended by itself": 0,
        "unknown": 0,
        "not over yet": 1,
    }
    assert here["all"] == jobs | {"rule": "", "kind": ""}
    given = {each["name"].rpartition("/")[2]: each["given_gpu_hours"] for each in here["victims"]}
    assert given == {"train": "20.0", "back": "2.0", "dark": "1.0", f"odd{PAINT}": "3.0"}
    assert "stayed idle only where 95 % of what it held is known" in value["method"]


@pytest.mark.patient
def test_regret_over_a_span(say: Say) -> None:
    value = json.loads(say("enforce", "regret", "--from", instant(1), "--to", instant(3), "--json")[1])
    (here,) = value["clusters"]
    assert (here["plans"], here["all"]["taken"], here["warned"]) == (3, 0, 6)
    code, told = say("enforce", "regret", "--from", instant(1), "--to", instant(3))
    assert (code, "Nobody would have been taken." in told) == (0, True)
    code, told = say("enforce", "regret", "--from", instant(9), "--to", instant(3))
    assert code == 2
    assert "there is no hour from" in told
    code, told = say("enforce", "regret", "--from", "yesterday")
    assert (code, "'yesterday' is no instant" in told) == (2, True)
    assert say("enforce", "regret", "--recorded", "--step", "2")[0] == 2


@pytest.mark.patient
def test_options_that_do_not_go_together(say: Say) -> None:
    assert say("enforce", "--once", "--watch")[0] == 2
    assert say("enforce", "--at", "noon")[0] == 2
    assert say("enforce", "--cluster", "other")[0] == 2
    for wish in ("--act", "--plan"):  # what is not there is not offered
        assert say("enforce", wish)[0] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("enforce", "--at", instant(21)),
        ("enforce", "--at", instant(21), "--json"),
        ("plan", "show", instant(21)),
        ("plan", "explain", f"odd{PAINT}", instant(21)),
        ("plan", "diff", instant(20), instant(21)),
        ("enforce", "regret", "--json"),
    ],
    ids=" ".join,
)
@pytest.mark.patient
def test_names_are_shown_and_not_obeyed(say: Say, arguments: Sequence[str]) -> None:
    code, told = say(*arguments)
    assert code == 0
    assert {sign for sign in told if not sign.isprintable()} <= {"\n"}
    assert "odd" in told


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger whose last instant is minute 360: a job that computed until minute 100, beside one that works."""
    made = tmp_path_factory.mktemp("fresh")
    (made / "quartermaster.yaml").write_text(YAML, encoding="utf-8")
    told = Scene(2)
    told.workload("Job", "train", 0)
    told.busy(0, 0, 100)
    told.idle(0, 101)
    told.workload("Job", "other", 1)
    told.busy(1)
    marks = [("kubernetes", "holders"), ("dcgm", "telemetry")]
    rows = frames(told.small.h)
    rows["watermarks"] = pl.DataFrame(
        [
            {"cluster": CLUSTER, "source": source, "covers": covers, "complete_until_at": m(360)}
            for source, covers in marks
        ]
    )
    with new_ledger(made / "ledger") as ledger:
        ledger.append("test/1/1", rows)
    return made


@pytest.mark.patient
def test_a_plan_is_recorded_once_shown_and_watched(
    fresh: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def say(*arguments: str) -> tuple[int, str]:
        return told_by(fresh, arguments, monkeypatch, capsys)

    monkeypatch.setattr(enforce, "now_ms", lambda: m(360))
    code, told = say("enforce")
    assert code == 0
    assert "warned    Job vision/train of team vision in pool p." in told
    assert "It is recorded." in told
    assert "The last one recorded has the same actions" in say("enforce", "--once")[1]
    shown = say("plan", "show")[1]
    assert shown == told.partition("It is recorded.")[0]
    recorded = json.loads(say("plan", "show", "--json")[1])
    assert json.loads(say("plan", "show", recorded["hash"][:6], "--json")[1]) == recorded
    assert say("plan", "show", "zzz")[0] == 2
    assert "would be warned" in say("plan", "explain", "vision/train")[1]
    assert "Nobody would have been taken" in say("enforce", "regret", "--recorded")[1]

    instants = iter([m(360) + 10_000, m(360) + 20_000, m(364), m(365)])
    rounds: list[float] = []

    def sleep(until_s: float) -> None:
        rounds.append(until_s - time.monotonic())
        if len(rounds) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(enforce, "now_ms", lambda: next(instants))
    monkeypatch.setattr(again, "wait_until", sleep)
    code, told = say("enforce", "--watch")
    assert code == 130
    # the warning counts as sent from now on; then the ledger is too old, which is said once
    assert told.count("Nothing would be done to anybody.") == 1
    assert told.count("nothing is planned as of") == 1
    assert all(seconds <= 10 for seconds in rounds)

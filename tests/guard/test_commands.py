"""`quartermaster approve`, `freeze` and `thaw`, on a ledger with plans that wait for approval."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import count
from pathlib import Path

import polars as pl
import pytest
import typer

from cli import approve, freeze, main
from enforcer.audit.requests import approvals, commands
from enforcer.guard.refused import Reason
from enforcer.guard.switches import commanded, freeze_file
from enforcer.plan import Plan
from enforcer.recorded import record
from quartermaster.clock import HOUR_MS, MINUTE_MS, to_iso
from quartermaster.config.load import load_configuration
from quartermaster.config.model import Configuration
from quartermaster.person import pseudonym_of
from sql import configured
from sql.catalog import Cursor
from sql.ledger import Ledger, memory_ledger
from tests.enforcer.clusters import NOW
from tests.guard.cases import idle_scene, idler, judged, only_refusal, planned, standing, uids

POLICY = "policy: {acting: {mode: plan, a_cycle: 5, an_hour: 5, team_an_hour: 5, pool_share_a_day: 1}}"
CLUSTERS = """
clusters:
  - {name: here, dcgm: {targets: ["http://127.0.0.1:9400/metrics"]}}
  - {name: there, dcgm: {targets: ["http://127.0.0.1:9401/metrics"]}}
"""
Say = Callable[..., tuple[int, str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a configuration."""
    (tmp_path / "quartermaster.yaml").write_text(CLUSTERS + POLICY, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def one_ledger() -> Iterator[Ledger]:
    """One ledger for all tests."""
    with memory_ledger() as ledger:
        yield ledger


HOURS = count(1)


@pytest.fixture
def start() -> int:
    """When a test begins, an hour after the one before it: what is done once at an instant is not done again."""
    return NOW + next(HOURS) * HOUR_MS


@pytest.fixture
def ledger(one_ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    """The ledger that the configuration names, from which every plan and request goes afterwards."""

    def clear(cursor: Cursor) -> None:
        for table in ("plans", "actions", "requests"):
            cursor.execute(f"delete from lake.{table}")

    def opened(_: Configuration) -> AbstractContextManager[Ledger]:
        return nullcontext(one_ledger)

    with monkeypatch.context() as patched:
        patched.setattr(configured, "open_configured", opened)
        yield one_ledger
    one_ledger.write(f"test/clear/{next(HOURS)}", clear)


@pytest.fixture
def say(folder: Path, start: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    """Give the command at the start, or so many milliseconds later; its exit code and all that it says."""

    def told(*arguments: str, after_ms: int = 0) -> tuple[int, str]:
        monkeypatch.setattr(approve, "now_ms", lambda: start + after_ms)
        monkeypatch.setattr(freeze, "now_ms", lambda: start + after_ms)
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setattr(
            sys, "argv", ["quartermaster", "-c", str(folder / "quartermaster.yaml"), *arguments]
        )
        try:
            main.run()
        except SystemExit as end:
            return int(end.code or 0), "".join(capsys.readouterr())
        return 0, "".join(capsys.readouterr())

    return told


def a_plan(folder: Path, at_ms: int) -> Plan:
    """The plan that takes job `i`, under the file's policy."""
    policy = load_configuration(folder / "quartermaster.yaml", {}).policy
    return replace(planned(idle_scene(), policy, idler()), at_ms=at_ms)


@pytest.mark.patient
def test_an_approved_plan_is_carried_out_until_its_approval_runs_out(
    folder: Path, ledger: Ledger, say: Say, start: int
) -> None:
    made = a_plan(folder, start)
    assert record(ledger, made, {}, "plan")
    code, told = say("approve", made.hash[:12], "--yes", "--reason", "it is my own", "--json", after_ms=5)
    assert code == 0
    value = json.loads(told)
    assert value == {
        "cluster": "here",
        "plan": made.hash,
        "approved_by": value["approved_by"],
        "approved_at": to_iso(start + 5),
        "until": to_iso(start + 5 + 10 * MINUTE_MS),
    }
    assert pseudonym_of(value["approved_by"]) is not None
    policy = load_configuration(folder / "quartermaster.yaml", {}).policy
    for at_ms, reason in ((start + 5, None), (start + 5 + 10 * MINUTE_MS, Reason.EXPIRED)):
        with ledger.reading() as cursor:
            given = approvals(cursor, "here", at_ms)
            assert approvals(cursor, "there", at_ms) == ()
        assert [each.snapshot_hash for each in given] == [made.snapshot_hash]
        seen = replace(idle_scene(), at_ms=at_ms, seen_at_ms=at_ms)
        found = replace(idler(), evidence=(replace(idler().evidence[0], sampled_at_ms=at_ms),))
        now = standing(found, now_ms=at_ms, asked="plan", approvals=given)
        judgement = judged(seen, replace(made, at_ms=at_ms), now, policy)
        if reason is None:
            assert uids(judgement) == ["i"]
        else:
            assert only_refusal(judgement).reason is reason


def test_the_plan_is_shown_and_asked_about(
    folder: Path, ledger: Ledger, say: Say, monkeypatch: pytest.MonkeyPatch, start: int
) -> None:
    made = a_plan(folder, start)
    record(ledger, made, {}, "plan")
    code, told = say("approve", made.hash[:12])
    assert code == 2
    assert "Job ns-c/i of team c" in told
    assert "there is nobody to ask" in told
    asked: list[str] = []

    def confirm(question: str, *, abort: bool) -> None:
        asked.append(question)
        if len(asked) == 1 and abort:
            raise typer.Abort

    monkeypatch.setattr(approve.sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(typer, "confirm", confirm)
    assert say("approve", made.hash[:12])[0] == 1
    with ledger.reading() as cursor:
        assert approvals(cursor, "here", start) == ()
    code, told = say("approve", made.hash[:12])
    assert code == 0
    assert asked == [f"Approve plan {made.hash[:12]} of cluster here?"] * 2
    assert f"Plan {made.hash[:12]} of cluster here is approved until {to_iso(start + 10 * MINUTE_MS)}" in told
    with ledger.reading() as cursor:
        assert len(approvals(cursor, "here", start)) == 1


@pytest.mark.patient
def test_what_is_not_approved(folder: Path, ledger: Ledger, say: Say, start: int) -> None:
    made = a_plan(folder, start)
    name = made.hash[:12]
    code, told = say("approve", name, "--yes")
    assert code == 2
    assert (
        f"no recorded plan begins with '{name}'\n  try: quartermaster plan show has the last that was" in told
    )
    assert "is too short to approve a plan by" in say("approve", name[:7], "--yes")[1]
    record(ledger, made, {}, "shadow")
    assert f"plan {name} is a shadow plan" in say("approve", name, "--yes")[1]
    record(ledger, replace(made, at_ms=start + 1), {}, "plan")
    assert say("approve", name, "--cluster", "elsewhere", "--yes")[0] == 2
    assert "no recorded plan begins" in say("approve", name, "--cluster", "there", "--yes")[1]
    code, told = say("approve", name, "--yes", after_ms=1 + 10 * MINUTE_MS)
    assert code == 2
    assert (
        f"plan {name} is of {to_iso(start + 1)}, longer ago than the 10 min of policy.acting.approval_lasts"
        in told
    )
    nothing = replace(made, actions=(), at_ms=start + 2)
    record(ledger, nothing, {}, "plan")
    assert (
        f"plan {name} of {to_iso(start + 1)} is not the last: another took its place"
        in say("approve", name, "--yes")[1]
    )
    assert "does nothing to anybody" in say("approve", nothing.hash[:12], "--yes")[1]
    with ledger.reading() as cursor:
        assert approvals(cursor, "here", start) == ()


def test_a_beginning_of_two_plans_is_no_plan(ledger: Ledger, say: Say, start: int) -> None:
    rows = [
        {
            "cluster": cluster,
            "plan_hash": plan_hash,
            "planned_at": start,
            "mode": "plan",
            "actions": 1,
            "body": "{}",
        }
        for cluster, plan_hash in (("here", "abcdef01" + "0" * 56), ("there", "abcdef01" + "1" * 56))
    ]
    ledger.append("test/two/1", {"plans": pl.DataFrame(rows)})
    code, told = say("approve", "abcdef01", "--yes")
    assert code == 2
    assert (
        "2 recorded plans begin with 'abcdef01': abcdef0100000000 of cluster here, abcdef0111111111 of"
        in told
    )
    assert "no recorded plan" in say("approve", "abcdef0_", "--yes")[1]


def test_where_the_policy_lets_nothing_be_done_nothing_is_approved(
    folder: Path, ledger: Ledger, say: Say, start: int
) -> None:
    made = a_plan(folder, start)
    record(ledger, made, {}, "plan")
    (folder / "quartermaster.yaml").write_text(CLUSTERS, encoding="utf-8")
    code, told = say("approve", made.hash[:12], "--yes")
    assert (code, "policy.acting.mode is shadow" in told) == (2, True)


@pytest.mark.patient
def test_a_plan_that_waits_is_recorded_again_every_minute(folder: Path, ledger: Ledger, start: int) -> None:
    made = a_plan(folder, start)
    recorded = [
        record(ledger, replace(made, at_ms=start + s * 1000), {}, "plan") for s in (0, 10, 59, 60, 119, 120)
    ]
    assert recorded == [True, False, False, True, False, True]
    assert record(ledger, replace(made, at_ms=start + 121_000), {}, "act")
    assert not record(ledger, replace(made, at_ms=start + 999_000), {}, "act")


def frozen(ledger: Ledger, cluster: str) -> bool:
    """Whether the last command freezes it."""
    with ledger.reading() as cursor:
        return commanded(commands(cursor, cluster, NOW)) is not None


@pytest.mark.patient
def test_freeze_and_thaw_all(folder: Path, ledger: Ledger, say: Say, start: int) -> None:
    file = folder / "freeze"
    code, told = say("freeze", "--reason", "a \x1b[31m\nholiday")
    assert code == 0
    assert f"Frozen: nothing is done to clusters here, there from {to_iso(start)} on." in told
    assert file.read_text(encoding="utf-8") == "a \x1b[31m holiday\n"
    assert (frozen(ledger, "here"), frozen(ledger, "there")) == (True, True)
    assert say("freeze", "--reason", "another")[0] == 0
    assert "holiday" in file.read_text(encoding="utf-8")  # what was there first stays
    value = json.loads(say("thaw", "--json", after_ms=9)[1])
    assert value == {"thawed": ["here", "there"], "at": to_iso(start + 9), "still": None}
    assert not file.exists()
    assert (frozen(ledger, "here"), frozen(ledger, "there")) == (False, False)


def test_a_reason_that_is_no_text_freezes_all_the_same(
    folder: Path, ledger: Ledger, say: Say, start: int
) -> None:
    assert say("freeze", "--reason", os.fsdecode(b"fire \xff"))[0] == 0
    assert (
        freeze_file(load_configuration(folder / "quartermaster.yaml", {})).read_text(encoding="utf-8")
        == "fire ?\n"
    )
    assert say("thaw")[0] == 0


def test_one_cluster_alone(folder: Path, ledger: Ledger, say: Say, start: int) -> None:
    value = json.loads(say("freeze", "--cluster", "there", "--json")[1])
    assert value == {"frozen": ["there"], "at": to_iso(start), "file": None}
    assert (frozen(ledger, "here"), frozen(ledger, "there")) == (False, True)
    assert not (folder / "freeze").exists()
    (folder / "freeze").write_text("all\n", encoding="utf-8")
    told = say("thaw", "--cluster", "there", after_ms=1)[1]
    assert "Nothing is done all the same: frozen since" in told
    assert (folder / "freeze").exists()
    (folder / "freeze").unlink()
    assert say("freeze", "--cluster", "elsewhere")[0] == 2


def test_the_last_word_counts_whatever_the_clock_says(ledger: Ledger, say: Say, start: int) -> None:
    for command, expected, after_ms in (
        ("freeze", True, 0),
        ("thaw", False, -9_000),
        ("freeze", True, -9_000),
    ):
        assert say(command, "--cluster", "here", after_ms=after_ms)[0] == 0
        assert frozen(ledger, "here") is expected


def test_one_way_to_freeze_is_enough(folder: Path, ledger: Ledger, say: Say) -> None:
    acting = "policy: {acting: {freeze_file: nowhere/freeze}}"
    (folder / "quartermaster.yaml").write_text(CLUSTERS + acting, encoding="utf-8")
    code, told = say("freeze")
    assert code == 1
    assert "nowhere/freeze cannot be made: No such file or directory" in told
    assert frozen(ledger, "here")


def test_and_so_it_is_while_the_ledger_is_away(folder: Path, say: Say) -> None:
    code, told = say("freeze")
    assert code == 4
    assert (
        "freeze is there, which freezes all that look at it, but it is not recorded: there is no ledger"
        in told
    )
    assert (folder / "freeze").exists()
    assert not (folder / "ledger").exists()
    assert say("thaw")[0] == 4
    assert (folder / "freeze").exists()  # what cannot be recorded is not thawed

"""`quartermaster keep`: a row in requests under a pseudonym, within the policy's bound, about a workload that runs."""

import getpass
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from cli import keep as command
from cli import main
from enforcer.ladder.subject import Subject
from quartermaster.clock import from_iso, now_ms
from quartermaster.errors import InputError
from quartermaster.person import person_id, pseudonym, pseudonym_key
from sql.ledger import open_ledger
from sql.upgrade import upgrade
from tests.enforcer.clusters import NOW
from tests.ladder.idlers import MIN, H
from tests.ladder.test_subject import tell

YAML = """\
clusters:
  - {name: main, dcgm: {targets: ["http://127.0.0.1:9400/metrics"]}}
  - {name: other, dcgm: {targets: ["http://127.0.0.1:9401/metrics"]}}
policy:
  idle:
    - {kinds: [Deployment]}
    - {kinds: ["*"], warn: 2h, again: 4h, take: 8h, keep_at_most: 10h}
"""
HOSTILE = "a\x1b[31m\u202eb"
# name, uid, cluster, and for how many hours it is found idle
RUNS = (
    ("drafts", "uid-drafts", "main", None),
    ("two", "uid-2", "main", 2),
    ("far", "uid-far", "main", None),
    ("far", "uid-far-2", "other", None),
    (HOSTILE, "uid-x", "main", None),
)
Keep = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration, and a ledger that knows all that runs."""
    found = tmp_path_factory.mktemp("keep")
    (found / "quartermaster.yaml").write_text(YAML, encoding="utf-8")
    frames: dict[str, list[dict[str, Any]]] = {}
    for number, (name, uid, cluster, idle_h) in enumerate(RUNS):
        tell(frames, number, ("Notebook", name, uid, cluster), idle_h)
    with open_ledger(found / "ledger") as ledger:
        upgrade(ledger)
        ledger.append("test/1", {table: pl.DataFrame(rows) for table, rows in frames.items()})
    return found


@pytest.fixture
def keep(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Keep:
    """Runs the command: its exit code, what it says and what it complains of."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setenv("COLUMNS", "300")
        file = str(folder / "quartermaster.yaml")
        monkeypatch.setattr(sys, "argv", ["quartermaster", "--config", file, "keep", *arguments])
        with pytest.raises(SystemExit) as ended:
            main.run()
        spoken = capsys.readouterr()
        return int(ended.value.code or 0), spoken.out, spoken.err

    return run


def requests(folder: Path) -> list[dict[str, Any]]:
    with open_ledger(folder / "ledger") as ledger:
        return ledger.query("select * from requests order by asked_at").to_dicts()


@pytest.mark.patient
def test_it_is_recorded_under_a_pseudonym_for_the_uid(keep: Keep, folder: Path) -> None:
    began = now_ms()
    code, out, _ = keep("4h", "Notebook/lab/drafts", "--reason", "results are looked at")
    assert code == 0
    assert "Notebook lab/drafts of cluster main is kept until 20" in out
    assert "Then its warnings go on where they stood." in out
    row = requests(folder)[-1]
    who = pseudonym(person_id(pseudonym_key(None, folder / "ledger"), getpass.getuser()))
    assert (row["cluster"], row["kind"], row["subject"], row["asked_by"]) == (
        "main",
        "keep",
        "uid-drafts",
        who,
    )
    assert row["words"] == "results are looked at"
    assert began + 4 * H <= row["until"].timestamp() * 1000 <= now_ms() + 4 * H
    assert round((row["until"] - row["asked_at"]).total_seconds()) == 4 * 3600


def test_for_machines(keep: Keep) -> None:
    code, out, _ = keep("90m", "lab/two", "--json")
    told = json.loads(out)
    assert (code, told["cluster"], told["workload"], told["uid"]) == (0, "main", "Notebook lab/two", "uid-2")
    assert from_iso(told["at_most_until"]) - from_iso(told["until"]) == pytest.approx(14.5 * H, abs=MIN)


def subject(name: str = "drafts", uid: str = "uid-drafts", cluster: str = "main") -> Subject:
    return Subject(cluster, "Notebook", "lab", name, uid, None)


@pytest.mark.parametrize(
    ("left_ms", "asked_ms", "said"),
    [
        (16 * H, 16 * H, ""),
        (
            16 * H,
            16 * H + 1,
            "Notebook lab/drafts can be kept until 2026-11-30 17:00 UTC at most, and not until",
        ),
        (16 * H, 17 * H, "keep_at_most in policy: idle: bounds it; ask for 960m"),
        (2 * MIN - 1, H, "ask for 1m"),
        (MIN - 1, H, "let it compute, or end it"),
        (-H, H, "let it compute, or end it"),
        (None, H, "Notebook lab/drafts needs no keeping: workloads of its kind are reported only"),
    ],
)
def test_beyond_the_bound_it_is_refused_and_the_bound_is_named(
    left_ms: int | None, asked_ms: int, said: str
) -> None:
    most_ms = None if left_ms is None else NOW + left_ms
    if not said:
        assert command._within(subject(), most_ms, NOW, NOW + asked_ms) == most_ms
        return
    with pytest.raises(InputError) as refused:
        command._within(subject(), most_ms, NOW, NOW + asked_ms)
    assert said in f"{refused.value.what} {refused.value.hint}"


def test_which_one_is_meant_is_asked_for() -> None:
    assert command._one([subject()], "x") == subject()
    for found, said in (
        ([], "the ledger knows no workload 'x' that holds GPUs now"),
        (
            [subject(), subject("twin", "uid-2", "other")],
            "'x' is more than one: Notebook lab/drafts of cluster main, UID uid-drafts; Notebook lab/twin of cluster "
            "other, UID uid-2",
        ),
    ):
        with pytest.raises(InputError) as refused:
            command._one(found, "x")
        assert refused.value.what == said


@pytest.mark.patient
def test_what_is_refused_leaves_no_row(keep: Keep, folder: Path) -> None:
    before = len(requests(folder))
    for arguments, said in (
        (("17h", "lab/two"), "Notebook lab/two can be kept until 20"),
        (("4", "lab/drafts"), "'4' is no duration"),
        (("4h", "lab/drafts", "--cluster", "nope"), "there is no cluster 'nope'"),
    ):
        code, _, err = keep(*arguments)
        assert code == 2
        assert said in err
    assert len(requests(folder)) == before


@pytest.mark.patient
def test_a_uid_or_a_cluster_tells_two_apart_and_no_name_paints_the_terminal(keep: Keep, folder: Path) -> None:
    code, out, _ = keep("4h", "uid-x")
    assert (code, "\x1b" in out, "\u202e" in out) == (0, False, False)
    assert keep("4h", "lab/far", "--cluster", "other")[0] == 0
    assert {("main", "uid-x"), ("other", "uid-far-2")} <= {
        (row["cluster"], row["subject"]) for row in requests(folder)
    }

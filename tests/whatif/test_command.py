"""`quartermaster what-if`: two policies side by side, as people and machines see it."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from cli import main
from sql.ledger import Ledger
from tests.enforcer.past import CLUSTER, Past, h
from tests.ledgers import new_ledger
from tests.usage.toy import frames

HOURS = 24
PAINT = "\x1b[31m\x1b]0;owned\x07\u202e[bold]"
YAML = f"""
clusters: [{{name: {CLUSTER}, dcgm: {{targets: ["http://127.0.0.1:9400/metrics"]}}}}]
policy: {{idle: [{{kinds: ["*"], warn: 1h, again: 2h, take: 3h}}]}}
teams: [{{name: vision}}, {{name: nlp}}]
guarantees: [{{team: vision, pool: p, gpus: 1}}, {{team: nlp, pool: p, gpus: 1}}]
"""
ACT = YAML.replace("policy: {", "policy: {acting: {mode: act, team_an_hour: 10, pool_share_a_day: 5}, ")
Run = Callable[..., tuple[int, str, str]]


def fill(ledger: Ledger, past: Past) -> None:
    rows = frames(past.small.h)
    rows["rollup_marks"] = pl.DataFrame(
        {"cluster": [CLUSTER], "rolled_from_at": [h(0)], "rolled_until_at": [h(HOURS)]}
    )
    rows["usage_hourly"] = pl.DataFrame(past.usage)
    ledger.append("test/1/1", rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("whatif")
    (made / "quartermaster.yaml").write_text(YAML, encoding="utf-8")
    (made / "act.yaml").write_text(ACT, encoding="utf-8")
    past = Past(HOURS, gpus=3)
    past.small.promise("vision", 1)
    past.small.promise("nlp", 1)
    past.did("idle", "Job", 1, "cc" + "i" * 22)  # taken when it has been idle for three hours after its grace
    past.did(f"odd{PAINT}", "Job", 2, "c" * 18, namespace=f"ns{PAINT}")
    with new_ledger(made / "ledger") as ledger:
        fill(ledger, past)
    return made


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*words: str) -> tuple[int, str, str]:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["quartermaster", "what-if", *words])
        code = 0
        try:
            main.run()
        except SystemExit as left:
            code = int(left.code or 0)
        told = capsys.readouterr()
        return code, told.out, told.err

    return command


@pytest.mark.patient
def test_both_policies_stand_beside_each_other_with_what_they_assume(run: Run) -> None:
    code, out, _ = run("--policy", "act.yaml")
    assert code == 0
    assert "Under the policy called today nothing is taken: policy.acting.mode is shadow." in out
    assert "reclaimed, because idle" in out
    assert "What this assumes:" in out
    assert "\x1b" not in out


def test_the_same_for_machines(run: Run) -> None:
    _, out, _ = run("--policy", "act.yaml", "--json")
    (told,) = json.loads(out)["clusters"]
    today, new = told["policies"]
    assert (today["policy"], today["takes"], new["policy"], new["takes"]) == ("today", False, "new", True)
    assert (today["all"]["reclaimed"], new["all"]["reclaimed"]) == (0, 1)
    # Bound at hour 0, the span begins at 1; idle from 2, taken at 5, and it would have been idle to the end.
    assert new["all"]["reclaimed_gpu_hours"] == "19.0"
    assert float(today["all"]["held_gpu_hours"]) - float(new["all"]["held_gpu_hours"]) == 19
    assert told["as_it_was"]["held_gpu_hours"] == today["all"]["held_gpu_hours"] == "63.0"
    assert told["assumptions"]


def test_under_the_same_policy_the_two_are_the_same(run: Run) -> None:
    _, out, _ = run("--policy", "quartermaster.yaml", "--json")
    today, new = json.loads(out)["clusters"][0]["policies"]
    assert today | {"policy": ""} == new | {"policy": ""}


def test_a_changed_guarantee_counts(run: Run, folder: Path) -> None:
    changed = YAML.replace("{team: vision, pool: p, gpus: 1}", "{team: vision, pool: p, gpus: 3, limit: 3}")
    (folder / "changed.yaml").write_text(changed, encoding="utf-8")
    _, out, _ = run("--policy", "changed.yaml", "--json")
    today, new = json.loads(out)["clusters"][0]["policies"]
    mine = [next(team for team in each["teams"] if team["team"] == "vision") for each in (today, new)]
    assert (float(mine[0]["borrowed_gpu_hours"]) > 0, mine[1]["borrowed_gpu_hours"]) == (True, "0.0")


@pytest.mark.patient
def test_the_chart_is_drawn_and_hostile_names_are_only_shown(run: Run, folder: Path) -> None:
    code, _, _ = run("--policy", "act.yaml", "--chart", "what-if.svg")
    drawn = (folder / "what-if.svg").read_text(encoding="utf-8")
    assert code == 0
    assert drawn.startswith("<svg")
    assert "vision" in drawn
    assert "\x1b" not in drawn


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--policy", "none.yaml"), "none.yaml"),
        (("--policy", "act.yaml", "--from", "2031-01-01"), "there is no hour"),
        (("--policy", "act.yaml", "--cluster", "other"), "there is no cluster 'other'"),
        (("--policy", "act.yaml", "--chart", "none/what-if.svg"), "it cannot be written"),
    ],
)
def test_what_cannot_be_is_said_with_the_next_step(run: Run, words: tuple[str, ...], said: str) -> None:
    code, _, err = run(*words)
    assert code > 0
    assert said in err
    assert "try: " in err

"""`quartermaster actions` and `audit`: what people and machines see of the record."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli import main
from enforcer.audit.chain import Chain
from enforcer.audit.deed import Deed, Phase, Result
from enforcer.audit.head import publish
from quartermaster.clock import HOUR_MS, now_ms, to_iso
from quartermaster.person import pseudonym
from sql.ledger import open_ledger
from sql.upgrade import upgrade
from tests.audit.deeds import T0, intent, outcome, refused

PAINT = "\x1b[31m\x1b]0;owned\x07\u202e[bold]"
YAML = """
clusters:
  - {name: prod, dcgm: {targets: ["http://127.0.0.1:9400/metrics"]}}
  - {name: west, dcgm: {targets: ["http://127.0.0.1:9401/metrics"]}}
policy: {acting: {audit_file: heads}}
"""
SINCE = to_iso(T0 - 1)
Say = Callable[..., tuple[int, str, str]]


def story(chain: Chain) -> None:
    """Stopped, stopped and put back, refused, without effect, open, restored, answered; and one of today."""
    stops = [intent(f"u{number}", T0 + 1000 * number) for number in range(4)]
    hashes = chain.write(
        [*stops, refused("u4", T0 + 4000, words="one an hour of team vision: 1 was stopped")]
    )
    chain.write(
        [
            outcome(stops[0], hashes[0]),
            outcome(stops[1], hashes[1], Result.UNDONE, words="an autoscaler scaled it up again"),
            outcome(stops[2], hashes[2], Result.NO_EFFECT),
        ]
    )
    odd = intent(f"u5{PAINT}", T0 + HOUR_MS, "restore", team=f"ops{PAINT}", frees_parts=0, actor=pseudonym(1))
    (row_hash,) = chain.write([odd])
    chain.write([outcome(odd, row_hash, words=f"it runs {PAINT}")])
    chain.write([Deed("prod", T0 + HOUR_MS, Phase.ANSWERED, "approve", result="done", words="carried out")])
    chain.write([intent("today", now_ms())])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("audit")
    (made / "quartermaster.yaml").write_text(YAML, encoding="utf-8")
    (made / "heads").touch()
    with open_ledger(made / "ledger") as ledger:
        upgrade(ledger)
        chain = Chain(ledger, "prod")
        story(chain)
        publish(made / "heads", "prod", chain.head(), T0)
    return made


@pytest.fixture
def say(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    """Give the command; its exit code, what it says, and what it complains of."""

    def told(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setattr(
            sys, "argv", ["quartermaster", "-c", str(folder / "quartermaster.yaml"), *arguments]
        )
        code = 0
        try:
            main.run()
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return told


def came(text: str) -> list[tuple[str, str]]:
    return [(each["name"].removeprefix("train-"), each["came"]) for each in json.loads(text)]


@pytest.mark.patient
def test_actions_are_told_with_what_came_of_them(say: Say) -> None:
    code, told, _ = say("actions", "--since", SINCE)
    assert code == 0
    lines = [" ".join(line.split()) for line in told.splitlines()]
    assert "11-18 11:06:40 stopped Job/vision/train-u0 vision 8 done" in lines
    assert (
        "11-18 11:06:41 stopped Job/vision/train-u1 vision 8 undone: an autoscaler scaled it up again"
        in lines
    )
    assert "11-18 11:06:42 stopped Job/vision/train-u2 vision 8 no effect" in lines
    assert "11-18 11:06:43 stopped Job/vision/train-u3 vision 8 open: under way, or cut short" in lines
    assert (
        "11-18 11:06:44 stopped Job/vision/train-u4 vision 8 refused: one an hour of team vision: 1 was stopped"
        in lines
    )
    assert any(line.endswith("answered: carried out") for line in lines)


def test_actions_of_a_day_without_an_option(say: Say) -> None:
    assert came(say("actions", "--json")[1]) == [("today", "open")]
    assert "Nothing was done, refused or answered since" in say("actions", "--cluster", "west")[1]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--only", "done"], ["u0"]),
        (["--only", "undone", "--only", "no-effect"], ["u1", "u2"]),
        (["--only", "refused"], ["u4"]),
        (["--workload", "Job/vision/train-u3"], ["u3"]),
        (["--workload", "vision/train-u3", "--only", "done"], []),
        (["--workload", "u2"], ["u2"]),
        (["--team", "speech"], []),
        (["--cluster", "west"], []),
    ],
    ids=" ".join,
)
@pytest.mark.patient
def test_actions_can_be_chosen(say: Say, arguments: list[str], expected: list[str]) -> None:
    found = came(say("actions", "--since", SINCE, "--json", *arguments)[1])
    assert [name for name, _ in found if not name.startswith("u5")] == expected


def test_actions_for_machines(say: Say) -> None:
    (value,) = json.loads(say("actions", "--since", SINCE, "--workload", "u0", "--json")[1])
    assert (value["act"], value["came"], value["gpus"], value["epoch"]) == ("stop", "done", "8", 3)
    assert (value["at"], value["seen_at"]) == (to_iso(T0), to_iso(T0 + 500))
    assert json.loads(value["before"]) == {"spec": {"suspend": False}}


@pytest.mark.parametrize(
    "command", [("actions", "--since", SINCE), ("audit", "show"), ("audit", "show", "9")]
)
@pytest.mark.parametrize("form", [(), ("--json",)])
@pytest.mark.patient
def test_hostile_names_are_shown_and_not_obeyed(
    say: Say, command: tuple[str, ...], form: tuple[str, ...]
) -> None:
    code, told, complained = say(*command, *form)
    assert code == 0
    assert "train-u5" in told
    assert not {"\x1b", "\x07", "\u202e"} & set(told + complained)


@pytest.mark.patient
def test_a_whole_chain_is_said_to_be_whole(say: Say) -> None:
    code, told, _ = say("audit", "verify")
    assert code == 0
    assert "prod: 12 rows, and the chain is whole. Its head: 12:" in told
    assert "west: nothing is written yet." in told
    values = json.loads(say("audit", "verify", "--json")[1])
    assert [(each["cluster"], each["whole"], each["rows"]) for each in values] == [
        ("prod", True, 12),
        ("west", True, 0),
    ]
    assert say("audit", "verify", "--cluster", "prod", "--head", values[0]["head"])[0] == 0
    assert say("audit", "verify", "--cluster", "prod", "--head", values[0]["head"].partition(":")[2])[0] == 0


@pytest.mark.parametrize("number", ["7:", "99:", ""])
@pytest.mark.patient
def test_a_head_that_the_chain_does_not_have(say: Say, number: str) -> None:
    code, told, _ = say("audit", "verify", "--cluster", "prod", "--head", f"{number}{'0f' * 32}", "--json")
    assert code == 1
    (value,) = json.loads(told)
    assert [each["kind"] for each in value["flaws"]] == ["another chain" if number == "7:" else "cut off"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["verify", "--head", "0f" * 32], "a head is of one cluster, and there are several"),
        (["verify", "--cluster", "prod", "--head", "x"], "'x' is no head of an audit"),
        (["verify", "--cluster", "east"], "there is no cluster 'east'"),
        (["show", "99"], "the audit has no row '99'"),
    ],
    ids=lambda given: " ".join(given)[:20] if isinstance(given, list) else "",
)
@pytest.mark.patient
def test_what_is_wrong_is_said(say: Say, arguments: list[str], told: str) -> None:
    code, _, complained = say("audit", *arguments)
    assert (code, told in complained) == (2, True)


@pytest.mark.patient
def test_rows_are_shown(say: Say) -> None:
    rows = json.loads(say("audit", "show", "--json")[1])
    assert [row["number"] for row in rows] == list(range(1, 13))
    assert rows[1]["previous_hash"] == rows[0]["row_hash"]
    for wanted in ("3", rows[2]["row_hash"][:12]):
        assert json.loads(say("audit", "show", wanted, "--json")[1]) == [rows[2]]
    told = say("audit", "show", "3")[1]
    assert rows[2]["row_hash"] in told
    assert "2026-11-18T11:06:42.000Z" in told


@pytest.mark.patient
def test_a_cut_tail_is_found_by_the_published_heads(folder: Path, tmp_path: Path, say: Say) -> None:
    with open_ledger(folder / "ledger") as ledger:
        head = Chain(ledger, "prod").head()
    (tmp_path / "quartermaster.yaml").write_text(YAML, encoding="utf-8")
    publish(tmp_path / "heads", "prod", head, T0)
    with open_ledger(tmp_path / "ledger") as ledger:
        upgrade(ledger)
        Chain(ledger, "prod").write([intent("u0")])
    code, told, _ = say("--config", str(tmp_path / "quartermaster.yaml"), "audit", "verify")
    assert code == 1
    assert "prod: 1 rows; 1 times something is amiss." in told
    assert "the chain went to row 12, and ends at row 1" in told

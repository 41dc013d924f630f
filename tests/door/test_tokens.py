"""Tokens: random words of which only a hash is kept, with an end, renewed and revoked; and how often each may ask."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from cli.main import app
from quartermaster.clock import DAY_MS
from quartermaster.errors import InputError, LedgerBusyError
from sql.asked import Asked, Journal
from sql.keyring import FRESH_S, Keyring, TooOften
from sql.ledger import Ledger, memory_ledger
from sql.tokens import Token, create, fingerprint, revoke, rotate, tokens
from tests.ledgers import new_ledger

NOW = 1_796_000_000_000
END = NOW + DAY_MS
MADE: dict[str, Any] = {"author": "ops", "now_ms": NOW, "end_ms": END, "per_minute": 60}


def token(per_minute: int = 60, start_ms: int = NOW, end_ms: int = END, word: str = "word") -> Token:
    return Token(1, "t", fingerprint(word), ("vision",), per_minute, "ops", start_ms, end_ms, 0)


def everything(ledger: Ledger) -> str:
    return str([ledger.query(f"from {table}").rows() for table in ("tokens_versions", "tokens")])


@pytest.mark.patient
def test_a_token_is_made_rotated_and_revoked():
    with memory_ledger() as ledger:
        made, word = create(ledger, "grafana", teams=["vision", "it's"], **MADE)
        assert word.startswith("qm_")
        assert len(word) > 40
        assert tokens(ledger) == [made]
        assert made.teams == ("vision", "it's")
        assert word not in everything(ledger)
        assert fingerprint(word) in everything(ledger)
        with pytest.raises(InputError, match="already"):
            create(ledger, "grafana", teams=None, **MADE)

        later = NOW + 1000
        renewed, second = rotate(ledger, "grafana", author="ops", now_ms=later, grace_ms=500, end_ms=END + 1)
        assert second != word
        old, new = tokens(ledger)
        assert (old.end_ms, new.hash, new.teams) == (later + 500, fingerprint(second), made.teams)
        assert renewed == new

        revoke(ledger, "grafana", author="ops", now_ms=later + 10)
        assert [each.is_open(later + 10) for each in tokens(ledger)] == [
            True,
            False,
        ]  # the old word has its hours still
        revoke(ledger, "grafana", author="ops", now_ms=later + 20)
        assert not any(each.is_open(later + 20) for each in tokens(ledger))
        with pytest.raises(InputError, match="no open token"):
            revoke(ledger, "grafana", author="ops", now_ms=later + 30)
        create(ledger, "grafana", teams=None, **dict(MADE, now_ms=later + 40))  # the name is free again


@pytest.mark.parametrize(
    ("name", "teams", "end_ms", "what"),
    [
        ("a b", None, END, "no token's name"),
        ("", None, END, "no token's name"),
        ("x" * 64, None, END, "no token's name"),
        ("t", [], END, "no team"),
        ("t", None, NOW, "over before"),
    ],
)
@pytest.mark.patient
def test_what_no_token_is(name: str, teams: list[str] | None, end_ms: int, what: str):
    with memory_ledger() as ledger:
        with pytest.raises(InputError, match=what):
            create(ledger, name, teams=teams, **dict(MADE, end_ms=end_ms))
        assert tokens(ledger) == []


def test_a_token_opens_within_its_span_only():
    ring = Keyring(lambda: [token()], 4)
    assert ring.find("word", NOW, 0) == token()
    assert ring.find("word", NOW - 1, 0) is None
    assert ring.find("word", END, 0) is None
    assert ring.find("Word", NOW, 0) is None
    assert ring.find("\ud800", NOW, 0) is None


def test_what_is_revoked_opens_some_seconds_at_most():
    known = [token()]
    ring = Keyring(lambda: list(known), 4)
    assert ring.find("word", NOW, 0)
    known.clear()
    assert ring.find("word", NOW, FRESH_S)
    assert ring.find("word", NOW, FRESH_S + 0.1) is None


@given(st.lists(st.floats(0, 5), min_size=1, max_size=60), st.integers(1, 30))
def test_no_minute_has_more_questions_than_twice_the_rate(pauses: list[float], per_minute: int):
    """A full bucket and what flows in: at most rate × (1 + minutes), in any span."""
    ring, mine, at, asked = Keyring(list, 1), token(per_minute), 0.0, 0
    for pause in pauses:
        at += pause
        late = ring.begin(mine, at)
        if late is None:
            asked += 1
            ring.end(mine)
        else:
            assert 0 < late.after_s <= 60 / per_minute
        assert asked <= per_minute * (1 + at / 60) + 1e-6


def test_a_token_has_so_many_at_once():
    ring, mine = Keyring(list, 2), token(100)
    assert [ring.begin(mine, 0.0) for _ in range(3)] == [None, None, TooOften(1.0)]
    ring.end(mine)
    assert ring.begin(mine, 0.0) is None


def asked(query: str) -> Asked:
    return Asked(NOW, 1, "t", "", query, "{}", "json", "answered", 3, 5, "")


@pytest.mark.patient
def test_what_was_noted_is_in_the_ledger_once(tmp_path: Path):
    file = tmp_path / "asked.jsonl"
    with memory_ledger() as ledger:
        journal = Journal(file)
        assert journal.send(ledger) == 0
        journal.note(asked("select 1"))
        journal.note(asked("select '\ud800\n'"))
        with pytest.raises(LedgerBusyError):
            Journal(file)
        file.rename(tmp_path / "asked.sending")  # it died while it sent, before or after the commit
        content = (tmp_path / "asked.sending").read_bytes()
        journal.close()
        again = Journal(file)
        assert again.send(ledger) == 2
        (tmp_path / "asked.sending").write_bytes(content)
        again.send(ledger)
        again.note(asked("select 3"))
        assert again.send(ledger) == 1
        again.close()
        found = ledger.query("select query, rows from sql_asked order by query desc")
    assert len(found) == 3
    assert found["rows"].to_list() == [3, 3, 3]


@pytest.mark.patient
def test_half_a_line_is_no_question(tmp_path: Path):
    with memory_ledger() as ledger:
        (tmp_path / "asked.jsonl").write_text('{"asked_at": 1, "tok', encoding="utf-8")
        journal = Journal(tmp_path / "asked.jsonl")
        assert journal.send(ledger) == 0
        journal.close()
        assert not (tmp_path / "asked.sending").exists()


@pytest.mark.patient
def test_the_commands(tmp_path: Path):
    (tmp_path / "quartermaster.yaml").write_text("clusters: [{name: c}]\n", encoding="utf-8")
    with new_ledger(tmp_path / "ledger"):
        pass
    run = CliRunner()

    def call(*words: str) -> str:
        command = ["--config", str(tmp_path / "quartermaster.yaml"), "token", *words]
        return run.invoke(app, command, catch_exceptions=False).stdout

    word = call("create", "grafana", "--team", "vision").strip()
    assert word.startswith("qm_")
    assert json.loads(call("create", "finance", "--all", "--json"))["teams"] is None
    listed = json.loads(call("list", "--json"))
    assert [(each["name"], each["teams"], each["open"]) for each in listed] == [
        ("finance", None, True),
        ("grafana", ["vision"], True),
    ]
    assert word not in json.dumps(listed)
    assert json.loads(call("rotate", "grafana", "--json"))["token"] != word
    call("revoke", "finance")
    shown = call("list")
    assert "finance" in shown
    assert "over" in shown
    for wrong in (["create", "x"], ["create", "x", "--team", "v", "--all"], ["revoke", "grafanna"]):
        refused = run.invoke(app, ["--config", str(tmp_path / "quartermaster.yaml"), "token", *wrong])
        assert isinstance(refused.exception, InputError), wrong

"""The table of sessions: what a word opens, until when, and how much is kept."""

import pytest

from dashboards.granted import Identity
from dashboards.guard import sessions as module
from dashboards.guard.sessions import Sessions

ALICE = Identity("alice")
NOW = 1_795_000_000_000


def test_a_word_opens_its_session_until_its_end() -> None:
    table = Sessions()
    session, word = table.begin(NOW, ALICE, NOW + 10)
    assert table.find(word, NOW + 9) is session
    assert table.holder(session.handle, NOW + 9) is session
    assert table.holder(session.handle, NOW + 10) is None
    assert table.find(word, NOW + 10) is None
    assert table.find(word, NOW) is None  # over is over


@pytest.mark.parametrize("word", [None, "", "x", "é", "\udcff", "x" * 10_000])
def test_what_is_no_word_opens_nothing(word: str | None) -> None:
    table = Sessions()
    table.begin(NOW, ALICE, NOW + 10)
    assert table.find(word, NOW) is None


def test_neither_the_table_nor_the_handle_tells_the_word() -> None:
    table = Sessions()
    session, word = table.begin(NOW, ALICE, NOW + 10)
    assert word not in repr(vars(table))
    assert word not in repr(session)
    assert table.find(session.handle, NOW) is None
    assert table.holder(word, NOW) is None


def test_what_is_ended_closes_what_it_has_open() -> None:
    table, closed = Sessions(), list[str]()
    session, word = table.begin(NOW, ALICE, NOW + 10)
    session.closers.add(lambda: closed.append("a stream"))
    table.end(session)
    assert closed == ["a stream"]
    assert table.find(word, NOW) is None
    assert table.holder(session.handle, NOW) is None


def test_strangers_push_out_strangers_and_nobody_who_is_signed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_STRANGERS", 3)
    table = Sessions()
    _, known = table.begin(NOW, ALICE, NOW + 10)
    words = [table.begin(NOW)[1] for _ in range(10)]
    assert [table.find(word, NOW) is not None for word in words] == [False] * 7 + [True] * 3
    assert table.find(known, NOW) is not None


def test_a_session_remembers_so_many_downloads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_FILES", 2)
    session, _ = Sessions().begin(NOW)
    for file in ("a", "b", "a", "c"):
        session.offer(file)
    assert list(session.files) == ["a", "c"]

"""Rooms kept warm: one question each, replaced, ended with their porter, and up to date with the ledger."""

import json
import os
import select
import signal
import time
from collections.abc import Generator
from pathlib import Path

import polars as pl
import pytest

from quartermaster.errors import InputError, LedgerError
from sql import rooms as rooms_module
from sql.door import Limits, request, understood
from sql.ledger import open_ledger
from sql.rooms import Rooms
from tests.ledgers import new_ledger

QUICK = Limits(seconds=20, memory_mib=512, rows=100, answer_mib=8)


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Path, Rooms]]:
    folder = tmp_path_factory.mktemp("warm") / "ledger"
    with new_ledger(folder):
        pass
    rooms = Rooms(folder, "sqlite", 2)
    try:
        yield folder, rooms
    finally:
        rooms.close()


def rows(folder: Path, rooms: Rooms, query: str, limits: Limits = QUICK) -> list[dict[str, object]]:
    out, killed = rooms.answer(request(folder, "sqlite", query, limits, form="json"), limits)
    return json.loads(understood(out, limits, killed=killed)[1])["rows"]


@pytest.mark.patient
def test_a_room_that_waited_sees_what_was_written_meanwhile(warm: tuple[Path, Rooms]):
    folder, rooms = warm
    query = "select count(*) as n from cuts"
    before = rows(folder, rooms, query)[0]["n"]
    time.sleep(0.5)  # both rooms are open
    with open_ledger(folder) as ledger:
        ledger.append("t/1/1", {"cuts": pl.DataFrame({"cut_at": [1], "reason": ["x"]})})
    assert [rows(folder, rooms, query)[0]["n"] for _ in range(3)] == [1] * 3
    assert before == 0


@pytest.mark.patient
def test_no_question_hears_of_another(warm: tuple[Path, Rooms]):
    folder, rooms = warm
    numbers = {str(rows(folder, rooms, "select gen_random_uuid()::varchar as id")) for _ in range(4)}
    assert len(numbers) == 4


@pytest.mark.patient
def test_a_room_that_waited_looks_at_the_ledgers_revision_again(tmp_path: Path):
    with new_ledger(tmp_path / "ledger"):
        pass
    rooms_ = Rooms(tmp_path / "ledger", "sqlite", 1)
    try:
        assert rows(tmp_path / "ledger", rooms_, "select 1 as one") == [{"one": 1}]
        time.sleep(0.5)  # the next room is open
        with open_ledger(tmp_path / "ledger") as ledger:
            ledger.write(
                "t/1/1",
                lambda cursor: cursor.execute("update alembic_version set version_num = '9'") and None,
            )
        with pytest.raises(LedgerError, match="at revision 9, unknown to this program"):
            rows(tmp_path / "ledger", rooms_, "select 1 as one")
    finally:
        rooms_.close()


@pytest.mark.patient
def test_a_porter_that_died_is_replaced(warm: tuple[Path, Rooms]):
    folder, rooms = warm
    os.kill(rooms._porter.pid, signal.SIGKILL)
    rooms._porter.wait()
    time.sleep(0.2)  # the rooms that waited die with it
    assert rows(folder, rooms, "select 1 as one") == [{"one": 1}]


def test_a_room_that_waited_too_long_is_not_asked(warm: tuple[Path, Rooms], monkeypatch: pytest.MonkeyPatch):
    folder, rooms = warm
    monkeypatch.setattr(rooms_module, "_OLDEST_S", -1.0)
    assert rows(folder, rooms, "select 1 as one") == [{"one": 1}]


@pytest.mark.patient
def test_what_takes_too_long_is_killed_and_leaves_nobody(warm: tuple[Path, Rooms]):
    folder, rooms = warm
    short = Limits(seconds=1, memory_mib=256)
    with pytest.raises(InputError, match="longer than 1 s"):
        rows(folder, rooms, "select count(*) from range(1000000000000)", short)
    assert rows(folder, rooms, "select 1 as one") == [{"one": 1}]


def test_a_ledger_that_is_not_there_is_told(tmp_path: Path):
    rooms = Rooms(tmp_path / "nowhere", "sqlite", 1)
    try:
        with pytest.raises(LedgerError, match="there is no ledger"):
            rows(tmp_path / "nowhere", rooms, "select 1")
    finally:
        rooms.close()


def test_rooms_end_with_their_owner(tmp_path: Path):
    with new_ledger(tmp_path / "ledger"):
        pass
    rooms = Rooms(tmp_path / "ledger", "sqlite", 2)
    watched = [os.dup(room.watched) for room in rooms._waiting]
    porter = rooms._porter
    rooms.close()
    assert porter.returncode is not None
    for number in watched:
        assert select.select([number], [], [], 5)[0]  # of a process that has ended
        os.close(number)

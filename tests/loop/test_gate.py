"""The gate: who asks is told what was looked at after the asking; one look answers all who wait; no doubt is let by."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import duckdb
import pytest

from collector.kubernetes.talk import ABSENT, Trouble
from enforcer.guard.switches import Freeze, Switch
from enforcer.loop.gate import Gate, Places
from quartermaster.errors import LedgerError
from sql.ledger import Ledger
from tests.enforcer.clusters import NOW

ASKERS = 24


class Api:
    """An API server whose ConfigMap is there or not; a look at it may be held up, or go wrong."""

    def __init__(self) -> None:
        self.frozen = False
        self.error: BaseException | None = None
        self.looks = 0
        self.open = threading.Event()
        self.open.set()

    def get(self, path: str) -> dict[str, Any]:
        self.looks += 1
        found, error = self.frozen, self.error
        assert self.open.wait(10)
        if error is not None:
            raise error
        if not found:
            raise Trouble(ABSENT, "404")
        return {}


class Leader:
    def __init__(self) -> None:
        self.words = ""

    def doubt(self, epoch: int) -> str:
        return self.words


@pytest.fixture
def api() -> Iterator[Api]:
    made = Api()
    yield made
    made.open.set()


def gate_of(api: Api, ledger: object, folder: Path, leader: Leader | None = None) -> Gate:
    places = Places(folder / "freeze", cast(Any, api), "quartermaster", cast(Ledger, ledger), "gate")
    return Gate(places, cast(Any, leader or Leader()), lambda: NOW)


@pytest.fixture
def gate(api: Api, shared: Ledger, tmp_path: Path) -> Gate:
    return gate_of(api, shared, tmp_path)


def until(holds: Callable[[], object]) -> None:
    give_up_at = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < give_up_at
        time.sleep(0.002)


def asked(gate: Gate, count: int) -> tuple[list[threading.Thread], list[object]]:
    """So many who ask at the same time, and what they are told: an error where it is one."""
    told: list[object] = []

    def ask() -> None:
        try:
            told.append(gate.look())
        except ValueError as error:
            told.append(error)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads, told


def ended(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()


def test_each_switch_is_seen_at_the_next_look(gate: Gate, api: Api, tmp_path: Path) -> None:
    assert gate.may(1) == ""
    (tmp_path / "freeze").write_text("")
    found = gate.look()
    assert found is not None
    assert found.switch is Switch.FILE
    (tmp_path / "freeze").unlink()
    api.frozen = True
    assert "ConfigMap" in gate.may(1)
    api.frozen = False
    assert gate.may(1) == ""


def test_who_asks_during_a_look_is_not_answered_by_it(gate: Gate, api: Api) -> None:
    api.open.clear()
    first, told_first = asked(gate, 1)
    until(lambda: api.looks == 1)
    api.frozen = True  # after that look has read it
    others, told = asked(gate, ASKERS)
    time.sleep(0.05)
    assert (told_first, told) == ([], [])
    api.open.set()
    ended([*first, *others])
    assert told_first == [None]
    assert all(isinstance(each, Freeze) for each in told)
    assert len(told) == ASKERS
    assert api.looks <= 3  # one for all who waited; who came late has one more


def test_a_look_that_goes_wrong_answers_nobody_and_holds_nobody_up(gate: Gate, api: Api) -> None:
    api.open.clear()
    api.error = ValueError("odd")
    first, told_first = asked(gate, 1)
    until(lambda: api.looks == 1)
    api.error, api.frozen = None, True
    others, told = asked(gate, ASKERS)
    api.open.set()
    ended([*first, *others])
    assert isinstance(told_first[0], ValueError)
    assert all(isinstance(each, Freeze) for each in told)
    assert len(told) == ASKERS
    api.frozen = False
    assert gate.may(1) == ""


def test_while_looks_always_go_wrong_nobody_is_let_by(gate: Gate, api: Api) -> None:
    api.error = ValueError("odd")
    threads, told = asked(gate, ASKERS)
    ended(threads)
    assert [type(each) for each in told] == [ValueError] * ASKERS


@pytest.mark.parametrize("error", [LedgerError("it is locked"), duckdb.IOException("full")], ids=str)
def test_a_ledger_that_does_not_answer_freezes(api: Api, tmp_path: Path, error: Exception) -> None:
    class Silent:
        def reading(self) -> object:
            raise error

    assert "the ledger does not answer" in gate_of(api, Silent(), tmp_path).may(1)


def test_the_lease_is_asked_for_after_the_switches(api: Api, shared: Ledger, tmp_path: Path) -> None:
    leader = Leader()
    gate = gate_of(api, shared, tmp_path, leader)
    api.open.clear()
    told: list[str] = []
    thread = threading.Thread(target=lambda: told.append(gate.may(1)), daemon=True)
    thread.start()
    until(lambda: api.looks == 1)
    leader.words = "the lease is another's"  # while the look is under way
    api.open.set()
    ended([thread])
    assert told == ["the lease is another's"]

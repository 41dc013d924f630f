"""The loop: it goes on whatever goes wrong in a turn, says so, and never looks alive when it is not."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, cast

import duckdb
import pytest

from enforcer.audit.deed import Deed, Result
from enforcer.loop import loop as loops
from enforcer.loop.loop import Loop
from enforcer.loop.site import Site
from quartermaster.errors import LedgerError
from tests.enforcer.clusters import NOW
from tests.loop.sites import Clocks, Leader


class Turns:
    """Stands for the turns: each gives the next of what is to come, the last again and again."""

    def __init__(self, *comes: object) -> None:
        self.comes = list(comes)
        self.taken = 0
        self.settled = 0

    def turn(self) -> object:
        self.taken += 1
        now = self.comes.pop(0) if len(self.comes) > 1 else self.comes[0]
        if isinstance(now, BaseException):
            raise now
        return now

    def settle(self) -> None:
        self.settled += 1


class Chain:
    """What is open, and what stands stopped; and how often it was asked."""

    def __init__(self) -> None:
        self.opened: list[object] = []
        self.held: list[object] = []
        self.asked = 0

    def open_intents(self) -> list[object]:
        self.asked += 1
        return self.opened

    def stopped(self, since_ms: int) -> list[object]:
        return self.held


class Stand:
    """A loop over all that."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *comes: object) -> None:
        self.clocks, self.leader, self.chain = Clocks(), Leader(), Chain()
        self.live = SimpleNamespace(changed=threading.Event(), settled=True)
        self.turns = Turns(*comes)
        self.told: list[object] = []
        self.resumed: list[list[str]] = []
        self.noticed: list[list[str]] = []
        site = SimpleNamespace(
            cluster="c",
            live=self.live,
            leader=self.leader,
            chain=self.chain,
            doing=None,
            wall=self.clocks.wall,
        )
        monkeypatch.setattr(loops, "Turns", self._made)
        monkeypatch.setattr(loops, "resume", self._seen(self.resumed))
        monkeypatch.setattr(loops, "notice", self._seen(self.noticed))
        monkeypatch.setattr(loops, "AT_LEAST_EVERY_S", 0.01)
        monkeypatch.setattr(loops, "_TOGETHER_S", 0.0)
        self.loop = Loop(cast(Site, site), "act", self.told.append, self.clocks.steady)

    def _made(self, *given: object) -> Turns:
        return self.turns

    def _seen(self, into: list[list[str]]) -> Callable[[object, Mapping[str, Deed], int], None]:
        def see(doing: object, deeds: Mapping[str, Deed], epoch: int) -> None:
            into.append(list(deeds))

        return see

    def turn(self, *, woken: bool) -> object:
        """One turn of the thread's, in this one."""
        return self.loop._turned(woken=woken)  # pyright: ignore[reportPrivateUsage]


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Stand]]:
    made: list[Stand] = []

    def make(*comes: object) -> Stand:
        made.append(Stand(monkeypatch, *comes))
        return made[-1]

    yield make
    for each in made:
        each.loop.stop()


def until(holds: Callable[[], object]) -> None:
    give_up_at = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < give_up_at
        time.sleep(0.002)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (LedgerError("it is locked"), "it is locked"),
        (duckdb.IOException("full"), "full"),
        (KeyError("uid"), "a fault of Quartermaster, please report it: KeyError: 'uid'"),
        (ValueError("x" * 900), f"a fault of Quartermaster, please report it: ValueError: {'x' * 300}"),
    ],
    ids=["ledger", "duckdb", "fault", "long"],
)
def test_what_goes_wrong_is_told_and_the_next_turn_comes(
    stand: Callable[..., Stand], error: Exception, words: str
) -> None:
    here = stand(error, "well")
    here.loop.start()
    until(lambda: "well" in here.told)
    assert here.told[:2] == [words, "well"]
    here.loop.check()


def test_a_loop_that_ended_by_itself_says_by_what(stand: Callable[..., Stand]) -> None:
    here = stand("well")

    def broken(turned: object) -> None:
        raise BrokenPipeError

    here.loop._told = broken  # pyright: ignore[reportPrivateUsage]
    here.loop.start()
    until(lambda: not here.loop._thread.is_alive())  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(BrokenPipeError):
        here.loop.check()


def test_it_ends_after_the_turn_that_is_under_way_and_settles(stand: Callable[..., Stand]) -> None:
    here = stand("well")
    here.loop.start()
    until(lambda: here.turns.taken > 1)
    here.loop.stop()
    taken = here.turns.taken
    time.sleep(0.05)
    assert (here.turns.taken, here.turns.settled) == (taken, 1)


def open_intent(row_hash: str, result: str = "", *, epoch: int = 3, at_ms: int = NOW) -> Any:
    deed = SimpleNamespace(object_uid=f"uid-{row_hash}", epoch=epoch, at_ms=at_ms)
    return SimpleNamespace(row_hash=row_hash, deed=deed, result=result)


def test_what_is_open_is_gone_on_with_also_where_events_never_end(stand: Callable[..., Stand]) -> None:
    here = stand("well")
    here.chain.opened = [open_intent("a")]
    here.turn(woken=False)
    assert here.resumed == [["a"]]
    here.turn(woken=True)
    assert len(here.resumed) == 1
    here.clocks.go_on(11)
    here.turn(woken=True)
    assert len(here.resumed) == 2


def test_a_new_lease_is_begun_with_what_is_open(stand: Callable[..., Stand]) -> None:
    here = stand("well")
    here.chain.opened = [open_intent("a")]
    here.leader.epoch = 0
    here.turn(woken=False)
    assert here.resumed == []
    for epoch in (4, 5):
        here.leader.epoch = epoch
        here.turn(woken=True)
    assert len(here.resumed) == 2


def test_who_was_started_by_somebody_else_is_looked_for_once_a_minute(stand: Callable[..., Stand]) -> None:
    here = stand("well")
    here.chain.held = [open_intent("a", Result.DONE.value), open_intent("b")]
    here.turn(woken=False)
    here.clocks.go_on(59_000)
    here.turn(woken=False)
    assert here.noticed == [["a"]]
    here.clocks.go_on(1_000)
    here.turn(woken=False)
    assert here.noticed == [["a"], ["a"]]


def test_what_a_person_restores_just_now_is_left_to_their_command(stand: Callable[..., Stand]) -> None:
    here = stand("well")
    here.chain.opened = [open_intent("a", epoch=0)]
    here.chain.held = [open_intent(each, Result.DONE.value) for each in "ab"]
    here.turn(woken=False)
    assert (here.resumed, here.noticed) == ([], [["b"]])
    here.clocks.go_on(60_001)  # its process died
    here.turn(woken=False)
    assert here.resumed == [["a"]]

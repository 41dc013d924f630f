"""Signals that wait are obeyed at the next chance, and never lost."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable

import pytest

from quartermaster.interrupt import Patience, interrupt, obey, unraisable
from simulator.server import Plan, SimulatorServer
from sql.ledger import memory_ledger


def interrupted(*, heeded: bool, nested: bool = False) -> list[str]:
    """What was reached before KeyboardInterrupt came out of a block in which Ctrl-C was pressed."""
    reached: list[str] = []
    try:
        with Patience() as patience:
            with Patience() if nested else contextlib.nullcontext():
                signal.raise_signal(signal.SIGINT)
            reached.append("past the signal")
            if heeded:
                patience.heed()
                reached.append("past heeding")
        reached.append("past the end")
    except KeyboardInterrupt:
        pass
    return reached


def test_ctrl_c_waits_until_it_is_heeded() -> None:
    assert interrupted(heeded=True) == ["past the signal"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_nobody_heeded_is_obeyed_at_the_end() -> None:
    assert interrupted(heeded=False) == ["past the signal"]


def test_nested_patience_loses_nothing() -> None:
    assert interrupted(heeded=True, nested=True) == ["past the signal"]


def test_a_handler_of_ones_own_is_called() -> None:
    told: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: told.append(number))
    try:
        with Patience() as patience:
            signal.raise_signal(signal.SIGTERM)
            assert told == []
            patience.heed()
            assert told == [signal.SIGTERM]
            patience.heed()
        assert told == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_without_a_signal_nothing_happens_and_another_thread_is_let_be() -> None:
    with Patience() as patience:
        patience.heed()
    failures: list[BaseException] = []

    def elsewhere() -> None:
        try:
            with Patience() as patience:
                patience.heed()
        except BaseException as error:  # noqa: BLE001  a thread's failure is to be seen
            failures.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert failures == []


@pytest.mark.patient
def test_ctrl_c_while_the_simulators_process_starts_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    from multiprocessing.context import SpawnProcess

    started = SpawnProcess.start

    def start(process: SpawnProcess) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        started(process)

    monkeypatch.setattr(SpawnProcess, "start", start)
    with pytest.raises(KeyboardInterrupt), SimulatorServer(Plan(1, 0, 3_600_000, quick=True)):
        pytest.fail("the signal was lost")


def test_ctrl_c_that_a_library_swallowed_is_obeyed_at_the_next_chance_and_once() -> None:
    obey()
    with contextlib.suppress(KeyboardInterrupt):  # as DuckDB does with what is raised in its callbacks
        interrupt(signal.SIGINT, None)
    with pytest.raises(KeyboardInterrupt):
        obey()
    obey()


@pytest.mark.patient
def test_a_query_within_which_ctrl_c_was_swallowed_ends_in_it() -> None:
    with memory_ledger() as ledger:
        ledger.query("select 1")
        with contextlib.suppress(KeyboardInterrupt):
            interrupt(signal.SIGINT, None)
        with pytest.raises(KeyboardInterrupt):
            ledger.query("select 1")
        assert ledger.query("select 1").item() == 1


class Finalised:
    """Raises when nobody has it any more."""

    def __init__(self, ends: Callable[[], None]) -> None:
        self._ends = ends

    def __del__(self) -> None:
        self._ends()


def test_ctrl_c_in_a_finaliser_says_nothing_and_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "unraisablehook", unraisable)
    Finalised(lambda: interrupt(signal.SIGINT, None))
    assert capsys.readouterr().err == ""
    with pytest.raises(KeyboardInterrupt):
        obey()


def test_what_else_is_raised_there_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def ends() -> None:
        raise ValueError("odd")

    monkeypatch.setattr(sys, "unraisablehook", unraisable)
    Finalised(ends)
    assert "ValueError: odd" in capsys.readouterr().err

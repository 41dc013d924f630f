"""What is heard: no older than a plan's picture may be, whoever sets a clock; a fault is told, and heard is again."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

import duckdb
import pytest

from enforcer.loop import hearsay
from enforcer.loop.hearsay import Hearsay, Listener, hear_all
from enforcer.shadow import Ruling
from quartermaster.clock import HOUR_MS
from quartermaster.config.findings import FindingsPart
from quartermaster.config.policy import PolicyPart
from quartermaster.errors import LedgerError
from quartermaster.parts import GPU_PARTS
from sql.ledger import Cursor, Ledger
from tests.enforcer.clusters import NOW
from tests.loop.sites import Clocks

RULING = Ruling(PolicyPart(), FindingsPart(), "UTC")


class Teller:
    """Stands for the ledger: what it tells, or what it raises."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.heard = 0

    def __call__(self, ledger: object, cluster: str, at_ms: int, ruling: Ruling) -> Hearsay:
        self.heard += 1
        if self.error is not None:
            raise self.error
        return Hearsay(at_ms, cast(Any, None), 1)


@pytest.fixture
def teller(monkeypatch: pytest.MonkeyPatch) -> Teller:
    made = Teller()
    monkeypatch.setattr(hearsay, "hear_all", made)
    monkeypatch.setattr(hearsay, "_AT_MOST_EVERY_S", 0.01)
    return made


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


@pytest.fixture
def listener(teller: Teller, clocks: Clocks) -> Iterator[Listener]:
    made = Listener(cast(Ledger, None), "c", RULING, clocks.wall, threading.Event(), clock=clocks.steady)
    yield made
    made.stop()


def until(holds: Callable[[], object]) -> None:
    give_up_at = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < give_up_at
        time.sleep(0.002)


def test_nothing_is_heard_before_it_begins(listener: Listener) -> None:
    assert listener.heard() is None


def test_what_goes_wrong_at_first_ends_the_beginning(listener: Listener, teller: Teller) -> None:
    teller.error = LedgerError("it is locked")
    with pytest.raises(LedgerError):
        listener.start()
    assert listener.heard() is None


@pytest.mark.parametrize("by_ms", [-3_600_000, 0, 3_600_000])
def test_what_was_heard_too_long_ago_is_not_told_however_clocks_are_set(
    listener: Listener, teller: Teller, clocks: Clocks, by_ms: int
) -> None:
    listener.start()
    teller.error = LedgerError("it is locked")
    until(lambda: listener.trouble)
    clocks.set(by_ms)
    clocks.go_on(120_000)
    assert listener.heard() is not None
    clocks.go_on(1)
    assert listener.heard() is None


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (LedgerError("it is locked"), "it is locked"),
        (duckdb.IOException("full"), "full"),
        (
            KeyError("na\x1bme"),
            "a fault of Quartermaster, please report it: KeyError: 'na\\x1bme'",
        ),
    ],
    ids=["ledger", "duckdb", "fault"],
)
def test_a_fault_is_told_and_heard_is_again(
    listener: Listener, teller: Teller, error: Exception, words: str
) -> None:
    listener.start()
    teller.error = error
    until(lambda: listener.trouble)
    assert listener.trouble == words
    teller.error = None
    until(lambda: not listener.trouble)
    assert listener.heard() is not None


def test_the_first_that_is_heard_anew_wakes_the_loop(teller: Teller, clocks: Clocks) -> None:
    anew = threading.Event()
    listener = Listener(cast(Ledger, None), "c", RULING, clocks.wall, anew, clock=clocks.steady)
    listener.start()
    assert anew.wait(10)
    listener.stop()
    count = teller.heard
    time.sleep(0.05)
    assert teller.heard == count


def test_a_cluster_without_telemetry_is_silent(shared: Ledger, cluster: str) -> None:
    found = hear_all(shared, cluster, NOW, RULING)
    assert (found.found, found.coverage_permille) == ((), None)
    assert found.silent == ("no source has never told about telemetry",)


def test_what_was_borrowed_is_heard_where_the_policy_says_so(shared: Ledger, cluster: str) -> None:
    def borrowed(cursor: Cursor) -> None:
        span = cluster, NOW - HOUR_MS, NOW, 4 * GPU_PARTS * HOUR_MS
        cursor.execute(
            "insert into lake.quota_hourly (cluster, row_start_at, row_end_at, team, pool, borrowed_pms) "
            "values (?, make_timestamptz(? * 1000), make_timestamptz(? * 1000), 'a', 'p', ?)",
            span,
        )

    shared.write(f"borrowed/{cluster}", borrowed)
    policy = PolicyPart.model_validate({"past_use": {"half_life": "1h", "counts": "0.5"}})
    assert hear_all(shared, cluster, NOW, replace(RULING, policy=policy)).past == {("a", "p"): GPU_PARTS}
    assert hear_all(shared, cluster, NOW, RULING).past == {}

"""What the ledger tells beside the live cluster: idleness, how much is known, promises. Looked up all the time."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import duckdb

from analytics.findings import Priced, look
from analytics.found import Found
from analytics.judged import Terms
from analytics.money.rates import read_prices
from collector.kubernetes.meeting import meet
from enforcer.book import Book, rows
from enforcer.freshness import stale
from enforcer.loop.fault import in_words
from enforcer.past_use import Past, past_use
from enforcer.promised import Promised
from enforcer.shadow import Ruling
from quartermaster.clock import SECOND_MS, steady_s
from quartermaster.errors import QuartermasterError
from sql.ledger import Ledger

_AT_MOST_EVERY_S, _AT_LEAST_EVERY_S = 1.0, 10.0
_REST = 3  # times as long as hearing takes is not heard, so that the ledger has time for others


@dataclass(frozen=True)
class Hearsay:
    """What was told at `at_ms` (epoch ms). `silent`: why telemetry is not believed; then nothing counts as idle.

    Telemetry is judged as of the last instant up to which all of it is there; it comes every `interval_ms`.
    """

    at_ms: int
    promised: Promised
    interval_ms: int
    found: tuple[Found, ...] = ()
    computing: tuple[str, ...] = ()
    coverage_permille: int | None = None
    coverage_of_pools: Mapping[str, int] = field(default_factory=dict[str, int])
    pools: Mapping[str, str] = field(default_factory=dict[str, str])  # by node
    past: Past = field(
        default_factory=dict[tuple[str, str], int]
    )  # borrowing that counts, in parts by team and pool
    silent: tuple[str, ...] = ()


def hear_all(ledger: Ledger, cluster: str, at_ms: int, ruling: Ruling) -> Hearsay:
    """What the ledger tells now, once telemetry that is new has been read for who has which device.

    Who holds is the live cluster's to say, so only telemetry can be stale here. Raises LedgerError.
    """
    meet(ledger, cluster, at_ms)
    with ledger.reading() as cursor:
        book = Book(cursor, cluster, at_ms, at_ms)
        lags = {key: lag for key, lag in book.lags(at_ms).items() if key[1] == "telemetry"}
        interval_ms = min(interval for _, interval in lags.values())
        silent = tuple(stale(lags, ruling.policy))
        past = past_use(cursor, cluster, at_ms, ruling.policy.past_use)
        if silent:
            pools = book.pools(at_ms)
            return Hearsay(at_ms, book.promised, interval_ms, pools=pools, past=past, silent=silent)
        told_ms = at_ms - max(lag for lag, _ in lags.values() if lag is not None)
        terms = Terms(told_ms, ruling.findings, ruling.policy, Priced(read_prices(cursor), told_ms).of)
        found = look(cursor, cluster, terms, ruling.time_zone)
        whole = rows(cursor, "coverage_now", {}).row(0, named=True)
        covered = rows(cursor, "coverage_of_pools", {}).to_dicts()
        computing = rows(cursor, "computing_now", {})["pool"].to_list()
    return Hearsay(
        at_ms,
        book.promised,
        interval_ms,
        tuple(found),
        tuple(computing),
        _permille(whole["known_pms"], whole["held_pms"]),
        {each["pool"]: _permille(each["known_pms"], each["held_pms"]) for each in covered},
        book.pools(at_ms),
        past,
    )


class Listener:
    """Hears as often as telemetry comes, at least every ten seconds, in a thread of its own, so that an owner who asks
    does not wait for it. Each time `heard_anew` is set."""

    def __init__(
        self,
        ledger: Ledger,
        cluster: str,
        ruling: Ruling,
        wall: Callable[[], int],
        heard_anew: threading.Event,
        *,
        clock: Callable[[], float] = steady_s,
    ) -> None:
        self._ledger, self._cluster, self._ruling, self._wall = ledger, cluster, ruling, wall
        self._heard_anew, self._clock = heard_anew, clock
        self._heard: Hearsay | None = None
        self._heard_s = 0.0  # when it was asked for
        self._took_s = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._listen, name=f"hear-{cluster}", daemon=True)
        self.trouble = ""  # why the ledger did not tell, the last time

    def start(self) -> None:
        """Hear for the first time, then go on. Raises LedgerError."""
        self._hear()
        self._thread.start()

    def stop(self) -> None:
        """Listen no more."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def heard(self) -> Hearsay | None:
        """What was told last; None where that is longer ago than a plan's picture may be, however clocks are set."""
        past_ms = (self._clock() - self._heard_s) * SECOND_MS
        return self._heard if past_ms <= self._ruling.policy.behind_ms else None

    def _listen(self) -> None:
        while not self._stop.wait(self._pause_s()):
            began_s = self._clock()
            try:
                self._hear()
                self.trouble = ""
                self._heard_anew.set()
            except (QuartermasterError, duckdb.Error) as error:
                self.trouble = str(error)
            except Exception as error:  # noqa: BLE001 - it is told at every turn, and nothing is planned on old hearsay
                self.trouble = in_words(error)
            self._took_s = self._clock() - began_s

    def _hear(self) -> None:
        asked_s = self._clock()
        heard = hear_all(self._ledger, self._cluster, self._wall(), self._ruling)
        self._heard_s, self._heard = asked_s, heard

    def _pause_s(self) -> float:
        interval_s = self._heard.interval_ms / 1000 if self._heard is not None else 0
        usual_s = (
            min(max(interval_s, _AT_MOST_EVERY_S), _AT_LEAST_EVERY_S) if interval_s else _AT_LEAST_EVERY_S
        )
        return max(usual_s, _REST * self._took_s)


def _permille(known: int, held: int) -> int:
    """Of nothing held all is known."""
    return known * 1000 // held if held else 1000

"""The loop of one site: a turn whenever something changed that may change a plan, and at least every ten seconds."""

import threading
from collections.abc import Callable

import duckdb

from enforcer.act.resume import notice, resume
from enforcer.audit.deed import Result
from enforcer.freshness import Refusal
from enforcer.loop.fault import in_words
from enforcer.loop.site import Site
from enforcer.loop.turn import Turned, Turns
from quartermaster.clock import DAY_MS, MINUTE_MS, steady_s
from quartermaster.config.acting import Mode
from quartermaster.errors import QuartermasterError

AT_LEAST_EVERY_S = 10.0
# Of events that come in a flood, so long is waited for the rest.
_TOGETHER_S = 0.05
_SETTLE_S, _LOOK_EVERY_S = 60.0, 0.05
_NOTICE_EVERY_S, _NOTICED_MS = 60.0, DAY_MS
_BY_HAND_MS = MINUTE_MS  # how long what a person's own command has begun is left to it


class Loop:
    """Goes on until `stop`. `told` is given what each turn came to, or in words why there was none."""

    def __init__(
        self,
        site: Site,
        asked: Mode,
        told: Callable[[Turned | Refusal | str], None],
        clock: Callable[[], float] = steady_s,
    ) -> None:
        self._site, self._clock = site, clock
        self._turns = Turns(site, asked, clock)
        self._told = told
        self._stop = threading.Event()
        self._resumed_epoch, self._resumed_s = 0, 0.0
        self._noticed_s = 0.0
        self._ended_by: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"enforce-{site.cluster}", daemon=True)

    def once(self) -> Turned | Refusal:
        """One turn, once the cluster is seen in full and somebody leads. Raises LedgerError."""
        until_s = self._clock() + _SETTLE_S
        while self._clock() < until_s:
            led = self._site.leader.epoch or self._site.leader.trouble
            if led and self._site.live.settled:
                break
            self._stop.wait(_LOOK_EVERY_S)
        self._resume()
        turned = self._turns.turn()
        self._turns.settle()
        return turned

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the turn that is under way."""
        self._stop.set()
        self._site.live.changed.set()
        if self._thread.is_alive():
            self._thread.join()
            self._turns.settle()

    def check(self) -> None:
        """Raise what the turns were ended by, where they ended by themselves: nothing is done any more then."""
        if self._ended_by is not None:
            raise self._ended_by

    def _run(self) -> None:
        try:
            self._go_on()
        except BaseException as error:  # noqa: BLE001 - `check` raises it where somebody hears it
            self._ended_by = error

    def _go_on(self) -> None:
        changed = self._site.live.changed
        woken = False
        while not self._stop.is_set():
            changed.clear()
            self._told(self._turned(woken=woken))
            woken = changed.wait(AT_LEAST_EVERY_S)
            self._stop.wait(_TOGETHER_S)

    def _turned(self, *, woken: bool) -> Turned | Refusal | str:
        """What a turn came to, or why there was none. A fault of ours is told, and ends no loop: it may be one object's
        doing, and what was begun is gone on with at the next turn."""
        try:
            self._resume(woken=woken)
            return self._turns.turn()
        except (QuartermasterError, duckdb.Error) as error:
            return str(error)
        except Exception as error:  # noqa: BLE001
            return in_words(error)

    def _resume(self, *, woken: bool = False) -> None:
        """Close what an earlier life, another leader or a server that fell silent left open; now and then see who was
        started by somebody else.

        What is open is looked for when the lease is new, and before every turn that no event hurries; where events come
        all the time, as often as a turn comes without.
        """
        site, now_s = self._site, self._clock()
        epoch = site.leader.epoch
        again = epoch == self._resumed_epoch and now_s - self._resumed_s < AT_LEAST_EVERY_S
        if not epoch or (woken and again):
            return
        opened = site.chain.open_intents()
        since_ms = site.wall() - _BY_HAND_MS
        intents = {
            each.row_hash: each.deed for each in opened if each.deed.epoch or each.deed.at_ms < since_ms
        }
        if intents:
            resume(site.doing, intents, epoch)
        if now_s - self._noticed_s >= _NOTICE_EVERY_S:
            self._noticed_s = now_s
            self._notice({each.deed.object_uid for each in opened}, epoch)
        self._resumed_epoch, self._resumed_s = epoch, now_s

    def _notice(self, under_way: set[str], epoch: int) -> None:
        """See who of the stopped was started by somebody else; not those of whom something is under way."""
        site = self._site
        stopped = {
            each.row_hash: each.deed
            for each in site.chain.stopped(site.wall() - _NOTICED_MS)
            if each.result == Result.DONE and each.deed.object_uid not in under_way
        }
        if stopped:
            notice(site.doing, stopped, epoch)

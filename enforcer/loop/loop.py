"""The loop of one site: a turn whenever something changed that may change a plan, and at least every ten seconds."""

import threading
import time
from collections.abc import Callable

import duckdb

from enforcer.act.resume import resume
from enforcer.freshness import Refusal
from enforcer.loop.site import Site
from enforcer.loop.turn import Turned, Turns
from quartermaster.config.acting import Mode
from quartermaster.errors import QuartermasterError

AT_LEAST_EVERY_S = 10.0
# Of events that come in a flood, so long is waited for the rest.
_TOGETHER_S = 0.05
_SETTLE_S, _LOOK_EVERY_S = 60.0, 0.05


class Loop:
    """Goes on until `stop`. `told` is given what each turn came to, or in words why there was none."""

    def __init__(self, site: Site, asked: Mode, told: Callable[[Turned | Refusal | str], None]) -> None:
        self._site = site
        self._turns = Turns(site, asked, site.wall())
        self._told = told
        self._stop = threading.Event()
        self._resumed_epoch = 0
        self._thread = threading.Thread(target=self._run, name=f"enforce-{site.cluster}", daemon=True)

    def once(self) -> Turned | Refusal:
        """One turn, once the cluster is seen in full and somebody leads. Raises LedgerError."""
        until_s = time.monotonic() + _SETTLE_S
        while time.monotonic() < until_s:
            led = self._site.leader.epoch or self._site.leader.trouble
            if led and self._site.live.settled:
                break
            time.sleep(_LOOK_EVERY_S)
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

    def _run(self) -> None:
        changed = self._site.live.changed
        woken = False
        while not self._stop.is_set():
            changed.clear()
            try:
                self._resume(unless_again=woken)
                self._told(self._turns.turn())
            except (QuartermasterError, duckdb.Error) as error:
                self._told(str(error))
            woken = changed.wait(AT_LEAST_EVERY_S)
            self._stop.wait(_TOGETHER_S)

    def _resume(self, *, unless_again: bool = False) -> None:
        """Close what an earlier life, another leader or a server that fell silent left open.

        What is open is looked for when the lease is new, and, where no event hurries, before every turn.
        """
        epoch = self._site.leader.epoch
        if epoch and not (unless_again and epoch == self._resumed_epoch):
            intents = {each.row_hash: each.deed for each in self._site.chain.open_intents()}
            if intents:
                resume(self._site.doing, intents, epoch)
            self._resumed_epoch = epoch

"""The gate: asked before every single act whether it may be done. Three switches stop everything, and the lease."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from collector.kubernetes.talk import Api
from enforcer.act.leader import Leader
from enforcer.audit.requests import commands
from enforcer.guard.switches import Command, Freeze, commanded, look_at_configmap, look_at_file
from quartermaster.errors import QuartermasterError
from sql.ledger import Ledger


@dataclass(frozen=True)
class Places:
    """Where the switches of a cluster are looked for."""

    file: Path
    api: Api
    namespace: str
    ledger: Ledger
    cluster: str


class Gate:
    """Many may ask at once: who asks is told what was looked at after the asking, and one look is enough for all."""

    def __init__(self, places: Places, leader: Leader, wall: Callable[[], int]) -> None:
        self._places, self._leader, self._wall = places, leader, wall
        self._turn = threading.Condition()
        self._begun = self._ended = 0  # looks
        self._looking = False
        self._freeze: Freeze | None = None

    def may(self, epoch: int) -> str:
        """Why nothing may be done any more under an epoch of the lease; "" while it may."""
        freeze = self.look()
        return self._leader.doubt(epoch) or (freeze.words if freeze is not None else "")

    def look(self) -> Freeze | None:
        """Which switch stops everything, by a look that begins no sooner than this is called."""
        with self._turn:
            mine = self._begun + 1
            while self._ended < mine:
                if not self._looking:
                    self._looking, self._begun = True, self._begun + 1
                    break
                self._turn.wait()
            else:
                return self._freeze
        try:
            found: Freeze | None = self._look()
        except BaseException:
            with self._turn:
                self._looking, self._begun = False, self._begun - 1
                self._turn.notify_all()
            raise
        with self._turn:
            self._looking, self._ended, self._freeze = False, self._begun, found
            self._turn.notify_all()
        return found

    def _look(self) -> Freeze | None:
        places = self._places
        return (
            look_at_file(places.file)
            or look_at_configmap(places.api, places.namespace)
            or commanded(self._commands())
        )

    def _commands(self) -> tuple[Command, ...] | None:
        try:
            with self._places.ledger.reading() as cursor:
                return commands(cursor, self._places.cluster, self._wall())
        except (QuartermasterError, duckdb.Error):
            return None

"""The leader: takes the Lease, keeps it, and says before every act whether it still has it."""

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable

from collector.kubernetes.values import Json
from enforcer.act.lease import NAME, RENEW_S, TRUST_S, Watched, held_of, is_free, released, taken, watched
from enforcer.act.wire import Silence, Wire
from quartermaster.clock import now_ms

_SOON_S = 1.0


def _clock_s() -> float:
    """A clock that nobody sets, and that goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def identity() -> str:
    """A name for this process that no other one has, also none that comes after it on the same machine."""
    return f"{socket.gethostname()}_{os.getpid()}_{secrets.token_hex(4)}"


class Leader:
    """One who would like to act on a cluster. `identity` is this process' own: no other one's, also after a restart."""

    def __init__(
        self,
        wire: Wire,
        namespace: str,
        identity: str,
        *,
        least_epoch: int = 0,
        wall: Callable[[], int] = now_ms,
        clock: Callable[[], float] = _clock_s,
    ) -> None:
        self.identity = identity
        self._wire, self._wall, self._clock = wire, wall, clock
        self._base = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._least_epoch = least_epoch
        self._head = ""
        self._seen: Watched | None = None
        self._epoch = 0
        self._trusted_until_s = 0.0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)
        self.trouble = ""  # why the lease could not be asked for, the last time

    def start(self) -> None:
        """Try to have it, from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Give it up, so that another need not wait."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        with self._lock:
            self._trusted_until_s = 0.0
            if self._epoch:
                self._give_up()
            self._epoch = 0

    @property
    def epoch(self) -> int:
        """The epoch of the lease that we have; 0 while we have none."""
        return self._epoch if self._clock() < self._trusted_until_s else 0

    def doubt(self, epoch: int) -> str:
        """Why nothing may be done under that epoch any more; "" while it may. It is asked before every act."""
        now = self.epoch
        if now == epoch != 0:
            return ""
        return (
            "the lease is another's, or was not renewed in time"
            if not now
            else f"the lease is of epoch {now} now"
        )

    def publish(self, head: str) -> None:
        """The audit's head, as it is put on the Lease when that is renewed."""
        self._head = head

    def renew(self) -> None:
        """Take the lease or renew it, if it is free or ours. Never raises: `trouble` says what went wrong."""
        with self._lock:
            asked_s = self._clock()
            try:
                self.trouble = self._renew(asked_s)
            except Silence as silence:
                self.trouble = str(silence)
            except Exception as error:  # noqa: BLE001 - the thread goes on, and trust ends by itself
                self.trouble = f"{type(error).__name__}: {str(error)[:200]}"

    def remove(self) -> None:
        """Take the Lease off the cluster. Raises Silence."""
        with self._lock:
            self._epoch, self._trusted_until_s = 0, 0.0
            self._wire.send("DELETE", f"{self._base}/{NAME}")

    def _renew(self, asked_s: float) -> str:
        reply = self._wire.send("GET", f"{self._base}/{NAME}")
        lease: Json | None = reply.body if reply.good else None
        if lease is None and reply.code != 404:
            return reply.words
        if lease is not None:
            self._seen = watched(held_of(lease), self._seen, self._clock())
            if not is_free(self._seen, self.identity, self._clock()):
                self._epoch, self._trusted_until_s = 0, 0.0
                return f"{self._seen.held.holder} has it"
        body = taken(lease, self.identity, self._wall(), self._least_epoch, self._head)
        if lease is None:
            reply = self._wire.send("POST", self._base, body)
        else:  # the version that was read stands in it: of two who take it at once one is refused
            reply = self._wire.send("PUT", f"{self._base}/{NAME}", body)
        if not reply.good:
            return reply.words
        self._epoch, self._trusted_until_s = held_of(reply.body).epoch, asked_s + TRUST_S
        return ""

    def _give_up(self) -> None:
        try:
            reply = self._wire.send("GET", f"{self._base}/{NAME}")
            if reply.good and held_of(reply.body).holder == self.identity:
                self._wire.send("PUT", f"{self._base}/{NAME}", released(reply.body))
        except Silence:
            pass  # it ends by itself

    def _keep(self) -> None:
        while not self._stop.is_set():
            self.renew()
            self._stop.wait(RENEW_S if self.epoch and not self.trouble else _SOON_S)

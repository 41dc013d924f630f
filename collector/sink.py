"""The sink: a thread that commits batches in order; while the ledger is away they are spooled."""

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

import duckdb

from collector.batch import Batch, commit
from collector.spool import Spool, order
from quartermaster.errors import InputError, QuartermasterError
from sql.ledger import Ledger

# Batches that wait in memory while one is committed; more go to the spool at once.
WAITING_AT_MOST = 8
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 30.0
# At the end, what waits is committed for at most so long; the rest stays in the spool for the next life.
_FINISH_S = 15.0


class Reports(Protocol):
    """Who is told what becomes of batches; called from the sink's thread and from `submit`."""

    def committed(self, batch: Batch, seconds: float) -> None:
        """The batch is in the ledger."""
        ...

    def spooled(self, batch: Batch, dropped: int) -> None:
        """The batch is in the spool, on the disk; to make room, `dropped` older ones lost their samples."""
        ...

    def away(self, error: Exception) -> None:
        """The ledger (or the spool's disk) does not take batches; they wait."""
        ...

    def damaged(self, error: InputError) -> None:
        """A file of the spool cannot be read; what it held is lost."""
        ...


class Sink:
    """Takes batches and sees to it that each is acknowledged: committed, or fsynced in the spool."""

    def __init__(
        self,
        spool: Spool,
        open_ledger: Callable[[], AbstractContextManager[Ledger]],
        reports: Reports,
        tend: Callable[[Ledger], None],
        tend_every_s: float = 30.0,
    ) -> None:
        """`open_ledger` is called again after each fault; `tend` looks after the ledger when nothing
        waits."""
        self._spool = spool
        self._open_ledger = open_ledger
        self._reports = reports
        self._tend = tend
        self._tend_every_s = tend_every_s
        self._tend_at = time.monotonic() + tend_every_s
        self._waiting: deque[Batch] = deque()
        self._changed = threading.Condition()
        self._stopping = False
        self._open = contextlib.ExitStack()
        self._ledger: Ledger | None = None
        self._pause_s = 0.0
        self._thread = threading.Thread(target=self._run, name="sink", daemon=True)

    def start(self) -> None:
        """Begin to commit; first what an earlier life left in the spool."""
        self._thread.start()

    def submit(self, batch: Batch) -> None:
        """Take a batch. It returns at once, or after the disk has it; it never waits for the ledger."""
        with self._changed:
            if self._pause_s == 0 and not len(self._spool) and len(self._waiting) < WAITING_AT_MOST:
                self._waiting.append(batch)
            else:
                self._put(batch)
            self._changed.notify()

    def stop(self, timeout_s: float | None = None) -> bool:
        """Finish: commit what waits, as far as there is time; the rest is in the spool. False when it took too long."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    @property
    def waiting(self) -> int:
        """How many batches wait, in memory and in the spool."""
        return len(self._waiting) + len(self._spool)

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._pause_s and not self._stopping:
                    self._changed.wait_for(lambda: self._stopping, self._pause_s)
                elif not self.waiting and not self._stopping:
                    self._changed.wait(max(0.0, self._tend_at - time.monotonic()))
                if self._stopping:
                    break
            self._attempt(self._step)
        self._attempt(self._finish)
        with self._changed:
            self._put_all()
        self._close()

    def _attempt(self, step: Callable[[], None]) -> None:
        try:
            step()
            self._pause_s = 0.0
        except InputError as error:
            self._reports.damaged(error)
        except (QuartermasterError, duckdb.Error, OSError) as error:
            self._close()
            with self._changed:
                self._pause_s = min(max(2 * self._pause_s, _FIRST_PAUSE_S), _LONGEST_PAUSE_S)
                self._put_all()
            self._reports.away(error)

    def _step(self) -> None:
        batch = self._next()
        if batch is not None:
            self._commit(batch)
        elif time.monotonic() >= self._tend_at:
            self._tend_at = time.monotonic() + self._tend_every_s
            self._tend(self._opened())

    def _finish(self) -> None:
        give_up_at = time.monotonic() + _FINISH_S
        while time.monotonic() < give_up_at and (batch := self._next()) is not None:
            self._commit(batch)

    def _next(self) -> Batch | None:
        with self._changed:
            head = self._waiting[0] if self._waiting else None
            spooled = self._spool.first
            if head is not None and (spooled is None or order(head.key) < spooled):
                return head
            return self._spool.oldest()

    def _commit(self, batch: Batch) -> None:
        ledger = self._opened()
        began = time.perf_counter()
        commit(ledger, batch)
        seconds = time.perf_counter() - began
        with self._changed:
            if self._waiting and self._waiting[0].key == batch.key:
                self._waiting.popleft()
            else:
                self._spool.remove(batch.key)
        self._reports.committed(batch, seconds)

    def _opened(self) -> Ledger:
        if self._ledger is None:
            self._ledger = self._open.enter_context(self._open_ledger())
        return self._ledger

    def _close(self) -> None:
        self._ledger = None
        with contextlib.suppress(duckdb.Error):
            self._open.close()

    def _put_all(self) -> None:
        while self._waiting:
            batch = self._waiting[0]
            try:
                stored = self._spool.put(batch)
            except OSError as error:
                self._reports.away(error)
                self._shed()
                return
            self._waiting.popleft()
            self._reports.spooled(batch, stored.dropped)

    def _put(self, batch: Batch) -> None:
        try:
            stored = self._spool.put(batch)
        except OSError as error:
            self._waiting.append(batch)
            self._shed()
            self._reports.away(error)
        else:
            self._reports.spooled(batch, stored.dropped)

    def _shed(self) -> None:
        """Keep memory bounded where neither ledger nor disk takes anything: the oldest lose their samples.

        The first may be on its way into the ledger just now, so it stays as it is.
        """
        while len(self._waiting) > WAITING_AT_MOST:
            self._waiting[2] = self._waiting[2].after(self._waiting[1].without_samples())
            del self._waiting[1]

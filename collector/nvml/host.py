"""One host's loop: it is looked at every interval, and what is new is handed on."""

import asyncio
import contextlib
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from collector.batch import Census, Opening
from collector.cluster import Surroundings
from collector.dcgm.fetch import Failure
from collector.nvml.look import Look
from collector.nvml.memory import restore, save
from collector.nvml.picture import Picture
from collector.nvml.settings import NVML, Settings
from collector.round import Outcome
from quartermaster.config.clusters import ClusterPart
from quartermaster.errors import InputError

# At the end a look under way is waited for so long.
_PATIENCE_S = 2.0


class Looks(Protocol):
    """What the loop needs of a reader."""

    async def fetch(self, pids: set[int]) -> Look | Failure:
        """A look at the host, and at these processes; or why there is none."""
        ...

    async def close(self) -> None:
        """End the reader."""
        ...


@dataclass(frozen=True)
class Host:
    """A host's settings, and where its memory between two lives is."""

    part: ClusterPart
    settings: Settings
    memory: Path


class HostLoop:
    """Looks at this host, as its cluster's one node, until it is stopped."""

    def __init__(self, host: Host, fetcher: Looks, around: Surroundings) -> None:
        self.part = host.part
        self.settings = host.settings
        self._memory, self._fetcher = host.memory, fetcher
        self._log, self._metrics, self._wall, self._hand_on = (
            around.log,
            around.metrics,
            around.wall,
            around.hand_on,
        )
        self.picture = Picture(host.settings)
        self._openings: tuple[Opening, ...] = ()
        self._said: frozenset[str] = frozenset()
        self._stopping = asyncio.Event()
        self._fetching: asyncio.Future[Look | Failure] | None = None
        self._duty: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to look."""
        self._begin()
        self._duty = asyncio.create_task(self._keep_looking())

    async def once(self) -> int:
        """Look once and hand on what was seen; 1 when nothing was."""
        self._begin()
        try:
            return await self.look()
        finally:
            await self._fetcher.close()

    async def stop(self) -> None:
        """Look no more; a look under way is finished and handed on. Who holds a GPU goes on in the next life."""
        self._stopping.set()
        if self._duty is not None:
            done, _ = await asyncio.wait({self._duty}, timeout=_PATIENCE_S)
            if not done and self._fetching is not None:
                self._fetching.cancel()  # the driver hangs
            await self._duty
        await self._fetcher.close()

    def check(self) -> None:
        """Raise what ended the loop: it does not end by itself."""
        if self._duty is not None and self._duty.done() and not self._duty.cancelled():
            self._duty.result()

    def unseen(self, start_ms: int, end_ms: int, reason: str) -> None:
        """Record a span in which the collector itself saw nothing that counts."""
        self.picture.unseen(start_ms, end_ms, reason)

    async def look(self) -> int:
        """Look, understand and hand on, once; 1 when nothing was seen."""
        now_ms, began = self._wall(), time.perf_counter()
        self._fetching = asyncio.ensure_future(self._fetcher.fetch(self.picture.pids()))
        try:
            answer = await self._fetching
        except asyncio.CancelledError:
            if self._stopping.is_set():
                return 1
            raise
        seconds = time.perf_counter() - began
        if isinstance(answer, Failure):
            self.picture.miss(now_ms, answer.reason)
            self._say({f"{answer.reason}: {answer.detail}"})
        else:
            self.picture.see(_at(answer, now_ms))
            self._say(self.picture.notes())
        await self._take(now_ms, seconds)
        return int(isinstance(answer, Failure))

    def _begin(self) -> None:
        now_ms, settings = self._wall(), self.settings
        try:
            known = restore(self._memory, self.picture.fleet, self.picture.book)
        except InputError as error:
            self._log.warning("memory is lost", cluster=settings.cluster, what=error.what)
            known = False
        self._openings = self.picture.openings(now_ms)
        self._log.info(
            "watching this host",
            cluster=settings.cluster,
            node=settings.node,
            holders=settings.source,
            interval_s=settings.interval_ms / 1000,
            goes_on=known,
        )

    async def _keep_looking(self) -> None:
        every_s = self.settings.interval_ms / 1000
        next_at = time.monotonic()
        while not self._stopping.is_set():
            await self.look()
            next_at += every_s
            late = int(max(0.0, time.monotonic() - next_at) / every_s)
            if late:
                self._metrics.late.labels(self.settings.cluster).inc(late)
                next_at += late * every_s
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), max(0.0, next_at - time.monotonic()))

    async def _take(self, now_ms: int, seconds: float) -> None:
        taken = self.picture.take(now_ms)
        outcome = Outcome(
            cluster=self.settings.cluster,
            source=NVML,
            start_at=taken.start_at,
            complete_until_at=taken.complete_until_at,
            frames=taken.frames,
            pages=taken.looks,
            samples=taken.samples,
            bad_lines=0,
            missed=taken.missed,
            fetch_seconds=(seconds,),
            failures=taken.failures,
            recovered=taken.recovered,
        )
        self._metrics.note(outcome, 1, int(self.picture.silent))
        for target, reason, detail in taken.failures:
            self._log.warning(
                "gap begins", cluster=self.settings.cluster, target=target.name, reason=reason, detail=detail
            )
        for target in taken.recovered:
            self._log.info("gap ends", cluster=self.settings.cluster, target=target.name)
        openings, self._openings = self._openings, ()
        censuses: tuple[Census, ...] = () if taken.census is None else (taken.census,)
        try:
            # Before the batch is handed on: should we die in between, the next life tells what is open once more.
            save(self._memory, self.picture.fleet, self.picture.book)
        except OSError as error:
            self._say({f"memory cannot be written: {error}"})
        await self._hand_on(outcome, openings, censuses)

    def _say(self, notes: set[str]) -> None:
        """Say what is new."""
        for note in sorted(notes - self._said):
            self._log.warning("nvml", cluster=self.settings.cluster, what=note)
        self._said = frozenset(notes)


def _at(look: Look, now_ms: int) -> Look:
    """The look on the collector's clock, which tells all other times."""
    ahead_ms = now_ms - look.at_ms
    return replace(
        look,
        at_ms=now_ms,
        booted_ms=look.booted_ms + ahead_ms,
        processes={
            pid: replace(process, start_ms=process.start_ms + ahead_ms)
            for pid, process in look.processes.items()
        },
        jobs=tuple(replace(job, start_ms=job.start_ms + ahead_ms) for job in look.jobs),
    )

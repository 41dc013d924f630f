"""One cluster's loop: who is visited when, and when what was gathered is handed on."""

import asyncio
import heapq
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from collector.batch import Census, Opening, joined
from collector.dcgm.fetch import Fetcher
from collector.discovery import Discovery
from collector.health import Metrics
from collector.kubernetes.source import KubernetesSource
from collector.log import Log
from collector.round import Outcome, Round
from collector.targets import Target
from quartermaster.config.clusters import ClusterPart

HandOn = Callable[[Outcome, tuple[Opening, ...], tuple[Census, ...]], Awaitable[None]]
# A batch is handed on at least so often; files and names are looked at so often.
_HAND_ON_S, _REDISCOVER_S = 30.0, 10.0
# A first visit makes a connection and reads a page that nothing is known of, much more work than a later one: first
# visits of many targets are spread over longer than a short interval.
_FIRST_VISIT_MS = 10
# A single round waits so long for Kubernetes' first full picture.
_PICTURE_S = 30.0
# Visits that fall due within a twentieth of the interval, at most this long, are begun together: pages that come
# side by side cost a third less than one by one.
_GRAIN_S = 0.25


@dataclass(frozen=True)
class Surroundings:
    """What every cluster's loop shares: the log, the metrics, the wall clock, and who takes what was
    gathered."""

    log: Log
    metrics: Metrics
    wall: Callable[[], int]
    hand_on: HandOn


class ClusterLoop:
    """Visits the targets of one cluster, each at its own moment of the interval, until it is stopped."""

    def __init__(
        self,
        part: ClusterPart,
        folder: Path,
        around: Surroundings,
        kubernetes: KubernetesSource | None = None,
    ) -> None:
        """`folder` is what relative paths start from. Raises ConfigurationError for unusable credentials."""
        self.part = part
        self.kubernetes = kubernetes
        self._log, self._metrics = around.log, around.metrics
        self._wall, self._hand_on = around.wall, around.hand_on
        self._interval_s = part.dcgm.interval_ms / 1000
        self._fetcher = Fetcher(part.dcgm)
        self._discovery = Discovery(part, folder, self._complain)
        self.round = Round(part.name, part.dcgm.interval_ms, self._fetcher)
        self._openings: tuple[Opening, ...] = ()
        self._open = AsyncExitStack()
        self._due: list[tuple[float, Target]] = []
        self._scheduled: set[Target] = set()
        self._visits: set[asyncio.Task[None]] = set()
        self._duties: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Find the targets and begin to visit them."""
        await self._begin()
        duties = (self._visit_all_in_turn(), self._keep_handing_on(), self._keep_discovering())
        self._duties = [asyncio.create_task(duty) for duty in duties]

    async def once(self) -> int:
        """Visit every target once, at once, and hand on what they gave; how many visits gave nothing."""
        await self._begin()
        try:
            now = self._wall()
            await asyncio.gather(*(self.round.visit(target, now) for target in self.round.targets))
            unseen = await self._wait_for_picture()
            return unseen + sum((await self._take(self._wall())).missed.values())
        finally:
            self._end_kubernetes()
            await self._open.aclose()

    async def _wait_for_picture(self) -> int:
        """Wait for Kubernetes' first full picture; 1 when it does not come in time."""
        end = time.monotonic() + _PICTURE_S
        while self.kubernetes is not None and not self.kubernetes.complete:
            if time.monotonic() > end:
                return 1
            await asyncio.sleep(0.1)
        return 0

    def _end_kubernetes(self) -> None:
        if self.kubernetes is not None:
            self.kubernetes.stop()

    async def stop(self) -> None:
        """Visit nobody any more; what visits under way still bring is handed on."""
        for duty in self._duties:
            duty.cancel()
        await asyncio.gather(*self._duties, *self._visits, return_exceptions=True)
        await self._take(self._wall())
        self._end_kubernetes()
        await self._open.aclose()

    def unseen(self, start_ms: int, end_ms: int, reason: str) -> None:
        """Record a span in which the collector itself saw nothing that counts."""
        self.round.unseen(start_ms, end_ms, reason)

    def check(self) -> None:
        """Raise what ended one of the duties: none ends by itself."""
        for duty in self._duties:
            if duty.done() and not duty.cancelled():
                duty.result()

    async def _begin(self) -> None:
        await self._open.enter_async_context(self._fetcher)
        await self._rediscover()
        now = self._wall()
        ids = [target.target_id for target in self.round.targets]
        self._say_targets(len(ids))
        if self.kubernetes is not None:
            self.kubernetes.start()
        self._openings = (Opening(self.part.name, self.round.source, now, self.part.dcgm.interval_ms, ids),)

    def _say_targets(self, count: int) -> None:
        said = self._log.info if count else self._log.warning
        said("watching", cluster=self.part.name, targets=count, interval_s=self._interval_s)

    async def _rediscover(self) -> None:
        before = len(self.round.targets)
        self.round.retarget(await self._discovery.targets(), self._wall())
        if self._duties and len(self.round.targets) != before:
            self._say_targets(len(self.round.targets))
        self._metrics.troubles.labels(self.part.name).set(len(self._discovery.troubles))
        now = time.monotonic()
        new = [target for target in self.round.targets if target not in self._scheduled]
        spread_ms = max(self.part.dcgm.interval_ms, len(new) * _FIRST_VISIT_MS)
        for target in new:
            self._scheduled.add(target)
            heapq.heappush(self._due, (now + target.target_id % spread_ms / 1000, target))

    async def _keep_discovering(self) -> None:
        while True:
            await asyncio.sleep(min(_REDISCOVER_S, self._interval_s))
            await self._rediscover()

    async def _keep_handing_on(self) -> None:
        every_s = min(_HAND_ON_S, self._interval_s)
        next_at = time.monotonic() + every_s
        while True:
            await asyncio.sleep(max(0.0, next_at - time.monotonic()))
            next_at += every_s
            await self._take(self._wall())

    async def _visit_all_in_turn(self) -> None:
        while True:
            now = time.monotonic()
            present = set(self.round.targets)
            while self._due and self._due[0][0] <= now:
                due, target = heapq.heappop(self._due)
                if target not in present:
                    self._scheduled.discard(target)
                    continue
                self._visit(target)
                later = int((now - due) / self._interval_s)
                if later:
                    self._metrics.late.labels(self.part.name).inc(later)
                heapq.heappush(self._due, (due + (later + 1) * self._interval_s, target))
            wait_s = self._due[0][0] - time.monotonic() if self._due else self._interval_s
            await asyncio.sleep(max(min(_GRAIN_S, self._interval_s / 20), min(wait_s, 1.0)))

    def _visit(self, target: Target) -> None:
        task = asyncio.create_task(self.round.visit(target, self._wall()))
        self._visits.add(task)
        task.add_done_callback(self._visits.discard)

    async def _take(self, now_ms: int) -> Outcome:
        outcome = self.round.take(now_ms)
        openings, self._openings = self._openings, ()
        self._metrics.note(outcome, len(self.round.targets), self.round.silent)
        for target, reason, detail in outcome.failures:
            self._log.warning(
                "gap begins", cluster=self.part.name, target=target.name, reason=reason, detail=detail
            )
        for target in outcome.recovered:
            self._log.info("gap ends", cluster=self.part.name, target=target.name)
        censuses: tuple[Census, ...] = ()
        if self.kubernetes is not None:
            told = await asyncio.to_thread(self.kubernetes.take, now_ms)
            outcome = replace(outcome, frames=joined(outcome.frames, told.frames))
            openings, censuses = openings + told.openings, told.censuses
            self._metrics.note_watches(self.part.name, self.kubernetes, now_ms)
        await self._hand_on(outcome, openings, censuses)
        return outcome

    def _complain(self, source: str, what: str) -> None:
        self._log.warning("no targets from", cluster=self.part.name, source=source, what=what)

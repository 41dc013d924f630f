"""The collecting loop on the real clock: clusters begun, changed by a reload, and ended."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from collector import gaps
from collector.batch import Batch, Census, Opening, Span
from collector.cluster import ClusterLoop, Surroundings
from collector.health import Metrics, Pulse, serve
from collector.kubernetes.configured import settings_of, source_of
from collector.log import Log
from collector.nvml.configured import host_loop, is_elsewhere
from collector.nvml.configured import settings_of as host_settings_of
from collector.nvml.host import HostLoop
from collector.round import Outcome
from collector.sink import Sink
from quartermaster.clock import now_ms
from quartermaster.config.clusters import ClusterPart
from quartermaster.config.keeper import Keeper
from quartermaster.config.model import Configuration
from quartermaster.errors import ConfigurationError
from sql.writer import Writer

_TICK_S = 0.5


@dataclass
class Loop:
    """Collects for all clusters of a configuration until it is told to stop."""

    keeper: Keeper
    folder: Path  # what relative paths of the configuration start from
    writer: Writer
    sink: Sink
    metrics: Metrics
    pulse: Pulse
    log: Log
    refresh: Callable[[], None]
    wall: Callable[[], int] = now_ms
    only_host: bool = False

    def __post_init__(self) -> None:
        self._clusters: dict[str, ClusterLoop | HostLoop] = {}
        self._reload = asyncio.Event()

    def reload(self) -> None:
        """Read the configuration again, soon."""
        self._reload.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Collect until `stop` is set, then finish the batch. Raises ConfigurationError at the start only."""
        async with contextlib.AsyncExitStack() as stack:
            runner = await serve(self.keeper.current.collector.listen, self.metrics, self.pulse, self.refresh)
            stack.push_async_callback(web.AppRunner.cleanup, runner)
            await self._arrange(self.keeper.current)
            clocks = self._clocks()
            while not stop.is_set():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), _TICK_S)
                clocks = self._look_at_clocks(clocks)
                for cluster in self._clusters.values():
                    cluster.check()
                if self._reload.is_set():
                    self._reload.clear()
                    await self._take_new_configuration()
            await asyncio.gather(*(cluster.stop() for cluster in self._clusters.values()))

    async def once(self) -> int:
        """One round of every cluster, all targets at once, handed to the sink; how many visits gave
        nothing."""
        missed = 0
        for part in self._here(self.keeper.current):
            missed += await self._cluster(part, self.keeper.current).once()
        return missed

    async def _arrange(self, configuration: Configuration) -> None:
        """Bring the clusters' loops in line with the configuration; those that it does not change go on.

        Raises ConfigurationError, with nothing changed, when a new loop cannot be made.
        """
        here = self._here(configuration)
        same = {part.name for part in here if self._goes_on(part, configuration)}
        new = [self._cluster(part, configuration) for part in here if part.name not in same]
        for name in self._clusters.keys() - same:
            await self._clusters.pop(name).stop()
        for cluster in new:
            self._clusters[cluster.part.name] = cluster
            await cluster.start()

    def _goes_on(self, part: ClusterPart, configuration: Configuration) -> bool:
        """Whether a cluster's loop runs already as it is configured now; Kubernetes' part reads teams and pools too."""
        loop = self._clusters.get(part.name)
        if loop is None or loop.part != part:
            return False
        if isinstance(loop, HostLoop):
            return part.nvml is not None and loop.settings == host_settings_of(part, part.nvml, configuration)
        return loop.kubernetes is None or loop.kubernetes.settings == settings_of(part, configuration)

    def _here(self, configuration: Configuration) -> list[ClusterPart]:
        """The clusters that this collector reads: all but other hosts; with `only_host` this host alone."""
        return [
            part
            for part in configuration.clusters
            if not is_elsewhere(part) and (part.nvml is not None or not self.only_host)
        ]

    def _cluster(self, part: ClusterPart, configuration: Configuration) -> ClusterLoop | HostLoop:
        around = Surroundings(self.log, self.metrics, self.wall, self.hand_on)
        host = host_loop(part, configuration, around)
        if host is not None:
            return host
        kubernetes = source_of(part, configuration, self.wall, self.log)
        return ClusterLoop(part, self.folder, around, kubernetes)

    async def _take_new_configuration(self) -> None:
        before = self.keeper.current
        result = await asyncio.to_thread(self.keeper.reload)
        said, good = result.said, result.accepted
        try:
            await self._arrange(self.keeper.current)
        except ConfigurationError as error:
            said, good = f"the old clusters go on: {error.what}", False
        self.metrics.config_ok.set(1 if good else 0)
        self.metrics.reloads_failed.set(self.keeper.failures)
        (self.log.info if good else self.log.error)("configuration", said=said)
        now = self.keeper.current
        if (before.ledger, before.collector) != (now.ledger, now.collector):
            self.log.warning("configuration", said="ledger and collector change at the next start")

    def _clocks(self) -> gaps.Clocks:
        return gaps.Clocks(self.wall(), time.monotonic_ns() // 1_000_000)

    def _look_at_clocks(self, before: gaps.Clocks) -> gaps.Clocks:
        now = self._clocks()
        span = gaps.jumped(before, now)
        if span is not None:
            self.metrics.clock_jumps.inc()
            self.log.warning(
                "clock jumped",
                milliseconds=now.wall_ms - before.wall_ms - now.monotonic_ms + before.monotonic_ms,
            )
            for cluster in self._clusters.values():
                cluster.unseen(*span, gaps.CLOCK_JUMPED)
        return now

    async def hand_on(
        self, outcome: Outcome, openings: tuple[Opening, ...], censuses: tuple[Census, ...] = ()
    ) -> None:
        """Give a round's rows to the sink as one batch."""
        span = Span(outcome.cluster, outcome.source, outcome.start_at, outcome.complete_until_at)
        batch = Batch(self.writer.next_key(), self.wall(), outcome.frames, (span,), openings, censuses)
        await asyncio.to_thread(self.sink.submit, batch)
        self.pulse.beat()

"""The collector's own metrics and health, served over HTTP: /metrics, /healthz and /readyz."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from collector.kubernetes.source import KubernetesSource
from collector.round import Outcome
from quartermaster.errors import ConfigurationError

_NAMESPACE = "quartermaster_collector"
_FETCH_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_COMMIT_BUCKETS = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.3, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """The collector's numbers, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.pages = self._counter("pages", "Pages fetched whole.", "cluster")
        self.samples = self._counter("samples", "Rows of samples understood.", "cluster")
        self.missed = self._counter("missed_visits", "Visits that gave no sample.", "cluster", "reason")
        self.bad_lines = self._counter("bad_lines", "Lines of pages that could not be read.", "cluster")
        self.fetch = self._histogram("fetch_seconds", "Fetching a page.", _FETCH_BUCKETS, "cluster")
        self.targets = self._gauge("targets", "Targets that are visited.", "cluster")
        self.up = self._gauge("targets_up", "Targets that are in no gap.", "cluster")
        self.rounds = self._counter("rounds", "Rounds handed on.", "cluster")
        self.late = self._counter(
            "visits_skipped", "Visits left out because the collector was late.", "cluster"
        )
        self.troubles = self._gauge("discovery_troubles", "Files and names without a good answer.", "cluster")
        self.complete = self._gauge(
            "complete_until_seconds", "How far telemetry is complete (epoch).", "cluster"
        )
        self.events = self._gauge("watch_events", "Events that Kubernetes' watches brought.", "cluster")
        self.lag = self._gauge(
            "watch_lag_seconds", "Since a watch last said that it has told all.", "cluster", "resource"
        )
        self.change_lag = self._gauge(
            "watch_change_lag_seconds",
            "The longest a change took to arrive, of the last batch; API times are whole seconds.",
            "cluster",
        )
        self.clock_offset = self._gauge(
            "api_clock_offset_seconds",
            "By how much the API server's clock is ahead of this machine's, as its answers tell.",
            "cluster",
        )
        self.commit = self._histogram("commit_seconds", "Committing a batch.", _COMMIT_BUCKETS)
        self.committed = self._counter("committed_batches", "Batches committed to the ledger.")
        self.spooled = self._counter("spooled_batches", "Batches that went into the spool.")
        self.dropped = self._counter("dropped_batches", "Batches whose samples were dropped: a gap.")
        self.damaged = self._counter("damaged_batches", "Files of the spool that could not be read.")
        self.waiting = self._gauge("waiting_batches", "Batches not yet in the ledger.")
        self.spool_bytes = self._gauge("spool_bytes", "Bytes in the spool.")
        self.ledger_up = self._gauge("ledger_up", "Whether the ledger took the last batch.")
        self.config_ok = self._gauge("config_ok", "Whether the configuration's file is in force.")
        self.reloads_failed = self._gauge("config_reloads_failed", "Reloads that were refused.")
        self.clock_jumps = self._counter("clock_jumps", "Jumps of the wall clock.")
        build = Info("build", "What runs.", registry=self.registry, namespace=_NAMESPACE)
        build.info({"version": version("gpu-quartermaster")})
        self.config_ok.set(1)

    def _counter(self, name: str, what: str, *labels: str) -> Counter:
        return Counter(name, what, labels, registry=self.registry, namespace=_NAMESPACE)

    def _gauge(self, name: str, what: str, *labels: str) -> Gauge:
        return Gauge(name, what, labels, registry=self.registry, namespace=_NAMESPACE)

    def _histogram(self, name: str, what: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(name, what, labels, registry=self.registry, namespace=_NAMESPACE, buckets=buckets)

    def note(self, outcome: Outcome, targets: int, silent: int) -> None:
        """Count what a round gave."""
        cluster = outcome.cluster
        self.rounds.labels(cluster).inc()
        self.pages.labels(cluster).inc(outcome.pages)
        self.samples.labels(cluster).inc(outcome.samples)
        self.bad_lines.labels(cluster).inc(outcome.bad_lines)
        for reason, count in outcome.missed.items():
            self.missed.labels(cluster, reason).inc(count)
        observe = self.fetch.labels(cluster).observe
        for seconds in outcome.fetch_seconds:
            observe(seconds)
        self.targets.labels(cluster).set(targets)
        self.up.labels(cluster).set(targets - silent)
        self.complete.labels(cluster).set(outcome.complete_until_at / 1000)

    def note_watches(self, cluster: str, source: KubernetesSource, now_ms: int) -> None:
        """Tell how far a cluster's watches are."""
        self.events.labels(cluster).set(source.events)
        self.clock_offset.labels(cluster).set(source.clock_offset_ms / 1000)
        self.change_lag.labels(cluster).set(source.change_lag_ms() / 1000)
        for resource, lag_ms in source.lag_ms(now_ms).items():
            self.lag.labels(cluster, resource).set(lag_ms / 1000)


@dataclass
class Pulse:
    """Whether the collector lives: when a round was last handed on, and whether one batch is acknowledged."""

    patience_s: float
    beat_at: float = field(default_factory=time.monotonic)
    acknowledged: bool = False

    def beat(self) -> None:
        """A round was handed on."""
        self.beat_at = time.monotonic()

    def alive(self) -> bool:
        """Whether the last round is not older than it should be."""
        return time.monotonic() - self.beat_at <= self.patience_s


async def serve(listen: str, metrics: Metrics, pulse: Pulse, refresh: Callable[[], None]) -> web.AppRunner:
    """Serve on `host:port` until the runner is cleaned up; `refresh` brings gauges up to date before each
    answer.

    Raises ConfigurationError when the address cannot be had.
    """

    async def show_metrics(_: web.Request) -> web.Response:
        refresh()
        return web.Response(
            body=generate_latest(metrics.registry), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )

    async def healthy(_: web.Request) -> web.Response:
        return _yes_or_no(pulse.alive(), "no round was finished for too long")

    async def ready(_: web.Request) -> web.Response:
        return _yes_or_no(pulse.acknowledged and pulse.alive(), "no batch is acknowledged yet")

    app = web.Application()
    app.add_routes(
        [web.get("/metrics", show_metrics), web.get("/healthz", healthy), web.get("/readyz", ready)]
    )
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    host, _, port = listen.rpartition(":")
    try:
        await web.TCPSite(runner, host.strip("[]") or None, int(port)).start()
    except (OSError, OverflowError) as error:
        await runner.cleanup()
        raise ConfigurationError(
            f"collector.listen: {listen} cannot be listened on: {error}",
            "another collector may run; stop it, or choose another port",
        ) from error
    return runner


def _yes_or_no(good: bool, otherwise: str) -> web.Response:
    return web.Response(text="ok\n") if good else web.Response(text=f"{otherwise}\n", status=503)

"""The metrics as a page: served over HTTP, or written for node_exporter's textfile collector."""

import contextlib
import time
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from threading import Lock

from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from typing_extensions import override

from analytics.finance.written import whole_file
from quartermaster.errors import InputError, QuartermasterError

FRESH_S = 30.0  # for so long a page is given again: a scraper cannot keep the ledger busy

Read = Callable[[], Iterable[GaugeMetricFamily]]


class LedgerMetrics(Collector):
    """What `read` gives, with whether the ledger could be read; where it could not, that alone: nothing stale."""

    def __init__(self, read: Read, clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._clock = clock
        self._lock = Lock()
        self._page: list[GaugeMetricFamily] = []
        self._until = -1.0

    @override
    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The page, read anew when it is older than FRESH_S."""
        with self._lock:
            if self._clock() >= self._until:
                self._page = self._read_page()
                self._until = self._clock() + FRESH_S
            return self._page

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Nothing: a registry that takes it in need not read the ledger."""
        return []

    def _read_page(self) -> list[GaugeMetricFamily]:
        up = GaugeMetricFamily("quartermaster_ledger_up", "Whether the ledger could be read.")
        try:
            page = list(self._read())
        except QuartermasterError:
            up.add_metric([], 0)
            return [up]
        up.add_metric([], 1)
        return [up, *page]


def page_text(read: Read) -> bytes:
    """The page in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(LedgerMetrics(read))
    return generate_latest(registry)


def write_page(read: Read, file: Path) -> None:
    """Write the page whole into a file that ends in .prom, as node_exporter wants it. Raises InputError."""
    if file.suffix != ".prom":
        raise InputError(f"{file}: node_exporter reads files that end in .prom", "name such a file")
    with whole_file(file) as sink:
        sink.write(page_text(read))


@contextlib.contextmanager
def serve_page(read: Read, listen: str) -> Generator[str]:
    """Answer at `/metrics` of the address (`127.0.0.1:9502`, port 0 takes a free one) within; gives where it is.

    Raises InputError when it cannot listen there.
    """
    host, _, port = listen.rpartition(":")
    registry = CollectorRegistry()
    registry.register(LedgerMetrics(read))
    try:
        server, thread = start_http_server(int(port), host.strip("[]"), registry=registry)
    except (OSError, OverflowError, ValueError) as error:
        raise InputError(
            f"{listen} cannot be listened on: {error}", "name a free port of this machine"
        ) from error
    try:
        yield f"http://{host}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

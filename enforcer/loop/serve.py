"""Serving the metrics over HTTP, for Prometheus."""

from collections.abc import Generator
from contextlib import contextmanager

from prometheus_client import start_http_server

from enforcer.loop.metrics import Metrics
from quartermaster.errors import ConfigurationError


@contextmanager
def served(metrics: Metrics, listen: str | None) -> Generator[None]:
    """Answer at `/metrics` of the address within; nowhere without one. Raises ConfigurationError."""
    if listen is None:
        yield
        return
    host, _, port = listen.rpartition(":")
    try:
        server, thread = start_http_server(int(port), host.strip("[]"), registry=metrics.registry)
    except (OSError, OverflowError) as error:
        raise ConfigurationError(
            f"policy.acting.listen: {listen} cannot be listened on: {error}",
            "name a free port of this machine",
        ) from error
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""The pulse of a part that works round by round: how its rounds went, at /metrics, /healthz and /readyz."""

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from typing_extensions import override

from quartermaster.errors import InputError

_SPACE = "quartermaster_part"
_BUCKETS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


class Pulse:
    """Rounds of one part. It lives while rounds end in time, and is ready while the last one was good."""

    def __init__(self, part: str, patience_s: float) -> None:
        self._patience_s, self._beat_s, self._good = patience_s, time.monotonic(), False
        self.registry = CollectorRegistry()
        self._rounds = Counter(
            "rounds", "Rounds that ended.", ["part"], _SPACE, registry=self.registry
        ).labels(part)
        self._failed = Counter(
            "failed_rounds", "Rounds that ended with an error.", ["part"], _SPACE, registry=self.registry
        ).labels(part)
        self._last = Gauge(
            "last_good_round_timestamp_seconds",
            "When a round was good last (epoch).",
            ["part"],
            _SPACE,
            registry=self.registry,
        ).labels(part)
        self._took = Histogram(
            "round_seconds",
            "How long a round took.",
            ["part"],
            _SPACE,
            registry=self.registry,
            buckets=_BUCKETS,
        ).labels(part)
        patience = Gauge(
            "patience_seconds",
            "How long a round may be waited for.",
            ["part"],
            _SPACE,
            registry=self.registry,
        )
        patience.labels(part).set(patience_s)

    def beat(self, seconds: float, *, good: bool) -> None:
        """A round has ended."""
        self._beat_s, self._good = time.monotonic(), good
        self._rounds.inc()
        self._took.observe(seconds)
        if good:
            self._last.set_to_current_time()
        else:
            self._failed.inc()

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """Status, content type and body."""
        if path == "/metrics":
            return 200, CONTENT_TYPE_LATEST, generate_latest(self.registry)
        alive = time.monotonic() - self._beat_s <= self._patience_s
        if path == "/healthz":
            return _yes_or_no(alive, "no round has ended for too long")
        if path == "/readyz":
            return _yes_or_no(alive and self._good, "the last round was not good, or there was none yet")
        return _yes_or_no(good=False, otherwise="there are /metrics, /healthz and /readyz", status=404)


@contextmanager
def told(pulse: Pulse, listen: str) -> Generator[None]:
    """Answer on `host:port` within; nowhere where it is empty. Raises InputError where that cannot be had."""
    if not listen:
        yield
        return

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, kind, body = pulse.answer(self.path.partition("?")[0])
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        @override
        def log_message(self, format: str, *args: object) -> None:
            del format, args

    host, _, port = listen.rpartition(":")
    try:
        server = ThreadingHTTPServer((host.strip("[]"), int(port)), Handler)
    except (OSError, OverflowError, ValueError) as error:
        raise InputError(
            f"--listen {listen} cannot be listened on: {error}",
            "give a free address and port: 127.0.0.1:9503",
        ) from error
    thread = threading.Thread(target=server.serve_forever, name="pulse", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _yes_or_no(good: bool, otherwise: str, status: int = 503) -> tuple[int, str, bytes]:
    return (200, "text/plain", b"ok\n") if good else (status, "text/plain", f"{otherwise}\n".encode())

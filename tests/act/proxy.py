"""A proxy before the real API server that does one fault at the n-th call, and counts what came through."""

import json
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from typing_extensions import override

from tests.act.line import Line
from tests.servers.controlplane import ControlPlane

# Answered instead of the server; passed on and never answered, or half; never passed on; a field lost on the way.
FAULTS = ("409", "429", "500", "silent after", "silent before", "cut off", "pruned")


class Proxy:
    """What is to go wrong, and what has come through so far."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane, self.line = plane, Line(plane)
        self.port = 0
        self.fault, self.at, self.calls = "", 0, 0
        self.struck = ""  # the call that the fault met
        self.done: Counter[tuple[str, str]] = Counter()  # what the server did, by method and path
        self.closing = threading.Event()
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def expect(self, fault: str, at: int) -> None:
        """From now on the n-th call meets the fault."""
        with self.lock:
            self.fault, self.at, self.calls, self.struck = fault, at, 0, ""
            self.done.clear()

    def strikes(self, what: str) -> str:
        """The fault that this call meets."""
        with self.lock:
            self.calls += 1
            if self.calls != self.at:
                return ""
            self.struck = what
            return self.fault

    def passed_on(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        """The server's own answer."""
        status, told = self.line.send(method, path, body or None, headers)
        if method != "GET" and status < 300:
            with self.lock:
                self.done[method, urlsplit(path).path] += 1
        return status, told


def pruned(body: bytes) -> bytes:
    """A JSON patch without what it says of the spec, as a version that does not know the field takes it."""
    told: list[dict[str, Any]] = json.loads(body)
    return json.dumps([each for each in told if not each["path"].startswith("/spec")]).encode()


@contextmanager
def proxy_before(plane: ControlPlane) -> Generator[Proxy]:
    proxy = Proxy(plane)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        @override
        def handle_one_request(self) -> None:  # whatever the method
            self.raw_requestline = self.rfile.readline(65_537)
            if not self.raw_requestline or not self.parse_request():
                self.close_connection = True
                return
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            kept = {
                key: self.headers[key]
                for key in ("Authorization", "Content-Type", "Accept")
                if key in self.headers
            }
            fault = proxy.strikes(f"{self.command} {self.path}")
            if fault == "silent before":
                self.hang()
                return
            if fault.isdecimal():
                self.answer(int(fault), json.dumps({"kind": "Status", "message": "a fault"}).encode())
                return
            if fault == "pruned" and self.command == "PATCH":
                body = pruned(body)
            status, told = proxy.passed_on(self.command, self.path, body, kept)
            if fault == "silent after":
                self.hang()
            elif fault == "cut off":
                self.answer(status, told, half=True)
            else:
                self.answer(status, told)

        def hang(self) -> None:
            proxy.closing.wait(2)
            self.close_connection = True

        def answer(self, status: int, told: bytes, *, half: bool = False) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(told)))
            if status == 429:
                self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(told[: len(told) // 2] if half else told)
            self.close_connection = half

        @override
        def log_message(self, format: str, *args: Any) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    proxy.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield proxy
    finally:
        proxy.closing.set()
        server.shutdown()
        thread.join()
        server.socket.close()
        proxy.line.close()

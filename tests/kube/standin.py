"""A stand-in for an API server's worst days: each answer to each path is scripted, in order."""

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from typing_extensions import override

Answer = Callable[[BaseHTTPRequestHandler], None]


class StandIn:
    """Answers by path; the last answer of a path is repeated."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.answers: dict[str, deque[Answer]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.closing = threading.Event()
        self.ahead_s = 0.0  # by how much its clock is ahead

    def kubeconfig(self, folder: Path) -> Path:
        path = folder / "kubeconfig"
        cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}
        context = {"name": "here", "context": {"cluster": "c", "user": "u"}}
        users = [{"name": "u", "user": {"token": "t"}}]
        whole = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [cluster],
            "users": users,
            "contexts": [context],
        }
        path.write_text(json.dumps({**whole, "current-context": "here"}))
        return path

    def script(self, path: str, *answers: Answer) -> None:
        self.answers[path] = deque(answers)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        url = urlsplit(handler.path)
        self.asked.append((url.path, {key: values[0] for key, values in parse_qs(url.query).items()}))
        waiting = self.answers.get(url.path)
        if waiting is None:
            status(404, message="the server could not find the requested resource")(handler)
            return
        (waiting.popleft() if len(waiting) > 1 else waiting[0])(handler)


@contextmanager
def standing_in() -> Generator[StandIn]:
    server: ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.server_closing = stand_in.closing
            stand_in.answer(self)

        @override
        def date_time_string(self, timestamp: float | None = None) -> str:
            now = time.time() if timestamp is None else timestamp
            return super().date_time_string(int(now + stand_in.ahead_s))

        @override
        def log_message(self, format: str, *args: Any) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    stand_in = StandIn(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield stand_in
    finally:
        stand_in.closing.set()
        server.shutdown()
        thread.join()
        server.socket.close()


def body(content: bytes, code: int = 200, kind: str = "application/json", **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(content)))
        for key, value in headers.items():
            handler.send_header(key.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def status(code: int, message: str = "no", headers: dict[str, str] | None = None, token: str = "") -> Answer:
    metadata = {"continue": token}
    told = {"kind": "Status", "status": "Failure", "code": code, "message": message, "metadata": metadata}
    return body(json.dumps(told).encode(), code, **(headers or {}))


def page(*items: dict[str, Any], at: str = "10", more: str = "") -> Answer:
    metadata = {"resourceVersion": at, **({"continue": more} if more else {})}
    return body(json.dumps({"kind": "List", "metadata": metadata, "items": items}).encode())


def line(how: str, raw: dict[str, Any], at: str = "") -> bytes:
    metadata = {**raw.get("metadata", {}), **({"resourceVersion": at} if at else {})}
    return json.dumps({"type": how, "object": {**raw, "metadata": metadata}}).encode() + b"\n"


def listed(at: str = "10") -> bytes:
    """The bookmark that ends a watch-list's first part."""
    return line("BOOKMARK", {"metadata": {"annotations": {"k8s.io/initial-events-end": "true"}}}, at)


def stream(*lines: bytes, then: str = "hang") -> Answer:
    """A watch: these lines, then it hangs, ends, or breaks off in the middle of one."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for each in lines:
            handler.wfile.write(f"{len(each):x}\r\n".encode() + each + b"\r\n")
        handler.wfile.flush()
        if then == "hang":
            handler.server_closing.wait(20)  # pyright: ignore[reportAttributeAccessIssue]
        elif then == "end":
            handler.wfile.write(b"0\r\n\r\n")
        else:
            handler.wfile.write(b"20\r\n" + b'{"type":"ADD')
        handler.close_connection = True

    return answer

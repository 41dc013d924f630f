"""A line to an API server that stays open: a new one for each request takes more than the requests do."""

import http.client
import json
import ssl
import time
import urllib.error
from email.message import Message
from io import BytesIO
from typing import Any

from tests.servers.controlplane import ControlPlane

# The API server ends a connection on which nothing was asked for a minute and a half.
_KEPT_S = 20.0


class Line:
    """As many connections as there are requests at a time."""

    def __init__(self, plane: ControlPlane) -> None:
        self._port = plane.port
        self._trusted = ssl.create_default_context(cafile=plane.certificate.certificate)
        self._idle: list[tuple[float, http.client.HTTPSConnection]] = []  # since when each is

    def send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        """The answer; nothing is sent twice."""
        server = self._open() or http.client.HTTPSConnection(
            "127.0.0.1", self._port, timeout=30, context=self._trusted
        )
        try:
            server.request(method, path, body, headers)
            answer = server.getresponse()
            told = answer.status, answer.read()
        except BaseException:
            server.close()
            raise
        self._idle.append((time.monotonic(), server))
        return told

    def _open(self) -> http.client.HTTPSConnection | None:
        """A connection that is surely open still: between a module's tests others run, and the server hangs up."""
        while self._idle:
            try:
                since_s, server = self._idle.pop()
            except IndexError:  # another thread was faster
                return None
            if time.monotonic() - since_s < _KEPT_S:
                return server
            server.close()
        return None

    def close(self) -> None:
        """Hang up."""
        while self._idle:
            self._idle.pop()[1].close()

    def call(
        self, token: str, method: str, path: str, body: Any = None, kind: str = "application/json"
    ) -> Any:
        """As `ControlPlane.call`: the answer's JSON. Raises HTTPError."""
        headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
        told = None if body is None else json.dumps(body).encode()
        status, answer = self.send(method, path, told, headers)
        if status >= 300:
            raise urllib.error.HTTPError(path, status, answer[:300].decode(), Message(), BytesIO(answer))
        return json.loads(answer)

"""Pods of a namespace as an API server tells of them: when each was seen to wait, to run, to be told to go."""

import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self

from tests.servers.controlplane import ControlPlane


@dataclass
class Life:
    """When (seconds of a steady clock) a pod was first seen so; None: not yet."""

    workload: str
    seen_s: float
    runs_s: float | None = None
    going_s: float | None = None
    gone: bool = False


class PodWatch:
    """Watches from `__enter__` on, in a thread of its own; a pod's workload is its label `workload`."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self._plane, self._namespace = plane, namespace
        self.lives: dict[str, Life] = {}
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        trusted = ssl.create_default_context(cafile=self._plane.certificate.certificate)
        self._line = http.client.HTTPSConnection("127.0.0.1", self._plane.port, timeout=600, context=trusted)
        path = f"/api/v1/namespaces/{self._namespace}/pods?watch=true"
        self._line.request("GET", path, headers={"Authorization": f"Bearer {self._plane.token}"})
        self._answer = self._line.getresponse()
        self._socket = self._line.sock
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.shutdown(2)
        self._thread.join(5)
        self._answer.close()
        self._line.close()

    def of(self, prefix: str) -> list[Life]:
        """The pods whose workload's name begins so."""
        with self._changed:
            return [each for each in self.lives.values() if each.workload.startswith(prefix)]

    def count(self, prefix: str, when: Literal["runs_s", "going_s"]) -> int:
        """Of how many of them it was seen."""
        return sum(getattr(each, when) is not None for each in self.of(prefix))

    def until(self, holds: Callable[[], bool], what: str, seconds: float = 120) -> None:
        """Wait until it is so. Raises TimeoutError."""
        end_s = time.monotonic() + seconds
        while not holds():
            with self._changed:
                self._changed.wait(0.05)
            if time.monotonic() > end_s:
                raise TimeoutError(f"not after {seconds:.0f} s: {what}")

    def _listen(self) -> None:
        while line := self._answer.readline():
            self._hear(json.loads(line), time.monotonic())

    def _hear(self, event: dict[str, Any], now_s: float) -> None:
        pod = event["object"]
        metadata = pod["metadata"]
        with self._changed:
            workload = metadata.get("labels", {}).get("workload", "")
            life = self.lives.setdefault(metadata["uid"], Life(workload, now_s))
            if pod["status"].get("phase") == "Running" and life.runs_s is None:
                life.runs_s = now_s
            if life.going_s is None and (metadata.get("deletionTimestamp") or event["type"] == "DELETED"):
                life.going_s = now_s
            life.gone = event["type"] == "DELETED"
            self._changed.notify_all()

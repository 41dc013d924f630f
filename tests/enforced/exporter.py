"""Pages of dcgm-exporter for a control plane's fake nodes: who holds a GPU as the API says, its activity as told."""

import json
import ssl
import threading
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from typing_extensions import override

from tests.servers.controlplane import ControlPlane
from tests.servers.process import free_port

_BUSY_W, _QUIET_W = 520, 70
_LOOKS_EVERY_S = 0.25
_METRICS = (
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    "DCGM_FI_DEV_GPU_UTIL",
    "DCGM_FI_DEV_POWER_USAGE",
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
)


@dataclass
class Card:
    """One GPU: the pod that a device plugin gave it to, and its counter."""

    uuid: str
    pod: tuple[str, str, str] | None = None  # uid, namespace, name
    energy_mj: float = 0.0


@dataclass
class Exporter:
    """One server, a page a node at `/<node>`. Pods whose names begin with one of `quiet` do nothing."""

    plane: ControlPlane
    nodes: dict[str, int]  # GPUs of each
    quiet: set[str] = field(default_factory=set[str])

    def __enter__(self) -> Self:
        self._cards = {
            node: [Card(f"GPU-{node}-{number}") for number in range(count)]
            for node, count in self.nodes.items()
        }
        self._lock = threading.Lock()
        self._told_at = time.monotonic()
        self._stop = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", free_port()), _handler(self))
        self._threads = [
            threading.Thread(target=self._server.serve_forever, daemon=True),
            threading.Thread(target=self._look, daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._server.shutdown()
        self._server.server_close()
        for thread in self._threads:
            thread.join(5)

    @property
    def targets(self) -> list[str]:
        """The pages' addresses."""
        port = self._server.server_address[1]
        return [f"http://127.0.0.1:{port}/{node}" for node in self.nodes]

    def page(self, node: str) -> str:
        """The page of a node, now."""
        with self._lock:
            self._advance()
            lines: list[str] = []
            for name in _METRICS:
                kind = "counter" if name.endswith("CONSUMPTION") else "gauge"
                lines += [f"# HELP {name} of a test", f"# TYPE {name} {kind}"]
                lines += [
                    f"{name}{{{_labels(node, number, card)}}} {self._value(name, card)}"
                    for number, card in enumerate(self._cards[node])
                ]
        return "\n".join(lines) + "\n"

    def _look(self) -> None:
        """As a device plugin does: a pod that is bound has its GPUs, until it is gone."""
        trusted = ssl.create_default_context(cafile=self.plane.certificate.certificate)
        while not self._stop.wait(_LOOKS_EVERY_S):
            request = urllib.request.Request(f"{self.plane.url}/api/v1/pods")
            request.add_header("Authorization", f"Bearer {self.plane.token}")
            with suppress(OSError), urllib.request.urlopen(request, timeout=10, context=trusted) as answer:
                self._deal(json.load(answer)["items"])

    def _deal(self, pods: list[dict[str, Any]]) -> None:
        with self._lock:
            self._advance()
            there = {
                pod["metadata"]["uid"]: pod
                for pod in pods
                if pod["spec"].get("nodeName") in self._cards
                and pod["status"].get("phase") not in {"Succeeded", "Failed"}
            }
            for cards in self._cards.values():
                for card in cards:
                    if card.pod is not None and card.pod[0] not in there:
                        card.pod = None
            for uid, pod in there.items():
                cards = self._cards[pod["spec"]["nodeName"]]
                if any(card.pod is not None and card.pod[0] == uid for card in cards):
                    continue
                limits = pod["spec"]["containers"][0]["resources"].get("limits", {})
                free = [card for card in cards if card.pod is None]
                for card in free[: int(limits.get("nvidia.com/gpu", "0"))]:
                    card.pod = (uid, pod["metadata"]["namespace"], pod["metadata"]["name"])

    def _advance(self) -> None:
        now = time.monotonic()
        for cards in self._cards.values():
            for card in cards:
                card.energy_mj += self._power(card) * (now - self._told_at) * 1000
        self._told_at = now

    def _value(self, name: str, card: Card) -> str:
        busy = self._busy(card)
        match name:
            case "DCGM_FI_PROF_GR_ENGINE_ACTIVE":
                return "0.93" if busy else "0"
            case "DCGM_FI_DEV_GPU_UTIL":
                return "97" if busy else "0"
            case "DCGM_FI_DEV_POWER_USAGE":
                return f"{self._power(card)}"
            case _:
                return f"{card.energy_mj:.0f}"

    def _busy(self, card: Card) -> bool:
        return card.pod is not None and not any(card.pod[2].startswith(each) for each in self.quiet)

    def _power(self, card: Card) -> int:
        return _BUSY_W if self._busy(card) else _QUIET_W


def _labels(node: str, number: int, card: Card) -> str:
    uid, namespace, pod = card.pod or ("", "", "")
    told = {
        "gpu": str(number),
        "UUID": card.uuid,
        "device": f"nvidia{number}",
        "modelName": "NVIDIA H100 80GB HBM3",
        "Hostname": node,
        "container": "main" if pod else "",
        "namespace": namespace,
        "pod": pod,
        "pod_uid": uid,
    }
    return ",".join(f'{key}="{value}"' for key, value in told.items())


def _handler(exporter: Exporter) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = exporter.page(self.path.strip("/")).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        @override
        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    return Handler

"""A recorder of what an API server sends, with nothing of the collector in it: plain requests, a thread a kind."""

import http.client
import json
import ssl
import threading
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.servers.fleet import Ground

PATHS = {
    "nodes": "/api/v1/nodes",
    "resourceslices": "/apis/resource.k8s.io/v1/resourceslices",
    "resourceclaims": "/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims",
    "jobs": "/apis/batch/v1/namespaces/{namespace}/jobs",
    "pods": "/api/v1/namespaces/{namespace}/pods",
}
# What nobody reads, and what makes a recording large.
_LEFT_OUT = {
    *(
        "fieldsV1",
        "fieldsType",
        "manager",
        "operation",
        "selfLink",
        "image",
        "imageID",
        "images",
        "volumes",
        "nodeInfo",
    ),
    *("volumeMounts", "tolerations", "terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy"),
    *(
        "dnsPolicy",
        "securityContext",
        "schedulerName",
        "enableServiceLinks",
        "preemptionPolicy",
        "podIP",
        "podIPs",
    ),
    *("daemonEndpoints", "lastProbeTime", "restartCount", "qosClass", "hostIP", "hostIPs"),
}
Line = tuple[int, str, str, dict[str, Any]]


class Recorder:
    """Records a test's own objects from `start` until `stop`: (received_ms, kind, type, object) in order of receipt."""

    def __init__(self, ground: Ground) -> None:
        self.lines: list[Line] = []
        self._plane, self._namespace = ground.plane, ground.namespace
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._listed = {kind: threading.Event() for kind in PATHS}
        self._threads = [threading.Thread(target=self._follow, args=(kind,), daemon=True) for kind in PATHS]

    def start(self) -> "Recorder":
        """Record, from a full list of each kind on."""
        for thread in self._threads:
            thread.start()
        for kind, listed in self._listed.items():
            assert listed.wait(30), kind
        return self

    def stop(self) -> list[Line]:
        """Record no more; what was recorded."""
        self._ended.set()
        for thread in self._threads:
            thread.join(30)
        return self.lines

    def _follow(self, kind: str) -> None:
        path = PATHS[kind].format(namespace=self._namespace)
        with self._get(path) as answer:
            listed = json.load(answer)
        self._note(kind, "BEGIN", {})
        for item in listed["items"]:
            self._note(kind, "ADDED", item)
        self._note(kind, "SYNCED", {})
        self._listed[kind].set()
        at = listed["metadata"]["resourceVersion"]
        while not self._ended.is_set():
            query = {
                "watch": "true",
                "resourceVersion": at,
                "allowWatchBookmarks": "true",
                "timeoutSeconds": "2",
            }
            with self._get(f"{path}?{urlencode(query)}") as answer:
                for line in answer:
                    told = json.loads(line)
                    assert told["type"] != "ERROR", told
                    at = told["object"]["metadata"]["resourceVersion"]
                    if told["type"] != "BOOKMARK":
                        self._note(kind, told["type"], told["object"])

    def _note(self, kind: str, how: str, raw: dict[str, Any]) -> None:
        if raw and kind in {"nodes", "resourceslices"} and not self._is_ours(kind, raw):
            return
        with self._lock:
            self.lines.append((time.time_ns() // 1_000_000, kind, how, slim(raw)))

    def _is_ours(self, kind: str, raw: dict[str, Any]) -> bool:
        name = raw["metadata"]["name"] if kind == "nodes" else raw["spec"].get("nodeName", "")
        return name.startswith(f"{self._namespace}-")

    @contextmanager
    def _get(self, path: str) -> Generator[http.client.HTTPResponse]:
        trusted = ssl.create_default_context(cafile=self._plane.certificate.certificate)
        connection = http.client.HTTPSConnection("127.0.0.1", self._plane.port, timeout=60, context=trusted)
        connection.request("GET", path, headers={"Authorization": f"Bearer {self._plane.token}"})
        with closing(connection), connection.getresponse() as answer:
            assert answer.status == 200, (path, answer.status)
            yield answer


def slim(raw: Any) -> Any:
    """The object without what nobody reads."""
    if isinstance(raw, dict):
        return {key: slim(value) for key, value in raw.items() if key not in _LEFT_OUT}
    return [slim(each) for each in raw] if isinstance(raw, list) else raw


def write(path: Path, record: dict[str, Any], lines: list[Line]) -> None:
    """A recording as a file: first what the script says that it did, then a line each."""
    told = [json.dumps(record), *(json.dumps(line, separators=(",", ":")) for line in lines)]
    path.write_text("\n".join(told) + "\n", encoding="utf-8")

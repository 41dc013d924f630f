"""Watching: full lists and what follows, and everything that may come instead."""

import io
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from collector.kubernetes import watch
from collector.kubernetes.resources import Resource
from collector.kubernetes.stream import Event
from collector.kubernetes.talk import Api, Trouble, connect
from collector.kubernetes.troubles import Troubles
from collector.kubernetes.watch import Watcher
from collector.log import Log
from quartermaster.config.clusters import KubernetesPart
from quartermaster.errors import ConfigurationError
from tests.kube.standin import Answer, StandIn, body, line, listed, page, standing_in, status, stream

PODS = Resource("pods", "pods", covers=("holders",))
PATH = "/api/v1/pods"
A, B = ({"metadata": {"name": name, "namespace": "n", "uid": name}} for name in "ab")
GONE: dict[str, Any] = {
    "kind": "Status",
    "code": 410,
    "reason": "Expired",
    "message": "too old resource version: 1 (2)",
}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    monkeypatch.setattr(watch, "_PAUSES_S", (0.02, 0.1))
    with standing_in() as stand_in:
        yield stand_in


def api(server: StandIn, folder: Path) -> Api:
    part = KubernetesPart.model_construct(
        kubeconfig=server.kubeconfig(folder), context=None, in_cluster=False
    )
    return connect(part, "c", 2)


class Watched:
    """A watcher that ran against a script until something held."""

    def __init__(self, server: StandIn, folder: Path, *answers: Answer, resource: Resource = PODS) -> None:
        server.script(PATH, *answers)
        self.events: list[Event] = []
        self._clock = iter(range(1000, 10_000_000))
        self.watcher = Watcher(api(server, folder), resource, self.events.extend, lambda: next(self._clock))
        self.state = self.watcher.state

    def until(self, holds: Callable[[], bool], seconds: float = 60) -> "Watched":
        self.watcher.start()
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, (self.said(), self.state.trouble)
            time.sleep(0.01)
        self.watcher.stop()
        return self

    def said(self) -> str:
        return " ".join(each.type + each.object.get("metadata", {}).get("name", "") for each in self.events)


def test_a_watch_list_and_what_follows(server: StandIn, tmp_path: Path):
    lines = (line("ADDED", A, "8"), listed("10"), line("MODIFIED", A, "11"), line("BOOKMARK", {}, "12"))
    found = Watched(server, tmp_path, stream(*lines, line("DELETED", A, "13")))
    found.until(lambda: found.said().endswith("DELETEDa"))
    assert found.said() == "BEGIN ADDEDa SYNCED MODIFIEDa BOOKMARK DELETEDa"
    assert found.state.settled
    assert server.asked[0][1]["sendInitialEvents"] == "true"


def test_a_watch_that_ends_goes_on_where_it_was_and_has_missed_nothing(server: StandIn, tmp_path: Path):
    first = stream(line("ADDED", A, "8"), listed("10"), line("BOOKMARK", {}, "12"), then="end")
    found = Watched(server, tmp_path, first, stream(line("MODIFIED", A, "14")))
    found.until(lambda: found.said().endswith("MODIFIEDa"))
    assert server.asked[1][1]["resourceVersion"] == "12"
    assert found.state.relists == []


def test_a_connection_that_breaks_off_within_a_line(server: StandIn, tmp_path: Path):
    first = stream(line("ADDED", A, "8"), listed("10"), then="break")
    found = Watched(server, tmp_path, first, stream(line("MODIFIED", A, "14")))
    found.until(lambda: found.said().endswith("MODIFIEDa"))
    assert server.asked[1][1]["resourceVersion"] == "10"


def test_a_list_that_breaks_off_begins_anew(server: StandIn, tmp_path: Path):
    found = Watched(
        server, tmp_path, stream(line("ADDED", A, "8"), then="end"), stream(line("ADDED", B, "9"), listed())
    )
    found.until(lambda: found.state.settled and found.said().endswith("SYNCED"))
    # whether what came before the break is still read, and how often it breaks, is the network's affair
    assert re.fullmatch(r"BEGIN (ADDEDa )?(BEGIN )+ADDEDb SYNCED", found.said())


@pytest.mark.parametrize("form", ["as an event", "as a status"])
def test_410_is_a_full_list_and_a_span_in_which_changes_were_missed(
    form: str, server: StandIn, tmp_path: Path
):
    late = stream(line("ERROR", GONE), then="end") if form == "as an event" else status(410)
    first = stream(line("ADDED", A, "8"), listed("10"), then="end")
    found = Watched(server, tmp_path, first, late, stream(line("ADDED", B, "90"), listed("91")))
    found.until(lambda: bool(found.state.relists) and found.said().count("SYNCED") == 2)
    assert found.said() == "BEGIN ADDEDa SYNCED BEGIN ADDEDb SYNCED"
    ((lost, again),) = found.state.relists
    assert lost < again


def test_an_older_server_lists_by_pages(server: StandIn, tmp_path: Path):
    answers = (status(422), page(A, more="t"), page(B, at="20"), stream(line("MODIFIED", A, "21")))
    found = Watched(server, tmp_path, *answers)
    found.until(lambda: found.said().endswith("MODIFIEDa"))
    assert found.said() == "BEGIN BEGIN ADDEDa ADDEDb SYNCED MODIFIEDa"
    assert [query.get("continue") for _, query in server.asked][:3] == [None, None, "t"]
    assert server.asked[3][1]["resourceVersion"] == "20"


def test_a_page_that_came_too_late_lists_all_at_once(server: StandIn, tmp_path: Path):
    late = status(410, token="inconsistent")
    found = Watched(server, tmp_path, status(422), page(A, more="t"), late, page(A, B), stream())
    found.until(lambda: found.state.settled and found.said().endswith("SYNCED"))
    assert "limit" not in server.asked[3][1]
    assert found.said().endswith("BEGIN ADDEDa ADDEDb SYNCED")


@pytest.mark.patient
def test_429_is_asked_again_after_what_it_says(server: StandIn, tmp_path: Path):
    busy = status(429, headers={"Retry_After": "1"})
    found = Watched(server, tmp_path, busy, stream(line("ADDED", A), listed()))
    began = time.monotonic()
    found.until(lambda: found.state.settled)
    assert time.monotonic() - began >= 1


@pytest.mark.parametrize(
    "answer",
    [
        body(b"<html>Log in</html>", kind="text/html"),
        body(b"<html>Bad gateway</html>", 502, kind="text/html"),
        stream(b"<html>\n", then="end"),
        stream(b"[1]\n", line("ERROR", {"code": 500, "message": "etcd"}), then="end"),
    ],
    ids=["html", "bad gateway", "html within", "an error within"],
)
def test_other_answers_are_tried_again(answer: Answer, server: StandIn, tmp_path: Path):
    found = Watched(server, tmp_path, answer, stream(line("ADDED", A), listed()))
    found.until(lambda: found.state.settled)
    assert found.state.trouble is None


def test_a_server_that_hangs_is_asked_again(server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(watch, "SILENCE_S", 0.3)
    first = stream(line("ADDED", A, "8"), listed("10"))
    found = Watched(server, tmp_path, first, stream(line("MODIFIED", A, "12")))
    found.until(lambda: found.said().endswith("MODIFIEDa"))
    assert server.asked[1][1]["resourceVersion"] == "10"


@pytest.mark.parametrize(("fields", "trouble"), [("reason=Killing", None), ("", "silent")])
@pytest.mark.patient
def test_rare_events_may_be_silent_and_all_else_sends_bookmarks(
    fields: str, trouble: str | None, server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(watch, "SILENCE_S", 0.1)
    resource = replace(PODS, kind="killings", fields=fields)
    answers = [stream(line("ADDED", A, "8"), listed("10"))] + [stream()] * 20
    found = Watched(server, tmp_path, *answers, resource=resource)
    found.until(lambda: len(server.asked) > 4)
    assert (found.state.trouble and found.state.trouble.kind) == trouble


def test_what_is_not_watched_is_said_once_of_each_watch_also_where_two_watch_the_same(
    server: StandIn, tmp_path: Path
):
    said = io.StringIO()
    troubles = Troubles(Log(stream=said), "c")
    broken, whole = (
        Watcher(api(server, tmp_path), replace(PODS, kind=kind, without="much"), lambda _: None, lambda: 0)
        for kind in ("broken", "whole")
    )
    broken.state.trouble = Trouble("forbidden", "403: no")
    for _ in range(3):
        troubles.say([broken, whole])
    broken.state.trouble = None
    for _ in range(3):
        troubles.say([whole, broken])
    first, second = said.getvalue().splitlines()
    assert ("not watched" in first, "much" in first, "watched again" in second) == (True, True, True)


@pytest.mark.parametrize(
    "answer",
    [stream(then="end"), status(410), stream(line("ERROR", GONE), then="end")],
    ids=["ends", "410", "event"],
)
@pytest.mark.patient
def test_a_server_that_always_says_the_same_is_not_asked_without_end(
    answer: Answer, server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(watch, "_PAUSES_S", (0.05, 1.0))
    found = Watched(server, tmp_path, answer)
    began = time.monotonic()
    found.until(lambda: time.monotonic() - began > 1.5)
    assert len(server.asked) < 15


def test_a_forbidden_resource_is_settled_without(server: StandIn, tmp_path: Path):
    found = Watched(server, tmp_path, status(403, "pods is forbidden"))
    found.until(lambda: found.state.settled)
    assert found.state.trouble is not None
    assert (found.state.trouble.kind, found.state.heard_at) == ("forbidden", None)
    assert "pods is forbidden" in found.state.trouble.detail


def test_what_is_said_in_plain_text_is_one_line(server: StandIn, tmp_path: Path):
    """So an API server answers of a group that it does not serve."""
    server.script("/version", body(b"404 page not found\n", 404, "text/plain"))
    with pytest.raises(Trouble) as caught:
        api(server, tmp_path).get("/version")
    assert str(caught.value.detail) == "404: 404 page not found"


def test_a_resource_of_another_version(server: StandIn, tmp_path: Path):
    claims = Resource("resourceclaims", "resourceclaims", "resource.k8s.io", ("v1", "v1beta1"))
    server.script("/apis/resource.k8s.io/v1beta1/resourceclaims", stream(line("ADDED", A), listed()))
    found = Watched(server, tmp_path, status(404), resource=claims)
    found.until(lambda: found.state.synced_at is not None)
    assert found.said() == "BEGIN BEGIN ADDEDa SYNCED"


def test_nobody_there(tmp_path: Path):
    with standing_in() as server:
        gone = api(server, tmp_path)
    with pytest.raises(Trouble) as caught:
        gone.get("/version")
    assert caught.value.kind == "away"


def test_a_context_that_is_not_there_names_the_cluster(server: StandIn, tmp_path: Path):
    part = KubernetesPart.model_construct(
        kubeconfig=server.kubeconfig(tmp_path), context="other", in_cluster=False
    )
    with pytest.raises(ConfigurationError, match="clusters: c: kubernetes"):
        connect(part, "c", 2)


def test_not_in_a_pod(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    part = KubernetesPart.model_construct(kubeconfig=None, context=None, in_cluster=True)
    with pytest.raises(ConfigurationError, match="kubernetes"):
        connect(part, "c", 2)


def test_a_stream_in_which_nothing_happens_is_cut_when_it_is_stopped(server: StandIn, tmp_path: Path) -> None:
    watched = Watched(server, tmp_path, stream(listed()))
    watched.until(lambda: watched.state.synced_at is not None)
    watched.watcher._thread.join(5)
    assert not watched.watcher._thread.is_alive()

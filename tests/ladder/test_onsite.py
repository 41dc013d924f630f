"""What of a warning is seen on the cluster: an annotation on the owner and an Event beside it, on a real API server."""

import json
from dataclasses import replace
from typing import Any

import pytest

from enforcer.act.effects import Came, Create, How, Patch
from enforcer.act.hands import Hands
from enforcer.ladder.message import message
from enforcer.ladder.onsite import WARNING, annotation, event
from enforcer.ladder.rung import AGAIN, WARN, Rung
from tests.act.acting import wire
from tests.enforcer.clusters import NOW, UTC
from tests.ladder.idlers import POLICY, rung
from tests.servers.fleet import Ground

TOLD = message(rung(), POLICY, UTC, NOW)
SEEN: dict[str, Any] = {"apiVersion": "kubeflow.org/v1", "metadata": {"uid": "w", "annotations": {"a": "b"}}}


def told(rung_: Rung) -> dict[str, Any]:
    return event(rung_, TOLD, SEEN, NOW).body


def test_an_event_is_one_a_stage_and_a_spell() -> None:
    first = rung()
    same = told(first)["metadata"]["name"]
    assert told(rung(2, WARN, (WARN, 1)))["metadata"]["name"] == same
    others = (
        replace(first, stage=AGAIN),
        replace(first, cluster="other"),
        replace(first, found=replace(first.found, since_ms=1)),
        replace(first, workload=replace(first.workload, uid="v")),
    )
    names = {told(each)["metadata"]["name"] for each in others}
    assert len({same, *names}) == 5


def test_a_namespace_leads_nowhere_else() -> None:
    there = rung(namespace="../../x?y")
    assert event(there, TOLD, SEEN, NOW).path == "/api/v1/namespaces/..%2F..%2Fx%3Fy/events"


@pytest.mark.controlplane
def test_both_are_there_once_and_on_no_other_object(ground: Ground) -> None:
    jobs = f"/apis/batch/v1/namespaces/{ground.namespace}/jobs"
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}}
    body = {"metadata": {"name": "train"}, "spec": {"suspend": True, "template": template}}
    job = ground.plane.call("POST", jobs, body)
    uid = job["metadata"]["uid"]
    there = rung(kind="Job", namespace=ground.namespace, name="train")
    there = replace(there, workload=replace(there.workload, uid=uid))
    hands = Hands(wire(ground.plane))

    def does(effect: Patch | Create) -> Came:
        return hands.do(effect, lambda: "")

    path = f"{jobs}/train"
    for _ in range(2):
        assert does(annotation(there, path, hands.look(path) or {}, NOW)).how is How.HAPPENED
    now = ground.plane.call("GET", path)["metadata"]["annotations"]
    assert json.loads(now[WARNING]) == {
        "stage": "warn",
        "at": "2026-11-30T01:00:00.000Z",
        "idle_since": "2026-11-29T23:00:00.000Z",
    }
    for _ in range(2):
        assert does(event(there, TOLD, job, NOW)).how is How.HAPPENED
    events = ground.plane.call("GET", f"/api/v1/namespaces/{ground.namespace}/events")["items"]
    (one,) = [each for each in events if each["reason"] == "QuartermasterWarning"]
    assert (one["type"], one["message"], one["involvedObject"]["uid"]) == ("Warning", TOLD.brief, uid)
    stranger = replace(there, workload=replace(there.workload, uid="another"))
    another = job | {"metadata": job["metadata"] | {"uid": "another", "annotations": {"a": "b"}}}
    assert does(annotation(stranger, path, another, NOW)).how is How.GONE

"""Ways down and back, as pure functions: what is patched, what is recorded, and what is put back of it."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.act.change import Change, Meant, NoChange, is_down, start, stop
from enforcer.act.effects import Patch
from enforcer.act.mark import STOPPED, is_marked, mark_of
from enforcer.act.order import Order, Under, intended, pods_of
from enforcer.act.pods import controller_path, may_be_evicted
from enforcer.act.way import NOTEBOOK_STOPPED, SERVICE_STOPPED, WAYS
from enforcer.audit.row import cleaned
from enforcer.plan import Act, Action, Cause, Target
from enforcer.ways import way_down

MEANT = Meant(1_764_554_400_000, "c", "p" * 64, 7, "stop")


def owner(**body: Any) -> dict[str, Any]:
    metadata = {"uid": "u", "resourceVersion": "5", "name": "x", "namespace": "ns"}
    return {"metadata": metadata | body.pop("metadata", {}), **body}


def applied(seen: dict[str, Any], change: Change) -> dict[str, Any]:
    """The object after the JSON patch, by RFC 6902; a test that does not hold raises."""
    now = copy.deepcopy(seen)
    assert isinstance(change.patch, Patch)
    for each in change.patch.body():
        *path, last = [name.replace("~1", "/").replace("~0", "~") for name in each["path"].split("/")[1:]]
        inside: Any = now
        for name in path:
            inside = inside[name]
        if each["op"] == "test":
            assert inside[last] == each["value"]
        elif each["op"] == "add":
            inside[last] = each["value"]
        else:
            del inside[last]
    now["metadata"]["resourceVersion"] = str(int(now["metadata"]["resourceVersion"]) + 1)
    return now


def stopped(kind: str, seen: dict[str, Any]) -> tuple[Change, dict[str, Any]]:
    change = stop(WAYS[kind], "/path", seen, MEANT)
    assert isinstance(change, Change)
    return change, applied(seen, change)


CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "a job": ("Job", owner(spec={"suspend": False}), {"/spec/suspend": False}),
    "a job without the field": ("JobSet", owner(spec={"x": 1}), {"/spec/suspend": None}),
    "without a spec": ("RayJob", owner(), {"/spec/suspend": None}),
    "a run policy": ("PyTorchJob", owner(spec={"runPolicy": {"ttl": 3}}), {"/spec/runPolicy/suspend": None}),
    "no run policy": ("MPIJob", owner(spec={}), {"/spec/runPolicy": None}),
    "replicas": ("Deployment", owner(spec={"replicas": 3}), {"/spec/replicas": 3}),
    "replicas by default": ("LeaderWorkerSet", owner(spec={}), {"/spec/replicas": None}),
    "a notebook": (
        "Notebook",
        owner(metadata={"annotations": {"a/b": "c"}}),
        {f"/metadata/annotations/{NOTEBOOK_STOPPED}": None},
    ),
    "a notebook without annotations": (
        "Notebook",
        owner(),
        {f"/metadata/annotations/{NOTEBOOK_STOPPED}": None},
    ),
    "a service": (
        "InferenceService",
        owner(metadata={"annotations": {SERVICE_STOPPED: "false"}}),
        {f"/metadata/annotations/{SERVICE_STOPPED.replace('/', '~1')}": "false"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_stopped_is_put_back_exactly(case: str):
    kind, seen, before = CASES[case]
    way = WAYS[kind]
    change, down = stopped(kind, seen)
    assert change.before == before
    assert (change.patch.uid, change.patch.version) == ("u", "5")
    assert not is_down(way, seen)
    assert is_down(way, down)
    mark = mark_of(down)
    assert mark is not None
    assert (mark.at_ms, mark.cluster, mark.before) == (MEANT.at_ms, "c", before)
    assert mark.is_of("p" * 64, 7, "stop")
    back = start(way, "/path", down)
    assert isinstance(back, Change)
    again = applied(down, back)
    for each in (again, seen):
        each["metadata"].pop("resourceVersion")
        each["metadata"].setdefault("annotations", {})
        each.setdefault("spec", {})
    assert again == seen


def test_every_kind_that_a_plan_stops_has_a_way_and_no_other():
    assert {kind for kind in [*WAYS, "DaemonSet", "Pod"] if way_down(WAYS, kind)} == set(WAYS)


def test_a_notebook_is_stopped_with_the_time_as_its_controller_writes_it():
    _, down = stopped("Notebook", owner())
    assert down["metadata"]["annotations"][NOTEBOOK_STOPPED] == "2025-12-01T02:00:00Z"


def test_what_was_put_into_an_absent_field_since_stays_there():
    _, down = stopped("PyTorchJob", owner(spec={}))
    down["spec"]["runPolicy"]["cleanPodPolicy"] = "None"
    back = start(WAYS["PyTorchJob"], "/path", down)
    assert isinstance(back, Change)
    assert applied(down, back)["spec"] == {"runPolicy": {"cleanPodPolicy": "None"}}


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "stopped by another": ("Job", owner(spec={"suspend": True}), "it is stopped already, and not by us"),
    "no replicas": ("Deployment", owner(spec={"replicas": 0}), "it is stopped already, and not by us"),
    "absurd replicas": (
        "Deployment",
        owner(spec={"replicas": -3}),
        "its /spec/replicas is not what it can be",
    ),
    "another type": ("Job", owner(spec={"suspend": "yes"}), "its /spec/suspend is not what it can be"),
    "text in the way": (
        "PyTorchJob",
        owner(spec={"runPolicy": "all"}),
        "its /spec/runPolicy/suspend is not what it can be",
    ),
    "a novel": (
        "InferenceService",
        owner(metadata={"annotations": {SERVICE_STOPPED: "x" * 300}}),
        "its /metadata/annotations/serving.kserve.io~1stop is not what it can be",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_put_back_is_not_stopped(case: str):
    kind, seen, words = REFUSED[case]
    assert stop(WAYS[kind], "/path", seen, MEANT) == NoChange(words)


def test_what_we_stopped_is_not_stopped_twice():
    _, down = stopped("Job", owner(spec={"suspend": False}))
    assert stop(WAYS["Job"], "/path", down, MEANT) == NoChange("it is stopped already")


def test_of_what_somebody_else_started_the_mark_alone_is_taken_off():
    _, down = stopped("Deployment", owner(spec={"replicas": 3}))
    down["spec"]["replicas"] = 5
    back = start(WAYS["Deployment"], "/path", down)
    assert isinstance(back, Change)
    assert applied(down, back)["spec"] == {"replicas": 5}
    assert not is_marked(applied(down, back))


def test_what_is_not_marked_is_not_started():
    assert start(WAYS["Job"], "/p", owner(spec={"suspend": True})) == NoChange("it was not stopped by us")


FORGED: dict[str, tuple[dict[str, Any], str]] = {
    "another field": ({"/spec/template/spec/serviceAccountName": None}, "a field that we never change"),
    "two fields": ({"/spec/replicas": 2, "/metadata/labels": None}, "a field that we never change"),
    "no field": ({}, "a field that we never change"),
    "the whole spec": ({"/spec": None}, "a field that we never change"),
    "too many": ({"/spec/replicas": 10**9}, "a value that cannot have been there"),
    "another type": ({"/spec/replicas": "4"}, "a value that cannot have been there"),
    "a truth": ({"/spec/replicas": True}, "a value that cannot have been there"),
    "an object": ({"/spec/replicas": {"a": 1}}, "a value that cannot have been there"),
}


@pytest.mark.parametrize("case", FORGED)
def test_a_mark_that_somebody_edited_puts_nothing_else_back(case: str):
    before, words = FORGED[case]
    _, down = stopped("Deployment", owner(spec={"replicas": 3}))
    told = json.loads(down["metadata"]["annotations"][STOPPED]) | {"before": before}
    down["metadata"]["annotations"][STOPPED] = json.dumps(told)
    assert start(WAYS["Deployment"], "/p", down) == NoChange(f"its mark names {words}")


UNREADABLE = ["", "{", "null", "[]", "[" * 3000, '{"at": "never", "uid": "u"}', "x" * 5000]


@pytest.mark.parametrize("value", UNREADABLE, ids=range(len(UNREADABLE)))
def test_a_mark_that_cannot_be_read_is_none(value: str):
    seen = owner(spec={"replicas": 0}, metadata={"annotations": {STOPPED: value}})
    assert mark_of(seen) is None
    assert isinstance(start(WAYS["Deployment"], "/p", seen), NoChange)


def test_a_copy_of_a_mark_is_none():
    """A Deployment's annotations are copied to its ReplicaSets, and people copy manifests."""
    _, down = stopped("Deployment", owner(spec={"replicas": 3}))
    down["metadata"]["uid"] = "another"
    assert mark_of(down) is None


@pytest.mark.parametrize("count", [1, 3000])
def test_an_intent_names_as_many_pods_as_the_audit_has_room_for(count: int):
    pods = {f"{number:036d}": "p" * 200 for number in range(count)}
    target = Target("u", "5", "Job", "ns", "x", "t", "pool", "suspend")
    order = Order(0, Action(1, Act.STOP, Cause.OWNER, target), pods)
    change, _ = stopped("Job", owner(spec={"suspend": False}))
    deed = intended(order, Under("c", "p", 1, "a"), change, 5)
    assert cleaned(deed) == deed
    assert pods_of(deed).items() <= pods.items()
    assert len(pods_of(deed)) == min(count, 201)


def test_a_controller_is_looked_for_where_controllers_are():
    """A pod's owner references are its maker's: the name of one may be anything."""
    reference = {"apiVersion": "batch/v1", "kind": "Job", "uid": "u", "controller": True}
    names = {
        "job": "batch/v1/namespaces/ns/jobs/job",
        "../../x?y=1": "batch/v1/namespaces/ns/jobs/..%2F..%2Fx%3Fy%3D1",
    }
    for name, path in names.items():
        pod = {"metadata": {"namespace": "ns", "ownerReferences": [reference | {"name": name}]}}
        assert controller_path(pod) == f"/apis/{path}"
    for wrong in ({"apiVersion": "batch/../v1"}, {"apiVersion": "kubeflow.org/v1"}, {"kind": "PyTorchJob"}):
        pod = {"metadata": {"namespace": "ns", "ownerReferences": [reference | {"name": "x"} | wrong]}}
        assert controller_path(pod) == ""
        assert not may_be_evicted(pod, None)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
specs = st.dictionaries(st.sampled_from(["suspend", "replicas", "runPolicy", "other"]), anything, max_size=4)
notes = st.dictionaries(st.sampled_from([NOTEBOOK_STOPPED, SERVICE_STOPPED, STOPPED]), st.text(max_size=8))


@given(kind=st.sampled_from(sorted(WAYS)), spec=specs, annotations=notes)
def test_whatever_an_owner_looks_like_it_is_refused_or_put_back(kind: str, spec: Any, annotations: Any):
    seen = owner(spec=spec, metadata={"annotations": annotations})
    change = stop(WAYS[kind], "/path", seen, MEANT)
    if isinstance(change, NoChange):
        return
    down = applied(seen, change)
    assert is_down(WAYS[kind], down)
    back = start(WAYS[kind], "/path", down)
    assert isinstance(back, Change)
    again = applied(down, back)
    assert again["spec"] == {
        key: value for key, value in spec.items() if value is not None or key in again["spec"]
    }
    assert again["metadata"]["annotations"] == {k: v for k, v in annotations.items() if k != STOPPED}

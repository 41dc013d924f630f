"""By which object what names a queue is stopped: Kueue's own, where there is a Kueue and it has exactly one."""

from collections.abc import Iterator

import pytest

from collector.kubernetes.values import Json
from enforcer.act.actor import Actor
from enforcer.act.change import Change, Meant, is_down, start, stop
from enforcer.act.grip import Grip, grip, stands_for
from enforcer.act.mark import is_marked
from enforcer.act.order import Order
from enforcer.act.restore import Asked, named, restore, stopped_since
from enforcer.act.served import NoWay
from enforcer.act.way import IN_QUEUE, QUEUED_WAY, WAYS
from enforcer.plan import Act, Action, Cause, Target
from tests.act.acting import UNDER, Paper, doing, fine
from tests.act.bare import Bare
from tests.act.test_ways import applied
from tests.servers.objects import define, undefine

QUEUE_NAME = "kueue.x-k8s.io/queue-name"
MEANT = Meant(1_764_554_400_000, "c", "p" * 64, 7, "stop")


def of(job: Json, name: str, **labels: str) -> Json:
    """Kueue's object for a Job."""
    metadata = job["metadata"]
    owner = {"controller": True, "kind": "Job", "apiVersion": "batch/v1"}
    owner |= {"name": metadata["name"], "uid": metadata["uid"]}
    told = {"kueue.x-k8s.io/job-uid": metadata["uid"]} | labels
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": IN_QUEUE,
        "metadata": {"name": name, "labels": told, "ownerReferences": [owner]},
        "spec": {"active": True},
    }


def test_what_is_in_a_queue_is_deactivated_and_activated_again():
    seen = of({"metadata": {"name": "j", "uid": "uid-j"}}, "job-j-12")
    seen["metadata"] |= {"uid": "w", "resourceVersion": "1"}
    change = stop(QUEUED_WAY, "/path", seen, MEANT)
    assert isinstance(change, Change)
    assert change.before == {"/spec/active": True}
    down = applied(seen, change)
    assert (is_down(QUEUED_WAY, seen), is_down(QUEUED_WAY, down)) == (False, True)
    back = start(QUEUED_WAY, "/path", down)
    assert isinstance(back, Change)
    assert applied(down, back)["spec"] == {"active": True}
    told = stands_for(IN_QUEUE, seen)
    assert (told.kind, told.name, told.uid) == ("Job", "j", "uid-j")


@pytest.fixture
def without_kueue(bare: Bare) -> Iterator[None]:
    """A server without Kueue before and after: other tests act there under rights that know of none."""
    yield
    undefine(bare.plane, "kueue.x-k8s.io", "v1beta1", "workloads")


def test_a_bare_pod_has_no_way_back(bare: Bare):
    with pytest.raises(NoWay, match="nothing brings a bare pod back"):
        grip(doing(bare.plane, Paper()).served, "Pod", bare.namespace, "p")


@pytest.mark.usefixtures("without_kueue")
def test_where_there_is_no_kueue_its_label_is_a_label_and_else_its_object_counts(bare: Bare):
    paper = Paper()
    acts = doing(bare.plane, paper)
    bare.owner("Job", "j")
    job = bare.patch(bare.at("Job", "j"), {"metadata": {"labels": {QUEUE_NAME: "q"}}})
    assert not acts.served.serves(IN_QUEUE)
    held = grip(acts.served, "Job", bare.namespace, "j")
    assert isinstance(held, Grip)
    assert (held.way, held.object is held.owner) == (WAYS["Job"], True)
    active = {"active": {"type": "boolean"}}
    define(bare.plane, "kueue.x-k8s.io", "v1beta1", IN_QUEUE, "workloads", spec=active, namespaced=True)
    with pytest.raises(NoWay, match="has no Workloads of it"):
        grip(acts.served, "Job", bare.namespace, "j")
    place = f"/apis/kueue.x-k8s.io/v1beta1/namespaces/{bare.namespace}/workloads"
    made = bare.plane.call("POST", place, of(job, "w1"))
    held = grip(acts.served, "Job", bare.namespace, "j")
    assert held is not None
    assert (held.path, held.uid) == (f"{place}/w1", job["metadata"]["uid"])

    # It is stopped by a plan that rests on the version of Kueue's object, and is restored by the Job's name.
    target = Target(
        job["metadata"]["uid"],
        made["metadata"]["resourceVersion"],
        "Job",
        bare.namespace,
        "j",
        "b",
        "pool",
        "deactivate in its queue",
    )
    Actor(acts).carry_out([Order(0, Action(1, Act.STOP, Cause.IDLE, target))], UNDER, fine)
    now = bare.plane.call("GET", f"{place}/w1")
    assert (now["spec"]["active"], is_marked(now), is_marked(bare.get("Job", "j"))) == (False, True, False)
    mine = [each for each in stopped_since(acts, 0).found if each.path.startswith(place)]
    assert [each.title for each in mine] == [f"Job/{bare.namespace}/j"]
    restore(acts, [named(acts, f"Job/{bare.namespace}/j")], Asked("c", "person-x"), {})
    assert paper.outcomes() == [("stop", "j", "done"), ("restore", "j", "done")]
    assert {each.object_uid for each in paper.rows} == {job["metadata"]["uid"]}
    now = bare.plane.call("GET", f"{place}/w1")
    assert (now["spec"]["active"], is_marked(now)) == (True, False)

    bare.plane.call("POST", place, of(job, "w2"))
    with pytest.raises(NoWay, match="has 2 Workloads of it"):
        grip(acts.served, "Job", bare.namespace, "j")
    acts.close()

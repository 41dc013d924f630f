"""What KEDA scales is stopped by KEDA's own object; the tests play KEDA's part on a real API server."""

import threading
import urllib.error
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from collector.kubernetes.values import Json
from enforcer.act.actor import Actor
from enforcer.act.change import Change, Meant, NoChange, start, stop
from enforcer.act.clearing import Pace
from enforcer.act.doing import Doing
from enforcer.act.effects import pointer
from enforcer.act.grip import Grip, grip
from enforcer.act.hands import Hands
from enforcer.act.keda import scaled_by, target_of
from enforcer.act.mark import STOPPED, Mark, is_marked
from enforcer.act.order import Order
from enforcer.act.restore import Asked, named, restore, stopped_since
from enforcer.act.served import NoWay
from enforcer.act.way import PAUSED_AT, SCALED, SCALED_WAY, WAYS
from enforcer.plan import Act
from enforcer.snapshot import Taking
from quartermaster.clock import now_ms
from tests.act.acting import UNDER, Paper, doing, enforcers_token, fine, wire
from tests.act.bare import Bare
from tests.act.mortal import MortalPaper, MortalWire, Sent, stopped_at_every_step
from tests.act.test_ways import applied, owner
from tests.kube.raws import at, node, pod
from tests.live.telling import Told, above, owned
from tests.live.telling import owner as seen_owner
from tests.servers.controlplane import ControlPlane
from tests.servers.objects import define, undefine

MEANT = Meant(1_764_554_400_000, "c", "p" * 64, 7, "stop")
PATIENT = Pace(head_start_s=0.0, patience_s=10)
SHORT = Pace(head_start_s=0.0, patience_s=0.3)
GROUP, VERSION, PLURAL = "keda.sh", "v1alpha1", "scaledobjects"


def scaler(name: str, target: Json, paused: str | None = None) -> Json:
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": SCALED,
        "metadata": {"name": name, "annotations": {"theirs": "x"} | ({PAUSED_AT: paused} if paused else {})},
        "spec": {"scaleTargetRef": target},
    }


@pytest.mark.parametrize(
    ("target", "scales"),
    [
        ({"name": "web"}, "Deployment.apps/web"),
        ({"name": "web", "kind": "Rollout", "apiVersion": "argoproj.io/v1alpha1"}, "Rollout.argoproj.io/web"),
        ({"name": "web", "kind": "StatefulSet"}, "StatefulSet.apps/web"),
        ({}, "Deployment.apps/"),
    ],
)
def test_what_it_scales_and_its_defaults(target: Json, scales: str):
    found = target_of(scaler("s", target))
    assert f"{found.kind}.{found.group}/{found.name}" == scales


def test_it_is_found_by_group_kind_and_name():
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    targets = ({"name": "web"}, {"name": "api"}, {"name": "web", "kind": "StatefulSet"})
    others = ({"name": "web", "apiVersion": "other.test/v1"},)
    scalers = [scaler(f"s{at}", each) for at, each in enumerate((*targets, *others))]
    assert [each["metadata"]["name"] for each in scaled_by(scalers, web)] == ["s0"]


@pytest.mark.parametrize("paused", [None, "3"])
def test_the_annotation_comes_and_what_was_there_comes_back(paused: str | None):
    notes = {"theirs": "x"} | ({PAUSED_AT: paused} if paused else {})
    seen = owner(metadata={"annotations": notes}, spec={})
    change = stop(SCALED_WAY, "/p", seen, MEANT)
    assert isinstance(change, Change)
    down = applied(seen, change)
    assert down["metadata"]["annotations"][PAUSED_AT] == "0"
    back = start(SCALED_WAY, "/p", down)
    assert isinstance(back, Change)
    assert applied(down, back)["metadata"]["annotations"] == notes


def test_one_that_somebody_else_has_paused_at_zero_is_down_already():
    seen = owner(metadata={"annotations": {PAUSED_AT: "0"}})
    assert stop(SCALED_WAY, "/p", seen, MEANT) == NoChange("it is stopped already, and not by us")


class Keda(threading.Thread):
    """As KEDA and the sets' controllers do: what is paused at zero is scaled, and its pods are deleted."""

    def __init__(self, bare: Bare) -> None:
        super().__init__(daemon=True)
        self.bare, self.ended = bare, threading.Event()

    def run(self) -> None:  # pyright: ignore[reportImplicitOverride]
        while not self.ended.wait(0.03):
            for each in self.bare.call("GET", at_scaler(self.bare))["items"]:
                if each["metadata"]["annotations"].get(PAUSED_AT) == "0":
                    self.take(target_of(each).name)

    def take(self, name: str) -> None:
        path = self.bare.at("Deployment", name)
        if self.bare.call("GET", path)["spec"]["replicas"]:
            self.bare.patch(path, {"spec": {"replicas": 0}})
        with suppress(urllib.error.HTTPError):  # it is gone already
            self.bare.call("DELETE", f"{self.bare.pod_at(f'{name}-0')}?gracePeriodSeconds=0")


def at_scaler(bare: Bare, name: str = "") -> str:
    base = f"/apis/{GROUP}/{VERSION}/namespaces/{bare.namespace}/{PLURAL}"
    return f"{base}/{name}" if name else base


@pytest.fixture(scope="module")
def served(api_server: ControlPlane) -> Iterator[ControlPlane]:
    """An API server that knows KEDA's objects, as long as this module runs."""
    target = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    define(api_server, GROUP, VERSION, SCALED, PLURAL, spec={"scaleTargetRef": target}, namespaced=True)
    yield api_server
    undefine(api_server, GROUP, VERSION, PLURAL)


@pytest.fixture
def keda(bare: Bare, served: ControlPlane) -> Iterator[Bare]:
    """The test's namespace, with KEDA at work."""
    assert served is bare.plane
    at_work = Keda(bare)
    at_work.start()
    yield bare
    at_work.ended.set()
    at_work.join()


@pytest.fixture
def token(served: ControlPlane) -> str:
    """Of the account that deploy/rbac makes: a call that it does not allow fails the test."""
    return enforcers_token(served)


def scaled(bare: Bare, name: str, paused: str | None = None) -> Json:
    """A Deployment with a pod, and KEDA's object for it."""
    bare.owned(bare.owner("Deployment", name, replicas=3), f"{name}-0")
    return bare.call("POST", at_scaler(bare), scaler(f"{name}-scaler", {"name": name}, paused))


@pytest.mark.parametrize("paused", [None, "5"])
def test_it_is_stopped_by_the_annotation_and_restored_by_its_own_name(
    keda: Bare, token: str, paused: str | None
):
    by, paper = scaled(keda, "web", paused), Paper()
    acts = doing(keda.plane, paper, token=token)
    Actor(acts).carry_out([keda.order(Act.STOP, "Deployment", "web", "web-0", by=by)], UNDER, fine)
    assert paper.outcomes() == [("stop", "web", "done")], [each.words for each in paper.rows]
    now, web = keda.call("GET", at_scaler(keda, "web-scaler")), keda.get("Deployment", "web")
    assert (now["metadata"]["annotations"][PAUSED_AT], is_marked(now), is_marked(web)) == ("0", True, False)
    assert (web["spec"]["replicas"], keda.is_going("web-0")) == (0, True)

    (mine,) = [each for each in stopped_since(acts, 0).found if keda.namespace in each.title]
    assert (mine.title, mine.workload.uid) == (f"Deployment/{keda.namespace}/web", web["metadata"]["uid"])
    restore(acts, [named(acts, mine.title)], Asked("c", "person-x"), {})
    assert paper.outcomes()[1:] == [("restore", "web", "done")]
    assert {(each.kind, each.object_uid) for each in paper.rows} == {("Deployment", web["metadata"]["uid"])}
    now = keda.call("GET", at_scaler(keda, "web-scaler"))
    assert now["metadata"]["annotations"] == by["metadata"]["annotations"]
    acts.close()


def test_where_keda_does_nothing_it_is_put_back(bare: Bare, token: str):
    by, paper = scaled(bare, "web"), Paper()
    acts = doing(bare.plane, paper, token=token, pace=SHORT)
    Actor(acts).carry_out([bare.order(Act.STOP, "Deployment", "web", "web-0", by=by)], UNDER, fine)
    assert paper.outcomes() == [("stop", "web", "no effect"), ("restore", "web", "done")]
    now = bare.call("GET", at_scaler(bare, "web-scaler"))
    assert now["metadata"]["annotations"] == {"theirs": "x"}
    assert not bare.is_going("web-0")
    acts.close()


def test_a_plan_that_rests_on_the_deployments_version_changes_nothing(bare: Bare, token: str):
    """One that was made before KEDA's object was there."""
    scaled(bare, "web")
    paper = Paper()
    acts = doing(bare.plane, paper, token=token, pace=SHORT)
    Actor(acts).carry_out([bare.order(Act.STOP, "Deployment", "web", "web-0")], UNDER, fine)
    assert [each[2] for each in paper.outcomes()] == ["failed"]
    assert not is_marked(bare.call("GET", at_scaler(bare, "web-scaler")))
    acts.close()


def test_which_object_it_is_stopped_by(bare: Bare, token: str):
    acts = doing(bare.plane, Paper(), token=token)

    def held(kind: str, name: str) -> Grip:
        found = grip(acts.served, kind, bare.namespace, name)
        assert isinstance(found, Grip)
        return found

    bare.owner("Deployment", "web")
    bare.owner("StatefulSet", "web")
    bare.owner("Deployment", "alone")
    bare.call("POST", at_scaler(bare), scaler("one", {"name": "web"}))
    assert (held("Deployment", "web").kind, held("Deployment", "web").path) == (
        SCALED,
        at_scaler(bare, "one"),
    )
    assert held("Deployment", "alone").way is WAYS["Deployment"]
    assert held("StatefulSet", "web").way is WAYS["StatefulSet"], "it is another kind's that KEDA scales"
    bare.call("POST", at_scaler(bare), scaler("two", {"name": "web"}))
    with pytest.raises(NoWay, match="2 ScaledObjects of KEDA scale it"):
        held("Deployment", "web")
    # What carries our mark itself was stopped before.
    uid = bare.get("Deployment", "web")["metadata"]["uid"]
    note = {STOPPED: Mark(MEANT.at_ms, "c", "p", 1, "stop", uid, {"/spec/replicas": 1}).written()}
    bare.patch(bare.at("Deployment", "web"), {"metadata": {"annotations": note}, "spec": {"replicas": 0}})
    assert held("Deployment", "web").kind == "Deployment"
    acts.close()


def test_a_strangers_mark_on_one_that_scales_what_nobody_knows_hides_no_other(bare: Bare, token: str):
    for name, target in (("a", {"name": "x", "kind": "Strange", "apiVersion": "x.test/v1"}), ("b", {})):
        body = scaler(name, {"name": "gone"} | target, "0")
        body["metadata"]["annotations"][STOPPED] = "whatever"
        bare.call("POST", at_scaler(bare), body)
    acts = doing(bare.plane, Paper(), token=token)
    mine = [each for each in stopped_since(acts, 0).found if bare.namespace in each.title]
    assert sorted((each.title, each.workload.uid) for each in mine) == [
        (f"Deployment/{bare.namespace}/gone", ""),
        (f"Strange/{bare.namespace}/x", ""),
    ]
    acts.close()


def test_it_is_killed_at_every_step_and_started_again(keda: Bare):
    def makes(paper: MortalPaper, through: MortalWire) -> Doing:
        return Doing(Hands(through, pause=lambda seconds: None), paper, lambda epoch: "", now_ms, PATIENT)

    def begin(name: str) -> Order:
        return keda.order(Act.STOP, "Deployment", name, f"{name}-0", by=scaled(keda, name))

    def judge(name: str, done: bool, sent: Sent) -> None:
        path = at_scaler(keda, f"{name}-scaler")
        now = keda.call("GET", path)
        assert (now["metadata"]["annotations"].get(PAUSED_AT), is_marked(now)) == (
            ("0", True) if done else (None, False)
        )
        assert sent["PATCH", path] == done
        assert sent["PATCH", keda.at("Deployment", name)] == 0
        assert keda.is_going(f"{name}-0") is done

    stopped_at_every_step(wire(keda.plane), makes, begin, judge)


def a_deployment(**more: Any) -> Told:
    """As a live picture has it: a node, a Deployment and its one pod, and KEDA's object for it."""
    told = Told().see("nodes", node())
    told.see("deployments", seen_owner("web", resourceVersion="11", **more))
    told.see("replicasets", seen_owner("rs", **above("Deployment", "web", "apps/v1")))
    return told.see("scaledobjects", live_scaler("one"))


def live_scaler(name: str, notes: dict[str, str] | None = None, namespace: str = "ns") -> Json:
    body = scaler(name, {"name": "web"})
    metadata = {"uid": f"uid-{name}", "resourceVersion": "77", "namespace": namespace}
    body["metadata"] |= metadata | {"annotations": notes or {}}
    return body


def test_a_plan_rests_on_its_version_and_says_how_it_is_stopped():
    told = a_deployment().see("pods", pod("a", owner=owned("ReplicaSet", "rs", "apps/v1"), started=3))
    found = told.workload()
    assert (found.kind, found.version, found.way_down) == ("Deployment", "77", "have KEDA scale it to zero")
    told.see("scaledobjects", live_scaler("elsewhere", namespace="evil"))
    assert told.workload() == found, "of another namespace it is nobody's"
    told.see("scaledobjects", live_scaler("two"))
    assert told.workload().way_down == "", "there is to be one"
    told.gone("scaledobjects", live_scaler("one"), live_scaler("two"))
    assert (told.workload().version, told.workload().way_down) == ("11", "scale to zero")


def test_what_was_stopped_for_an_owner_waits_for_room_for_one_pod_at_least():
    mark = Mark(at(300), "c", "p", 1, "stop", "uid-one", {pointer(SCALED_WAY.field): None})
    told = a_deployment(spec={"replicas": 0})
    told.see("scaledobjects", live_scaler("one", {PAUSED_AT: "0", STOPPED: mark.written()}))
    found = told.waiting(Taking("uid-web", "w", at(300)))
    assert (found.uid, found.version, found.held_back, found.count) == ("uid-web", "77", True, 1)
    told.see("scaledobjects", live_scaler("one"))
    assert told.snapshot().waiting == ()

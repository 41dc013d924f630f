"""Step by step on an API server without controllers: what is changed, evicted, read back, put back, refused."""

import json
import time
import urllib.error
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from enforcer.act.actor import Actor
from enforcer.act.clearing import Pace
from enforcer.act.doing import Doing
from enforcer.act.effects import Create, Evict, How, annotate
from enforcer.act.hands import Hands
from enforcer.act.mark import STOPPED, is_marked, mark_of
from enforcer.act.pods import EPOCH, fence
from enforcer.act.resume import notice, resume
from enforcer.act.seen import Seen, seen_of
from enforcer.audit.deed import Deed, Phase
from enforcer.guard.refused import Reason, Refused
from enforcer.plan import Act, Action
from tests.act.acting import UNDER, Paper, doing, fine, wire
from tests.act.bare import Bare

SHORT = Pace(head_start_s=0.0, patience_s=0.4)
TRACKING = "batch.kubernetes.io/job-tracking"


def may_always() -> str:
    return ""


@pytest.fixture
def paper() -> Paper:
    return Paper()


@pytest.fixture
def acts(bare: Bare, paper: Paper) -> Doing:
    return doing(bare.plane, paper, pace=SHORT)


def replicas(bare: Bare, name: str) -> int:
    return bare.get("StatefulSet", name)["spec"]["replicas"]


def test_a_set_is_stopped_marked_and_its_pod_evicted(bare: Bare, acts: Doing, paper: Paper):
    pod = bare.owned(bare.owner("StatefulSet", "s", replicas=3), "s-0")
    deeds = Actor(acts).carry_out([bare.order(Act.STOP, "StatefulSet", "s", "s-0")], UNDER, fine)
    intent, outcome = deeds
    assert (intent.phase, intent.before, paper.commits) == (Phase.INTENT, '{"/spec/replicas":3}', 2)
    assert json.loads(intent.after) == {"/spec/replicas": 0, "pods": {pod["metadata"]["uid"]: "s-0"}}
    assert (outcome.phase, outcome.result, outcome.intent) == (Phase.OUTCOME, "done", "0")
    now = bare.get("StatefulSet", "s")
    mark = mark_of(now)
    assert mark is not None
    assert (now["spec"]["replicas"], mark.before, mark.epoch) == (0, {"/spec/replicas": 3}, 3)
    assert bare.is_going("s-0")
    assert bare.pod("s-0")["metadata"]["annotations"][EPOCH] == "3"


def test_a_jobs_pod_is_evicted_without_the_finalizer_by_which_it_would_count_as_failed(
    bare: Bare, acts: Doing
):
    bare.owned(bare.owner("Job", "j"), "j-0", (TRACKING, "example.test/other"))
    Actor(acts).carry_out([bare.order(Act.STOP, "Job", "j", "j-0")], UNDER, fine)
    assert bare.is_going("j-0")
    assert bare.pod("j-0")["metadata"]["finalizers"] == ["example.test/other"]


def test_what_is_held_back_is_suspended_and_started_again(bare: Bare, acts: Doing, paper: Paper):
    bare.owner("Job", "j")
    Actor(acts).carry_out([bare.order(Act.HOLD, "Job", "j")], UNDER, fine)
    assert bare.get("Job", "j")["spec"]["suspend"] is True
    Actor(acts).carry_out([bare.order(Act.START, "Job", "j")], UNDER, fine)
    after = bare.get("Job", "j")
    assert after["spec"]["suspend"] is False
    assert STOPPED not in after["metadata"].get("annotations", {})
    assert paper.outcomes() == [("hold", "j", "done"), ("start", "j", "done")]


def test_what_waits_is_not_held_back_while_its_pods_are_there(bare: Bare, acts: Doing, paper: Paper):
    """They would be bound to the GPUs that are freed next; so nobody is stopped, and it is put back."""
    bare.owner("Job", "rival")
    bare.owner("Job", "victim")
    bare.patch(f"{bare.at('Job', 'rival')}/status", {"status": {"active": 1, "ready": 0}})
    orders = [bare.order(Act.HOLD, "Job", "rival"), bare.order(Act.STOP, "Job", "victim", position=1)]
    Actor(acts).carry_out(orders, UNDER, fine)
    assert paper.outcomes() == [
        ("hold", "rival", "no effect"),
        ("stop", "victim", "failed"),
        ("restore", "rival", "done"),
    ]
    assert [bare.get("Job", name)["spec"]["suspend"] for name in ("rival", "victim")] == [False, False]


def test_a_field_that_the_server_does_not_know_has_no_effect_and_leaves_no_mark(
    bare: Bare, acts: Doing, paper: Paper
):
    bare.owner("RayService", "r", serveConfigV2="x")
    Actor(acts).carry_out([bare.order(Act.STOP, "RayService", "r")], UNDER, fine)
    assert paper.outcomes() == [("stop", "r", "no effect"), ("restore", "r", "done")]
    assert bare.get("RayService", "r")["spec"] == {"serveConfigV2": "x"}
    assert STOPPED not in bare.get("RayService", "r")["metadata"].get("annotations", {})


def test_where_no_controller_takes_the_pods_away_the_owner_is_put_back(bare: Bare, acts: Doing, paper: Paper):
    """To a PyTorchJob an evicted pod is a failed one: its pods are left to its controller, and here is none."""
    bare.owned(bare.owner("PyTorchJob", "t", runPolicy={"ttl": 1}), "t-0")
    Actor(acts).carry_out([bare.order(Act.STOP, "PyTorchJob", "t", "t-0")], UNDER, fine)
    assert paper.outcomes() == [("stop", "t", "no effect"), ("restore", "t", "done")]
    assert bare.get("PyTorchJob", "t")["spec"] == {"runPolicy": {"ttl": 1}}
    assert not bare.is_going("t-0")


def test_a_budget_that_lets_none_go_is_found_before_anything_is_done(bare: Bare, acts: Doing, paper: Paper):
    seen: list[Seen] = []

    def look(action: Action, what: Seen) -> Refused | None:
        seen.append(what)
        return None

    for name in ("a", "b"):
        bare.owned(bare.owner("StatefulSet", name), f"{name}-0")
        bare.patch(bare.pod_at(f"{name}-0"), {"metadata": {"labels": {"app": "both"}}})
    bare.budget("one", 1, {"app": "both"})
    orders = [bare.order(Act.STOP, "StatefulSet", name, f"{name}-0") for name in ("a", "b")]
    deeds = Actor(acts).carry_out(orders, UNDER, look)
    assert [(each.phase, each.result) for each in deeds] == [(Phase.REFUSED, Reason.DISRUPTION_BUDGET)] * 2
    assert f"{bare.namespace}/one lets 1 pods go now, and the group takes 2" == deeds[0].words
    assert [each.budgets[0].covers for each in seen] == [1, 1]
    assert (replicas(bare, "a"), paper.commits) == (1, 1)


def test_a_budget_that_refuses_after_all_puts_the_owner_back(bare: Bare, paper: Paper):
    """Between the look and the eviction the budget fell to none."""
    bare.owned(bare.owner("StatefulSet", "s", replicas=2), "s-0")
    asked: list[int] = []

    def may(epoch: int) -> str:
        if not asked:
            bare.budget("late", 0, {"of": "s"})
        asked.append(epoch)
        return ""

    acts = doing(bare.plane, paper, may, SHORT)
    Actor(acts).carry_out([bare.order(Act.STOP, "StatefulSet", "s", "s-0")], UNDER, fine)
    assert paper.outcomes() == [("stop", "s", "failed"), ("restore", "s", "done")]
    stop = next(each for each in paper.rows if each.phase is Phase.OUTCOME)
    assert "1 of its 1 pods are still there: 429: Cannot evict pod" in stop.words
    assert (replicas(bare, "s"), bare.is_going("s-0")) == (2, False)
    assert (
        asked == [3] * 5
    )  # the stop, the fence, the eviction; whether it may be put back, and the putting back


def test_under_two_budgets_a_pod_is_never_evicted(bare: Bare, paper: Paper):
    """The server answers 201, with a refusal inside."""
    pod = bare.owned(bare.owner("StatefulSet", "s"), "s-0")
    for name in ("a", "b"):
        bare.budget(name, 1, {"of": "s"})
    hands = Hands(wire(bare.plane))
    metadata = pod["metadata"]
    came = hands.do(Evict(bare.namespace, "s-0", metadata["uid"], metadata["resourceVersion"]), may_always)
    assert came.how is How.BUDGET


def test_an_eviction_of_another_version_is_refused(bare: Bare):
    pod = bare.owned(bare.owner("StatefulSet", "s"), "s-0")
    hands = Hands(wire(bare.plane))
    fenced = hands.do(fence(pod, 3), may_always)
    assert fenced.how is How.HAPPENED
    metadata = pod["metadata"]
    evict = Evict(bare.namespace, "s-0", metadata["uid"], metadata["resourceVersion"])
    assert hands.wire.send("POST", f"{bare.pod_at('s-0')}/eviction", evict.body()).code == 409
    assert hands.do(evict, may_always).how is How.DIFFERS
    assert not bare.is_going("s-0")


def test_a_pod_that_says_it_is_a_later_leaders_is_evicted_nevertheless(bare: Bare, acts: Doing, paper: Paper):
    """Anybody may write that: who leads is what the Lease says, and versions keep leaders apart."""
    bare.owned(bare.owner("StatefulSet", "s"), "s-0")
    bare.patch(bare.pod_at("s-0"), {"metadata": {"annotations": {EPOCH: "999999"}}})
    Actor(acts).carry_out([bare.order(Act.STOP, "StatefulSet", "s", "s-0")], UNDER, fine)
    assert (paper.outcomes(), bare.is_going("s-0")) == ([("stop", "s", "done")], True)


def test_frozen_midway_none_of_the_group_is_called_in_vain(bare: Bare, paper: Paper):
    """The pods of one would have to be evicted, those of the other are left to a controller: both stay open."""
    bare.owned(bare.owner("StatefulSet", "s"), "s-0")
    bare.owned(bare.owner("PyTorchJob", "t"), "t-0")
    asked: list[int] = []

    def may(epoch: int) -> str:
        asked.append(epoch)
        return "frozen" if len(asked) > 2 else ""

    orders = [bare.order(Act.STOP, "StatefulSet", "s", "s-0"), bare.order(Act.STOP, "PyTorchJob", "t", "t-0")]
    Actor(doing(bare.plane, paper, may, SHORT)).carry_out(orders, UNDER, fine)
    assert (paper.outcomes(), len(paper.open())) == ([], 2)


def test_what_another_starts_while_its_pods_are_waited_for_is_undone_and_not_in_vain(
    bare: Bare, paper: Paper
):
    bare.owned(bare.owner("PyTorchJob", "t"), "t-0")
    asked: list[int] = []

    def may(epoch: int) -> str:
        asked.append(epoch)
        return ""

    class Busy(Hands):
        def look(self, path: str) -> Any:  # pyright: ignore[reportImplicitOverride]
            if asked and path == bare.pod_at("t-0"):
                bare.patch(bare.at("PyTorchJob", "t"), {"spec": {"runPolicy": {"suspend": False}}})
            return super().look(path)

    acts = Doing(Busy(wire(bare.plane)), paper, may, lambda: 5, SHORT)
    Actor(acts).carry_out([bare.order(Act.STOP, "PyTorchJob", "t", "t-0")], UNDER, fine)
    assert paper.outcomes() == [("stop", "t", "undone"), ("restore", "t", "done")]
    assert bare.get("PyTorchJob", "t")["spec"] == {"runPolicy": {"suspend": False}}


def test_a_warning_is_none_of_its_acts(bare: Bare, acts: Doing, paper: Paper):
    bare.owner("Job", "j")
    with pytest.raises(ValueError, match="only what holds back"):
        Actor(acts).carry_out([bare.order(Act.WARN, "Job", "j")], UNDER, fine)
    assert paper.rows == []


CHANGES: dict[str, Callable[[Bare], object]] = {
    "another version": lambda bare: bare.patch(
        bare.at("StatefulSet", "a"), {"metadata": {"labels": {"x": "y"}}}
    ),
    "gone": lambda bare: bare.call("DELETE", bare.at("StatefulSet", "a")),
    "another of its name": lambda bare: (
        bare.call("DELETE", bare.at("StatefulSet", "a")),
        bare.owner("StatefulSet", "a"),
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_what_is_not_as_the_plan_saw_it_is_not_touched(case: str, bare: Bare, acts: Doing, paper: Paper):
    """Also where nobody looks again: the API server itself compares. What comes after it is not begun."""
    bare.owner("StatefulSet", "a")
    bare.owner("Job", "later")
    orders = [bare.order(Act.HOLD, "StatefulSet", "a"), bare.order(Act.STOP, "Job", "later", position=1)]
    CHANGES[case](bare)
    Actor(acts).carry_out(orders, UNDER, fine)
    if case == "gone":
        assert [each.phase for each in paper.rows] == [Phase.REFUSED] * 2
    else:
        assert paper.outcomes() == [("hold", "a", "failed"), ("stop", "later", "failed")]
        assert STOPPED not in bare.get("StatefulSet", "a")["metadata"].get("annotations", {})
    assert bare.get("Job", "later")["spec"]["suspend"] is False


def test_the_guards_second_look_refuses_the_whole_group(bare: Bare, acts: Doing, paper: Paper):
    for name in ("a", "b"):
        bare.owner("Job", name)

    def second(action: Action, seen: Seen) -> Refused | None:
        return Refused(Reason.OPTED_OUT, "it opted out") if action.target.name == "b" else None

    orders = [bare.order(Act.STOP, "Job", name) for name in ("a", "b")]
    deeds = Actor(acts).carry_out(orders, UNDER, second)
    assert [each.result for each in deeds] == [Reason.BEFORE, Reason.OPTED_OUT]
    assert [bare.get("Job", name)["spec"]["suspend"] for name in ("a", "b")] == [False, False]


@pytest.mark.parametrize("after", [0, 1, 2])
def test_frozen_before_any_act_nothing_more_is_done_and_thawed_it_is_gone_on_with(
    after: int, bare: Bare, paper: Paper
):
    bare.owned(bare.owner("StatefulSet", "s"), "s-0")
    asked: list[str] = []
    frozen = [True]

    def may(epoch: int) -> str:
        asked.append("")
        return "frozen" if frozen[0] and len(asked) > after else ""

    acts = doing(bare.plane, paper, may, SHORT)
    Actor(acts).carry_out([bare.order(Act.STOP, "StatefulSet", "s", "s-0")], UNDER, fine)
    assert not bare.is_going("s-0")
    assert replicas(bare, "s") == (1 if after == 0 else 0)
    if after == 0:
        assert paper.outcomes() == [("stop", "s", "failed")]
        return
    assert paper.outcomes() == []
    frozen[0] = False
    resume(acts, paper.open(), 9)
    assert paper.outcomes() == [("stop", "s", "done")]
    assert bare.pod("s-0")["metadata"]["annotations"][EPOCH] == "9"


def test_only_its_own_intents_are_resumed_and_of_a_kind_that_is_gone_they_end(
    bare: Bare, acts: Doing, paper: Paper
):
    common = {"cluster": "c", "at_ms": 5, "phase": Phase.INTENT, "namespace": bare.namespace, "name": "x"}
    for act, kind in (("restore", "ResourceQuota"), ("warn", "Job"), ("stop", "JobSet"), ("start", "Job")):
        paper.write([Deed(act=act, kind=kind, object_uid="u", **common)])  # pyright: ignore[reportArgumentType]
    resume(acts, paper.open(), 3)
    assert paper.outcomes() == [("stop", "x", "abandoned"), ("start", "x", "abandoned")]
    assert [each.kind for each in paper.open().values()] == ["ResourceQuota", "Job"]


def test_what_is_put_back_by_another_is_noticed_and_not_fought(bare: Bare, acts: Doing, paper: Paper):
    bare.owner("StatefulSet", "s", replicas=2)
    bare.owner("StatefulSet", "quiet", replicas=2)
    for name in ("s", "quiet"):
        Actor(acts).carry_out([bare.order(Act.STOP, "StatefulSet", name)], UNDER, fine)
    bare.patch(bare.at("StatefulSet", "s"), {"spec": {"replicas": 2}})
    stopped = {str(at): each for at, each in enumerate(paper.rows) if each.phase is Phase.INTENT}
    notice(acts, stopped, 3)
    assert paper.outcomes()[2:] == [("stop", "s", "undone"), ("restore", "s", "done")]
    assert (replicas(bare, "s"), replicas(bare, "quiet")) == (2, 0)
    assert STOPPED not in bare.get("StatefulSet", "s")["metadata"].get("annotations", {})


def test_a_webhooks_no_is_told_in_its_words_and_nothing_is_changed(bare: Bare, acts: Doing, paper: Paper):
    """An admission policy answers 422, as a test of the patch does that does not hold."""
    admission = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
    rule = {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "operations": ["UPDATE"],
        "resources": ["statefulsets"],
    }
    here = {"matchLabels": {"kubernetes.io/metadata.name": bare.namespace}}
    spec = {
        "matchConstraints": {"resourceRules": [rule], "namespaceSelector": here},
        "validations": [{"expression": "object.spec.replicas > 0", "message": "never none"}],
    }
    name = {"name": f"{bare.namespace}.example.test"}
    bare.call("POST", f"{admission}ies", {"metadata": name, "spec": spec})
    binding = {"policyName": name["name"], "validationActions": ["Deny"]}
    bare.call("POST", f"{admission}ybindings", {"metadata": name, "spec": binding})
    bare.owner("StatefulSet", "probe")
    for _ in range(200):  # it is in force when the server has heard of it
        try:
            bare.patch(bare.at("StatefulSet", "probe"), {"spec": {"replicas": 0}})
        except urllib.error.HTTPError:
            break
        bare.patch(bare.at("StatefulSet", "probe"), {"spec": {"replicas": 1}})
        time.sleep(0.05)
    bare.owner("StatefulSet", "s")
    Actor(acts).carry_out([bare.order(Act.STOP, "StatefulSet", "s")], UNDER, fine)
    assert paper.outcomes() == [("stop", "s", "failed")]
    assert "never none" in paper.rows[-1].words
    assert (replicas(bare, "s"), is_marked(bare.get("StatefulSet", "s"))) == (1, False)


def test_a_kind_without_a_way_is_refused_with_words(bare: Bare, acts: Doing):
    bare.owner("Job", "j")
    (order,) = [bare.order(Act.STOP, "Job", "j")]
    target = replace(order.action.target, kind="DaemonSet")
    (deed,) = Actor(acts).carry_out(
        [replace(order, action=replace(order.action, target=target))], UNDER, fine
    )
    assert (deed.phase, deed.words) == (
        Phase.REFUSED,
        "nothing stops a DaemonSet but taking it from its nodes",
    )


def test_an_event_is_made_once_and_an_annotation_set(bare: Bare):
    hands = Hands(wire(bare.plane))
    path = f"/api/v1/namespaces/{bare.namespace}/events"
    body: dict[str, Any] = {
        "metadata": {"name": "w.1", "namespace": bare.namespace},
        "involvedObject": {"kind": "Job", "namespace": bare.namespace, "name": "j"},
        "reason": "QuartermasterWarning",
    }
    assert hands.do(Create(path, body), may_always).how is How.HAPPENED
    assert hands.do(Create(path, body), may_always).how is How.HAPPENED  # it is there
    job = bare.owner("Job", "j")
    assert (
        hands.do(annotate(bare.at("Job", "j"), job, "quartermaster/warning", "soon"), may_always).how
        is How.HAPPENED
    )
    assert bare.get("Job", "j")["metadata"]["annotations"] == {"quartermaster/warning": "soon"}


@pytest.mark.parametrize(
    ("selector", "covered"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"a": "1"}}, True),
        ({"matchLabels": {"a": "2"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "3"]}]}, True),
        ({"matchExpressions": [{"key": "b", "operator": "Exists"}]}, False),
        ({"matchExpressions": [{"key": "b", "operator": "DoesNotExist"}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Like"}]}, True),
    ],
)
def test_a_budget_covers_by_its_selector_and_where_that_is_not_understood(selector: Any, covered: bool):
    budget = {"metadata": {"namespace": "n", "name": "b"}, "spec": {"selector": selector}}
    pod = {"metadata": {"uid": "p", "labels": {"a": "1"}}}
    going = {"metadata": {"uid": "q", "labels": {"a": "1"}, "deletionTimestamp": "2026-12-01T00:00:00Z"}}
    seen = seen_of(5, {"metadata": {"uid": "u", "resourceVersion": "3"}}, [pod, going], [budget])
    assert (seen.uid, seen.version, [each.going for each in seen.pods]) == ("u", "3", [False, True])
    assert [(each.name, each.covers, each.allowed) for each in seen.budgets] == (
        [("n/b", 1, 0)] if covered else []
    )


def test_what_cannot_be_looked_at_is_not_acted_upon(bare: Bare, paper: Paper):
    bare.owner("Job", "j")
    order = bare.order(Act.STOP, "Job", "j")
    token = bare.plane.service_account(bare.namespace, "nobody")
    acts = doing(bare.plane, paper, pace=SHORT, token=token)
    (deed,) = Actor(acts).carry_out([order], UNDER, fine)
    assert deed.phase is Phase.REFUSED
    assert "403" in deed.words
    with pytest.raises(urllib.error.HTTPError):
        bare.pod("none")

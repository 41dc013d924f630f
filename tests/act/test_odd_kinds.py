"""Kinds of the configuration that are not what it says: nothing is done, or it is put back, and the reason is said."""

import time
import urllib.error
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from enforcer.act.actor import Actor
from enforcer.act.clearing import Pace
from enforcer.act.doing import Doing
from enforcer.act.hands import Hands
from enforcer.act.mark import is_marked
from enforcer.act.order import Order
from enforcer.act.way import Ways, ways_of
from enforcer.audit.deed import Phase
from enforcer.plan import Act, Action, Cause, Target
from quartermaster.clock import now_ms
from quartermaster.config.kinds import KindPart
from tests.act.acting import UNDER, Paper, fine, wire
from tests.act.bare import Bare
from tests.servers.controlplane import ControlPlane
from tests.servers.objects import define, make, undefine

GROUP = "odd.example.test"
SUSPEND = {"suspend": {"type": "boolean"}}


@dataclass(frozen=True)
class Odd:
    """A resource definition's spec and more of it, and what comes of stopping one."""

    spec: dict[str, Any]
    result: str
    words: str
    subresources: dict[str, Any] | None = None
    rules: tuple[dict[str, str], ...] = ()


CASES = {
    "a field that is pruned": Odd({"other": {"type": "string"}}, "no effect", "the field is not there"),
    "a field of another type": Odd({"suspend": {"type": "string"}}, "failed", "422"),
    "a value that is refused": Odd(
        SUSPEND,
        "failed",
        "never stopped",
        rules=({"rule": "!has(self.suspend) || !self.suspend", "message": "never stopped"},),
    ),
    "a status of its own": Odd(
        SUSPEND, "no effect", "are still there", subresources={"status": {}}
    ),  # no controller takes the pods away
}


@pytest.fixture(params=sorted(CASES))
def odd(request: pytest.FixtureRequest, bare: Bare, api_server: ControlPlane) -> Iterator[tuple[Odd, Bare]]:
    """The test's namespace on a server that serves such a kind."""
    case = CASES[request.param]
    plural = f"odds{sorted(CASES).index(request.param)}"
    spec: dict[str, Any] = {"type": "object", "properties": case.spec}
    if case.rules:
        spec["x-kubernetes-validations"] = list(case.rules)
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": anything}}}
    version: dict[str, Any] = {"name": "v1", "served": True, "storage": True, "schema": schema}
    if case.subresources:
        version["subresources"] = case.subresources
    kind = plural.capitalize()
    names = {"plural": plural, "singular": plural, "kind": kind}
    body = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    make(api_server, path, {"metadata": {"name": f"{plural}.{GROUP}"}, "spec": body})
    bare.ways = ways(kind, plural)
    wait_until(lambda: answers(bare, kind))
    yield case, bare
    bare.clear()
    undefine(api_server, GROUP, "v1", plural)


def answers(bare: Bare, kind: str) -> bool:
    with suppress(urllib.error.HTTPError):
        bare.call("GET", bare.at(kind))
        return True
    return False


def wait_until(ready: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.05)


def ways(kind: str, plural: str) -> Ways:
    part = {"kind": kind, "group": GROUP, "plural": plural, "field": "/spec/suspend", "down": True}
    return ways_of([KindPart.model_validate(part)])


def test_it_is_left_or_put_back_and_said(odd: tuple[Odd, Bare]):
    case, bare = odd
    kind = next(each for each in bare.ways if each.startswith("Odds"))
    owner = bare.owner(kind, "o")
    bare.owned(owner, "o-0")
    before = bare.get(kind, "o")["spec"]
    paper = Paper()
    hands = Hands(wire(bare.plane), pause=lambda seconds: None)
    acts = Doing(hands, paper, lambda epoch: "", now_ms, Pace(0.0, 0.5), ways=bare.ways)
    Actor(acts).carry_out([bare.order(Act.STOP, kind, "o", "o-0")], UNDER, fine)
    (outcome, *_) = [each for each in paper.rows if each.phase == "outcome" and each.act == "stop"]
    assert (outcome.result, case.words in outcome.words) == (case.result, True), outcome.words
    now = bare.get(kind, "o")
    assert (now["spec"], is_marked(now), bare.is_going("o-0")) == (before, False, False)
    assert not paper.open()


def test_a_kind_that_is_of_no_namespace_is_not_found_where_its_pods_are(bare: Bare, api_server: ControlPlane):
    """Who owns pods of a namespace is looked for there alone: nothing beyond it is patched."""
    define(api_server, GROUP, "v1", "Wide", "wides", spec=SUSPEND, namespaced=False)
    try:
        at = f"/apis/{GROUP}/v1/wides"
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Wide", "metadata": {"name": "w"}, "spec": {}}
        wide = bare.call("POST", at, body)
        pod = bare.owned(wide, "w-0")
        told = pod["metadata"]["uid"], pod["metadata"]["resourceVersion"], "n1"
        uid, version = wide["metadata"]["uid"], wide["metadata"]["resourceVersion"]
        target = Target(uid, version, "Wide", bare.namespace, "w", "b", "pool", "way", (told,))
        order = Order(0, Action(1, Act.STOP, Cause.IDLE, target, frees_parts=8), {told[0]: "w-0"})
        paper, hands = Paper(), Hands(wire(bare.plane), pause=lambda seconds: None)
        acts = Doing(hands, paper, lambda epoch: "", now_ms, Pace(0.0, 0.5), ways=ways("Wide", "wides"))
        Actor(acts).carry_out([order], UNDER, fine)
        assert [each.phase for each in paper.rows] == [Phase.REFUSED]
        assert bare.call("GET", f"{at}/w")["spec"] == {}
        assert not bare.is_going("w-0")
    finally:
        bare.clear()
        undefine(api_server, GROUP, "v1", "wides")

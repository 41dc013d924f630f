"""Kinds that the configuration states: stopped by their own field, and put back, as the built-in ones are."""

import json
import threading
import urllib.error
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from cli.main import app
from collector.kubernetes.values import Json
from enforcer.act.actor import Actor
from enforcer.act.change import Change, Meant, NoChange, is_down, start, stop
from enforcer.act.clearing import Pace
from enforcer.act.doing import Doing
from enforcer.act.hands import Hands
from enforcer.act.mark import is_marked
from enforcer.act.order import Order, Under
from enforcer.act.way import INSTEAD, QUOTAS, WAYS, WITHOUT_A_WAY, StatedWay, Ways, ways_of
from enforcer.act.wire import Wire
from enforcer.audit.chain import Chain
from enforcer.audit.deed import Phase
from enforcer.plan import Act
from enforcer.ways import lost_for_good, way_down
from quartermaster.clock import now_ms
from quartermaster.config.kinds import BUILT_IN, KindPart
from sql.ledger import open_ledger
from sql.upgrade import upgrade
from tests.act.acting import UNDER, Paper, fine, wire
from tests.act.bare import Bare
from tests.act.mortal import MortalPaper, MortalWire, Sent, stopped_at_every_step
from tests.act.test_ways import applied, owner
from tests.servers.controlplane import ControlPlane
from tests.servers.objects import define, make

STATED: dict[str, Any] = {
    "kind": "Run",
    "group": "ml.example.test",
    "versions": ["v2", "v1"],  # the server serves the older one
    "plural": "runs",
    "field": "/spec/flow/state",
    "down": "Held",
    "up": "Going",
}


def part(**more: Any) -> KindPart:
    told: dict[str, Any] = STATED | more
    return KindPart.model_validate(told | {"versions": tuple(told["versions"])})


ALL = ways_of([part()])
MEANT = Meant(1_764_554_400_000, "c", "p" * 64, 7, "stop")
PATIENT = Pace(head_start_s=0.0, patience_s=10)


def way(**more: Any) -> StatedWay:
    return cast(StatedWay, ways_of([part(**{"up": None} | more)])["Run"])


def test_what_is_built_in_is_what_the_configuration_may_not_state():
    quotas = {kind for kind in QUOTAS if "." not in kind}  # others bear their group, as no kind does
    assert {*WAYS, *WITHOUT_A_WAY, *quotas, *INSTEAD} == BUILT_IN


def test_the_way_is_said_in_words_and_only_for_its_own_group():
    assert way_down(ALL, "Run", group="ml.example.test") == 'set spec.flow.state to "Held"'
    assert way_down(ALL, "Run", group="other.test") == way_down(WAYS, "Run") == ""
    assert way_down(ALL, "Run", queued=True) == "deactivate in its queue"
    assert way_down(WAYS, "Job", group="batch.volcano.sh") == "", "Volcano's Job is another kind"
    assert lost_for_good("Run") == ("what its processes have in memory",)


@given(
    values=st.lists(
        st.one_of(st.booleans(), st.integers(0, 10**6), st.text("abc", min_size=1, max_size=5)),
        min_size=2,
        max_size=2,
        unique_by=lambda each: (type(each), each),
    ),
    stated=st.booleans(),
)
def test_it_is_refused_or_put_back_exactly(values: list[Any], *, stated: bool):
    down, up = values
    same = type(down) is type(up)
    mine = way(down=down, up=up if stated and same else None)
    for spec in ({}, {"flow": {}}, {"flow": {"state": up, "x": 1}}):
        seen = owner(spec=spec, metadata={"annotations": {"theirs": "x"}})
        change = stop(mine, "/p", seen, MEANT)
        if isinstance(change, NoChange):
            assert not same
            assert "state" in spec["flow"]
            continue
        stopped = applied(seen, change)
        assert is_down(mine, stopped)
        assert stopped["spec"]["flow"]["state"] == down
        back = start(mine, "/p", stopped)
        assert isinstance(back, Change)
        again = applied(stopped, back)
        assert (again["spec"], again["metadata"]["annotations"]) == (spec, {"theirs": "x"})


def test_another_value_than_the_one_that_is_stated_is_left_alone_and_never_put_back():
    mine = way(up="Going")
    odd = owner(spec={"flow": {"state": "Draining"}})
    assert stop(mine, "/p", odd, MEANT) == NoChange("its /spec/flow/state is not what it can be")
    change = stop(mine, "/p", owner(spec={"flow": {"state": "Going"}}), MEANT)
    assert isinstance(change, Change)
    down = applied(owner(spec={"flow": {"state": "Going"}}), change)
    forged = start(mine, "/p", down, {"/spec/flow/state": "Draining"})
    assert forged == NoChange("its mark names a value that cannot have been there")


class Controller(threading.Thread):
    """As an operator does: the pods of a run that is held are deleted."""

    def __init__(self, bare: Bare) -> None:
        super().__init__(daemon=True)
        self.bare, self.ended = bare, threading.Event()

    def run(self) -> None:  # pyright: ignore[reportImplicitOverride]
        while not self.ended.wait(0.03):
            held = {
                each["metadata"]["uid"]
                for each in self.bare.call("GET", self.bare.at("Run"))["items"]
                if each["spec"].get("flow", {}).get("state") == "Held"
            }
            for pod in self.bare.call("GET", self.bare.pod_at("").rstrip("/"))["items"]:
                if pod["metadata"]["ownerReferences"][0]["uid"] in held:
                    path = f"{self.bare.pod_at(pod['metadata']['name'])}?gracePeriodSeconds=0"
                    with suppress(urllib.error.HTTPError):  # it is gone already
                        self.bare.call("DELETE", path)


@pytest.fixture
def runs(bare: Bare, api_server: ControlPlane) -> Iterator[Bare]:
    """The test's namespace on a server that knows runs, with their controller."""
    state = {"type": "object", "properties": {"state": {"type": "string"}}}
    define(api_server, "ml.example.test", "v1", "Run", "runs", spec={"flow": state}, namespaced=True)
    bare.ways = ways_of([part(versions=["v1"])])
    controller = Controller(bare)
    controller.start()
    yield bare
    controller.ended.set()
    controller.join()
    bare.clear()


def does(runs: Bare, paper: Any, through: Wire | None = None, ways: Ways = ALL) -> Doing:
    hands = Hands(through or wire(runs.plane), pause=lambda seconds: None)
    return Doing(hands, paper, lambda epoch: "", now_ms, PATIENT, ways=ways)


def state(seen: Json) -> str | None:
    return seen["spec"]["flow"].get("state")


def test_it_is_killed_at_every_step_and_started_again(runs: Bare):
    def makes(paper: MortalPaper, through: MortalWire) -> Doing:
        return does(runs, paper, through)

    def begin(name: str) -> Order:
        runs.owned(runs.owner("Run", name, flow={"state": "Going"}), f"{name}-0")
        return runs.order(Act.STOP, "Run", name, f"{name}-0")

    def judge(name: str, done: bool, sent: Sent) -> None:
        now = runs.get("Run", name)
        assert (state(now), is_marked(now)) == (("Held", True) if done else ("Going", False))
        assert sent["PATCH", runs.at("Run", name)] == done
        assert runs.is_going(f"{name}-0") is done

    stopped_at_every_step(wire(runs.plane), makes, begin, judge)


def test_without_the_kind_in_the_configuration_nothing_is_done(runs: Bare):
    runs.owned(runs.owner("Run", "r", flow={"state": "Going"}), "r-0")
    paper = Paper()
    Actor(does(runs, paper, ways=WAYS)).carry_out([runs.order(Act.STOP, "Run", "r", "r-0")], UNDER, fine)
    assert [(each.phase, each.words) for each in paper.rows] == [
        (Phase.REFUSED, "no way is known to stop a Run and to start it again")
    ]
    assert state(runs.get("Run", "r")) == "Going"


def test_restore_and_down_know_it_by_the_configuration(runs: Bare, tmp_path: Path):
    """As a person types it: one by its name, and what is left by `down`."""
    make(runs.plane, "/api/v1/namespaces", {"metadata": {"name": "quartermaster"}})  # the Lease's
    path = tmp_path / "quartermaster.yaml"
    kubernetes = {"kubeconfig": str(runs.plane.kubeconfig_of(runs.plane.token))}
    body = {
        "ledger": {"path": str(tmp_path / "ledger")},
        "clusters": [{"name": "c", "holders": "kubernetes", "kubernetes": kubernetes}],
        "policy": {"acting": {"kinds": [STATED]}},
    }
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    for name in ("one", "two"):
        runs.owned(runs.owner("Run", name, flow={}), f"{name}-0")
    orders = [
        runs.order(Act.STOP, "Run", name, f"{name}-0", position=at) for at, name in enumerate(("one", "two"))
    ]
    with open_ledger(tmp_path / "ledger") as ledger:
        upgrade(ledger)
        deeds = Actor(does(runs, Chain(ledger, "c"))).carry_out(orders, Under("c", "f" * 64, 1, "e"), fine)
    assert [each.result for each in deeds if each.phase is Phase.OUTCOME] == ["done", "done"]
    one = ["restore", f"Run/{runs.namespace}/one"]
    for command, names in ((one, ["one"]), (["down", "--restore-all", "--yes"], ["two"])):
        done = CliRunner().invoke(app, ["--config", str(path), *command, "--json"])
        assert done.exit_code == 0, (done.output, done.exception)
        told = json.loads(done.stdout)["workloads"]
        assert [(each["workload"], each["result"]) for each in told] == [
            (f"Run/{runs.namespace}/{name}", "done") for name in names
        ]
    assert [state(runs.get("Run", name)) for name in ("one", "two")] == [None, None]
    assert not any(is_marked(runs.get("Run", name)) for name in ("one", "two"))

"""A real JupyterHub: users' servers are stopped and started through it, and people stay pseudonyms in the audit."""

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from cli.main import app
from collector.kubernetes.values import Json
from enforcer.act.actor import Actor
from enforcer.act.clearing import Pace
from enforcer.act.doing import Doing
from enforcer.act.hands import Hands
from enforcer.act.hub import Hub, Hubs
from enforcer.act.order import Order, Under
from enforcer.act.restore import Asked, named, restore, stopped_since
from enforcer.act.resume import notice, resume
from enforcer.act.server import WORDS, WORKSPACE, Server, State, server_of
from enforcer.act.wire import Reply, Silence
from enforcer.audit.chain import Chain
from enforcer.audit.deed import Phase
from enforcer.plan import Act, Action, Cause, Target
from quartermaster.clock import now_ms
from quartermaster.config.hubs import HubPart
from quartermaster.config.secret import Secret
from quartermaster.person import person_id, pseudonym
from sql.ledger import open_ledger
from sql.upgrade import upgrade
from tests.act.acting import UNDER, Paper, fine, wire
from tests.act.mortal import Killed, Life, MortalPaper, MortalWire
from tests.servers.hub import NAMESPACE, JupyterHub
from tests.servers.objects import make

KEY = b"k" * 32
PACE = Pace(head_start_s=0.0, patience_s=8)
ASKED = Asked("c", "person-x")
_numbers = itertools.count(1)


@pytest.fixture
def user(hub: JupyterHub) -> Iterator[Callable[[str], str]]:
    """Makes names of users; they go with the test, and so do their servers."""
    made: list[str] = []

    def new(kind: str = "ada") -> str:
        made.append(f"{kind}{next(_numbers)}")
        return made[-1]

    yield new
    there = {each["name"] for each in hub.call("GET", "/users")}
    for name in there & {*made, *(f"renamed-{each}" for each in made)}:
        hub.remove(name)
    pods = f"/api/v1/namespaces/{NAMESPACE}/pods?gracePeriodSeconds=0"
    hub.plane.call("DELETE", pods)


def hubs(hub: JupyterHub, token: str = "", **more: Any) -> Hubs:
    part = HubPart.model_construct(
        namespace=NAMESPACE, url=hub.url, token=Secret("${env:T}", token or hub.token)
    )
    return Hubs({NAMESPACE: Hub(part, KEY, **more)}, KEY)


def does(
    hub: JupyterHub, paper: Any, of: Hubs | None = None, through: Any = None, pace: Pace = PACE
) -> Doing:
    hands = Hands(through or wire(hub.plane), pause=lambda seconds: None, hubs=of or hubs(hub))
    return Doing(hands, paper, lambda epoch: "", now_ms, pace)


def order(pod: Json) -> Order:
    """The action that a plan has for a pod as it is now."""
    metadata = pod["metadata"]
    uid, version, name = (metadata[key] for key in ("uid", "resourceVersion", "name"))
    target = Target(uid, version, WORKSPACE, NAMESPACE, name, "b", "p", WORDS, ((uid, version, "n1"),))
    return Order(0, Action(1, Act.STOP, Cause.IDLE, target, frees_parts=8), {uid: name})


def put_back(acts: Doing, paper: Paper) -> None:
    stopped = [each for each in paper.rows if each.act == Act.STOP and each.phase is Phase.INTENT]
    found = [each for each in stopped_since(acts, 0, stopped).found if each.kind == WORKSPACE]
    restore(acts, found, ASKED, {each.object_uid: each.before for each in stopped})


@pytest.mark.parametrize("server", ["", "big-one"])
def test_a_server_is_stopped_and_started_again_and_its_person_is_a_pseudonym(
    server: str, hub: JupyterHub, user: Callable[[str], str]
):
    name, paper = user("ada"), Paper()
    pod = hub.start(name, server)
    acts = does(hub, paper)
    Actor(acts).carry_out([order(pod)], UNDER, fine)
    assert paper.outcomes() == [("stop", pod["metadata"]["name"], "done")], [
        each.words for each in paper.rows
    ]
    assert (hub.servers(name), hub.pod(name, server)) == ({}, None)
    who = pseudonym(person_id(KEY, name))
    assert json.loads(paper.rows[0].before) == {"/hub/server": {"person": who, "name": server}}
    told = [
        replace(each, name="", after="") for each in paper.rows
    ]  # a pod's name is the cluster's, as everywhere
    assert name not in repr(told)
    put_back(does(hub, paper), paper)  # another process, which has to look for the name
    assert paper.outcomes()[1:] == [("restore", pod["metadata"]["name"], "done")], paper.rows[-1].words
    hub.wait(lambda: hub.servers(name)[server]["ready"] is True)
    assert hub.pod(name, server) is not None


def test_what_takes_its_time_is_waited_for(hub: JupyterHub, user: Callable[[str], str]):
    """The Hub answers 202 both times: it is still stopping, and it is still starting."""
    name, paper = user("slow"), Paper()
    pod = hub.start(name)
    acts = does(hub, paper)
    Actor(acts).carry_out([order(pod)], UNDER, fine)
    assert [each[2] for each in paper.outcomes()] == ["done"]
    assert (paper.rows[-1].words[:9], hub.servers(name)) == ("1 pod was", {})
    put_back(acts, paper)
    assert (paper.outcomes()[-1][2], paper.rows[-1].words) == ("done", "it runs, or is being started")
    assert hub.servers(name)[""]["pending"] == "spawn"
    hub.wait(lambda: hub.servers(name)[""]["ready"] is True)


def test_a_pod_that_does_not_go_has_its_server_put_back(hub: JupyterHub, user: Callable[[str], str]):
    name, paper = user("stuck"), Paper()
    pod = hub.start(name)
    Actor(does(hub, paper, pace=Pace(0.0, 0.5))).carry_out([order(pod)], UNDER, fine)
    outcome = next(each for each in paper.rows if each.phase is Phase.OUTCOME)
    assert (outcome.act, outcome.result) == ("stop", "no effect")
    assert outcome.words.startswith("1 of its 1 pods are still there")
    assert hub.servers(name)[""]["ready"] is True


def test_who_starts_again_is_not_fought_and_is_noticed(hub: JupyterHub, user: Callable[[str], str]):
    name, paper = user("ada"), Paper()
    pod = hub.start(name)
    acts = does(hub, paper)
    Actor(acts).carry_out([order(pod)], UNDER, fine)
    stopped = {"0": paper.rows[0]}
    assert notice(acts, stopped, 3) == ()
    hub.start(name)
    assert [(each.result, each.words) for each in notice(acts, stopped, 3)] == [
        ("undone", "somebody else started it again")
    ]
    assert hub.servers(name)[""]["ready"] is True
    put_back(acts, paper)
    assert paper.outcomes()[-1][2] == "done", "it runs: there is nothing to be put back"


def test_a_renamed_user_is_not_found_and_that_is_said(hub: JupyterHub, user: Callable[[str], str]):
    name, paper = user("ada"), Paper()
    acts = does(hub, paper)
    Actor(acts).carry_out([order(hub.start(name))], UNDER, fine)
    hub.call("PATCH", f"/users/{name}", {"name": f"renamed-{name}"})
    intent = paper.rows[0]
    carrier = named(acts, f"{WORKSPACE}/{NAMESPACE}/{intent.name}", [intent])
    done = restore(acts, [carrier], ASKED, {intent.object_uid: intent.before})
    assert (done.deeds, dict(done.left)) == ((), {carrier.title: State.NOBODY.value})
    assert [each.result for each in notice(acts, {"0": intent}, 3)] == [], "it stays stopped"


def test_what_the_hub_does_not_end_in_time_stays_open_and_is_gone_on_with(
    hub: JupyterHub, user: Callable[[str], str]
):
    name, paper = user("slow"), Paper()
    pod = hub.start(name)
    acts = does(hub, paper, pace=Pace(head_start_s=0.0, patience_s=0.2))
    Actor(acts).carry_out([order(pod)], UNDER, fine)
    assert (paper.outcomes(), len(paper.open())) == ([], 1)
    hub.wait(lambda: not hub.servers(name))
    assert [each.result for each in resume(acts, paper.open(), 4)] == ["done"]


def test_a_user_who_was_renamed_while_the_server_runs_is_left_alone(
    hub: JupyterHub, user: Callable[[str], str]
):
    """The pod still has the name of before."""
    name, paper = user("ada"), Paper()
    pod = hub.start(name)
    hub.call("PATCH", f"/users/{name}", {"name": f"renamed-{name}"})
    Actor(does(hub, paper)).carry_out([order(pod)], UNDER, fine)
    assert [(each.phase, each.words) for each in paper.rows] == [(Phase.REFUSED, State.NOBODY.value)]
    assert hub.servers(f"renamed-{name}")[""]["ready"] is True


REFUSED = {"another version": {"resourceVersion": "1"}, "another pod": {"uid": "u-other"}}


@pytest.mark.parametrize("case", REFUSED)
def test_a_pod_that_is_another_than_was_seen_keeps_its_server(
    case: str, hub: JupyterHub, user: Callable[[str], str]
):
    name, paper = user("ada"), Paper()
    pod = hub.start(name)
    acts, change = does(hub, paper), REFUSED[case]
    Actor(acts).carry_out([order({**pod, "metadata": pod["metadata"] | change})], UNDER, fine)
    assert [(each.phase, each.result) for each in paper.rows][-1] == (Phase.OUTCOME, "failed")
    assert paper.rows[-1].words == "the object is not as it was seen"
    assert hub.servers(name)[""]["ready"] is True


def test_a_switch_is_looked_at_right_before_the_hub_is_asked(hub: JupyterHub, user: Callable[[str], str]):
    """Nothing lies between the two: what is looked for at the Hub or at the pod is looked for before."""
    name, paper = user("ada"), Paper()
    pod = hub.start(name)
    through, seen = wire(hub.plane), list[str]()
    of = hubs(hub)
    looking = Noting(of.of[NAMESPACE], seen)

    def may(epoch: int) -> str:
        seen.append("may")
        return "frozen" if len(seen) > 40 else ""

    acts = Doing(Hands(through, hubs=Hubs({NAMESPACE: looking}, KEY)), paper, may, now_ms, PACE)
    Actor(acts).carry_out([order(pod)], UNDER, fine)
    at = seen.index("DELETE")
    assert seen[at - 1] == "may"
    assert paper.outcomes()[0][2] == "done"
    seen += ["x"] * 40
    pod = hub.start(name)
    paper.rows.clear()
    Actor(acts).carry_out([order(pod)], UNDER, fine)
    assert (paper.outcomes()[0][2], paper.rows[-1].words) == ("failed", "frozen")
    assert "DELETE" not in seen[at + 1 :]
    assert hub.servers(name)[""]["ready"] is True


def test_a_token_that_may_only_read_stops_nothing(hub: JupyterHub, user: Callable[[str], str]):
    name, paper = user("ada"), Paper()
    pod = hub.start(name)
    Actor(does(hub, paper, hubs(hub, hub.reading))).carry_out([order(pod)], UNDER, fine)
    assert paper.outcomes() == [("stop", pod["metadata"]["name"], "failed")]
    assert paper.rows[-1].words.startswith("403: ")
    assert hub.servers(name)[""]["ready"] is True
    paper.rows.clear()
    Actor(does(hub, paper, hubs(hub, "no-token"))).carry_out([order(pod)], UNDER, fine)
    assert [each.phase for each in paper.rows] == [Phase.REFUSED], "it cannot even be looked at"
    assert "403" in paper.rows[0].words
    assert "no-token" not in repr(paper.rows)


def test_while_the_hub_is_away_nothing_is_begun_and_what_was_begun_waits(
    hub: JupyterHub, user: Callable[[str], str]
):
    name, paper = user("ada"), Paper()
    pod = hub.start(name)
    acts = does(hub, paper)
    Actor(acts).carry_out([order(pod)], UNDER, fine)
    intent = paper.rows[0]
    hub.stop()
    try:
        carrier = named(acts, f"{WORKSPACE}/{NAMESPACE}/{intent.name}", [intent])
        left = restore(acts, [carrier], ASKED, {intent.object_uid: intent.before}).left
        assert left[carrier.title].startswith("the Hub: ")
        assert resume(acts, {"0": intent}, 4) == (), "it stays open"
        paper.rows.clear()
        other = {**pod, "metadata": pod["metadata"] | {"name": "jupyter-other", "uid": "u"}}
        hub.plane.call("POST", f"/api/v1/namespaces/{NAMESPACE}/pods", _made(pod, "jupyter-other"))
        Actor(acts).carry_out([order(other)], UNDER, fine)
        assert [each.phase for each in paper.rows] == [Phase.REFUSED]
    finally:
        hub.restart()
    assert [each.result for each in resume(acts, {"0": intent}, 4)] == ["done"]


def _made(pod: Json, name: str) -> Json:
    kept = {key: pod["metadata"][key] for key in ("labels", "annotations")}
    spec = {"nodeName": "n1", "containers": [{"name": "notebook", "image": "i"}]}
    return {"metadata": {"name": name, **kept}, "spec": spec}


class Noting(Hub):
    """A Hub of which every request is noted."""

    def __init__(self, inner: Hub, seen: list[str]) -> None:
        self.__dict__ = inner.__dict__
        self._seen = seen

    def _ask(self, method: str, path: str) -> Reply:  # pyright: ignore[reportImplicitOverride]
        self._seen.append(method)
        return super()._ask(method, path)


class Deaf(Hub):
    """A Hub whose answers to what changes something do not arrive; the first few, or none of the kind."""

    def __init__(self, inner: Hub, *, before: bool, times: int = 1) -> None:
        self.__dict__ = inner.__dict__
        self._before, self._times = before, times
        self.asked: list[bool] = []

    def ask(self, server: Server, *, up: bool) -> Reply:  # pyright: ignore[reportImplicitOverride]
        if self._times > 0:
            self._times -= 1
            if not self._before:
                self.asked.append(super().ask(server, up=up).good)
            raise Silence("the Hub: no answer")
        reply = super().ask(server, up=up)
        self.asked.append(reply.good)
        return reply


@pytest.mark.parametrize("before", [True, False], ids=["before the act", "after the act"])
def test_without_an_answer_the_hub_is_looked_at_and_it_is_done_once(
    before: bool, hub: JupyterHub, user: Callable[[str], str]
):
    name, paper = user("ada"), Paper()
    pod = hub.start(name)
    deaf = Deaf(hubs(hub).of[NAMESPACE], before=before)
    Actor(does(hub, paper, Hubs({NAMESPACE: deaf}, KEY))).carry_out([order(pod)], UNDER, fine)
    assert [each[2] for each in paper.outcomes()] == ["done"], [each.words for each in paper.rows]
    assert deaf.asked == [True]
    deaf = Deaf(hubs(hub).of[NAMESPACE], before=before)
    put_back(does(hub, paper, Hubs({NAMESPACE: deaf}, KEY)), paper)
    assert paper.outcomes()[-1][2] == "done"
    assert deaf.asked == [True]


class MortalHub(Hub):
    """The process dies at the n-th thing that it asks, when it is done and before it is known."""

    def __init__(self, inner: Hub, life: Life, sent: Counter[bool]) -> None:
        self.__dict__ = inner.__dict__
        self._life, self._sent = life, sent

    def ask(self, server: Server, *, up: bool) -> Reply:  # pyright: ignore[reportImplicitOverride]
        self._life.step()
        reply = super().ask(server, up=up)
        self._sent[up] += reply.good
        self._life.after()
        return reply


def test_it_is_killed_at_every_step_and_started_again(hub: JupyterHub, user: Callable[[str], str]):
    inner, of = wire(hub.plane), hubs(hub)
    for number in itertools.count(1):
        name, paper, sent, killed = user("ada"), Paper(), Counter[bool](), False
        pod = hub.start(name)

        def lived(life: Life, paper: Paper = paper, sent: Counter[bool] = sent) -> Doing:
            mortal = MortalHub(of.of[NAMESPACE], life, sent)
            through = MortalWire(inner, life, Counter())
            return does(hub, MortalPaper(paper, life), Hubs({NAMESPACE: mortal}, KEY), through)

        try:
            Actor(lived(Life(number))).carry_out([order(pod)], UNDER, fine)
        except Killed:
            killed = True
        for steps in (2, 10**6):
            try:
                resume(lived(Life(steps)), paper.open(), 4)
            except Killed:
                continue
        results = [each[2] for each in paper.outcomes()]
        assert not paper.open()
        assert results in ([], ["done"], ["abandoned"]), (number, results)
        assert (sent[False], sent[True]) == (results == ["done"], 0)
        assert (hub.pod(name) is None) is (results == ["done"])
        if not killed:
            assert number > 6
            assert results == ["done"]
            return


def test_restore_and_down_start_again_what_the_ledger_says(
    hub: JupyterHub, user: Callable[[str], str], tmp_path: Path
):
    """As a person types it. The token is a reference, and is in no output."""
    names = [user("ada"), user("ben")]
    kubernetes = {
        "kubeconfig": str(hub.plane.kubeconfig_of(hub.plane.token)),
        "hubs": [{"namespace": NAMESPACE, "url": hub.url, "token": "${file:token}"}],
    }
    (tmp_path / "token").write_text(hub.token + "\n", encoding="utf-8")
    (tmp_path / "key").write_bytes(KEY)
    body = {
        "ledger": {"path": str(tmp_path / "ledger")},
        "clusters": [{"name": "c", "holders": "kubernetes", "kubernetes": kubernetes}],
        "privacy": {"key": "${file:key}"},
    }
    path = tmp_path / "quartermaster.yaml"
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    make(hub.plane, "/api/v1/namespaces", {"metadata": {"name": "quartermaster"}})  # the Lease's
    pods = [hub.start(name)["metadata"]["name"] for name in names]
    with open_ledger(tmp_path / "ledger") as ledger:
        upgrade(ledger)
        for name in names:
            pod = hub.pod(name)
            assert pod is not None
            Actor(does(hub, Chain(ledger, "c"))).carry_out([order(pod)], Under("c", "f" * 64, 1, "e"), fine)
    for command, at in (
        (["restore", f"{WORKSPACE}/{NAMESPACE}/{pods[0]}"], 0),
        (["down", "--restore-all", "--yes"], 1),
    ):
        done = CliRunner().invoke(app, ["--config", str(path), *command, "--json"])
        assert done.exit_code == 0, (done.output, done.exception)
        assert [(each["workload"], each["result"]) for each in json.loads(done.stdout)["workloads"]] == [
            (f"{WORKSPACE}/{NAMESPACE}/{pods[at]}", "done")
        ]
        assert hub.token not in done.output
        hub.wait(lambda at=at: hub.servers(names[at])[""]["ready"] is True)


def test_a_pod_without_the_hubs_marks_is_no_server_of_a_hub():
    told = {"hub.jupyter.org/username": "ada"}
    labels = {**told, "component": "singleuser-server"}
    metadata: Json = {"namespace": "jhub", "labels": labels, "annotations": told}
    assert server_of({"metadata": metadata}, KEY) == Server("jhub", person_id(KEY, "ada"), "")
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "u", "controller": True}
    for less in ({"labels": told}, {"annotations": {}}, {"ownerReferences": [owner]}):
        assert server_of({"metadata": metadata | less}, KEY) is None

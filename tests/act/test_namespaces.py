"""In namespaces that agreed, under Roles and RoleBindings in them alone: nothing else is seen, asked for or touched."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
import yaml
from typer.testing import CliRunner

from cli.main import app
from collector.kubernetes.settings import Settings
from collector.kubernetes.talk import Api, Client, client_of
from collector.log import Log
from enforcer.act.actor import Actor
from enforcer.act.carrying import carrying
from enforcer.act.doing import Doing
from enforcer.act.hands import Hands
from enforcer.act.leader import Leader
from enforcer.act.mark import STOPPED
from enforcer.act.order import orders_of
from enforcer.act.restore import Asked, named, restore, stopped_since
from enforcer.act.wire import Wire
from enforcer.guard.judge import judge
from enforcer.guard.standing import Standing
from enforcer.idleness import Evidence, Findings, Idle, Notice, by_uid
from enforcer.live.cluster import CONNECTIONS, LiveCluster
from enforcer.live.places import NODES_UNSEEN
from enforcer.live.resources import OF_NO_NAMESPACE
from enforcer.loop.site import site
from enforcer.plan import Act
from enforcer.planner import plan
from quartermaster.clock import DAY_MS, HOUR_MS, now_ms
from quartermaster.config.clusters import KubernetesPart
from quartermaster.config.load import load_configuration
from quartermaster.config.policy import PolicyPart
from quartermaster.errors import InputError
from sql.ledger import open_ledger
from sql.upgrade import upgrade
from tests.act.acting import QUICK, UNDER, Paper, at_rest, fine, make_job, order, owner_path, running
from tests.enforcer.clusters import UTC
from tests.kube.test_cluster import until
from tests.servers.controlplane import ControlPlane
from tests.servers.fleet import Ground, make_ground
from tests.servers.objects import make

FILES = Path(__file__).parents[2] / "deploy" / "rbac"
_RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces"
# Where the API is described, which everybody may ask.
_ABOUT = ("/api", "/apis")


@dataclass
class Recorded:
    """The official client, and every request with its answer's status."""

    inner: Client
    asked: list[tuple[int, str, str]] = field(default_factory=list)

    @property
    def rest_client(self) -> Any:
        return self.inner.rest_client

    def param_serialize(self, method: str, resource_path: str, **more: object) -> tuple[object, ...]:
        return self.inner.param_serialize(method, resource_path, **more)

    def call_api(self, *request: object, _request_timeout: tuple[float, float]) -> Any:
        got = self.inner.call_api(*request, _request_timeout=_request_timeout)
        self.asked.append((got.response.status, str(request[0]), urlsplit(str(request[1])).path))
        return got

    def beyond(self, namespaces: set[str]) -> list[tuple[int, str, str]]:
        """What was refused, or was asked of anything else than these namespaces."""

        def is_within(path: str) -> bool:
            parts = path.split("/")
            about = path.startswith(_ABOUT) and "namespaces" not in parts and len(parts) <= 4
            return about or ("namespaces" in parts and parts[parts.index("namespaces") + 1] in namespaces)

        return [each for each in self.asked if each[0] in {401, 403} or not is_within(each[2])]


@pytest.fixture
def elsewhere(control_plane: ControlPlane) -> Iterator[Ground]:
    """Another namespace, which did not agree."""
    made = make_ground(control_plane)
    yield made
    made.remove()


@pytest.fixture
def client(ground: Ground) -> Recorded:
    """Of an account of the test's own, with what the files of deploy/rbac give it in the agreed namespace alone."""
    account = f"only-{ground.namespace}"
    for name, namespace in (
        ("own", "quartermaster"),
        ("read", ground.namespace),
        ("native", ground.namespace),
    ):
        for each in yaml.safe_load_all(
            (FILES / f"enforcer-namespaced-{name}.yaml").read_text(encoding="utf-8")
        ):
            kind = each["kind"]
            if kind == "Namespace":
                make(ground.plane, "/api/v1/namespaces", each)
                continue
            each["metadata"]["namespace"] = namespace
            if kind == "ServiceAccount":
                path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
                each["metadata"]["name"] = account
            else:
                path = f"{_RBAC}/{namespace}/{kind.lower()}s"
            if kind == "RoleBinding":
                (subject,) = each["subjects"]
                assert (subject["namespace"], subject["name"]) == ("quartermaster", "enforcer")
                subject["name"] = account
                each["metadata"]["name"] = f"{each['metadata']['name']}-{account}"
            make(ground.plane, path, each)
    at = f"/api/v1/namespaces/quartermaster/serviceaccounts/{account}/token"
    token = ground.plane.call("POST", at, {"spec": {}})["status"]["token"]
    part = KubernetesPart.model_construct(
        kubeconfig=ground.plane.kubeconfig_of(token), context=None, in_cluster=False
    )
    return Recorded(client_of(part, "c", CONNECTIONS))


@pytest.fixture
def live(ground: Ground, client: Recorded) -> Iterator[LiveCluster]:
    made = LiveCluster(Settings("c"), Api(client), now_ms, Log("plain"), namespaces=[ground.namespace])
    made.start()
    until(lambda: made.settled)
    yield made
    made.stop()


@pytest.fixture
def acts(ground: Ground, client: Recorded) -> Iterator[Doing]:
    made = Doing(Hands(Wire(client)), Paper(), lambda epoch: "", now_ms, QUICK, namespaces=[ground.namespace])
    yield made
    made.close()


def an_idle_finding(uid: str, at_ms: int) -> Idle:
    evidence = Evidence("gpu-0", 1000, ("gr_engine", "power"), (), at_ms - 10_000, 30_000)
    notices = tuple(Notice(stage, at_ms - ago * HOUR_MS) for stage, ago in (("warn", 20), ("again", 10)))
    return Idle(uid, at_ms - 2 * DAY_MS, (evidence,), notices=notices)


POLICY = PolicyPart.model_validate(
    {
        "idle": ({"kinds": ("Job",), "warn": "1h", "again": "2h", "take": "3h", "in_business_hours": True},),
        "acting": {"mode": "act", "after_start": "1s", "after_policy_change": "1s"},
    }
)


def test_an_idle_job_of_a_namespace_that_agreed_is_stopped_and_restored_and_another_is_never_seen(
    ground: Ground, elsewhere: Ground, client: Recorded, live: LiveCluster, acts: Doing
):
    paper = cast(Paper, acts.journal)
    node = ground.node(gpus=8)
    elsewhere.node(gpus=8)
    for each in (ground, elsewhere):
        make_job(each, "idles")
        running(each, "of=idles", 1)
        at_rest(each, owner_path(each, "Job", "idles"), ready=1)
    until(lambda: bool(live.snapshot(now_ms()).workloads))
    until(lambda: live.snapshot(now_ms()).workloads[0].way_down == "suspend")
    snapshot = live.look(now_ms(), pools={node: "training"}).snapshot
    assert [(each.namespace, each.name, each.pool) for each in snapshot.workloads] == [
        (ground.namespace, "idles", "training")
    ]
    assert (snapshot.nodes, live.troubles) == ((), {})
    workload = snapshot.workloads[0]
    aged = tuple(replace(each, started_at_ms=snapshot.at_ms - 3 * DAY_MS) for each in workload.pods)
    snapshot = replace(snapshot, workloads=(replace(workload, pods=aged),))
    findings = Findings((an_idle_finding(workload.uid, snapshot.at_ms),), frozenset({"training"}))
    made = plan(snapshot, findings, POLICY, UTC)
    assert [(each.act, each.target.namespace) for each in made.actions] == [(Act.STOP, ground.namespace)], (
        made.notes
    )
    standing = Standing(
        snapshot.at_ms,
        "act",
        snapshot.at_ms - HOUR_MS,
        snapshot.at_ms - HOUR_MS,
        None,
        1000,
        {"training": 1000},
        (),
        (),
        by_uid(findings.idle),
    )
    judged = judge(made, snapshot, standing, POLICY, UTC)
    assert [each[0].act for each in judged.allowed] == [Act.STOP], judged
    orders = orders_of(made, made.actions[0].group, snapshot)
    Actor(acts).carry_out(orders, UNDER, fine)
    assert paper.outcomes() == [("stop", "idles", "done")], [each.words for each in paper.rows]
    found = stopped_since(acts, 0)
    assert ([each.title for each in found.found], found.unseen) == ([f"Job/{ground.namespace}/idles"], ())
    assert carrying(acts, {STOPPED}).unseen == ()
    restore(acts, found.found, Asked("c", "person-x"), {})
    running(ground, "of=idles", 1)
    assert paper.outcomes()[1:] == [("restore", "idles", "done")]
    assert len(elsewhere.plane.call("GET", f"{elsewhere.path}/pods")["items"]) == 1
    assert client.beyond({ground.namespace}) == []
    assert len(client.asked) > 40


def test_an_owner_who_waits_gets_nothing_as_nodes_are_not_seen_and_that_is_said(
    ground: Ground, live: LiveCluster
):
    make_job(ground, "waits")
    until(lambda: bool(live.snapshot(now_ms()).waiting))
    ((shape, _, _),) = live.snapshot(now_ms()).waiting[0].pods
    assert NODES_UNSEEN in shape.unsure


def test_restore_all_and_down_look_through_these_namespaces_alone(
    ground: Ground, client: Recorded, acts: Doing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As a person types them, with the same account."""
    ground.node(gpus=8)
    make_job(ground, "j")
    with open_ledger(tmp_path / "ledger") as ledger:
        upgrade(ledger)
    kubernetes = {"kubeconfig": "unused", "namespaces": [ground.namespace]}
    body = {
        "ledger": {"path": str(tmp_path / "ledger")},
        "clusters": [{"name": "c", "holders": "kubernetes", "kubernetes": kubernetes}],
    }
    path = tmp_path / "quartermaster.yaml"
    path.write_text(yaml.safe_dump(body), encoding="utf-8")

    def recorded(*given: object) -> Recorded:
        return client

    monkeypatch.setattr("enforcer.act.configured.client_of", recorded)
    for command in (["restore", "--all"], ["down", "--restore-all", "--yes"]):
        pods = running(ground, "of=j", 1)
        at_rest(ground, owner_path(ground, "Job", "j"), ready=1)
        Actor(acts).carry_out([order(ground, Act.STOP, "Job", "j", pods=pods)], UNDER, fine)
        done = CliRunner().invoke(app, ["--config", str(path), *command, "--json"])
        assert done.exit_code == 0, (done.output, done.exception)
        told = json.loads(done.stdout)
        assert [(each["workload"], each["result"]) for each in told["workloads"]] == [
            (f"Job/{ground.namespace}/j", "done")
        ]
        assert told["not_looked_through"] == []
    assert client.beyond({ground.namespace, "quartermaster"}) == []


def test_the_lease_is_within_these_rights(ground: Ground, client: Recorded):
    leader = Leader(Wire(client), "quartermaster", "a")
    leader.renew()
    assert (leader.epoch > 0, leader.trouble) == (True, "")
    leader.remove()
    assert client.beyond({"quartermaster"}) == []


def test_another_namespace_is_not_restored_by_name(
    ground: Ground, elsewhere: Ground, client: Recorded, acts: Doing
):
    with pytest.raises(InputError, match="is not one of those that agreed"):
        named(acts, f"Job/{elsewhere.namespace}/idles")
    assert client.asked == []


def test_what_is_asked_beyond_these_rights_is_refused_and_would_be_seen(ground: Ground, client: Recorded):
    """So that the tests above cannot pass by rights that somebody else gave the account."""
    wire = Wire(client)
    for path in (
        "/api/v1/nodes",
        "/api/v1/pods",
        "/apis/batch/v1/namespaces/default/jobs",
        f"{ground.path}/secrets",
    ):
        assert wire.send("GET", path).code == 403
    assert len(client.beyond({ground.namespace})) == 4


def test_what_the_configuration_says_reaches_the_watches_and_the_hands(ground: Ground, tmp_path: Path):
    """Namespaces, custom kinds and Hubs, by the parts that the command puts together."""
    space, run = (
        ground.namespace,
        {"kind": "Run", "group": "a.b", "plural": "runs", "field": "/spec/hold", "down": True},
    )
    kubernetes = {
        "kubeconfig": str(ground.plane.kubeconfig_of("unused")),
        "namespaces": [space],
        "hubs": [{"namespace": space, "url": "http://127.0.0.1:1/hub/api", "token": "${env:HUB}"}],
    }
    body = {
        "ledger": {"path": str(tmp_path / "ledger")},
        "clusters": [{"name": "c", "holders": "kubernetes", "kubernetes": kubernetes}],
        "policy": {"acting": {"kinds": [run]}},
    }
    path = tmp_path / "quartermaster.yaml"
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    configuration = load_configuration(path, {"HUB": "secret"})
    with open_ledger(tmp_path / "ledger") as ledger:
        upgrade(ledger)
        made = site(configuration.clusters[0], configuration, ledger, tmp_path / "freeze", Log("plain"))
    scene, served = made.live._scene, made.doing.served
    assert {each.resource.namespace for each in made.live._watchers} == {space}
    assert (scene.has_nodes, scene.hubs, served.namespaces) == (False, {space}, (space,))
    assert "Run" in scene.ways
    assert "Run" in served.ways
    assert set(made.doing.hands.hubs.of) == {space}
    assert "secret" not in repr(made)
    made.doing.close()


def test_the_files_give_in_namespaces_what_the_others_give_in_the_cluster():
    def rules(name: str, kind: str) -> list[dict[str, Any]]:
        documents = yaml.safe_load_all((FILES / name).read_text(encoding="utf-8"))
        return next(each for each in documents if each["kind"] == kind)["rules"]

    def rights(some: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
        return {
            (group, plural, verb)
            for rule in some
            for group in rule["apiGroups"]
            for plural in rule["resources"]
            for verb in rule["verbs"]
        }

    for part in ("read", "native"):
        whole = rights(rules(f"enforcer-{part}.yaml", "ClusterRole"))
        within = rights(rules(f"enforcer-namespaced-{part}.yaml", "Role"))
        assert {each for each in whole if each[1] not in OF_NO_NAMESPACE} == within
    assert rules("enforcer-native.yaml", "Role") == rules("enforcer-namespaced-own.yaml", "Role")

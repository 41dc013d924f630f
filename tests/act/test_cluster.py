"""On a real control plane, under the rights of deploy/rbac: stopped, seen to go, and started again as it was."""

import threading
import time
from collections.abc import Iterator

import pytest
import yaml

from enforcer.act.actor import Actor
from enforcer.act.doing import Doing
from enforcer.act.leader import Leader
from enforcer.act.mark import STOPPED, is_marked
from enforcer.act.restore import Asked, restore, stopped_since
from enforcer.act.way import NOTEBOOK_STOPPED, SCALED_WAY, WAYS, RunWay
from enforcer.audit.deed import Phase
from enforcer.plan import Act
from tests.act.acting import (
    ROLES,
    UNDER,
    Paper,
    at_rest,
    doing,
    enforcers_token,
    fine,
    make_job,
    make_set,
    order,
    owner_path,
    pods_of,
    running,
    template,
    wire,
)
from tests.servers.controlplane import ControlPlane
from tests.servers.fleet import Ground
from tests.servers.objects import define


@pytest.fixture(scope="module")
def token(control_plane: ControlPlane) -> str:
    """Of the service account that deploy/rbac makes: a call that it does not allow fails the test."""
    return enforcers_token(control_plane)


@pytest.fixture
def paper() -> Paper:
    return Paper()


@pytest.fixture
def acts(ground: Ground, paper: Paper, token: str) -> Iterator[Doing]:
    ground.node(gpus=8)
    made = doing(ground.plane, paper, token=token)
    yield made
    made.close()


def gone(ground: Ground, name: str) -> None:
    ground.wait(f"{ground.path}/pods?labelSelector=of={name}", lambda found: not found["items"])


def put_back(ground: Ground, acts: Doing) -> None:
    """Restore all that is stopped in the test's own namespace."""
    found = [
        each
        for each in stopped_since(acts, 0).found
        if each.object["metadata"]["namespace"] == ground.namespace
    ]
    restore(acts, found, Asked("c", "person-x"), {})


def test_a_job_is_suspended_and_runs_again_and_has_not_failed(ground: Ground, acts: Doing, paper: Paper):
    make_job(ground, "j", pods=2)
    pods = running(ground, "of=j", 2)
    path = owner_path(ground, "Job", "j")
    at_rest(ground, path, ready=2)
    Actor(acts).carry_out([order(ground, Act.STOP, "Job", "j", pods=pods)], UNDER, fine)
    assert paper.outcomes() == [("stop", "j", "done")], [each.words for each in paper.rows]
    gone(ground, "j")
    job = at_rest(ground, path)
    assert job["spec"]["suspend"] is True
    assert "failed" not in job["status"]
    put_back(ground, acts)
    running(ground, "of=j", 2)
    job = at_rest(ground, path, ready=2)
    assert (job["spec"]["suspend"], job["status"]["active"], is_marked(job)) == (False, 2, False)
    assert "failed" not in job["status"]
    assert paper.outcomes()[1:] == [("restore", "j", "done")]


def test_the_owner_gets_what_is_freed_for_it_and_no_rival_does(ground: Ground, acts: Doing, paper: Paper):
    """On eight GPUs a borrower runs, a rival waits, and the owner was held back: held, stopped, started, in order."""
    make_job(ground, "owner", 8)
    running(ground, "of=owner", 8)
    at_rest(ground, owner_path(ground, "Job", "owner"), ready=8)
    Actor(acts).carry_out([order(ground, Act.HOLD, "Job", "owner")], UNDER, fine)
    gone(ground, "owner")
    make_job(ground, "victim", 8)
    pods = running(ground, "of=victim", 8)
    make_job(ground, "rival", 8)
    for name, ready in (("victim", 8), ("rival", 0), ("owner", 0)):
        at_rest(ground, owner_path(ground, "Job", name), ready=ready)
    orders = [
        order(ground, Act.HOLD, "Job", "rival"),
        order(ground, Act.STOP, "Job", "victim", position=1, pods=pods),
        order(ground, Act.START, "Job", "owner", position=2),
    ]
    deeds = Actor(acts).carry_out(orders, UNDER, fine)
    assert [each.result for each in deeds] == ["", "", "", "done", "done", "done"], [
        each.words for each in deeds
    ]
    running(ground, "of=owner", 8)
    assert pods_of(ground, "of=rival") == pods_of(ground, "of=victim") == []


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet"])
def test_a_set_is_scaled_to_zero_and_back(kind: str, ground: Ground, acts: Doing, paper: Paper):
    make_set(ground, kind, "s", 3)
    pods = running(ground, "of=s", 3)
    path = owner_path(ground, kind, "s")
    before = at_rest(ground, path)["spec"]
    Actor(acts).carry_out([order(ground, Act.STOP, kind, "s", pods=pods)], UNDER, fine)
    assert paper.outcomes() == [("stop", "s", "done")], [each.words for each in paper.rows]
    gone(ground, "s")
    put_back(ground, acts)
    running(ground, "of=s", 3)
    assert ground.plane.call("GET", path)["spec"] == before
    assert is_marked(ground.plane.call("GET", path)) is False


class NotebookController(threading.Thread):
    """As Kubeflow's does: a StatefulSet a notebook, of one pod or of none, by the annotation."""

    def __init__(self, ground: Ground, name: str) -> None:
        super().__init__(daemon=True)
        self.ground, self.name, self.ended = ground, name, threading.Event()

    def run(self) -> None:  # pyright: ignore[reportImplicitOverride]
        plane, path = self.ground.plane, owner_path(self.ground, "StatefulSet", self.name)
        while not self.ended.wait(0.05):
            notebook = plane.call("GET", owner_path(self.ground, "Notebook", self.name))
            wanted = 0 if NOTEBOOK_STOPPED in notebook["metadata"].get("annotations", {}) else 1
            if plane.call("GET", path)["spec"]["replicas"] != wanted:
                plane.call("PATCH", path, {"spec": {"replicas": wanted}}, "application/merge-patch+json")


def make_notebook(ground: Ground, name: str) -> None:
    define(
        ground.plane,
        "kubeflow.org",
        "v1",
        "Notebook",
        "notebooks",
        spec={"x": {"type": "string"}},
        namespaced=True,
    )
    body = {"apiVersion": "kubeflow.org/v1", "kind": "Notebook", "metadata": {"name": name}}
    base = owner_path(ground, "Notebook", "").rstrip("/")
    notebook = ground.plane.call("POST", base, body)
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "Notebook", "name": name, "controller": True}
    spec = {
        "replicas": 1,
        "serviceName": name,
        "selector": {"matchLabels": {"of": name}},
        "template": template(ground, f"of={name}"),
    }
    metadata = {"name": name, "ownerReferences": [owner | {"uid": notebook["metadata"]["uid"]}]}
    sets = owner_path(ground, "StatefulSet", "").rstrip("/")
    ground.plane.call("POST", sets, {"metadata": metadata, "spec": spec})


@pytest.fixture
def notebook(ground: Ground) -> Iterator[str]:
    make_notebook(ground, "nb")
    controller = NotebookController(ground, "nb")
    controller.start()
    yield "nb"
    controller.ended.set()
    controller.join()


def test_a_notebook_is_stopped_by_its_annotation(ground: Ground, acts: Doing, paper: Paper, notebook: str):
    pods = running(ground, f"of={notebook}", 1)
    Actor(acts).carry_out([order(ground, Act.STOP, "Notebook", notebook, pods=pods)], UNDER, fine)
    assert paper.outcomes() == [("stop", "nb", "done")], [each.words for each in paper.rows]
    put_back(ground, acts)
    running(ground, f"of={notebook}", 1)
    found = ground.plane.call("GET", owner_path(ground, "Notebook", notebook))
    assert not found["metadata"].get("annotations")


def test_a_deployments_mark_is_copied_to_its_replica_set_and_that_is_not_restored(
    ground: Ground, acts: Doing, paper: Paper
):
    make_set(ground, "Deployment", "d", 1)
    pods = running(ground, "of=d", 1)
    at_rest(ground, owner_path(ground, "Deployment", "d"))
    Actor(acts).carry_out([order(ground, Act.STOP, "Deployment", "d", pods=pods)], UNDER, fine)
    sets = owner_path(ground, "ReplicaSet", "").rstrip("/")
    ground.wait(sets, lambda found: any(is_marked(each) for each in found["items"]))
    mine = [each.title for each in stopped_since(acts, 0).found if ground.namespace in each.title]
    assert mine == [f"Deployment/{ground.namespace}/d"]


def test_the_role_is_all_that_is_needed_and_names_no_kind_without_a_way():
    roles = list(yaml.safe_load_all(ROLES.read_text(encoding="utf-8")))
    rules = next(each for each in roles if each["kind"] == "ClusterRole")["rules"]
    patched = {
        (group, plural)
        for rule in rules
        if "patch" in rule["verbs"]
        for group in rule["apiGroups"]
        for plural in rule["resources"]
    }
    ways = [*(each for each in WAYS.values() if not isinstance(each, RunWay)), SCALED_WAY]
    assert patched == {(each.group, each.plural) for each in ways} | {("", "pods")}
    verbs = {verb for each in roles for rule in each.get("rules", ()) for verb in rule["verbs"]}
    assert verbs == {"get", "list", "patch", "create", "update", "delete"}


def test_what_the_role_does_not_name_is_not_stopped(ground: Ground, paper: Paper):
    """A ReplicationController's rights are not there, nor anything's for a stranger's token."""
    ground.node(gpus=8)
    make_job(ground, "j")
    pods = running(ground, "of=j", 1)
    at_rest(ground, owner_path(ground, "Job", "j"), ready=1)
    stranger = ground.plane.service_account(ground.namespace, "stranger")
    acts = doing(ground.plane, paper, token=stranger)
    Actor(acts).carry_out([order(ground, Act.STOP, "Job", "j", pods=pods)], UNDER, fine)
    assert [each.phase for each in paper.rows] == [Phase.REFUSED]
    assert "forbidden" in paper.rows[0].words


def test_the_lease_is_within_the_rights(control_plane: ControlPlane, token: str):
    leader = Leader(wire(control_plane, token), "quartermaster", "a")
    leader.renew()
    assert (leader.epoch > 0, leader.trouble) == (True, "")
    leader.renew()
    leader.remove()
    assert leader.epoch == 0


@pytest.mark.parametrize(("kind", "victims"), [("Job", 16), ("StatefulSet", 16)])
def test_sixteen_victims_side_by_side(kind: str, victims: int, ground: Ground, acts: Doing, paper: Paper):
    """None comes back, no Job counts a failure, and it does not take sixteen times as long as one."""
    ground.node(gpus=8)
    names = [f"v{number}" for number in range(victims)]
    for name in names:
        make_job(ground, name) if kind == "Job" else make_set(ground, kind, name, 1)
    pods = {name: running(ground, f"of={name}", 1) for name in names}
    for name in names:
        at_rest(ground, owner_path(ground, kind, name), 0.05, ready=1 if kind == "Job" else None)
    orders = [
        order(ground, Act.STOP, kind, name, position=at, pods=pods[name]) for at, name in enumerate(names)
    ]
    began = time.monotonic()
    Actor(acts).carry_out(orders, UNDER, fine)
    took_s = time.monotonic() - began
    assert {each[2] for each in paper.outcomes()} == {"done"}, [each.words for each in paper.rows[-victims:]]
    assert took_s < 10
    ground.wait(f"{ground.path}/pods", lambda found: not found["items"])
    for name in names:
        owner = ground.plane.call("GET", owner_path(ground, kind, name))
        assert not owner["status"].get("failed")
        assert STOPPED in owner["metadata"]["annotations"]

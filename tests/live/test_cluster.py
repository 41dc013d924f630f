"""On a real control plane with fake GPU nodes: what a live cluster says, and what is planned on it."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from collector.kubernetes.settings import Settings
from collector.kubernetes.talk import connect
from collector.log import Log
from enforcer.act.mark import Mark
from enforcer.idleness import Findings
from enforcer.live.cluster import CONNECTIONS, LiveCluster
from enforcer.live.resources import WATCHED
from enforcer.plan import Act, Verdict
from enforcer.planner import plan
from enforcer.snapshot import Budget, Promise, Snapshot, Taking, Waiting, Workload
from quartermaster.clock import now_ms
from quartermaster.config.clusters import KubernetesPart
from quartermaster.config.policy import PolicyPart
from quartermaster.parts import GPU_PARTS
from quartermaster.team import Rule
from tests.enforcer.clusters import UTC
from tests.kube.test_cluster import PLACES, until
from tests.servers.controlplane import ControlPlane
from tests.servers.fleet import Ground
from tests.servers.objects import define, make, undefine
from tests.servers.process import Process
from tests.servers.test_kueue import KUEUE, job, queue

ROLES = Path(__file__).parents[2] / "deploy" / "rbac" / "enforcer-read.yaml"
RULES = (
    Rule("owners", label_key="team", label_value="owners"),
    Rule("borrowers", label_key="team", label_value="borrowers"),
)
G = GPU_PARTS
Clusters = Callable[..., LiveCluster]


@pytest.fixture
def enforcers_token(control_plane: ControlPlane) -> str:
    """A token of the service account that deploy/rbac makes, with the rights to read alone."""
    for each in yaml.safe_load_all(ROLES.read_text(encoding="utf-8")):
        make(control_plane, PLACES[each["kind"]], each)
    path = f"{PLACES['ServiceAccount']}/enforcer/token"
    return control_plane.call("POST", path, {"spec": {}})["status"]["token"]


@pytest.fixture
def clusters(control_plane: ControlPlane, enforcers_token: str) -> Iterator[Clusters]:
    """Watches the control plane, with the rights to read unless another token is given."""
    started: list[LiveCluster] = []

    def start(token: str = "", *, settles: bool = True) -> LiveCluster:
        path = control_plane.kubeconfig_of(token or enforcers_token)
        part = KubernetesPart.model_construct(kubeconfig=path, context=None, in_cluster=False)
        api = connect(part, "c", CONNECTIONS)
        live = LiveCluster(Settings("c", rules=RULES), api, now_ms, Log("plain"))
        started.append(live)
        live.start()
        if settles:
            until(lambda: live.settled)
        return live

    yield start
    for live in started:
        live.stop()


def template(ground: Ground, gpus: int, labels: dict[str, str], **spec: Any) -> dict[str, Any]:
    wanted = {"limits": {"nvidia.com/gpu": str(gpus)}}
    container = {"name": "main", "image": "example.test/work", "resources": wanted}
    return {"metadata": {"labels": labels}, "spec": ground.on_own_nodes({"containers": [container], **spec})}


def a_job(ground: Ground, name: str, gpus: int, pods: int, team: str, **metadata: Any) -> dict[str, Any]:
    spec = {
        "parallelism": pods,
        "completions": pods,
        "template": template(ground, gpus, {"team": team}, restartPolicy="Never"),
    }
    path = f"/apis/batch/v1/namespaces/{ground.namespace}/jobs"
    return ground.plane.call("POST", path, {"metadata": {"name": name, **metadata}, "spec": spec})


def bound(ground: Ground, count: int) -> None:
    ground.wait(
        f"{ground.path}/pods",
        lambda found: sum(pod["status"].get("phase") == "Running" for pod in found["items"]) >= count,
    )


def of(snapshot: Snapshot, ground: Ground) -> tuple[dict[str, Workload], dict[str, Waiting]]:
    """The test's own, by name."""
    return (
        {each.name: each for each in snapshot.workloads if each.namespace == ground.namespace},
        {each.name: each for each in snapshot.waiting if each.namespace == ground.namespace},
    )


def only(snapshot: Snapshot, ground: Ground) -> Snapshot:
    """The test's own part of it, in which no queue system is."""
    workloads, waiting = of(snapshot, ground)
    return replace(
        snapshot,
        nodes=tuple(each for each in snapshot.nodes if each.name in ground.nodes),
        workloads=tuple(workloads.values()),
        waiting=tuple(waiting.values()),
        queues_order=False,
        queues_reclaim=False,
    )


def settled_on(live: LiveCluster, ground: Ground, *names: str) -> Snapshot:
    """A snapshot in which all of these are, by name."""
    found: list[Snapshot] = []

    def there() -> bool:
        found[:] = [live.snapshot(now_ms())]
        workloads, waiting = of(found[0], ground)
        return {*names} <= {*workloads, *waiting}

    until(there)
    return found[0]


def test_what_a_real_cluster_says(clusters: Clusters, ground: Ground):
    node = ground.node(labels={"rack": "r1"})
    job = a_job(ground, "train", 1, 2, "borrowers", annotations={"quartermaster/exclude": "true"})
    apps = f"/apis/apps/v1/namespaces/{ground.namespace}/deployments"
    labels = {"app": "web"}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template(ground, 2, labels)}
    ground.plane.call("POST", apps, {"metadata": {"name": "web"}, "spec": spec})
    service = {"metadata": {"name": "web"}, "spec": {"selector": labels, "ports": [{"port": 80}]}}
    ground.plane.call("POST", f"{ground.path}/services", service)
    budgets = f"/apis/policy/v1/namespaces/{ground.namespace}/poddisruptionbudgets"
    budget = {"metadata": {"name": "web"}, "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels}}}
    ground.plane.call("POST", budgets, budget)
    bound(ground, 3)
    ground.wait(f"{budgets}/web", lambda found: found.get("status", {}).get("disruptionsAllowed") == 1)
    ground.pod("picky", gpus=8, labels={"team": "owners"}, nodeSelector={"rack": "r9"})
    live = clusters()
    found = settled_on(live, ground, "train", "web", "picky")
    workloads, waiting = of(found, ground)
    train, web = workloads["train"], workloads["web"]
    assert (train.uid, train.kind, train.team, train.way_down) == (
        job["metadata"]["uid"],
        "Job",
        "borrowers",
        "suspend",
    )
    assert train.spared_until_ms > now_ms(), "its people opted out"
    path = f"/apis/batch/v1/namespaces/{ground.namespace}/jobs/train"
    assert train.version == ground.plane.call("GET", path)["metadata"]["resourceVersion"]
    pods = {
        each["metadata"]["uid"]: each["metadata"]["resourceVersion"]
        for each in ground.plane.call("GET", f"{ground.path}/pods")["items"]
    }
    assert {(each.uid, each.version) for each in train.pods} <= pods.items()
    assert {(each.node, each.parts) for each in train.pods} == {(node, G)}
    assert all(each.bound_at_ms <= (each.started_at_ms or 0) <= now_ms() for each in train.pods)
    assert (train.serving, web.serving, web.kind) == (False, True, "Deployment")
    assert [each.budgets for each in web.pods] == [(f"{ground.namespace}/web",)]
    assert Budget(f"{ground.namespace}/web", 1) in found.budgets
    picky = waiting["picky"]
    assert (picky.kind, picky.team, picky.pods[0][0].selector) == ("Pod", "owners", (("rack", "r9"),))
    machine = next(each for each in found.nodes if each.name == node)
    assert (machine.pool, machine.ready, dict(machine.units)["nvidia.com/gpu"]) == (
        "nvidia-h100-80gb-hbm3",
        True,
        8,
    )
    assert 0 <= found.at_ms - found.seen_at_ms < 70_000


def test_an_owner_gets_the_newest_borrowers_job_with_its_real_version(clusters: Clusters, ground: Ground):
    ground.node()
    a_job(ground, "old", 2, 2, "borrowers")
    bound(ground, 2)
    time.sleep(1.1)  # the API's times are whole seconds
    newest = a_job(ground, "new", 4, 1, "borrowers")
    bound(ground, 3)
    live = clusters()
    settled_on(live, ground, "old", "new")
    live.changed.clear()
    a_job(ground, "mine", 4, 1, "owners")
    assert live.changed.wait(10), "a pending pod is told at once"
    found = settled_on(live, ground, "mine")
    pool = of(found, ground)[1]["mine"].pool
    promises = (Promise("owners", pool, 4 * G), Promise("borrowers", pool, 0))
    policy = PolicyPart.model_validate({"minimum_runtime": "1s", "bind_wait": "1s"})
    made = plan(only(live.snapshot(now_ms() + 2000, promises), ground), Findings(), policy, UTC)
    answer = next(each for each in made.answers if each.title.endswith("/mine"))
    assert answer.verdict is Verdict.TAKEN, answer.words
    (stop,) = [each for each in made.actions if each.act is Act.STOP]
    path = f"/apis/batch/v1/namespaces/{ground.namespace}/jobs/new"
    there = ground.plane.call("GET", path)["metadata"]
    assert (stop.target.uid, stop.target.version) == (there["uid"], there["resourceVersion"])
    assert there["uid"] == newest["metadata"]["uid"]
    (pod,) = stop.target.pods
    pods = ground.plane.call("GET", f"{ground.path}/pods?labelSelector=job-name%3Dnew")["items"]
    assert pod[:2] == (pods[0]["metadata"]["uid"], pods[0]["metadata"]["resourceVersion"])


def test_a_quota_refuses_a_job_its_pods(clusters: Clusters, ground: Ground):
    ground.node()
    quota = {"metadata": {"name": "few"}, "spec": {"hard": {"requests.nvidia.com/gpu": "2"}}}
    ground.plane.call("POST", f"{ground.path}/resourcequotas", quota)
    path = f"{ground.path}/resourcequotas/few"
    ground.wait(path, lambda found: "hard" in found.get("status", {}))
    live = clusters()
    a_job(ground, "wide", 2, 3, "owners")
    found = of(settled_on(live, ground, "wide"), ground)
    until(
        lambda: "wide" in (waiting := of(live.snapshot(now_ms()), ground)[1]) and waiting["wide"].count == 2
    )
    assert set(found[0]) | set(found[1]) == {"wide"}


def test_what_a_real_kueue_holds_back_waits_and_what_it_runs_is_stopped_in_its_queue(
    clusters: Clusters, ground: Ground, kueue: Process
):
    assert kueue.alive
    ground.node()
    queue(ground, 4)
    first = job(ground, "first", 4, ends_after_s=60)
    ground.wait(first, lambda found: found["status"].get("active", 0) == 1)
    second = ground.plane.call("GET", job(ground, "second", 4, ends_after_s=60))["metadata"]["uid"]
    found = settled_on(clusters(), ground, "first", "second")
    workloads, waiting = of(found, ground)
    admitted = {
        each["metadata"]["ownerReferences"][0]["name"]: each["metadata"]["resourceVersion"]
        for each in ground.plane.call("GET", f"{KUEUE}/namespaces/{ground.namespace}/workloads")["items"]
    }
    assert (workloads["first"].kind, workloads["first"].way_down, workloads["first"].version) == (
        *("Job", "deactivate in its queue"),
        admitted["first"],
    )
    assert (waiting["second"].uid, waiting["second"].parts, waiting["second"].way_down) == (second, 4 * G, "")
    assert (found.queues_order, found.queues_reclaim) == (True, True)


def test_owners_above_are_watched_and_what_was_stopped_is_seen_without_pods(
    clusters: Clusters, ground: Ground
):
    anything = {"x-kubernetes-preserve-unknown-fields": True, "type": "object"}
    spec = {"runPolicy": anything, "xgbReplicaSpecs": anything}
    kind, version = "XGBoostJob", "kubeflow.org/v1"
    define(ground.plane, "kubeflow.org", "v1", kind, "xgboostjobs", spec=spec, namespaced=True)
    path = f"/apis/{version}/namespaces/{ground.namespace}/xgboostjobs"

    def make_one(name: str, **more: Any) -> dict[str, Any]:
        body = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": more}
        return ground.plane.call("POST", path, body)["metadata"]

    def annotate(name: str, **notes: str) -> str:
        patch = {"metadata": {"annotations": {f"quartermaster/{key}": each for key, each in notes.items()}}}
        changed = ground.plane.call("PATCH", f"{path}/{name}", patch, "application/merge-patch+json")
        return changed["metadata"]["resourceVersion"]

    roles = {"Worker": {"replicas": 3, "template": template(ground, 2, {"team": "borrowers"})}}
    held = make_one("held", runPolicy={"suspend": True}, xgbReplicaSpecs=roles)["uid"]
    annotate("held", stopped=Mark(now_ms(), "c", "p", 1, "stop", held, {}).written())
    runs = make_one("runs")
    ground.node()
    live = clusters()
    takings = (Taking(held, "somebody", now_ms()),)
    (waiting,) = [each for each in live.snapshot(now_ms(), (), takings).waiting if each.uid == held]
    assert (waiting.kind, waiting.parts, waiting.held_back) == (kind, 6 * G, True)
    reference = {"apiVersion": version, "kind": kind, "name": "runs", "uid": runs["uid"], "controller": True}
    a_job(ground, "part", 1, 1, "borrowers", ownerReferences=[reference])
    bound(ground, 1)
    found = of(settled_on(live, ground, "runs"), ground)[0]["runs"]
    assert (found.kind, found.version, found.way_down) == (kind, runs["resourceVersion"], "suspend")
    now = annotate("runs", exclude="true")
    until(lambda: of(live.snapshot(now_ms()), ground)[0]["runs"].version == now)
    assert of(live.snapshot(now_ms()), ground)[0]["runs"].spared_until_ms > now_ms()


def test_owners_of_any_kind_are_watched_by_their_metadata_once_they_are_met(
    control_plane: ControlPlane, clusters: Clusters, ground: Ground
):
    define(control_plane, "example.test", "v1", "Season", "seasons", spec={}, namespaced=True)
    live = clusters(control_plane.token)
    path = f"/apis/example.test/v1/namespaces/{ground.namespace}/seasons"
    body = {"apiVersion": "example.test/v1", "kind": "Season", "metadata": {"name": "summer"}}
    made = control_plane.call("POST", path, body)["metadata"]
    reference = {**{key: body[key] for key in ("apiVersion", "kind")}, "name": "summer", "uid": made["uid"]}
    ground.node()
    a_job(ground, "part", 1, 1, "borrowers", ownerReferences=[{**reference, "controller": True}])
    bound(ground, 1)
    found = of(settled_on(live, ground, "summer"), ground)[0]["summer"]
    until(lambda: of(live.snapshot(now_ms()), ground)[0]["summer"].version == made["resourceVersion"])
    assert (found.kind, found.uid, found.way_down) == ("Season", made["uid"], "")


@pytest.fixture
def scaledobjects(control_plane: ControlPlane) -> Iterator[str]:
    """Where KEDA's objects are, on a server that knows them as long as the test runs."""
    target = {"scaleTargetRef": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    kind = ("keda.sh", "v1alpha1", "ScaledObject", "scaledobjects")
    define(control_plane, *kind, spec=target, namespaced=True)
    yield "/apis/keda.sh/v1alpha1/namespaces/{}/scaledobjects"
    undefine(control_plane, "keda.sh", "v1alpha1", "scaledobjects")


def test_what_keda_scales_and_a_cronjob_rest_on_what_is_patched(
    clusters: Clusters, ground: Ground, scaledobjects: str
):
    ground.node()
    labels = {"app": "web"}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template(ground, 1, labels)}
    apps = f"/apis/apps/v1/namespaces/{ground.namespace}/deployments"
    ground.plane.call("POST", apps, {"metadata": {"name": "web"}, "spec": spec})
    scaler = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": "s"}}
    path = scaledobjects.format(ground.namespace)
    scaler = ground.plane.call("POST", path, scaler | {"spec": {"scaleTargetRef": {"name": "web"}}})
    batch = f"/apis/batch/v1/namespaces/{ground.namespace}"
    job = {"spec": {"template": template(ground, 1, {}, restartPolicy="Never")}}
    cron = {"metadata": {"name": "nightly"}, "spec": {"schedule": "0 0 1 1 *", "jobTemplate": job}}
    made = ground.plane.call("POST", f"{batch}/cronjobs", cron)
    by = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": made["metadata"]["uid"]}
    metadata = {"name": "nightly-1", "ownerReferences": [by | {"controller": True}]}
    ground.plane.call("POST", f"{batch}/jobs", {"metadata": metadata, **job})
    bound(ground, 2)
    ground.wait(f"{batch}/jobs/nightly-1", lambda found: found["status"].get("ready") == 1)
    live = clusters()
    workloads, _ = of(settled_on(live, ground, "web", "nightly"), ground)
    web, nightly = workloads["web"], workloads["nightly"]
    assert (web.kind, web.way_down) == ("Deployment", "have KEDA scale it to zero")
    assert web.version == scaler["metadata"]["resourceVersion"]
    assert (nightly.kind, nightly.uid) == ("CronJob", made["metadata"]["uid"])
    assert nightly.way_down.startswith("suspend its run")
    run = ground.plane.call("GET", f"{batch}/jobs/nightly-1")
    assert nightly.version == run["metadata"]["resourceVersion"]
    assert "scaledobjects.keda.sh" not in live.troubles


def test_the_role_is_all_that_is_needed_and_names_all_that_is_watched(clusters: Clusters, ground: Ground):
    ground.node()
    live = clusters()
    watched = {each.name for each in WATCHED}
    refused = {name: said for name, said in live.troubles.items() if name in watched and "404" not in said}
    assert refused == {}, "what the cluster has may all be read"
    given = next(each for each in yaml.safe_load_all(ROLES.read_text()) if each["kind"] == "ClusterRole")
    named = {
        f"{plural}.{group}" if group else plural
        for rule in given["rules"]
        for group in rule["apiGroups"]
        for plural in rule["resources"]
    }
    above = {"daemonsets.apps", "cronjobs.batch"}
    assert {each for each in named if not each.startswith("*")} - above == watched
    assert {verb for rule in given["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}


def role_without(plane: ControlPlane, ground: Ground, group: str, resource: str) -> str:
    """A token of an account that may read all that the role has, but this."""
    name = f"{resource}-{ground.namespace}"
    token = plane.service_account(ground.namespace, name)
    given = next(each for each in yaml.safe_load_all(ROLES.read_text()) if each["kind"] == "ClusterRole")
    rules = [
        {**rule, "resources": kept}
        for rule in given["rules"]
        if (kept := [each for each in rule["resources"] if (group, each) != (rule["apiGroups"][0], resource)])
    ]
    make(plane, PLACES["ClusterRole"], {"metadata": {"name": name}, "rules": rules})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": ground.namespace}
    binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]}
    make(plane, PLACES["ClusterRoleBinding"], binding)
    return token


@pytest.mark.parametrize(
    ("group", "resource"), [("policy", "poddisruptionbudgets"), ("resource.k8s.io", "resourceclaims")]
)
def test_without_a_right_that_a_plan_needs_there_is_no_picture(
    control_plane: ControlPlane, clusters: Clusters, ground: Ground, group: str, resource: str
):
    live = clusters(role_without(control_plane, ground, group, resource), settles=False)
    until(lambda: live._widened and all(each.state.settled for each in live._watchers))
    assert (live.settled, live.seen_at_ms) == (False, 0)
    assert "403" in live.troubles[f"{resource}.{group}"]
    made = plan(live.snapshot(now_ms()), Findings(), PolicyPart(), UTC)
    assert made.actions == ()
    assert "picture of the cluster" in made.notes[0]


def test_without_a_right_that_makes_plans_poorer_what_is_lost_is_not_understood(
    control_plane: ControlPlane, clusters: Clusters, ground: Ground
):
    live = clusters(role_without(control_plane, ground, "", "persistentvolumeclaims"))
    ground.node()
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    ground.pod("reads", gpus=1, labels={"team": "owners"}, volumes=[volume])
    waiting = of(settled_on(live, ground, "reads"), ground)[1]["reads"]
    assert waiting.pods[0][0].unsure == ("a volume that is not there yet",)

"""Who holds GPUs: pods of an owner as a workload, with all that decides whether it may be taken."""

from typing import Any

import pytest

from collector.kubernetes.stream import ADDED, BEGIN, SYNCED, Event
from enforcer.act.way import ways_of
from enforcer.idleness import Evidence, Findings, Idle, Notice
from enforcer.live.places import NODES_UNSEEN
from enforcer.live.reading import Reading
from enforcer.planner import plan
from enforcer.snapshot import FOREVER_MS, Budget
from quartermaster.clock import DAY_MS, HOUR_MS
from quartermaster.config.kinds import KindPart
from quartermaster.config.policy import PolicyPart
from tests.enforcer.clusters import UTC
from tests.kube.raws import G, at, claim, device, iso, node, pod, resource_slice, with_claims
from tests.kube.test_demand import workload
from tests.live.telling import Told, above, cover, owned, owner

JOB = owned("Job", "train")


def a_job(**more: Any) -> Told:
    """A node, a Job and one pod of it that runs there."""
    told = Told().see("nodes", node()).see("jobs", owner("train"))
    return told.see("pods", pod("a", 2, owner=JOB, started=3, resourceVersion="9", **more))


def test_a_job_and_its_pod():
    found = a_job(labels={"tier": "batch"}).workload()
    assert (found.uid, found.kind, found.namespace, found.name) == ("uid-train", "Job", "ns", "train")
    assert (found.team, found.pool) == ("vision", "nvidia-h100-80gb-hbm3")
    assert (found.version, found.way_down) == ("7", "suspend"), (
        "the version is of the owner, which is patched"
    )
    assert (found.preemptible, found.serving, found.priority) == (True, False, 0)
    assert found.labels["tier"] == "batch"
    (one,) = found.pods
    assert (one.uid, one.version, one.node, one.parts) == ("uid-a", "9", "n1", 2 * G)
    assert (one.bound_at_ms, one.started_at_ms, one.terminating) == (at(1), at(3), False)
    assert one.shape.units == (("nvidia.com/gpu", 2),)


def test_a_workload_is_all_its_pods_those_without_gpus_too():
    told = a_job().see("pods", pod("launcher", 0, owner=JOB, started=2))
    assert [(each.name, each.parts) for each in told.workload().pods] == [("a", 2 * G), ("launcher", 0)]


def test_what_has_no_gpus_is_no_workload_and_takes_room_on_its_node():
    cpu = {
        "containers": [
            {"name": "m", "resources": {"requests": {"cpu": "1500m", "memory": "2Gi", "rdma/ib": "1"}}}
        ]
    }
    told = Told().see("nodes", node(capacity={"rdma/ib": "4", "pods": "250"}))
    before = told.snapshot().nodes[0]
    after = told.see("pods", pod("web", 0, spec=cpu)).snapshot()
    assert after.workloads == ()
    (now,) = after.nodes
    assert (before.cpu_milli - now.cpu_milli, before.memory_mib - now.memory_mib) == (1500, 2048)
    assert (before.most_pods, now.most_pods) == (250, 249)
    assert (dict(before.units)["rdma/ib"], dict(now.units)["rdma/ib"]) == (4, 3)


def test_what_is_over_or_on_its_way_out():
    told = a_job().see("pods", pod("b", 1, owner=JOB, phase="Succeeded", finished=50))
    assert [each.name for each in told.workload().pods] == ["a"]
    told.see("pods", pod("a", 2, owner=JOB, started=3, deletionTimestamp=iso(990)))
    assert [each.terminating for each in told.workload().pods] == [True]
    told.gone("pods", pod("a", 2, owner=JOB))
    assert told.snapshot().workloads == ()


def test_the_workload_is_the_top_owner_and_its_version_is_that_ones():
    told = Told().see("nodes", node())
    told.see("pods", pod("a", owner=owned("ReplicaSet", "rs", "apps/v1"), started=3))
    assert told.workload().way_down == "", "who owns the ReplicaSet is not known yet"
    told.see("replicasets", owner("rs", **above("Deployment", "web", "apps/v1")))
    told.see("deployments", owner("web", resourceVersion="11"))
    found = told.workload()
    assert (found.kind, found.uid, found.version, found.way_down) == (
        "Deployment",
        "uid-web",
        "11",
        "scale to zero",
    )


def test_owners_of_kinds_that_are_not_watched_are_wanted_and_their_metadata_is_enough():
    told = Told().see("nodes", node())
    told.see("pods", pod("a", owner=owned("PyTorchJob", "llm", "kubeflow.org/v1"), started=3))
    assert list(told.scene.wanted) == [("kubeflow.org", "PyTorchJob")]
    assert told.workload().way_down == ""
    bare = {"metadata": {"name": "llm", "namespace": "ns", "uid": "uid-llm", "resourceVersion": "5"}}
    found = told.see("above kubeflow.org/v1 PyTorchJob", bare).workload()
    assert (found.uid, found.version, found.way_down) == ("uid-llm", "5", "suspend")
    told.gone("above kubeflow.org/v1 PyTorchJob", bare)
    assert told.workload().way_down == "", "an owner that is gone is not acted upon"


def test_a_kind_that_the_configuration_states_is_stopped_as_it_says_and_no_other_of_its_name():
    held = KindPart(kind="Run", group="ml.example.test", plural="runs", field="/spec/hold", down=True)
    for group, words in (("ml.example.test", "set spec.hold to true"), ("others.test", "")):
        told = Told(ways_of([held])).see("nodes", node())
        told.see("pods", pod("a", owner=owned("Run", "llm", f"{group}/v1"), started=3))
        bare = {"metadata": {"name": "llm", "namespace": "ns", "uid": "uid-llm", "resourceVersion": "5"}}
        found = told.see(f"above {group}/v1 Run", bare).workload()
        assert (found.kind, found.version, found.way_down) == ("Run", "5", words)


def test_an_owner_that_may_not_be_read_ends_the_walk_and_is_left_alone():
    told = Told().see("nodes", node())
    told.see("pods", pod("a", owner=owned("PyTorchJob", "llm", "kubeflow.org/v1"), started=3))
    told.scene.unreadable.add(("kubeflow.org", "PyTorchJob"))
    found = told.workload()
    assert (found.uid, found.kind, found.version, found.way_down) == ("uid-llm", "PyTorchJob", "", "")


def test_nobody_gets_into_anothers_workload_by_naming_its_owner():
    told = a_job().see("pods", pod("evil", 4, owner=JOB, started=3, namespace="speech", labels=EXCLUDED))
    told.see("pods", pod("too", 4, owner=JOB, started=3, namespace="speech"))
    found = {each.name: each for each in told.snapshot().workloads}
    assert {name: (each.kind, each.team) for name, each in found.items()} == {
        "train": ("Job", "vision"),
        "evil": ("Pod", "speech"),
        "too": ("Pod", "speech"),
    }
    assert found["train"].spared_until_ms == 0
    assert [each.name for each in found["train"].pods] == ["a"]


EXCLUDED = {"quartermaster/exclude": "true"}


def test_what_kueue_has_one_object_for_is_stopped_by_that():
    told = a_job().see("jobs", relabelled("train", {"kueue.x-k8s.io/queue-name": "team-a"}))
    admitted = workload(Admitted="True")
    admitted["metadata"] |= {"resourceVersion": "77", **above("Job", "train", "batch/v1")}
    found = told.see("workloads", admitted).workload()
    assert (found.way_down, found.version) == ("deactivate in its queue", "77")
    elsewhere = {**admitted, "metadata": {**admitted["metadata"], "uid": "uid-evil", "namespace": "evil"}}
    assert told.see("workloads", elsewhere).workload() == found, "of another namespace it is nobody's"


def test_what_a_list_of_one_namespace_leaves_out_is_not_missed_in_another():
    told = Told(has_nodes=False)
    for name in ("ns", "speech"):
        told.scene.apply(Event(at(900), "pods", BEGIN, within=name))
        told.scene.apply(Event(at(900), "pods", ADDED, pod(f"in-{name}", namespace=name, started=3), name))
        told.scene.apply(Event(at(900), "pods", SYNCED, within=name))
    assert {each.namespace for each in told.snapshot().workloads} == {"ns", "speech"}
    told.scene.apply(Event(at(901), "pods", BEGIN, within="ns"))
    told.scene.apply(Event(at(901), "pods", SYNCED, within="ns"))
    assert {each.namespace for each in told.snapshot().workloads} == {"speech"}


def test_without_nodes_the_ledger_has_the_pools_and_nobody_is_taken_for_those_who_wait():
    told = Told(has_nodes=False).see("jobs", owner("train")).see("pods", pod("a", 2, owner=JOB, started=3))
    for pools, expected in (({}, "unknown"), ({"n1": "training"}, "training"), ({"n2": "x"}, "unknown")):
        found = Reading(told.scene, at(1000), pools).snapshot(at(1000), (), ())
        assert [(each.pool, each.pods[0].parts) for each in found.workloads] == [(expected, 2 * G)]
    waits = Told(has_nodes=False).see("pods", pod("b", bound=None, labels={}))
    assert waits.shape().unsure == (NODES_UNSEEN,)


def test_a_bare_pod_is_never_taken_and_it_is_said_that_nothing_brings_it_back():
    snapshot = Told().see("nodes", node()).see("pods", pod("a", 2, started=3)).snapshot(seconds=3 * 86_400)
    (workload,) = snapshot.workloads
    evidence = Evidence("gpu-0", 1000, ("gr_engine", "power"), (), snapshot.at_ms - 1000, 30_000)
    told = tuple(
        Notice(stage, snapshot.at_ms - ago * HOUR_MS) for stage, ago in (("warn", 20), ("again", 10))
    )
    idle = Idle(workload.uid, snapshot.at_ms - 2 * DAY_MS, (evidence,), notices=told)
    ladder = {"kinds": ("Pod",), "warn": "1h", "again": "2h", "take": "3h", "in_business_hours": True}
    policy = PolicyPart.model_validate({"idle": (ladder,)})
    made = plan(snapshot, Findings((idle,), frozenset({workload.pool})), policy, UTC)
    assert made.actions == ()
    assert [(each.title, each.reason) for each in made.spared] == [("Pod ns/a", "nothing brings it back")]


HUB_POD = {"hub.jupyter.org/username": "ada", "component": "singleuser-server"}


def test_a_pod_of_a_hub_that_is_configured_is_stopped_through_it():
    served = Told(hubs=frozenset({"ns"})).see("nodes", node())
    found = served.see("pods", pod("jupyter-ada", started=3, labels=HUB_POD, resourceVersion="9")).workload()
    assert (found.kind, found.uid, found.version) == ("workspace", "uid-jupyter-ada", "9")
    assert found.way_down == "stop its server through the Hub"
    assert found.lost_for_good == ("what its processes have in memory", "work that is not saved")
    others: list[tuple[dict[str, str], dict[str, Any]]] = [
        ({"hub.jupyter.org/username": "ada"}, {}),
        (HUB_POD, {"namespace": "speech"}),
        (HUB_POD, {"owner": owned("StatefulSet", "s", "apps/v1")}),
        ({"component": "singleuser-server"}, {}),
    ]
    for labels, more in others:
        other = Told(hubs=frozenset({"ns"})).see("nodes", node()).see("pods", pod("a", labels=labels, **more))
        assert other.workload().way_down == "", (labels, more)


def test_bare_pods_workspaces_and_what_a_queue_manages_have_no_way_down():
    bare = Told().see("nodes", node()).see("pods", pod("a", started=3)).workload()
    assert (bare.kind, bare.uid, bare.way_down) == ("Pod", "uid-a", "")
    hub = pod("jupyter-ada", started=3, labels={"hub.jupyter.org/username": "ada"})
    workspace = Told().see("nodes", node()).see("pods", hub).workload()
    assert (workspace.kind, workspace.way_down) == ("workspace", "")
    assert "ada" not in workspace.labels.values(), "a person's name is not in a plan"
    queued = a_job()
    assert queued.workload().way_down == "suspend"
    queued.see("jobs", relabelled("train", {"kueue.x-k8s.io/queue-name": "team-a"}))
    assert queued.workload().way_down == "suspend", "there is no Kueue: its label is a label"
    assert queued.listing("workloads").workload().way_down == ""


@pytest.mark.parametrize(
    ("labels", "preemptible"),
    [
        ({}, True),
        ({"quartermaster/borrowable": "true"}, True),
        ({"quartermaster/borrowable": "false"}, False),
        ({"quartermaster/borrowable": "perhaps"}, True),
        ({"kai.scheduler/preemptibility": "non-preemptible"}, False),
        ({"kai.scheduler/preemptibility": "non-preemptible", "quartermaster/borrowable": "true"}, True),
    ],
)
def test_who_may_be_preempted(labels: dict[str, str], preemptible: bool):
    assert a_job(labels=labels).workload().preemptible is preemptible


def test_one_pod_or_the_owner_that_is_not_preemptible_is_enough():
    told = a_job().see("pods", pod("b", owner=JOB, labels={"quartermaster/borrowable": "false"}))
    assert told.workload().preemptible is False
    told = a_job().see("jobs", relabelled("train", {"quartermaster/borrowable": "false"}))
    assert told.workload().preemptible is False


def relabelled(name: str, labels: dict[str, str]) -> dict[str, Any]:
    made = owner(name)
    return {**made, "metadata": {**made["metadata"], "labels": labels}}


@pytest.mark.parametrize(
    ("where", "told", "until"),
    [
        ("labels", {"quartermaster/exclude": "true"}, FOREVER_MS),
        ("annotations", {"quartermaster/exclude": "true"}, FOREVER_MS),
        ("annotations", {"quartermaster/exclude-until": "2026-11-30T18:00:00Z"}, at(6 * 3600)),
        ("annotations", {"quartermaster/exclude-until": "when I am back"}, FOREVER_MS),
        ("annotations", {"quartermaster/exclude": "false"}, 0),
        ("annotations", {"other/exclude": "true"}, 0),
    ],
)
def test_opting_out_on_the_pod_or_on_any_owner(where: str, told: dict[str, str], until: int):
    on_pod: dict[str, Any] = {where: told}
    assert a_job(**on_pod).workload().spared_until_ms == until
    made = owner("train")
    on_owner = {**made, "metadata": {**made["metadata"], where: told}}
    assert a_job().see("jobs", on_owner).workload().spared_until_ms == until


@pytest.mark.parametrize(
    ("written", "saved"),
    [
        (iso(500), at(500)),
        ("2026-11-30T12:08:20.5+00:00", at(500.5)),
        (iso(5000), None),
        ("0001-01-01T00:00:00Z", None),
        ("9999-12-31T23:59:59Z", None),
        ("yesterday", None),
        ("", None),
        ("5" * 60_000, None),
    ],
)
def test_checkpoints_as_an_annotation_states_them(written: str, saved: int | None):
    annotations = {"quartermaster/checkpoint-at": written}
    assert a_job(annotations=annotations).workload().checkpoint_at_ms == saved
    made = owner("train", annotations=annotations)
    assert a_job().see("jobs", made).workload().checkpoint_at_ms == saved


def test_keeping_by_annotation_is_told_beside_the_snapshot():
    told = a_job(annotations={"quartermaster/keep-until": iso(7200)})
    assert told.reading().kept_until_ms() == {"uid-train": at(7200)}
    assert a_job(annotations={"quartermaster/keep-until": "for ever"}).reading().kept_until_ms() == {}


@pytest.mark.parametrize(
    ("selector", "covers"),
    [
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "other"}}, False),
        ({}, True),
        (None, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "web"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "Resembles", "values": ["web"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["x"] * 5000}]}, True),
    ],
)
def test_budgets_that_cover_a_pod(selector: Any, covers: bool):
    told = a_job(labels={"app": "web"}).see(
        "poddisruptionbudgets",
        cover("keep", selector, disruptionsAllowed=2),
        cover("elsewhere", {}, namespace="other", disruptionsAllowed=3),
    )
    found = told.snapshot()
    assert [each.budgets for each in found.workloads[0].pods] == [("ns/keep",) if covers else ()]
    assert set(found.budgets) <= {Budget("ns/keep", 2), Budget("other/elsewhere", 3)}
    assert (Budget("ns/keep", 2) in found.budgets) is (selector is not None)


def test_a_budget_that_its_controller_has_not_seen_lets_none_go():
    stale = cover("keep", {}, disruptionsAllowed=2)
    stale["metadata"]["generation"] = 5
    assert a_job().see("poddisruptionbudgets", stale).snapshot().budgets == (Budget("ns/keep", 0),)
    absurd = cover("keep", {}, disruptionsAllowed=-3)
    assert a_job().see("poddisruptionbudgets", absurd).snapshot().budgets == (Budget("ns/keep", 0),)


def test_a_budget_that_changes_or_goes_counts_at_once():
    told = a_job().see("poddisruptionbudgets", cover("keep", {}, disruptionsAllowed=1))
    assert told.workload().pods[0].budgets == ("ns/keep",)
    told.gone("poddisruptionbudgets", cover("keep", {}))
    assert told.workload().pods[0].budgets == ()


def deployed(kind: str = "Deployment") -> Told:
    told = Told().see("nodes", node())
    plural = {"Deployment": "deployments", "StatefulSet": "statefulsets", "Job": "jobs"}[kind]
    version = "batch/v1" if kind == "Job" else "apps/v1"
    told.see(plural, owner("web"))
    return told.see("pods", pod("a", owner=owned(kind, "web", version), labels={"app": "web"}, started=3))


@pytest.mark.parametrize(("kind", "serving"), [("Deployment", True), ("StatefulSet", True), ("Job", False)])
def test_who_serves_stands_behind_a_service(kind: str, serving: bool):
    told = deployed(kind)
    assert told.workload().serving is False
    told.see("services", cover("front", {"app": "web"}))
    assert told.workload().serving is serving


def test_a_service_without_a_selector_or_for_others_stands_before_nobody():
    told = deployed().see("services", cover("a", {}), cover("b", {"app": "x"}), cover("c", None))
    told.see("services", cover("d", {"app": "web"}, namespace="other"))
    assert told.workload().serving is False


def test_kinds_that_always_serve():
    told = Told().see("nodes", node())
    told.see("pods", pod("a", owner=owned("InferenceService", "x", "serving.kserve.io/v1beta1"), started=3))
    told.see("above serving.kserve.io/v1beta1 InferenceService", owner("x"))
    assert told.workload().serving is True


def test_what_time_slices_instances_and_claims_are_in_parts():
    slices = node("n2", 40, labels={"nvidia.com/gpu.replicas": "10", "nvidia.com/gpu.count": "4"})
    mig = node("n3", 0, capacity={"nvidia.com/mig-1g.10gb": "7"}, labels={"nvidia.com/gpu.product": "H100"})
    told = Told().see("nodes", slices, mig, node("n4", 0, labels={"nvidia.com/gpu.product": "x"}))
    told.see("resourceslices", resource_slice([device(0), device(1)], name="s", node="n4"))
    instance = {"containers": [{"name": "m", "resources": {"limits": {"nvidia.com/mig-1g.10gb": "2"}}}]}
    told.see(
        "pods", pod("slice", 1, node="n2", started=3), pod("mig", 0, node="n3", started=3, spec=instance)
    )
    told.see("resourceclaims", claim("g", ["gpu-0"], ["dra"], node="n4"))
    told.see("pods", pod("dra", 0, node="n4", started=3, spec=with_claims("g")))
    found = told.snapshot()
    held = {each.name: sum(one.parts for one in each.pods) for each in found.workloads}
    assert held == {"slice": G // 10, "mig": 2 * G // 7, "dra": G}
    parts = {
        each.name: sum(dict(each.unit_parts).get(unit, 0) * count for unit, count in each.units)
        for each in found.nodes
    }
    assert parts == {"n2": 4 * G, "n3": G // 7 * 7, "n4": 2 * G}


def test_kais_reservations_hold_for_others_and_its_fractions_hold_what_they_say():
    told = Told().see("nodes", node(gpus=2))
    told.see("pods", pod("reserve", 1, namespace="kai-resource-reservation", started=3))
    told.see("pods", pod("half", 0, annotations={"gpu-fraction": "0.5"}, started=3))
    found = told.snapshot()
    assert [(each.name, each.pods[0].parts) for each in found.workloads] == [("half", G // 2)]
    assert dict(found.nodes[0].units)["nvidia.com/gpu"] == 1


def test_two_clusters_with_the_same_names_stay_apart():
    one, other = a_job(), Told(cluster="d")
    assert one.snapshot().cluster == "c"
    assert (other.snapshot().cluster, other.snapshot().workloads) == ("d", ())

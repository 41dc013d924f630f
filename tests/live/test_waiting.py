"""Who waits: pods that are not bound, what a quota refuses, what a queue or the enforcer holds back."""

from typing import Any

import pytest

from enforcer.act.mark import STOPPED, Mark
from enforcer.shape import Need, Toleration
from enforcer.snapshot import Taking
from tests.kube.raws import G, at, claim, gpu_container, iso, node, pod, with_claims
from tests.kube.test_demand import event, workload
from tests.live.telling import Told, above, owned, owner

JOB = owned("Job", "train")
CLASS = {"metadata": {"name": "high"}, "value": 1000}


def pending(name: str = "a", gpus: object = 2, **more: Any) -> dict[str, Any]:
    return pod(name, gpus, bound=None, owner=JOB, **more)


def test_pods_that_are_not_bound_wait_as_their_owner():
    told = Told().see("nodes", node()).see("jobs", owner("train"))
    told.see("pods", pending(creationTimestamp=iso(60)), pending("b", creationTimestamp=iso(40)))
    found = told.waiting()
    assert (found.uid, found.kind, found.name, found.version) == ("uid-train", "Job", "train", "7")
    assert (found.team, found.pool, found.since_ms) == ("vision", "nvidia-h100-80gb-hbm3", at(40))
    assert [(shape.units, count, parts) for shape, count, parts in found.pods] == [
        ((("nvidia.com/gpu", 2),), 2, 2 * G)
    ]
    assert (found.held_back, found.way_down, found.gang_minimum) == (False, "suspend", 1)


def test_it_is_told_to_who_waits_for_a_change():
    told = Told().see("nodes", node()).see("jobs", owner("train"))
    assert told.see("pods", pending()).mattered == [True]
    assert told.see("pods", pending()).mattered == [False], "the scheduler's words alone change no plan"
    assert told.see("pods", pod("a", 2, owner=JOB)).mattered == [False], "it is bound"
    assert told.see("pods", pod("a", 2, owner=JOB, deletionTimestamp=iso(1))).mattered == [True]
    assert told.gone("pods", pod("a", 2, owner=JOB)).mattered == [True], "GPUs are free"
    assert told.see("pods", pod("w", 0, bound=None)).mattered == [False]
    assert told.see("nodes", node(spec={"unschedulable": True})).mattered == [True]


@pytest.mark.parametrize(
    "more",
    [
        {"spec": {"schedulingGates": [{"name": "queue"}]}},
        {"deletionTimestamp": iso(5)},
        {"phase": "Failed", "status": {"phase": "Failed"}},
        {"gpus": 0},
    ],
)
def test_what_no_scheduler_is_to_bind_does_not_wait(more: dict[str, Any]):
    told = Told().see("nodes", node()).see("jobs", owner("train")).see("pods", pending(**more))
    assert told.snapshot().waiting == ()


def test_who_waits_is_told_once_its_owners_are_known():
    told = Told().see("nodes", node()).see("pods", pending())
    assert told.snapshot().waiting == ()
    assert told.see("jobs", owner("train")).mattered == [True]
    assert told.waiting().uid == "uid-train"


def test_half_of_a_gang_waits():
    told = Told().see("nodes", node())
    owner_ = owned("PyTorchJob", "llm", "kubeflow.org/v1")
    told.see("pods", pod("a", owner=owner_, started=3), pod("b", bound=None, owner=owner_))
    found = told.see("above kubeflow.org/v1 PyTorchJob", owner("llm")).waiting()
    assert (found.count, found.gang_minimum) == (1, 2), "bound ones count: all run, or none does"


def test_a_kai_gang_has_the_minimum_that_it_states():
    told = Told().see("nodes", node()).see("jobs", owner("train"))
    told.see("podgroups", {"metadata": {"name": "g", "namespace": "ns"}, "spec": {"minMember": 4}})
    told.see("pods", pending(annotations={"pod-group-name": "g"}))
    assert told.waiting().gang_minimum == 4
    assert told.snapshot().queues_order, "its scheduler orders what waits, and takes back by itself"


def test_what_a_quota_refuses_waits_with_the_templates_shape():
    spec = {"parallelism": 3}
    told = Told().see("nodes", node()).see("priorityclasses", CLASS)
    told.see("jobs", owner("job", 2, spec=spec, template={"priorityClassName": "high"}))
    assert told.snapshot().waiting == (), "that its pods are not there yet is no demand"
    assert told.see("events", event("uid-job", seconds=3)).mattered == [True]
    found = told.waiting()
    assert [(shape.units, count) for shape, count, _ in found.pods] == [((("nvidia.com/gpu", 2),), 3)]
    assert (found.since_ms, found.priority, found.held_back) == (at(3), 1000, False)
    told.see("jobs", owner("job", 2, spec=spec, status={"active": 3}))
    assert told.snapshot().waiting == ()


def test_a_replica_set_that_a_quota_refuses_waits_once_as_its_deployment():
    failure = {
        "type": "ReplicaFailure",
        "status": "True",
        "message": "exceeded quota: rq",
        "lastTransitionTime": iso(7),
    }
    status = {"replicas": 1, "conditions": [failure]}
    told = Told().see("nodes", node()).see("deployments", owner("web", spec={"replicas": 4}, status=status))
    more = above("Deployment", "web", "apps/v1")
    found = told.see("replicasets", owner("rs", spec={"replicas": 4}, status=status, **more)).waiting()
    assert (found.uid, found.kind, found.count, found.since_ms) == ("uid-web", "Deployment", 3, at(7))


def stopped(act: str = "stop", *, name: str = "train", before: Any = None) -> dict[str, str]:
    """The mark that the enforcer leaves."""
    return {STOPPED: Mark(at(300), "c", "p", 1, act, f"uid-{name}", before or {}).written()}


FOR_OWNER, FOR_NOBODY = Taking("uid-train", "uid-owner", at(300)), Taking("uid-train", "", at(300))


def test_what_was_stopped_for_an_owner_is_held_back():
    told = Told().see("nodes", node())
    told.see(
        "jobs",
        owner(
            "train",
            2,
            spec={"suspend": True, "parallelism": 2},
            annotations=stopped(before={"/spec/suspend": False}),
        ),
    )
    found = told.waiting(FOR_OWNER)
    assert (found.held_back, found.count, found.since_ms, found.way_down) == (True, 2, at(300), "suspend")


def test_what_was_taken_because_it_stood_idle_waits_for_nothing():
    told = Told().see("nodes", node())
    told.see("jobs", owner("train", spec={"suspend": True}, annotations=stopped()))
    assert told.snapshot(FOR_NOBODY).waiting == ()
    assert told.snapshot().waiting == (), "nobody remembers why: people start it again"
    later = Taking("uid-train", "uid-owner", at(400))
    assert told.waiting(FOR_NOBODY, later).held_back, "the last time counts"


def test_what_was_held_back_before_it_ran_is_so_since_it_was_made():
    told = Told().see("nodes", node())
    told.see("jobs", owner("train", spec={"suspend": True}, annotations=stopped("hold")))
    assert (told.waiting().held_back, told.waiting().since_ms) == (True, at(0))


def test_a_job_that_its_people_suspended_waits_for_nothing():
    told = Told().see("nodes", node()).see("jobs", owner("train", spec={"suspend": True}))
    assert told.snapshot(FOR_OWNER).waiting == ()


def test_a_deployment_that_was_scaled_down_waits_with_the_replicas_that_it_had():
    told = Told().see("nodes", node())
    for before, count in ((3, 3), (None, 1)):
        mark = stopped(before={"/spec/replicas": before})
        told.see("deployments", owner("train", spec={"replicas": 0}, annotations=mark))
        assert (told.waiting(FOR_OWNER).count, told.waiting(FOR_OWNER).kind) == (count, "Deployment")
    copied = stopped(name="other", before={"/spec/replicas": 3})
    told.see("deployments", owner("train", spec={"replicas": 0}, annotations=copied))
    assert told.snapshot(FOR_OWNER).waiting == (), "a mark that was copied from another object is none"


def roles(**counts: int) -> dict[str, Any]:
    """A PyTorchJob's spec: how many of each role, of two GPUs, the launcher without any."""
    made = {
        name: {"replicas": count, "template": owner("x", 0 if name == "launcher" else 2)["spec"]["template"]}
        for name, count in counts.items()
    }
    return {"pytorchReplicaSpecs": made, "runPolicy": {"suspend": True}}


TEMPLATE = owner("x", 2)["spec"]["template"]
RAY = {
    "suspend": True,
    "headGroupSpec": {"template": owner("x", 0)["spec"]["template"]},
    "workerGroupSpecs": [{"replicas": 2, "numOfHosts": 2, "template": TEMPLATE}, {"template": TEMPLATE}],
}
SET = {"replicas": 0, "leaderWorkerTemplate": {"size": 4, "workerTemplate": TEMPLATE}}
TWO = {"/spec/replicas": 2}


@pytest.mark.parametrize(
    ("kind", "version", "spec", "before", "count"),
    [
        ("PyTorchJob", "kubeflow.org/v1", roles(master=1, worker=3, launcher=1), {}, 4),
        ("RayCluster", "ray.io/v1", RAY, {}, 5),
        ("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", SET, TWO, 8),
        ("Rollout", "argoproj.io/v1alpha1", {"replicas": 0, "template": TEMPLATE}, TWO, 2),
    ],
)
def test_custom_kinds_that_were_stopped_wait_with_the_pods_that_they_had(
    kind: str, version: str, spec: dict[str, Any], before: dict[str, Any], count: int
):
    told = Told().see("nodes", node())
    stood = {**owner("train", annotations=stopped(before=before)), "spec": spec}
    told.see(f"above {version} {kind}", stood)
    found = told.waiting(FOR_OWNER)
    assert (found.kind, found.count, found.parts, found.held_back) == (kind, count, 2 * G * count, True)
    assert told.snapshot(FOR_NOBODY).waiting == ()
    over = {"conditions": [{"type": "Succeeded", "status": "True"}]}
    told.see(f"above {version} {kind}", {**stood, "status": over})
    assert told.snapshot(FOR_OWNER).waiting == ()


def test_what_somebody_else_has_started_again_is_not_held_back():
    told = Told().see("nodes", node())
    mark = stopped(before={"/spec/replicas": 3})
    told.see("deployments", owner("train", spec={"replicas": 2}, annotations=mark))
    assert told.snapshot(FOR_OWNER).waiting == ()
    running = {**roles(worker=2), "runPolicy": {"suspend": False}}
    told.see("above kubeflow.org/v1 PyTorchJob", {**owner("train", annotations=stopped()), "spec": running})
    assert told.snapshot(FOR_OWNER).waiting == ()


@pytest.mark.parametrize(
    "note",
    ["", "{", "[]", '{"act": 5}', "x" * 70_000, '{"act":"stop","at":"never","uid":"uid-train"}'],
)
def test_a_hostile_mark_is_none(note: str):
    told = Told().see("nodes", node())
    told.see("jobs", owner("train", spec={"suspend": True}, annotations={STOPPED: note}))
    assert told.snapshot(FOR_OWNER).waiting == ()


def test_what_kueue_has_not_admitted_waits_and_is_not_ours_to_stop_or_start():
    told = Told().see("nodes", node())
    job = owner("q", spec={"suspend": True, "parallelism": 2})
    told.see("jobs", job).see("workloads", workload())
    found = told.snapshot()
    (one,) = found.waiting
    assert (one.uid, one.kind, one.way_down, one.held_back) == ("uid-q", "Job", "", False)
    assert (found.queues_order, found.queues_reclaim) == (True, True)
    told.see("workloads", workload(Admitted="True"))
    assert (told.snapshot().waiting, told.snapshot().queues_order) == ((), True)
    told.see("workloads", workload(Admitted="True", Finished="True"))
    assert told.snapshot().queues_order is False, "nothing is in its queues any more"


def asking(**spec: Any) -> Told:
    told = Told().see("nodes", node(), node("n2")).see("jobs", owner("train"))
    return told.see("pods", pending(spec=spec, labels={"app": "train"}))


def test_the_shape_of_a_pod():
    shape = asking(
        containers=[
            {
                "name": "m",
                "resources": {
                    "requests": {
                        "nvidia.com/gpu": "4",
                        "cpu": "1500m",
                        "memory": "1.5Gi",
                        "rdma/ib": "2",
                        "ephemeral-storage": "10Gi",
                        "hugepages-2Mi": "3Mi",
                    }
                },
            }
        ],
        nodeSelector={"zone": "a"},
        tolerations=[
            {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "team", "value": "x"},
        ],
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "gen", "operator": "Gt", "values": ["7"]}]},
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
                    ]
                },
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}],
            }
        },
    ).shape()
    assert dict(shape.units) == {
        "nvidia.com/gpu": 4,
        "rdma/ib": 2,
        "ephemeral-storage": 10 * 1024,
        "hugepages-2Mi": 3,
    }
    assert (shape.cpu_milli, shape.memory_mib, shape.selector) == (1500, 1536, (("zone", "a"),))
    assert shape.affinity == ((Need("gen", "Gt", ("7",)),), (Need("metadata.name", "In", ("n1",)),))
    assert shape.tolerations == (
        Toleration("gpu", "Exists", "", "NoSchedule"),
        Toleration("team", "Equal", "x", ""),
    )
    assert (shape.apart_on, shape.together_on, shape.unsure) == ("", "", ())


def rule(kind: str, selector: Any, on: str = "zone", **more: Any) -> dict[str, Any]:
    term = {"labelSelector": selector, "topologyKey": on, **more}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


OWN, OTHER = {"matchLabels": {"app": "train"}}, {"matchLabels": {"app": "web"}}


@pytest.mark.parametrize(
    ("spec", "apart", "together", "sure"),
    [
        (rule("podAntiAffinity", OWN), "zone", "", True),
        (rule("podAffinity", OWN), "", "zone", True),
        (rule("podAntiAffinity", OTHER), "", "", True),
        (rule("podAffinity", OTHER), "", "", False),
        (rule("podAntiAffinity", {}), "zone", "", True),
        (rule("podAntiAffinity", None), "", "", True),
        (rule("podAffinity", None), "", "", False),
        (rule("podAntiAffinity", OWN, namespaceSelector={}), "", "", False),
        (rule("podAntiAffinity", OWN, namespaces=["other"]), "", "", True),
        (rule("podAntiAffinity", OWN, matchLabelKeys=["hash"]), "", "", False),
        (rule("podAntiAffinity", {"matchExpressions": [{"key": "a", "operator": "?"}]}), "", "", False),
    ],
)
def test_being_apart_from_or_together_with_pods(spec: dict[str, Any], apart: str, together: str, sure: bool):
    shape = asking(**spec).shape()
    assert (shape.apart_on, shape.together_on, not shape.unsure) == (apart, together, sure)


@pytest.mark.parametrize("kind", ["podAntiAffinity", "podAffinity"])
def test_places_by_where_pods_of_others_are_cannot_be_told(kind: str):
    told = asking(**rule(kind, {"matchExpressions": [{"key": "app", "operator": "Exists"}]}))
    assert told.shape().unsure == ()
    told.see("pods", pod("web", 0, labels={"app": "web"}))
    assert told.shape().unsure == ("places by where pods of others are",)


def test_pods_of_others_may_keep_it_off_a_place():
    told = asking().see("pods", pod("web", 0, labels={"app": "web"}, spec=rule("podAntiAffinity", OTHER)))
    assert told.shape().unsure == ()
    told.see("pods", pod("web", 0, labels={"app": "web"}, spec=rule("podAntiAffinity", OWN)))
    assert told.shape().unsure == ("a place that pods of others keep others from",)


@pytest.mark.parametrize(
    ("spec", "doubt"),
    [
        ({"schedulerName": "kai-scheduler"}, "the scheduler kai-scheduler"),
        ({"schedulerName": "x\x07" * 500}, "the scheduler " + "x\ufffd" * 30),
        ({"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]}, "a spread over the nodes"),
        ({"topologySpreadConstraints": [{}]}, "a spread over the nodes"),
        ({"volumes": [{"name": "v", "rbd": {}}]}, "a volume that is not understood"),
        ({"volumes": [{"name": "v", "ephemeral": {}}]}, "a volume that is not understood"),
        (
            {"tolerations": [{"key": "a", "operator": "Lt", "value": "5"}]},
            "a toleration that is not understood",
        ),
        ({"workloadRef": {"name": "w"}}, "a gang that the scheduler forms"),
        (
            {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}},
            "a node affinity that is not understood",
        ),
    ],
)
def test_what_is_not_understood_is_said(spec: dict[str, Any], doubt: str):
    assert asking(**spec).shape().unsure == (doubt,)


def test_a_port_of_the_node_and_what_is_no_doubt():
    ports = [gpu_container(2, ports=[{"containerPort": 80, "hostPort": 80}])]
    assert asking(containers=ports).shape().unsure == ("a port of the node",)
    fine = asking(
        schedulerName="default-scheduler",
        topologySpreadConstraints=[{"whenUnsatisfiable": "ScheduleAnyway"}],
        volumes=[{"name": "a", "emptyDir": {}}, {"name": "b", "nfs": {}}],
    )
    assert fine.shape().unsure == ()


def test_parts_of_gpus_and_claims_cannot_be_placed():
    told = Told().see("nodes", node()).see("jobs", owner("train"))
    told.see("pods", pending(gpus=0, annotations={"gpu-fraction": "0.5"}))
    assert told.shape().unsure == ("a part of a GPU",)
    asked = claim("g")
    asked["metadata"]["ownerReferences"] = [{"kind": "Pod", "uid": "uid-a", "controller": True}]
    exactly = {"deviceClassName": "gpu.nvidia.com", "count": 2}
    asked["spec"] = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    told = Told().see("nodes", node()).see("jobs", owner("train")).see("resourceclaims", asked)
    told.see("pods", pending(gpus=0, spec=with_claims("g")))
    assert told.waiting().parts == 2 * G
    assert told.shape().unsure == ("devices by claims of dynamic resource allocation",)


def volume(name: str, terms: list[dict[str, Any]] | None) -> dict[str, Any]:
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if terms else {}
    return {"metadata": {"name": name}, "spec": affinity}


def volume_claim(name: str, of: str = "", **spec: Any) -> dict[str, Any]:
    told = {"volumeName": of, **spec} if of else spec
    status = {"phase": "Bound" if of else "Pending"}
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": told, "status": status}


IN_A = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
USES = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}


def test_a_pod_goes_where_its_volumes_are():
    told = asking(**USES)
    assert told.shape().unsure == ("a volume that is not there yet",)
    told.see("persistentvolumeclaims", volume_claim("data"))
    assert told.shape().unsure == ("a volume that is not there yet",)
    told.see("persistentvolumeclaims", volume_claim("data", "pv")).see(
        "persistentvolumes", volume("pv", None)
    )
    assert (told.shape().affinity, told.shape().unsure) == ((), ())
    told.see("persistentvolumes", volume("pv", [IN_A]))
    assert told.shape().affinity == ((Need("zone", "In", ("a",)),),)
    told.see("persistentvolumeclaims", volume_claim("data", "pv", accessModes=["ReadWriteOncePod"]))
    assert told.shape().unsure == ("a volume whose nodes are not understood",)


def test_its_own_affinity_and_its_volumes_hold_together():
    required = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "gen", "operator": "Exists"}]}]}
    told = asking(
        **USES, affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    )
    told.see("persistentvolumeclaims", volume_claim("data", "pv")).see(
        "persistentvolumes", volume("pv", [IN_A, IN_A])
    )
    both = (Need("gen", "Exists"), Need("zone", "In", ("a",)))
    assert told.shape().affinity == (both, both)


def test_the_pool_is_where_its_pods_may_be():
    told = Told().see(
        "nodes",
        node("big", 8, labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}),
        node("small", 2, labels={"zone": "a"}),
    )
    told.see("jobs", owner("train")).see("pods", pending())
    assert told.waiting().pool == "nvidia-a100-sxm4-80gb"
    told.see("pods", pending(spec={"nodeSelector": {"zone": "a"}}))
    assert told.waiting().pool == "nvidia-h100-80gb-hbm3"
    told.see("pods", pending(spec={"nodeSelector": {"zone": "nowhere"}}))
    assert told.waiting().pool == "nvidia-a100-sxm4-80gb", "where its GPUs are offered at all"
    told.gone("nodes", node("big"), node("small"))
    assert told.waiting().pool == "unknown"


def two_pools(**settings: Any) -> Told:
    told = Told(**settings).see(
        "nodes", node("big", 8, labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}), node("small", 4)
    )
    return told.see("jobs", owner("train")).see("pods", pending(gpus=2))


BIG, SMALL = "nvidia-a100-sxm4-80gb", "nvidia-h100-80gb-hbm3"


def test_where_it_fits_now_is_its_pool_for_there_it_takes_from_nobody():
    told = two_pools()
    assert told.waiting().pool == BIG
    told.see("pods", pod("full", 7, node="big", owner=owned("Job", "other")))
    assert told.waiting().pool == SMALL
    told.see("pods", pod("too", 3, node="small", owner=owned("Job", "other")))
    assert told.waiting().pool == BIG, "nowhere: the larger one"
    told.see("pods", pod("full", 7, node="big", owner=owned("Job", "other"), deletionTimestamp=iso(990)))
    assert told.waiting().pool == BIG
    told.see("nodes", node("small", 8, spec={"unschedulable": True}))
    assert told.waiting().pool == BIG


def test_where_nothing_fits_its_pool_is_one_that_is_promised_to_its_team():
    told = two_pools(promised=frozenset({("vision", SMALL)}))
    full = [pod("x", 8, node="big"), pod("y", 4, node="small")]
    assert told.see("pods", *full).waiting().pool == SMALL


def test_a_time_slice_that_is_asked_for_is_a_slice_in_parts():
    sliced = node(gpus=40, labels={"nvidia.com/gpu.replicas": "10"})
    told = Told().see("nodes", sliced).see("jobs", owner("train")).see("pods", pending(gpus=3))
    assert told.waiting().parts == 3 * G // 10


def test_absurd_numbers_are_bounded():
    told = Told().see("nodes", node(capacity={"pods": "-4", "cpu": "1e300"}))
    told.see("jobs", owner("train", spec={"parallelism": 10**30}))
    told.see("pods", pending(gpus="9" * 18, spec={"priority": 10**40}))
    (found,) = told.snapshot().waiting
    assert found.parts == 100_000 * G
    assert found.priority < 2**31

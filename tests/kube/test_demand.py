"""Who waits: pods, what a quota refuses, what a queue holds back."""

from typing import Any

from tests.kube.raws import G, Told, at, claim, gpu_container, iso, node, pod, with_claims

REFUSED = (
    'pods "big" is forbidden: exceeded quota: rq, requested: requests.nvidia.com/gpu=3, used: 0, limited: 2'
)


def maker(
    name: str = "job", gpus: int = 2, *, spec: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    template = {"spec": {"containers": [gpu_container(gpus)]}}
    metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "creationTimestamp": iso(0)}
    return {
        "metadata": {**metadata, **more.pop("metadata", {})},
        "spec": {"template": template, **(spec or {})},
        "status": more,
    }


def event(
    uid: str, message: str = REFUSED, reason: str = "FailedCreate", seconds: float = 3
) -> dict[str, Any]:
    about = {"kind": "Job", "uid": uid}
    return {
        "metadata": {"uid": "e"},
        "involvedObject": about,
        "reason": reason,
        "message": message,
        "firstTimestamp": iso(seconds),
    }


def test_pods_wait_from_their_creation_to_their_binding():
    told = Told().see(0, "nodes", node())
    told.see(1, "pods", pod("a", 4, bound=None, creationTimestamp=iso(1)))
    told.see(31, "pods", pod("a", 4, bound=30))
    (found,) = told.demand()
    assert (found.start_at, found.end_at, found.gpu_parts, found.pods) == (at(1), at(30), 4 * G, 1)
    assert found.reason == "Unschedulable: 0/1 nodes"
    assert found.pool == "nvidia-h100-80gb-hbm3"


def test_a_workloads_pods_are_one_demand_that_changes():
    owner = ("batch/v1", "Job", "job", "uid-job")
    told = Told().see(0, "nodes", node()).see(0, "jobs", maker())
    told.see(1, "pods", pod("a", bound=None, owner=owner, creationTimestamp=iso(1)))
    told.see(5, "pods", pod("b", bound=None, owner=owner, creationTimestamp=iso(5)))
    told.gone(9, "pods", pod("a", bound=None, owner=owner))
    spans = [(each.start_at, each.end_at, each.pods) for each in told.demand()]
    assert spans == [(at(1), at(5), 1), (at(5), at(9), 2), (at(9), None, 1)]


def test_the_schedulers_words_alone_are_no_change():
    told = Told().see(1, "pods", pod(bound=None))
    other = pod(bound=None)
    other["status"]["conditions"][0]["message"] = "0/7 nodes are available"
    assert len(told.see(9, "pods", other).demand()) == 1


def test_gated_and_nominated_pods_wait():
    gated = pod(
        "g",
        bound=None,
        status={"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]},
    )
    told = (
        Told().see(1, "pods", gated).see(1, "pods", pod("n", bound=None, status={"nominatedNodeName": "n1"}))
    )
    assert sorted(each.reason for each in told.demand()) == ["SchedulingGated: ", "Unschedulable: 0/1 nodes"]


def test_a_pod_whose_claim_may_not_be_made_has_no_condition_but_an_event():
    told = Told().see(1, "pods", pod(gpus=0, bound=None, spec=with_claims("g"), status={"conditions": []}))
    told.see(2, "events", event("uid-p", 'claim "x" exceeded quota: rq', "FailedResourceClaimCreation"))
    assert told.demand()[-1].reason.startswith("quota: ")


def test_a_pod_that_waits_for_a_claim_waits_for_what_it_asks():
    asked = claim("g")
    asked["metadata"]["ownerReferences"] = [{"kind": "Pod", "uid": "uid-p", "controller": True}]
    asked["spec"] = {
        "devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}]}
    }
    told = (
        Told().see(1, "pods", pod(gpus=0, bound=None, spec=with_claims("g"))).see(2, "resourceclaims", asked)
    )
    assert told.demand()[-1].gpu_parts == 2 * G


def test_a_job_whose_pods_a_quota_refuses_has_only_events():
    job = maker(spec={"parallelism": 3})
    told = Told().see(1, "jobs", job)
    assert told.demand() == [], "that its pods are not there yet is no demand"
    told.see(4, "events", event("uid-job")).see(
        5, "events", event("uid-job", f"(combined from similar events): {REFUSED}")
    )
    (found,) = told.demand()
    assert (found.start_at, found.pods, found.gpu_parts) == (at(3), 3, 6 * G)
    assert "exceeded quota" in found.reason
    told.see(50, "jobs", maker(spec={"parallelism": 3}, active=3))
    assert told.demand()[0].end_at == at(50)


def test_an_event_before_its_job():
    told = Told().see(1, "events", event("uid-job", seconds=1)).see(2, "jobs", maker(spec={"parallelism": 2}))
    assert [each.pods for each in told.demand()] == [2]


def test_a_replica_set_has_a_condition():
    failure = {
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreate",
        "message": REFUSED,
        "lastTransitionTime": iso(7),
    }
    told = Told().see(9, "replicasets", maker("rs", spec={"replicas": 4}, replicas=1, conditions=[failure]))
    assert [(each.start_at, each.pods) for each in told.demand()] == [(at(7), 3)]


def test_other_refusals_are_no_quota():
    told = Told().see(1, "jobs", maker()).see(2, "events", event("uid-job", "pods forbidden: image policy"))
    assert told.demand() == []


def test_a_suspended_job_waits_only_in_a_queue():
    told = Told().see(1, "jobs", maker(spec={"suspend": True}))
    assert told.demand() == []
    queued = maker("q", spec={"suspend": True}, metadata={"labels": {"kueue.x-k8s.io/queue-name": "team-a"}})
    assert [each.reason for each in told.see(2, "jobs", queued).demand()] == ["queued: team-a"]


def workload(**status: str) -> dict[str, Any]:
    conditions = [{"type": key, "status": value} for key, value in status.items()]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "q", "uid": "uid-q", "controller": True}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": "w",
            "namespace": "ns",
            "uid": "uid-w",
            "creationTimestamp": iso(4),
            "ownerReferences": [owner],
        },
        "spec": {
            "queueName": "team-a",
            "podSets": [{"count": 4, "template": {"spec": {"containers": [gpu_container(2)]}}}],
        },
        "status": {"conditions": conditions},
    }


def test_kueues_workload_tells_of_its_job_once():
    queued = maker("q", spec={"suspend": True}, metadata={"labels": {"kueue.x-k8s.io/queue-name": "team-a"}})
    told = Told().see(2, "jobs", queued).see(4, "workloads", workload()).see(5, "jobs", queued)
    open_now = [each for each in told.demand() if each.end_at is None]
    assert [(each.pods, each.gpu_parts) for each in open_now] == [(4, 8 * G)]
    told.see(60, "workloads", workload(QuotaReserved="True", Admitted="True"))
    assert [each for each in told.demand() if each.end_at is None] == []


def test_a_kai_group_says_how_many_must_run_at_once():
    group = {"metadata": {"name": "pg", "namespace": "ns", "uid": "g"}, "spec": {"minMember": 4}}
    told = Told().see(0, "podgroups", group)
    told.see(1, "pods", pod(bound=None, annotations={"pod-group-name": "pg"}))
    assert told.demand()[0].gang_minimum == 4


def test_candidates_are_the_nodes_that_a_selector_allows():
    told = (
        Told()
        .see(0, "nodes", node("a"))
        .see(0, "nodes", node("b", labels={"nvidia.com/gpu.product": "NVIDIA-L40S", "tier": "x"}))
    )
    told.see(1, "pods", pod(bound=None, spec={"nodeSelector": {"tier": "x"}}))
    assert told.demand()[0].pool == "nvidia-l40s"

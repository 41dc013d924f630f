"""Quotas: ResourceQuota, Kueue, KAI and Volcano, each a team's promise in a pool."""

from typing import Any

from quartermaster.pool import PoolRule
from quartermaster.team import Rule
from tests.kube.raws import G, Told, at, node, replaced

SETTINGS = replaced(
    rules=(Rule("vision", namespace="vision-*"),),
    teams=frozenset({"vision", "speech"}),
    pools=(PoolRule("training", ("*H100*",)), PoolRule("inference", ("*L40S*",))),
)


def quota(hard: dict[str, Any], namespace: str = "vision-a") -> dict[str, Any]:
    return {
        "metadata": {"name": "rq", "namespace": namespace, "uid": f"uid-{namespace}"},
        "spec": {"hard": hard},
    }


def told(**settings: Any) -> Told:
    return Told(replaced(SETTINGS, **settings)).see(0, "nodes", node())


def promised(found: Told, seconds: float = 10) -> list[tuple[str, str, int, int | None]]:
    return [
        (e.team, e.pool, e.guaranteed_parts, e.limit_parts) for e in found.quotas(seconds) if e.end_at is None
    ]


def test_a_resource_quota_is_its_namespaces_teams():
    found = told().see(5, "resourcequotas", quota({"requests.nvidia.com/gpu": "16", "cpu": "100"}))
    assert promised(found) == [("vision", "training", 16 * G, 16 * G)]


def test_limits_are_accepted_by_the_api_and_never_enforced():
    assert promised(told().see(5, "resourcequotas", quota({"limits.nvidia.com/gpu": "16"}))) == []


def test_a_quota_on_a_class_and_on_its_extended_resource_counts_once():
    hard = {"requests.nvidia.com/gpu": "4", "gpu.nvidia.com.deviceclass.resource.k8s.io/devices": "8"}
    assert promised(told().see(5, "resourcequotas", quota(hard)))[0][2] == 8 * G


def test_a_quota_that_changes_and_goes():
    found = told().see(5, "resourcequotas", quota({"requests.nvidia.com/gpu": "16"})).take(10)
    found.see(20, "resourcequotas", quota({"requests.nvidia.com/gpu": "8"})).take(30)
    found.gone(40, "resourcequotas", quota({}))
    spans = [(each.start_at, each.end_at, each.guaranteed_parts // G) for each in found.quotas(50)]
    assert spans == [(at(10), at(30), 16), (at(30), at(50), 8)]


def test_what_the_configuration_promises_itself_is_not_promised_twice():
    found = told(promised=frozenset({("vision", "training")}))
    found.see(5, "resourcequotas", quota({"requests.nvidia.com/gpu": "16"}))
    assert promised(found) == [("vision", "training", 0, 16 * G)]


def test_the_configuration_may_say_whose_an_object_is():
    found = told(quota_of={"ResourceQuota/vision-a/rq": ("speech", "inference")})
    found.see(5, "resourcequotas", quota({"requests.nvidia.com/gpu": "16"}))
    assert promised(found) == [("speech", "inference", 16 * G, 16 * G)]


def cluster_queue(cohort: str = "all", **resource: Any) -> dict[str, Any]:
    resources = [{"name": "nvidia.com/gpu", **resource}, {"name": "cpu", "nominalQuota": "9"}]
    flavors = [{"name": "inference", "resources": resources}]
    spec = {"cohortName": cohort, "fairSharing": {"weight": "2"}, "resourceGroups": [{"flavors": flavors}]}
    return {"metadata": {"name": "speech", "uid": "cq"}, "spec": spec}


def test_a_cluster_queue_of_kueue():
    found = told().see(5, "clusterqueues", cluster_queue(nominalQuota="8", borrowingLimit="4"))
    assert promised(found) == [("speech", "inference", 8 * G, 12 * G)]
    assert found.quotas()[0].weight == 2
    assert promised(told().see(5, "clusterqueues", cluster_queue(nominalQuota=8)))[0][3] is None
    assert promised(told().see(5, "clusterqueues", cluster_queue("", nominalQuota=8)))[0][3] == 8 * G


def test_a_queue_of_kai():
    gpu = {"quota": 8, "limit": -1, "overQuotaWeight": 3}
    raw = {"metadata": {"name": "vision", "uid": "q"}, "spec": {"resources": {"gpu": gpu}}}
    assert promised(told().see(5, "kai_queues", raw)) == [("vision", "training", 8 * G, None)]
    unset = {"metadata": {"name": "vision", "uid": "q"}, "spec": {"resources": {"gpu": {"quota": 0.5}}}}
    assert promised(told().see(5, "kai_queues", unset)) == [("vision", "training", G // 2, 0)]


def test_a_queue_of_volcano():
    spec = {"deserved": {"nvidia.com/gpu": "8"}, "capability": {"nvidia.com/gpu": 16}}
    raw = {"metadata": {"name": "speech", "uid": "q"}, "spec": spec}
    assert promised(told().see(5, "volcano_queues", raw)) == [("speech", "training", 8 * G, 16 * G)]


def test_absurd_quotas_promise_nothing():
    for value in ("-4", "lots", "1e300", None, {}):
        assert promised(told().see(5, "resourcequotas", quota({"requests.nvidia.com/gpu": value}))) == []


def kai_queue(name: str, quota: float, above: str = "") -> dict[str, Any]:
    spec = {"resources": {"gpu": {"quota": quota, "limit": -1}}, **({"parentQueue": above} if above else {})}
    return {"metadata": {"name": name, "uid": name}, "spec": spec}


def test_a_queue_above_others_promises_what_theirs_leave():
    """Three levels, and one whose queue is promised more than it: nothing twice, and never less than nothing."""
    found = told()
    for name, quota_, above in (
        *(("house", 20, ""), ("research", 16, "house"), ("vision", 8, "research"), ("speech", 4, "research")),
        *(("poor", 1, ""), ("rich", 3, "poor")),
    ):
        found.see(5, "kai_queues", kai_queue(name, quota_, above))
    left = {each.source_object: each.guaranteed_parts // G for each in found.quotas(10)}
    assert left == {
        "Queue/house": 4,
        "Queue/research": 4,
        "Queue/vision": 8,
        "Queue/speech": 4,
        "Queue/poor": 0,
        "Queue/rich": 3,
    }


def test_a_cohorts_own_quota_is_beside_its_queues():
    resources = [{"name": "nvidia.com/gpu", "nominalQuota": "3"}]
    spec = {"resourceGroups": [{"flavors": [{"name": "inference", "resources": resources}]}]}
    found = told().see(5, "cohorts", {"metadata": {"name": "vision", "uid": "c"}, "spec": spec})
    found.see(5, "clusterqueues", cluster_queue(nominalQuota="8"))
    assert promised(found) == [("speech", "inference", 8 * G, None), ("vision", "inference", 3 * G, None)]


def test_a_flavor_is_the_pool_of_the_nodes_whose_labels_it_has():
    flavor = {"metadata": {"name": "h100-80gb", "uid": "f"}, "spec": {"nodeLabels": {"tier": "fast"}}}
    queue = cluster_queue(nominalQuota="8")
    queue["spec"]["resourceGroups"][0]["flavors"][0]["name"] = "h100-80gb"
    l40 = {"nvidia.com/gpu.product": "NVIDIA-L40S", "tier": "fast"}
    found = told().see(0, "nodes", node("n2", gpus=2, labels=l40))
    found.see(5, "clusterqueues", queue)
    assert promised(found)[0][1] == "training", "the largest, as long as the flavor is not known"
    found.see(15, "resourceflavors", flavor)
    assert [each[1] for each in promised(found, 20)] == ["inference"]

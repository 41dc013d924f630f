"""Nodes on their way: Karpenter's NodeClaims as they will be, the cluster-autoscaler's as their pool's are."""

from typing import Any

import pytest

from enforcer.shape import Taint
from tests.kube.raws import G, at, iso, node, pod
from tests.live.telling import Told, owned, owner

LABELS = {"karpenter.sh/nodepool": "h100", "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}


def node_claim(name: str = "n", **more: Any) -> dict[str, Any]:
    conditions = more.pop("conditions", [])
    status = {
        "allocatable": {"cpu": "64", "memory": "512Gi", "pods": "58", "nvidia.com/gpu": "8"},
        "conditions": [{"type": each, "status": "True"} for each in conditions],
        **more.pop("status", {}),
    }
    spec = {
        "requirements": [
            {"key": "zone", "operator": "In", "values": ["a"]},
            {"key": "size", "operator": "In", "values": ["x", "y"]},
        ],
        "taints": [{"key": "gpu", "effect": "NoSchedule"}],
        "startupTaints": [{"key": "booting", "effect": "NoSchedule"}],
        "resources": {"requests": {"nvidia.com/gpu": "4", "cpu": "8"}},
        **more.pop("spec", {}),
    }
    metadata = {"name": name, "uid": f"uid-{name}", "creationTimestamp": iso(600), "labels": LABELS, **more}
    return {"metadata": metadata, "spec": spec, "status": status}


def test_a_node_that_karpenter_orders():
    (coming,) = Told().see("nodeclaims", node_claim()).snapshot().coming
    assert coming.asked_at_ms == at(600)
    it = coming.node
    assert (it.pool, it.units, it.unit_parts) == (
        "nvidia-h100-80gb-hbm3",
        (("nvidia.com/gpu", 8),),
        (("nvidia.com/gpu", G),),
    )
    assert (it.cpu_milli, it.memory_mib, it.most_pods) == (64_000, 512 * 1024, 58)
    assert (it.labels["zone"], "size" in it.labels) == ("a", False)
    assert it.taints == (Taint("gpu", "", "NoSchedule"),)


def test_before_it_is_launched_it_is_what_was_asked_for():
    (coming,) = Told().see("nodeclaims", node_claim(status={"allocatable": None})).snapshot().coming
    assert (coming.node.units, coming.node.cpu_milli) == ((("nvidia.com/gpu", 4),), 8000)


@pytest.mark.parametrize(
    "more",
    [
        {"conditions": ["Initialized"]},
        {"deletionTimestamp": iso(1)},
        {"creationTimestamp": "soon"},
        {"labels": {}},
        {"status": {"allocatable": {"cpu": "64"}}},
    ],
)
def test_what_is_no_node_on_its_way(more: dict[str, Any]):
    assert Told().see("nodeclaims", node_claim(**more)).snapshot().coming == ()


def test_a_node_that_has_its_gpus_is_not_on_its_way():
    told = Told().see("nodeclaims", node_claim(status={"nodeName": "n1"}))
    assert len(told.see("nodes", node(gpus=0)).snapshot().coming) == 1, "its devices are not known yet"
    assert told.see("nodes", node(gpus=8)).snapshot().coming == ()


def scaled(
    words: str = "pod triggered scale-up: [{gpu-group 1->3 (max: 8)}]", uid: str = "uid-a"
) -> dict[str, Any]:
    return {
        "metadata": {"uid": "e"},
        "involvedObject": {"kind": "Pod", "uid": uid},
        "reason": "TriggeredScaleUp",
        "message": words,
        "firstTimestamp": iso(600),
    }


def grown(*nodes: dict[str, Any]) -> Told:
    told = Told().see("nodes", node("n1", labels={"zone": "a"}), *nodes).see("jobs", owner("train"))
    waits = pod("a", 2, bound=None, owner=owned("Job", "train"), spec={"nodeSelector": {"zone": "a"}})
    return told.see("pods", waits).see("scaleups", scaled())


def test_the_cluster_autoscalers_nodes_are_like_those_of_the_pool_where_the_pod_may_be():
    other = node("n0", 2, labels={"zone": "b"})
    found = grown(other).snapshot().coming
    assert [(each.node.name, each.asked_at_ms) for each in found] == [
        ("gpu-group 1", at(600)),
        ("gpu-group 2", at(600)),
    ]
    assert {each.node.units for each in found} == {(("nvidia.com/gpu", 8),)}
    assert found[0].node.labels["kubernetes.io/hostname"] == "gpu-group 1"


def test_those_that_came_are_not_waited_for():
    new = node("n2", labels={"zone": "a"})
    new["metadata"]["creationTimestamp"] = iso(700)
    assert len(grown(new).snapshot().coming) == 1


def test_for_nobody_or_nowhere_nothing_comes():
    told = grown().gone("pods", pod("a", 2, bound=None))
    assert told.snapshot().coming == ()
    nowhere = grown().gone("nodes", node("n1"))
    assert nowhere.snapshot().coming == ()
    many = scaled("pod triggered scale-up: [{gpu-group 1->999999 (max: 999999)}]")
    assert len(grown().see("scaleups", many).snapshot().coming) == 1000

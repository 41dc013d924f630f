"""Growth: what an autoscaler may still bring, by configuration, Karpenter's objects, and events."""

from typing import Any

import pytest

from quartermaster.pool import PoolRule
from tests.kube.raws import G, Told, at, iso, node, pod, replaced

SETTINGS = replaced(
    pools=(
        PoolRule("training", ("*H100*",)),
        PoolRule("inference", ("*L40S*",)),
        PoolRule("new", ("*",), {"tier": "new"}),
    ),
)


def node_pool(limits: dict[str, Any], name: str = "gpu", **labels: str) -> dict[str, Any]:
    spec = {"limits": limits, "template": {"metadata": {"labels": labels}, "spec": {}}}
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": spec}


def node_claim(name: str, gpus: int = 8, *, there: bool = False, pool: str = "gpu") -> dict[str, Any]:
    conditions = [
        {"type": "Launched", "status": "True"},
        {"type": "Initialized", "status": "True" if there else "Unknown"},
    ]
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": {"karpenter.sh/nodepool": pool}},
        "status": {"capacity": {"nvidia.com/gpu": str(gpus)}, "conditions": conditions},
    }


def scale_up(message: str, seconds: float, uid: str = "uid-waits") -> dict[str, Any]:
    return {
        "metadata": {"name": "e", "namespace": "ns", "uid": f"e-{seconds}"},
        "involvedObject": {"kind": "Pod", "uid": uid},
        "reason": "TriggeredScaleUp",
        "lastTimestamp": iso(seconds),
        "message": message,
    }


def grows(told: Told, seconds: float) -> dict[str, tuple[str, int | None, int]]:
    """What is open after a take: by source object its pool, limit and what is coming, in GPUs."""
    told.take(seconds)
    last = {(each.growth_id, each.start_at): each for each in told.rows.get("growth_versions", [])}
    return {
        each.source_object: (
            each.pool,
            None if each.limit_parts is None else each.limit_parts // G,
            each.coming_parts // G,
        )
        for each in last.values()
        if each.end_at is None
    }


def test_what_the_configuration_says_a_pool_may_grow_to():
    told = Told(replaced(SETTINGS, most_parts={"training": 64 * G})).see(0, "nodes", node())
    assert grows(told, 10) == {"pools/training": ("training", 64, 0)}
    assert grows(told, 20) == {"pools/training": ("training", 64, 0)}
    assert len(told.rows["growth_versions"]) == 1, "what stays so is told once"


def test_karpenters_limit_and_the_nodes_that_boot():
    told = Told(SETTINGS).see(0, "nodes", node(labels={"karpenter.sh/nodepool": "gpu"}))
    told.see(1, "nodepools", node_pool({"nvidia.com/gpu": "32", "cpu": "1k"}))
    assert grows(told, 2) == {"NodePool/gpu": ("training", 32, 0)}
    told.see(10, "nodeclaims", node_claim("a")).see(11, "nodeclaims", node_claim("b"))
    assert grows(told, 12) == {"NodePool/gpu": ("training", 32, 16)}
    told.see(90, "nodeclaims", node_claim("a", there=True)).gone(91, "nodeclaims", node_claim("b"))
    assert grows(told, 92) == {"NodePool/gpu": ("training", 32, 0)}
    told.gone(100, "nodepools", node_pool({}))
    assert grows(told, 110) == {}
    spans = [(each.start_at, each.end_at) for each in told.rows["growth_versions"] if each.end_at is not None]
    assert spans == [(at(2), at(12)), (at(12), at(92)), (at(92), at(110))]


def test_a_node_pool_without_nodes_is_in_the_pool_of_its_labels():
    told = (
        Told(SETTINGS)
        .see(0, "nodes", node())
        .see(1, "nodepools", node_pool({"nvidia.com/gpu": 8}, tier="new"))
    )
    assert grows(told, 2) == {"NodePool/gpu": ("new", 8, 0)}


def test_a_node_pool_that_never_had_gpus_is_none():
    told = Told(SETTINGS).see(0, "nodes", node()).see(1, "nodepools", node_pool({"cpu": "100"}, "cpus"))
    assert grows(told, 2) == {}
    told.see(3, "nodeclaims", node_claim("c", pool="cpus"))
    assert grows(told, 4) == {"NodePool/cpus": ("unknown", None, 8)}, "no limit, and one with GPUs boots"


def test_the_cluster_autoscaler_asks_for_nodes_until_they_are_there_or_given_up():
    told = Told(SETTINGS).see(0, "nodes", node("a"))
    told.see(1, "pods", pod("waits", 4, bound=None))
    words = "pod triggered scale-up: [{gpu-h100 1->3 (max: 8)}]"
    told.see(10, "scaleups", scale_up(words, 10))
    assert grows(told, 12) == {"NodeGroup/gpu-h100": ("training", 64, 16)}
    told.see(200, "nodes", node("b"))
    assert grows(told, 201) == {"NodeGroup/gpu-h100": ("training", 64, 8)}
    assert grows(told, 10 + 901) == {"NodeGroup/gpu-h100": ("training", 64, 0)}, "the second never came"
    told.see(1000, "scaleups", scale_up("pod triggered scale-up: [{gpu-h100 2->3 (max: 9)}]", 1000))
    assert grows(told, 1001) == {"NodeGroup/gpu-h100": ("training", 72, 8)}


def test_an_old_event_that_is_told_again_brings_nothing():
    told = (
        Told(SETTINGS).see(0, "nodes", node("a")).see(2000, "scaleups", scale_up("[{g 0->1 (max: 2)}]", 10))
    )
    assert grows(told, 2001) == {"NodeGroup/g": ("training", 16, 0)}


@pytest.mark.parametrize(
    "message", ["", "[{}]", "[{g 9->1 (max: 2)}]", "[{g a->b (max: c)}]", "{" * 5000, "x" * 9000]
)
def test_other_words_ask_for_nothing(message: str):
    told = Told(SETTINGS).see(0, "nodes", node("a")).see(9, "scaleups", scale_up(message, 9))
    assert all(coming == 0 for _, _, coming in grows(told, 10).values())


@pytest.mark.parametrize("limit", ["-1", "many", "1e300", None, [], {}])
def test_absurd_limits_are_none(limit: object):
    told = Told(SETTINGS).see(0, "nodes", node(labels={"karpenter.sh/nodepool": "gpu"}))
    told.see(1, "nodepools", node_pool({"nvidia.com/gpu": limit}))
    assert grows(told, 2) == {"NodePool/gpu": ("training", None, 0)}

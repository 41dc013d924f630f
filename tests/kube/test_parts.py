"""What a pod holds, in parts: effective requests, slices, shares, fractions, and what DRA gave."""

from fractions import Fraction
from typing import Any

import pytest

from collector.kubernetes.nodes import model_of_label, read_node
from collector.kubernetes.requests import effective_request
from tests.kube.raws import (
    SETTINGS,
    G,
    Told,
    at,
    claim,
    device,
    gpu_container,
    mig,
    node,
    pod,
    replaced,
    resource_slice,
    with_claims,
)

SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("spec", "gpus"),
    [
        ({"containers": [gpu_container(1), gpu_container(2)]}, 3),
        ({"containers": [gpu_container(1)], "initContainers": [gpu_container(4), gpu_container(2)]}, 4),
        (
            {
                "containers": [gpu_container(2)],
                "initContainers": [gpu_container(1, **SIDECAR), gpu_container(4)],
            },
            5,
        ),
        (
            {
                "containers": [gpu_container(2)],
                "initContainers": [gpu_container(4), gpu_container(1, **SIDECAR)],
            },
            4,
        ),
        ({"containers": [gpu_container(1)], "initContainers": [gpu_container(3, **SIDECAR)]}, 4),
        ({"containers": [{"resources": {"limits": {"nvidia.com/gpu": 2}}}]}, 2),
        ({"containers": [{"resources": {"limits": {"nvidia.com/gpu": "many"}}}, "?", None]}, 0),
    ],
    ids=[
        "containers add up",
        "the largest init",
        "a sidecar before the init",
        "a sidecar after it",
        "a large sidecar",
        "limits alone",
        "junk",
    ],
)
def test_an_effective_request(spec: dict[str, Any], gpus: int):
    assert effective_request(spec, SETTINGS.counts).get("nvidia.com/gpu", 0) == gpus


def test_cpu_and_memory_are_the_pods_own_where_it_has_them_and_overhead_is_added():
    spec = {
        "containers": [{"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}],
        "resources": {"requests": {"cpu": "2500m"}},
        "overhead": {"cpu": "250m"},
    }
    found = effective_request(spec, lambda name: name in {"cpu", "memory"})
    assert found == {"cpu": Fraction(11, 4), "memory": Fraction(2**30)}


def test_cpu_and_memory_beside_the_gpus():
    container = gpu_container(1)
    container["resources"]["requests"] |= {"cpu": "8", "memory": "64Gi"}
    found = Told().see(0, "nodes", node()).see(1, "pods", pod(spec={"containers": [container]})).allocation()
    assert (found.cpu_milli, found.memory_mib) == (8000, 64 * 1024)


def test_a_resize_in_place_changes_cpu_and_memory_and_no_gpus():
    """The API refuses to resize GPUs; the allocation is the same one, with what the pod has now."""

    def asking(cpu: str) -> dict[str, Any]:
        container = gpu_container(2)
        container["resources"]["requests"] |= {"cpu": cpu}
        return pod(started=3, spec={"containers": [container]})

    told = Told().see(0, "nodes", node()).see(1, "pods", asking("8")).take()
    told.see(60, "pods", asking("16"))
    assert [(each.cpu_milli, each.gpu_parts) for each in told.allocations()] == [(16_000, 2 * G)]
    assert len(told.rows["allocations_versions"]) == 2


MIG_SINGLE = {
    "nvidia.com/mig.strategy": "single",
    "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
}
TEN_WAYS = {"nvidia.com/gpu.replicas": "10", "nvidia.com/gpu.sharing-strategy": "time-slicing"}


def resource(name: str, count: int) -> dict[str, Any]:
    return {"containers": [{"resources": {"requests": {name: str(count)}, "limits": {name: str(count)}}}]}


SHARES: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "whole GPUs": (node(), {"spec": resource("nvidia.com/gpu", 3)}, 3 * G),
    "one nvidia.com/gpu that is a slice": (
        node(gpus=56, labels={**MIG_SINGLE, "nvidia.com/gpu.count": "56"}),
        {"spec": resource("nvidia.com/gpu", 2)},
        2 * G // 7,
    ),
    "a named profile": (
        node(gpus=0, capacity={"nvidia.com/mig-3g.40gb": "2"}),
        {"spec": resource("nvidia.com/mig-3g.40gb", 1)},
        3 * G // 7,
    ),
    "a media profile": (node(), {"spec": resource("nvidia.com/mig-1g.10gb.me", 1)}, G // 7),
    "a shared profile": (
        node(labels={"nvidia.com/mig-1g.10gb.replicas": "2"}),
        {"spec": resource("nvidia.com/mig-1g.10gb.shared", 1)},
        G // 14,
    ),
    "replicas of a time-sliced GPU": (
        node(gpus=80, labels=TEN_WAYS),
        {"spec": resource("nvidia.com/gpu", 3)},
        3 * G // 10,
    ),
    "replicas under another name": (
        node(gpus=0, labels=TEN_WAYS, capacity={"nvidia.com/gpu.shared": "80"}),
        {"spec": resource("nvidia.com/gpu.shared", 1)},
        G // 10,
    ),
    "0 replicas stand on MIG GPUs and divide nothing": (
        node(labels={"nvidia.com/gpu.replicas": "0"}),
        {"spec": resource("nvidia.com/gpu", 1)},
        G,
    ),
    "AMD": (node(gpus=0, capacity={"amd.com/gpu": "8"}), {"spec": resource("amd.com/gpu", 2)}, 2 * G),
    "a KAI fraction": (node(), {"gpus": 0, "annotations": {"gpu-fraction": "0.25"}}, G // 4),
    "a KAI fraction of two": (
        node(),
        {"gpus": 0, "annotations": {"gpu-fraction": "0.5", "gpu-fraction-num-devices": "2"}},
        G,
    ),
    "KAI memory": (
        node(labels={"nvidia.com/gpu.memory": "80000"}),
        {"gpus": 0, "annotations": {"gpu-memory": "20000"}},
        G // 4,
    ),
    "KAI memory of an unknown GPU is all of it": (
        node(),
        {"gpus": 0, "annotations": {"gpu-memory": "20000"}},
        G,
    ),
}


@pytest.mark.parametrize("case", SHARES)
def test_what_a_request_is_worth(case: str):
    machine, asked, parts = SHARES[case]
    assert Told().see(0, "nodes", machine).see(1, "pods", pod(**asked)).allocation().gpu_parts == parts


def test_others_by_configuration():
    settings = replaced(resources=("habana.ai/gaudi",))
    told = Told(settings).see(0, "nodes", node(gpus=0, capacity={"habana.ai/gaudi": "8"}))
    told.see(1, "pods", pod(spec=resource("habana.ai/gaudi", 4)))
    assert told.allocation().gpu_parts == 4 * G
    assert [each.gpu_count for each in told.nodes()] == [8]


def test_a_share_is_weighed_by_the_node_at_binding_and_stays():
    told = Told().see(0, "nodes", node(gpus=80, labels=TEN_WAYS)).see(1, "pods", pod()).take()
    told.see(60, "nodes", node(gpus=8)).see(61, "pods", pod(started=60))
    assert told.allocation().gpu_parts == G // 10


def test_a_node_that_comes_after_its_pod():
    told = Told().see(1, "pods", pod()).take().see(2, "nodes", node(gpus=80, labels=TEN_WAYS))
    assert told.allocation().gpu_parts == G // 10


@pytest.mark.parametrize(
    ("label", "model"),
    [
        ("NVIDIA-H100-80GB-HBM3", "NVIDIA H100 80GB HBM3"),
        ("NVIDIA-H100-80GB-HBM3-SHARED", "NVIDIA H100 80GB HBM3"),
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "NVIDIA A100-SXM4-40GB"),
        ("NVIDIA-A100-SXM4-40GB-MIG-INVALID", "NVIDIA A100-SXM4-40GB"),
        ("Tesla-V100-SXM2-32GB", "Tesla V100-SXM2-32GB"),
        ("NVIDIA-L40S", "NVIDIA L40S"),
    ],
)
def test_a_model_is_spelt_as_nvml_does(label: str, model: str):
    assert model_of_label(label) == model


GPUS: dict[str, tuple[dict[str, Any], int]] = {
    "as advertised": (node(gpus=8), 8),
    "physical, not replicas": (node(gpus=80, labels={**TEN_WAYS, "nvidia.com/gpu.count": "8"}), 8),
    "replicas without GFD's count": (node(gpus=80, labels=TEN_WAYS), 8),
    "slices of strategy single": (node(gpus=56, labels={**MIG_SINGLE, "nvidia.com/gpu.count": "56"}), 8),
    "3g slices, two a GPU": (
        node(gpus=16, labels={**MIG_SINGLE, "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-3g.20gb"}),
        8,
    ),
    "mixed, by instances": (node(gpus=4, capacity={"nvidia.com/mig-1g.10gb": "14"}), 6),
    "absurd": (node(gpus=10**12), 1024),
}


@pytest.mark.parametrize("case", GPUS)
def test_how_many_gpus_a_node_has(case: str):
    raw, gpus = GPUS[case]
    machine = read_node(raw, SETTINGS)
    assert machine is not None
    assert machine.gpus == gpus


def dra(*devices: dict[str, Any], **spec: Any) -> Told:
    """A node without a device plugin whose devices DRA tells."""
    return (
        Told().see(0, "nodes", node(gpus=0)).see(0, "resourceslices", resource_slice(list(devices), **spec))
    )


DRA_POD: dict[str, Any] = {"gpus": 0, "spec": with_claims("g")}


def test_a_claim_before_its_pod_and_after_it():
    bound, given = pod(**DRA_POD), claim("g", ["gpu-1", "gpu-2"], ["p"])
    for events in (
        [("pods", bound), ("resourceclaims", given)],
        [("resourceclaims", given), ("pods", bound)],
    ):
        told = dra(device(0), device(1), device(2))
        for kind, raw in events:
            told.see(1, kind, raw)
        assert sorted(told.uuids()) == ["GPU-1", "GPU-2"]
        assert told.allocation().gpu_parts == 2 * G
        assert {each.evidence for each in told.holdings()} == {"dra"}


def test_a_claim_that_is_deleted_within_30_ms_of_the_end_has_told_its_devices():
    told = dra(device(0)).see(1, "resourceclaims", claim("g", ["gpu-0"], ["p"]))
    told.see(2, "pods", pod(started=2, **DRA_POD))
    told.see(60.00, "resourceclaims", claim("g")).gone(60.01, "resourceclaims", claim("g"))
    told.see(60.03, "pods", pod(phase="Succeeded", started=2, finished=59, **DRA_POD))
    assert told.uuids() == ["GPU-0"]
    assert told.allocation().gpu_parts == G
    assert [each.end_at for each in told.holdings()] == [at(59)]


def test_a_pod_that_is_told_of_only_after_its_claim_is_gone():
    told = dra(device(0)).see(1, "resourceclaims", claim("g", ["gpu-0"], ["p"]))
    told.gone(30, "resourceclaims", claim("g"))
    told.see(31, "pods", pod(phase="Succeeded", started=2, finished=30, **DRA_POD))
    assert told.uuids() == ["GPU-0"]


def test_the_uuid_is_the_one_at_the_allocation_though_its_slice_is_republished_with_another():
    told = dra(device(0, "GPU-old")).see(1, "resourceclaims", claim("g", ["gpu-0"], ["p"]))
    told.see(2, "resourceslices", resource_slice([device(0, "GPU-new")], generation=2))
    told.see(3, "pods", pod(**DRA_POD)).take()
    assert [each.gpu_uuid for each in told.devices()] == ["GPU-old", "GPU-new"]
    assert told.uuids() == ["GPU-old"]


def test_a_slice_that_is_gone_leaves_the_holding():
    told = (
        dra(device(0)).see(1, "resourceclaims", claim("g", ["gpu-0"], ["p"])).see(2, "pods", pod(**DRA_POD))
    )
    told.gone(50, "resourceslices", resource_slice([]))
    assert told.uuids() == ["GPU-0"]
    assert told.allocation().end_at is None


def test_a_slice_that_comes_after_the_claim():
    told = Told().see(0, "nodes", node(gpus=0)).see(1, "resourceclaims", claim("g", ["gpu-0"], ["p"]))
    told.see(1, "pods", pod(**DRA_POD))
    assert told.allocation().gpu_parts == G, "a GPU is held, whichever"
    assert told.holdings() == []
    assert told.see(2, "resourceslices", resource_slice([device(0)])).uuids() == ["GPU-0"]


def test_only_the_highest_generation_counts_and_a_slice_may_have_no_devices():
    told = dra(device(0)).see(
        1, "resourceslices", resource_slice([device(0), device(1)], name="s2", generation=2)
    )
    told.see(2, "resourceslices", resource_slice([], name="counters", generation=2, sharedCounters=[{}]))
    assert [each.gpu_uuid for each in told.devices()] == ["GPU-0", "GPU-1"]


def test_a_device_that_a_newer_generation_lacks_is_gone():
    told = dra(device(0)).see(5, "resourceslices", resource_slice([device(1)], name="s2", generation=2))
    assert [(each.gpu_uuid, each.end_at) for each in told.devices()] == [("GPU-0", at(5)), ("GPU-1", None)]


def test_an_extended_resource_that_dra_serves_is_counted_once():
    status = {
        "extendedResourceClaimStatus": {
            "resourceClaimName": "p-extended-resources-x",
            "requestMappings": [
                {"containerName": "main", "resourceName": "nvidia.com/gpu", "requestName": "r"}
            ],
        }
    }
    told = dra(device(0)).see(1, "resourceclaims", claim("p-extended-resources-x", ["gpu-0"], ["p"]))
    told.see(2, "pods", pod(gpus=1, status=status))
    assert told.allocation().gpu_parts == G
    assert told.uuids() == ["GPU-0"]


def test_the_same_spec_on_a_device_plugin_node_counts_its_request():
    assert Told().see(0, "nodes", node()).see(2, "pods", pod(gpus=1)).allocation().gpu_parts == G


def test_a_claim_of_a_template_is_found_by_the_pods_status():
    spec = {"resourceClaims": [{"name": "g", "resourceClaimTemplateName": "one"}]}
    status = {"resourceClaimStatuses": [{"name": "g", "resourceClaimName": "p-g-frzrg"}]}
    told = dra(device(0)).see(1, "resourceclaims", claim("p-g-frzrg", ["gpu-0"], ["p"]))
    assert told.see(2, "pods", pod(gpus=0, spec=spec, status=status)).uuids() == ["GPU-0"]


def test_a_shared_claim_is_the_whole_device_for_each_holder_so_that_usage_splits_it():
    shared = claim("g", ["gpu-0"], ["a", "b"])
    told = dra(device(0)).see(1, "resourceclaims", shared)
    told.see(2, "pods", pod("a", **DRA_POD)).see(2, "pods", pod("b", **DRA_POD))
    assert told.uuids() == ["GPU-0", "GPU-0"]
    told.see(9, "pods", pod("a", phase="Failed", finished=8, **DRA_POD))
    told.see(9, "resourceclaims", claim("g", ["gpu-0"], ["b"]))
    assert [each.end_at for each in told.allocations()] == [at(8), None]


def test_a_claim_that_another_pod_gets_later_names_its_new_device_for_that_pod_alone():
    told = dra(device(0), device(1)).see(1, "resourceclaims", claim("g", ["gpu-0"], ["a"]))
    told.see(2, "pods", pod("a", **DRA_POD)).see(9, "pods", pod("a", phase="Failed", finished=8, **DRA_POD))
    told.see(9, "resourceclaims", claim("g")).see(20, "resourceclaims", claim("g", ["gpu-1"], ["b"]))
    told.see(21, "pods", pod("b", bound=20, **DRA_POD))
    assert told.uuids() == ["GPU-0", "GPU-1"]


def test_admin_access_holds_nothing():
    told = dra(device(0)).see(1, "resourceclaims", claim("g", ["gpu-0"], ["p"], adminAccess=True))
    assert told.see(2, "pods", pod(**DRA_POD)).allocations() == []


def test_a_claim_of_another_driver_holds_no_gpu():
    told = dra(device(0)).see(1, "resourceclaims", claim("g", ["nic-0"], ["p"], driver="nic.example"))
    assert told.see(2, "pods", pod(**DRA_POD)).allocations() == []


def test_consumable_capacity_is_weighed():
    told = dra(device(0)).see(
        1, "resourceclaims", claim("g", ["gpu-0"], ["p"], shareID="s", consumedCapacity={"memory": "20Gi"})
    )
    assert told.see(2, "pods", pod(**DRA_POD)).allocation().gpu_parts == G // 4


def test_static_mig_devices_and_what_they_leave():
    told = dra(device(0), mig(0, "3g.40gb", "3g40gb-9-0", "MIG-a"), mig(0, "1g.10gb", "1g10gb-19-4", "MIG-b"))
    told.see(1, "resourceclaims", claim("g", ["gpu-0-mig-3g40gb-9-0"], ["p"])).see(2, "pods", pod(**DRA_POD))
    found = {(each.kind, each.mig_uuid): each.parts for each in told.devices()}
    assert found == {("mig", "MIG-a"): 3 * G // 7, ("mig", "MIG-b"): G // 7, ("uncarved", ""): 3 * G // 7}
    assert told.allocation().gpu_parts == 3 * G // 7
    assert told.uuids() == ["GPU-0/MIG-a"]


def test_dynamic_mig_has_no_uuid_and_is_a_part_of_its_gpu():
    told = dra(device(0), mig(0, "3g.40gb", "3g40gb-9-0"), mig(0, "3g.40gb", "3g40gb-9-4"))
    told.see(1, "resourceclaims", claim("g", ["gpu-0-mig-3g40gb-9-0"], ["p"])).see(2, "pods", pod(**DRA_POD))
    assert [(each.kind, each.parts) for each in told.devices()] == [("gpu", G)]
    assert [each.parts for each in told.holdings()] == [3 * G // 7]
    assert told.uuids() == ["GPU-0"]


def test_a_tainted_device_is_unhealthy():
    sick = {**device(0), "taints": [{"key": "gpu.nvidia.com/xid", "effect": "NoSchedule"}]}
    assert [each.healthy for each in dra(sick, device(1)).devices()] == [False, True]


def kubelet(*ids: str, name: str = "nvidia.com/gpu", health: str = "Healthy") -> dict[str, Any]:
    given = [{"resourceID": each, "health": health} for each in ids]
    state = {"running": {}}
    return {
        "containerStatuses": [
            {"state": state, "allocatedResourcesStatus": [{"name": name, "resources": given}]}
        ]
    }


def test_device_ids_that_the_kubelet_gives():
    told = Told().see(0, "nodes", node()).see(1, "pods", pod(gpus=2, status=kubelet("GPU-a", "GPU-b")))
    assert sorted(told.uuids()) == ["GPU-a", "GPU-b"]
    assert {each.evidence for each in told.holdings()} == {"kubelet"}


def test_device_ids_of_replicas_have_a_number_behind():
    told = Told().see(0, "nodes", node(gpus=80, labels=TEN_WAYS))
    told.see(1, "pods", pod(gpus=2, status=kubelet("GPU-a::3", "GPU-a::7")))
    assert [(each.parts) for each in told.holdings()] == [G // 10 * 2]
    assert told.uuids() == ["GPU-a"]


def test_device_ids_of_some_containers_only_name_nothing():
    told = Told().see(0, "nodes", node()).see(1, "pods", pod(gpus=2, status=kubelet("GPU-a")))
    assert told.holdings() == []


def test_device_ids_of_dra_are_no_uuids():
    told = dra(device(0)).see(1, "resourceclaims", claim("g", ["gpu-0"], ["p"]))
    status = kubelet("k8s.gpu.nvidia.com/claim=uid-g-gpu-0", name="claim:g/gpus")
    assert told.see(2, "pods", pod(**DRA_POD, status=status)).uuids() == ["GPU-0"]


def test_a_gpu_that_the_kubelet_calls_unhealthy():
    told = Told().see(0, "nodes", node(allocatable=7))
    told.see(1, "pods", pod(status=kubelet("GPU-a", health="Unhealthy"))).take()
    named = [each for each in told.devices() if each.gpu_uuid == "GPU-a"]
    assert [each.healthy for each in named] == [False]
    assert [each for each in told.devices() if each.end_at is None] == named, (
        "allocatable lacks this one, no other"
    )

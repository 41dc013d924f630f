"""The control plane does what the tests need of it: pods are bound, run, end, stop slowly, or never start."""

import time
from datetime import datetime
from typing import Any

import pytest

from tests.servers.controlplane import ControlPlane
from tests.servers.fleet import Ground
from tests.servers.stages import IMAGE_FAILS, STOPS_AFTER


def ended(pod: dict[str, Any]) -> dict[str, Any]:
    return pod["status"]["containerStatuses"][0]["state"]["terminated"]


def test_a_pod_is_bound_to_a_fake_gpu_node_and_runs(ground: Ground) -> None:
    node = ground.node(gpus=8)
    ground.pod("train", gpus=4)
    pod = ground.wait_for_pod("train")
    assert pod["spec"]["nodeName"] == node
    assert pod["status"]["containerStatuses"][0]["state"].keys() == {"running"}


def test_a_pod_that_does_not_fit_waits(ground: Ground) -> None:
    ground.node(gpus=2)
    ground.pod("small", gpus=2)
    ground.wait_for_pod("small")
    ground.pod("late", gpus=1)
    pod = ground.wait(f"{ground.path}/pods/late", lambda found: bool(found["status"].get("conditions")))
    assert pod["status"]["phase"] == "Pending"
    assert "Insufficient nvidia.com/gpu" in pod["status"]["conditions"][0]["message"]


def test_a_pod_ends_after_its_seconds_with_its_exit_code(ground: Ground) -> None:
    ground.node()
    ground.pod("good", ends_after_s=1)
    ground.pod("bad", ends_after_s=1, exit_code=3)
    good = ended(ground.wait_for_pod("good", "Succeeded"))
    bad = ended(ground.wait_for_pod("bad", "Failed"))
    assert [good["exitCode"], bad["exitCode"]] == [0, 3]
    lasted = datetime.fromisoformat(good["finishedAt"]) - datetime.fromisoformat(good["startedAt"])
    assert 1 <= lasted.total_seconds() <= 10


def test_a_deleted_pod_is_there_until_it_has_stopped(ground: Ground) -> None:
    ground.node()
    ground.pod("slow", annotations={STOPS_AFTER: "1"})
    ground.wait_for_pod("slow")
    ground.plane.call("DELETE", f"{ground.path}/pods/slow")
    stopping = ground.plane.call("GET", f"{ground.path}/pods/slow")
    assert stopping["metadata"]["deletionTimestamp"]
    assert stopping["status"]["phase"] == "Running"
    ground.wait(f"{ground.path}/pods", lambda pods: not pods["items"])


def test_a_pod_whose_image_fails_is_bound_and_never_runs(ground: Ground) -> None:
    node = ground.node()
    ground.pod("stuck", annotations={IMAGE_FAILS: "yes"})
    pod = ground.wait(
        f"{ground.path}/pods/stuck", lambda found: bool(found["status"].get("containerStatuses"))
    )
    assert pod["spec"]["nodeName"] == node
    assert pod["status"]["phase"] == "Pending"
    assert pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "ImagePullBackOff"


def test_a_lost_nodes_pods_are_deleted_but_do_not_end(ground: Ground) -> None:
    node = ground.node()
    ground.node(gpus=0)
    ground.pod("orphan", tolerations=[{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}])
    ground.wait_for_pod("orphan")
    ground.lose(node)
    orphan = f"{ground.path}/pods/orphan"
    found = ground.wait(orphan, lambda pod: "deletionTimestamp" in pod["metadata"])
    assert found["status"]["phase"] == "Running"


def test_slices_are_resources_of_their_own(ground: Ground) -> None:
    ground.node(gpus=1, resources={"nvidia.com/mig-1g.10gb": 7})
    ground.pod("slice", resource="nvidia.com/mig-1g.10gb")
    ground.wait_for_pod("slice")


def test_the_official_client_reads_it(control_plane: ControlPlane, ground: Ground) -> None:
    from kubernetes.client import CoreV1Api  # a second of CPU, of the run that has a control plane

    ground.node(gpus=4, replicas=2)
    api = control_plane.client()
    selector = f"quartermaster.test/ground={ground.namespace}"
    (node,) = CoreV1Api(api).list_node(label_selector=selector).items
    found = api.sanitize_for_serialization(node)
    assert found["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    assert found["metadata"]["labels"]["nvidia.com/gpu.replicas"] == "2"


def test_a_service_account_may_do_what_it_is_given(ground: Ground) -> None:
    from kubernetes.client import CoreV1Api
    from kubernetes.client.exceptions import ApiException

    token = ground.plane.service_account(ground.namespace, "reader")
    api = CoreV1Api(ground.plane.client(token))
    with pytest.raises(ApiException) as refused:
        api.list_namespaced_pod(ground.namespace)
    assert refused.value.status == 403
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{ground.namespace}/rolebindings"
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": ground.namespace}
    role = {"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "reader"}, "subjects": [subject], "roleRef": role}
    ground.plane.call("POST", rbac, binding)
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            assert api.list_namespaced_pod(ground.namespace).items == []
        except ApiException:
            time.sleep(0.05)
        else:
            return
    pytest.fail("the role binding had no effect within 10 s")

"""Whose pods KAI or Volcano schedules: stopped by their owner or not at all, and nothing of the system's is touched."""

from collections.abc import Iterator
from typing import Any

import pytest

from collector.kubernetes.settings import Settings
from enforcer.act.restore import Asked, named, restore
from enforcer.audit.chain import Chain
from enforcer.plan import Act
from enforcer.snapshot import Workload
from quartermaster.clock import now_ms
from quartermaster.team import Rule
from tests.kube.raws import node, pod
from tests.live.telling import Told, owned
from tests.quotas.moving import Moved, acted, hand, outcomes, until
from tests.servers.controlplane import ControlPlane
from tests.servers.fleet import Ground
from tests.servers.queues import define_kai


@pytest.fixture
def moved(control_plane: ControlPlane, enforcers_token: str, chain: Chain, ground: Ground) -> Iterator[Moved]:
    define_kai(control_plane)
    made = hand(
        control_plane, enforcers_token, chain, Settings("c", rules=(Rule("a", namespace=ground.namespace),))
    )
    yield made
    made.stop()


def scheduled_by_kai(ground: Ground, name: str, gpus: int) -> tuple[str, str]:
    """The API's paths of a Job that KAI schedules, and of its PodGroup: made and bound here as KAI does it."""
    template = {
        "metadata": {"labels": {"of": name, "kai.scheduler/queue": "q"}},
        "spec": {
            "schedulerName": "kai-scheduler",
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": gpus}}}],
        },
    }
    labels = {"kai.scheduler/queue": "q"}
    body = {"metadata": {"name": name, "labels": labels}, "spec": {"template": template}}
    plane = ground.plane
    job = plane.call("POST", f"/apis/batch/v1/namespaces/{ground.namespace}/jobs", body)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": job["metadata"]["uid"]}
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": f"pg-{name}", "ownerReferences": [owner]},
        "spec": {"minMember": 1, "queue": "q"},
    }
    groups = f"/apis/scheduling.run.ai/v2alpha2/namespaces/{ground.namespace}/podgroups"
    plane.call("POST", groups, group)
    return f"/apis/batch/v1/namespaces/{ground.namespace}/jobs/{name}", f"{groups}/pg-{name}"


def bind(ground: Ground, name: str, to: str) -> None:
    """Bind the Job's one pod that waits, as KAI's binder would."""
    path = f"{ground.path}/pods?labelSelector=of={name}"
    waits: list[Any] = []

    def there() -> bool:
        waits[:] = [
            each["metadata"]["name"]
            for each in ground.plane.call("GET", path)["items"]
            if "nodeName" not in each["spec"]
        ]
        return len(waits) == 1

    until(there)
    target = {"apiVersion": "v1", "kind": "Node", "name": to}
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": waits[0]},
        "target": target,
    }
    ground.plane.call("POST", f"{ground.path}/pods/{waits[0]}/binding", body)


def test_a_job_in_a_queue_of_kai_is_suspended_and_its_pod_group_stays(
    moved: Moved, ground: Ground, enforcers_token: str, chain: Chain
):
    on = ground.node(gpus=8)
    path, group = scheduled_by_kai(ground, "train", 4)
    bind(ground, "train", on)
    ground.wait(path, lambda found: found["status"].get("ready", 0) == 1)
    before = ground.plane.call("GET", group)
    live = moved.watch(Settings("c", rules=(Rule("a", namespace=ground.namespace),)), enforcers_token)
    found: list[Workload] = []

    def there() -> bool:
        version = ground.plane.call("GET", path)["metadata"]["resourceVersion"]
        told = live.snapshot(now_ms()).workloads
        found[:] = [each for each in told if each.namespace == ground.namespace and each.version == version]
        return bool(found)

    until(there)
    assert (found[0].kind, found[0].way_down) == ("Job", "suspend")
    assert outcomes(acted(moved, Act.STOP, found[0])) == [("stop", "train", "done")]
    assert ground.plane.call("GET", path)["spec"]["suspend"] is True
    assert ground.plane.call("GET", f"{ground.path}/pods")["items"] == []
    assert ground.plane.call("GET", group) == before

    (stopped,) = chain.stopped()
    recorded = {stopped.deed.object_uid: stopped.deed.before}
    asked = Asked("c", "person-0123456789abcdef")
    done = restore(moved.doing, [named(moved.doing, f"Job/{ground.namespace}/train")], asked, recorded)
    assert outcomes(done.deeds) == [("restore", "train", "done")]
    bind(ground, "train", on)
    ground.wait(path, lambda each: each["status"].get("ready", 0) == 1)


def test_a_job_of_volcano_has_no_way_down():
    """What Volcano does at a Command it does to whatever has the name then, and starting again counts as a retry."""
    told = Told().see("nodes", node())
    told.see("pods", pod("a", owner=owned("Job", "llm", "batch.volcano.sh/v1alpha1"), started=3))
    bare = {"metadata": {"name": "llm", "namespace": "ns", "uid": "uid-llm", "resourceVersion": "5"}}
    found = told.see("above batch.volcano.sh/v1alpha1 Job", bare).workload()
    assert (found.kind, found.version, found.way_down) == ("Job", "5", "")

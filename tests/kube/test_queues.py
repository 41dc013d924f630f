"""Queue systems on a real API server: Kueue itself; of KAI and Volcano the resource definitions alone."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from collector.kubernetes.settings import Settings
from collector.kubernetes.source import KubernetesSource
from collector.kubernetes.talk import connect
from collector.log import Log
from quartermaster.clock import now_ms
from quartermaster.config.clusters import KubernetesPart
from quartermaster.pool import PoolRule
from tests.kube.raws import G
from tests.servers.controlplane import ControlPlane
from tests.servers.fleet import GROUND, Ground
from tests.servers.process import Process
from tests.servers.queues import define_kai, define_volcano

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
Row = dict[str, Any]


class Told:
    """A source's rows by table, as they are told."""

    def __init__(self, source: KubernetesSource) -> None:
        self.source = source
        self.rows: dict[str, list[Row]] = {}

    def of(self, table: str, **like: Any) -> list[Row]:
        """The last version of each row with these values, open ones alone."""
        for name, frame in self.source.take(now_ms()).frames.items():
            self.rows.setdefault(name, []).extend(frame.to_dicts())
        found: dict[Any, Row] = {}
        for row in self.rows.get(table, []):
            if all(row[key] == value for key, value in like.items()):
                found[next(row[key] for key in row if key.endswith("_id") and key != "workload_id")] = row
        return [row for row in found.values() if row["end_at"] is None]

    def until(self, table: str, count: int = 1, seconds: float = 60, **like: Any) -> list[Row]:
        end = time.monotonic() + seconds
        while len(rows := self.of(table, **like)) != count:
            assert time.monotonic() < end, (table, like, rows, self.source.troubles)
            time.sleep(0.1)
        return rows

    def quotas(self, count: int, prefixes: str | tuple[str, ...], seconds: float = 60) -> list[Row]:
        """The open promises of objects whose names begin so, once there are so many."""
        end = time.monotonic() + seconds
        while True:
            rows = [row for row in self.of("quotas_versions") if row["source_object"].startswith(prefixes)]
            if len(rows) == count:
                return rows
            assert time.monotonic() < end, (rows, self.source.troubles)
            time.sleep(0.1)


@pytest.fixture
def kai(control_plane: ControlPlane) -> None:
    define_kai(control_plane)


@pytest.fixture
def volcano(control_plane: ControlPlane) -> None:
    define_volcano(control_plane)


@pytest.fixture
def told(control_plane: ControlPlane, ground: Ground) -> Iterator[Told]:
    """A source of this test's control plane, with teams named as the test's namespace names its queues."""
    part = KubernetesPart.model_construct(kubeconfig=control_plane.kubeconfig, context=None, in_cluster=False)
    name = ground.namespace
    settings = Settings(
        "c",
        telemetry=False,
        pools=(PoolRule("training", ("*",), {GROUND: name}), PoolRule("others", ("*",))),
        teams=frozenset({f"{name}-vision", f"{name}-speech"}),
    )
    source = KubernetesSource(settings, connect(part, "c", 30), now_ms, Log("plain"), 180_000)
    source.start()
    yield Told(source)
    source.stop()


def promised(rows: list[Row]) -> dict[str, tuple[str, str, int, int | None]]:
    return {
        row["source_object"]: (row["team"], row["pool"], row["guaranteed_parts"], row["limit_parts"])
        for row in rows
    }


def make_kueue(ground: Ground, path: str, kind: str, name: str, spec: Row) -> None:
    body = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec}
    ground.plane.call("POST", f"{KUEUE}/{path}", body)


def resources(flavor: str, **gpus: int) -> list[Row]:
    flavors = [{"name": flavor, "resources": [{"name": "nvidia.com/gpu", **gpus}]}]
    return [{"coveredResources": ["nvidia.com/gpu"], "flavors": flavors}]


def job(ground: Ground, name: str, queue: str, gpus: int, pods: int = 1) -> None:
    limits = {"nvidia.com/gpu": str(gpus)}
    container = {"name": "main", "image": "example.test/work", "resources": {"limits": limits}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    body = {
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {"suspend": True, "parallelism": pods, "completions": pods, "template": template},
    }
    ground.plane.call("POST", f"/apis/batch/v1/namespaces/{ground.namespace}/jobs", body)


def test_kueues_queues_cohort_and_what_waits_in_them(kueue: Process, ground: Ground, told: Told):
    """Two ClusterQueues in a Cohort that has a quota of its own; one borrows, and the other's refusal is Kueue's."""
    assert kueue.alive
    name = ground.namespace
    ground.node(gpus=8)
    make_kueue(ground, "resourceflavors", "ResourceFlavor", f"{name}-h100", {"nodeLabels": {GROUND: name}})
    make_kueue(
        ground,
        "cohorts",
        "Cohort",
        f"{name}-all",
        {"resourceGroups": resources(f"{name}-h100", nominalQuota=1)},
    )
    for team, gpus in (("vision", {"nominalQuota": 3, "borrowingLimit": 2}), ("speech", {"nominalQuota": 4})):
        spec = {
            "cohortName": f"{name}-all",
            "namespaceSelector": {},
            "resourceGroups": resources(f"{name}-h100", **gpus),
        }
        make_kueue(ground, "clusterqueues", "ClusterQueue", f"{name}-{team}", spec)
        local = {"clusterQueue": f"{name}-{team}"}
        make_kueue(ground, f"namespaces/{name}/localqueues", "LocalQueue", team, local)
    made = told.quotas(3, (f"Cohort/{name}-", f"ClusterQueue/{name}-"))
    assert promised(made) == {
        f"Cohort/{name}-all/{name}-h100": ("unassigned", "training", G, None),
        f"ClusterQueue/{name}-vision/{name}-h100": (f"{name}-vision", "training", 3 * G, 5 * G),
        f"ClusterQueue/{name}-speech/{name}-h100": (f"{name}-speech", "training", 4 * G, None),
    }
    job(ground, "runs", "vision", 2, pods=2)
    ground.wait(
        f"{ground.path}/pods", lambda pods: sum("nodeName" in each["spec"] for each in pods["items"]) == 2
    )
    assert sum(row["gpu_parts"] for row in told.until("allocations_versions", 2, namespace=name)) == 4 * G
    job(ground, "waits", "vision", 2, pods=2)
    (waiting,) = told.until("demand_versions", namespace=name)
    end = time.monotonic() + 30
    while "quota" not in waiting["reason"]:
        assert time.monotonic() < end, waiting
        (waiting,) = told.until("demand_versions", namespace=name)
    assert waiting["reason"].startswith("queued: vision: couldn't assign flavors")
    assert (waiting["pods"], waiting["gpu_parts"], waiting["gang_minimum"]) == (2, 4 * G, 2)
    (workload,) = [
        row for row in told.rows["workloads_versions"] if row["workload_id"] == waiting["workload_id"]
    ]
    assert (workload["kind"], workload["name"]) == ("Job", "waits")
    change = {"spec": {"resourceGroups": resources(f"{name}-h100", nominalQuota=8)}}
    path = f"{KUEUE}/clusterqueues/{name}-vision"
    ground.plane.call("PATCH", path, change, "application/merge-patch+json")
    told.until("demand_versions", 0, namespace=name)
    (raised,) = told.until("quotas_versions", team=f"{name}-vision")
    assert (raised["guaranteed_parts"], raised["limit_parts"]) == (8 * G, None)


@pytest.mark.usefixtures("kai")
def test_queues_of_kai_as_its_schema_has_them(control_plane: ControlPlane, ground: Ground, told: Told):
    """No KAI runs: its resource definitions are written from its schema's shape, and the API server is real."""
    name = ground.namespace
    ground.node(gpus=8)

    def queue(called: str, quota: float, limit: float, parent: str = "") -> None:
        gpu = {"quota": quota, "limit": limit, "overQuotaWeight": 2}
        spec = {"resources": {"gpu": gpu}, **({"parentQueue": parent} if parent else {})}
        body = {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": called},
            "spec": spec,
        }
        control_plane.call("POST", "/apis/scheduling.run.ai/v2/queues", body)

    queue(f"{name}-research", 8, -1)
    queue(f"{name}-vision", 5, -1, f"{name}-research")
    queue(f"{name}-speech", 1.5, 4, f"{name}-research")
    groups = f"/apis/scheduling.run.ai/v2alpha2/namespaces/{name}/podgroups"
    body = {"metadata": {"name": "pg"}, "spec": {"minMember": 3, "queue": f"{name}-vision"}}
    control_plane.call(
        "POST", groups, {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", **body}
    )
    made = told.quotas(3, f"Queue/{name}-")
    assert promised(made) == {
        f"Queue/{name}-research": ("unassigned", "training", 3 * G // 2, None),
        f"Queue/{name}-vision": (f"{name}-vision", "training", 5 * G, None),
        f"Queue/{name}-speech": (f"{name}-speech", "training", 3 * G // 2, 4 * G),
    }
    assert {row["weight"] for row in made} == {2}
    notes = {"pod-group-name": "pg"}
    ground.pod("waits", gpus=99, annotations=notes, labels={"kai.scheduler/queue": f"{name}-vision"})
    (waiting,) = told.until("demand_versions", namespace=name)
    assert (waiting["gpu_parts"], waiting["gang_minimum"]) == (99 * G, 3)


@pytest.mark.usefixtures("volcano")
def test_queues_of_volcano_as_its_schema_has_them(control_plane: ControlPlane, ground: Ground, told: Told):
    """No Volcano runs: see KAI's."""
    name = ground.namespace
    ground.node(gpus=8)

    def queue(called: str, deserved: int, most: int, parent: str) -> None:
        spec = {
            "deserved": {"nvidia.com/gpu": deserved},
            "capability": {"nvidia.com/gpu": str(most)},
            "weight": 3,
        }
        whole = {"metadata": {"name": called}, "spec": {**spec, "parent": parent, "reclaimable": True}}
        body = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", **whole}
        control_plane.call("POST", "/apis/scheduling.volcano.sh/v1beta1/queues", body)

    queue(f"{name}-all", 6, 8, "root")
    queue(f"{name}-vision", 4, 6, f"{name}-all")
    made = promised(told.quotas(2, f"Queue/{name}-"))
    assert made == {
        f"Queue/{name}-all/nvidia.com/gpu": ("unassigned", "training", 2 * G, 8 * G),
        f"Queue/{name}-vision/nvidia.com/gpu": (f"{name}-vision", "training", 4 * G, 6 * G),
    }

"""On a real control plane with fake GPU nodes: what the collector tells, against the test's own record."""

import json
import os
import signal
import time
import urllib.error
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from collector.batch import Batch, commit
from collector.kubernetes import watch
from collector.kubernetes.resources import RESOURCES
from collector.kubernetes.settings import Settings
from collector.kubernetes.source import KubernetesSource, Taken
from collector.kubernetes.talk import connect
from collector.log import Log
from quartermaster.clock import now_ms, to_iso
from quartermaster.config.clusters import KubernetesPart
from quartermaster.ids import device_id
from quartermaster.parts import GPU_PARTS
from sql.ledger import memory_ledger
from tests.servers.controlplane import ControlPlane
from tests.servers.fleet import Ground
from tests.servers.objects import DRA, define, make, make_device_class

ROLES = Path(__file__).parents[2] / "deploy" / "rbac" / "collector.yaml"
PLACES = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/quartermaster/serviceaccounts",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
}
G = GPU_PARTS


@pytest.fixture
def collectors_token(control_plane: ControlPlane) -> str:
    """A token of the service account that deploy/rbac makes, with the rights that it gives."""
    for each in yaml.safe_load_all(ROLES.read_text(encoding="utf-8")):
        make(control_plane, PLACES[each["kind"]], each)
    path = f"{PLACES['ServiceAccount']}/collector/token"
    return control_plane.call("POST", path, {"spec": {}})["status"]["token"]


Sources = Callable[..., KubernetesSource]


@pytest.fixture
def sources(control_plane: ControlPlane) -> Iterator[Sources]:
    """Starts Kubernetes sources with a token."""
    started: list[KubernetesSource] = []

    def start(token: str, **settings: Any) -> KubernetesSource:
        path = control_plane.kubeconfig_of(token)
        api = connect(
            KubernetesPart.model_construct(kubeconfig=path, context=None, in_cluster=False), "c", 20
        )
        source = KubernetesSource(
            Settings("c", telemetry=False, **settings), api, now_ms, Log("plain"), 180_000
        )
        started.append(source)
        source.start()
        return source

    yield start
    for source in started:
        source.stop()


def until(holds: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


def allocations(taken: Taken, namespace: str) -> dict[str, dict[str, Any]]:
    rows = taken.frames.get("allocations_versions")
    found = rows.to_dicts() if rows is not None else []
    return {row["pod"]: row for row in found if row["namespace"] == namespace}


def test_the_role_is_all_that_is_needed_and_names_all_that_is_read(
    sources: Sources, collectors_token: str, ground: Ground
):
    ground.node()
    ground.pod("p", gpus=2)
    bound = ground.wait_for_pod("p")
    source = sources(collectors_token)
    until(lambda: source.complete)
    found = allocations(source.take(now_ms()), ground.namespace)["p"]
    assert (found["gpu_parts"], found["node"]) == (2 * G, bound["spec"]["nodeName"])
    troubles = {
        each.resource.name: each.state.trouble.kind
        for each in source._watchers
        if each.state.trouble is not None
    }
    assert set(troubles.values()) <= {"absent"}, "what the cluster has may all be read"
    given = next(each for each in yaml.safe_load_all(ROLES.read_text()) if each["kind"] == "ClusterRole")
    watched = {
        f"{plural}.{group}" if group else plural
        for rule in given["rules"]
        if "watch" in rule["verbs"]
        for group in rule["apiGroups"]
        for plural in rule["resources"]
    }
    assert watched == {each.name for each in RESOURCES}
    assert {verb for rule in given["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}


def test_without_a_right_it_goes_on_and_says_what_is_lost(
    sources: Sources, control_plane: ControlPlane, ground: Ground, capsys: pytest.CaptureFixture[str]
):
    token = control_plane.service_account(ground.namespace, "poor")
    rule = {"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["get", "list", "watch"]}
    role = {"metadata": {"name": f"poor-{ground.namespace}"}, "rules": [rule]}
    make(control_plane, PLACES["ClusterRole"], role)
    reference = {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": f"poor-{ground.namespace}",
    }
    subject = {"kind": "ServiceAccount", "name": "poor", "namespace": ground.namespace}
    binding = {"metadata": {"name": f"poor-{ground.namespace}"}, "roleRef": reference, "subjects": [subject]}
    make(control_plane, PLACES["ClusterRoleBinding"], binding)
    ground.node()
    ground.pod("p", gpus=2)
    ground.wait_for_pod("p")
    source = sources(token)
    until(lambda: source.complete)
    assert allocations(source.take(now_ms()), ground.namespace)["p"]["gpu_parts"] == 2 * G
    said = capsys.readouterr()
    assert "quotas of namespaces are not known" in said.out + said.err


def test_owners_of_unknown_kinds_are_looked_up(sources: Sources, control_plane: ControlPlane, ground: Ground):
    names = {"plural": "trains", "singular": "train", "kind": "Train"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "example.test", "scope": "Namespaced", "names": names, "versions": [version]}
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    make(control_plane, crds, {"metadata": {"name": "trains.example.test"}, "spec": spec})
    trains = f"/apis/example.test/v1/namespaces/{ground.namespace}/trains"

    def make_train() -> dict[str, Any]:
        with suppress(urllib.error.HTTPError):
            body = {"apiVersion": "example.test/v1", "kind": "Train", "metadata": {"name": "big"}}
            return control_plane.call("POST", trains, body)
        return {}

    train: dict[str, Any] = {}
    until(lambda: bool(train.update(make_train()) or train))
    owner = {"apiVersion": "example.test/v1", "kind": "Train", "name": "big", "uid": train["metadata"]["uid"]}
    container = {"name": "m", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    template = {"spec": ground.on_own_nodes({"containers": [container], "restartPolicy": "Never"})}
    job = {
        "metadata": {"name": "part", "ownerReferences": [{**owner, "controller": True}]},
        "spec": {"template": template, "parallelism": 2, "completions": 2},
    }
    ground.node()
    control_plane.call("POST", f"/apis/batch/v1/namespaces/{ground.namespace}/jobs", job)
    ground.wait(
        f"{ground.path}/pods", lambda pods: len([p for p in pods["items"] if "nodeName" in p["spec"]]) == 2
    )
    source = sources(control_plane.token)
    until(lambda: source.complete)
    taken = source.take(now_ms())
    ids = {row["workload_id"] for row in allocations(taken, ground.namespace).values()}
    workloads = [row for row in taken.frames["workloads_versions"].to_dicts() if row["workload_id"] in ids]
    assert [(row["kind"], row["name"], json.loads(row["owner_chain"])) for row in workloads] == [
        ("Train", "big", ["Job/part", "Train/big"])
    ]


def test_a_quota_that_refuses_a_jobs_pods_is_demand(
    sources: Sources, control_plane: ControlPlane, ground: Ground
):
    source = sources(control_plane.token)
    until(lambda: source.complete)
    quota = {"metadata": {"name": "rq"}, "spec": {"hard": {"requests.nvidia.com/gpu": "1"}}}
    control_plane.call("POST", f"{ground.path}/resourcequotas", quota)
    ground.wait(f"{ground.path}/resourcequotas/rq", lambda found: "hard" in found["status"])
    ground.node()
    container = {"name": "m", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "2"}}}
    template = {"spec": ground.on_own_nodes({"containers": [container], "restartPolicy": "Never"})}
    job = {"metadata": {"name": "big"}, "spec": {"template": template, "parallelism": 3, "completions": 3}}
    control_plane.call("POST", f"/apis/batch/v1/namespaces/{ground.namespace}/jobs", job)
    demand: list[dict[str, Any]] = []
    quotas: list[dict[str, Any]] = []

    def told() -> bool:
        frames = source.take(now_ms()).frames
        for table, rows in (("demand_versions", demand), ("quotas_versions", quotas)):
            rows.extend(frames[table].to_dicts() if table in frames else [])
        return any(row["namespace"] == ground.namespace for row in demand)

    until(told)
    (first, *_) = [row for row in demand if row["namespace"] == ground.namespace]
    assert (first["pods"], first["gpu_parts"]) == (3, 6 * G)
    assert "exceeded quota" in first["reason"]
    until(lambda: told() and any(row["source_object"].endswith(f"{ground.namespace}/rq") for row in quotas))


def test_one_of_two_clusters_that_is_away_is_a_gap_for_that_one_only(
    control_plane: ControlPlane, ground: Ground, tmp_path: Path
):
    nobody = yaml.safe_load(control_plane.kubeconfig.read_text(encoding="utf-8"))
    nobody["clusters"].append({"name": "gone", "cluster": {"server": "https://127.0.0.1:1"}})
    nobody["contexts"].append(
        {"name": "gone", "context": {**nobody["contexts"][0]["context"], "cluster": "gone"}}
    )
    both = tmp_path / "both"
    both.write_text(yaml.safe_dump(nobody), encoding="utf-8")
    ground.node()
    ground.pod("p")
    ground.wait_for_pod("p")
    started: dict[str, KubernetesSource] = {}
    for cluster, context, patience_ms in (("here", "test", 180_000), ("away", "gone", 1500)):
        part = KubernetesPart.model_construct(kubeconfig=both, context=context, in_cluster=False)
        source = KubernetesSource(
            Settings(cluster), connect(part, cluster, 20), now_ms, Log("plain"), patience_ms
        )
        source.start()
        started[cluster] = source
    try:
        until(lambda: started["here"].complete)
        time.sleep(1.6)
        here, away = (started[name].take(now_ms()) for name in ("here", "away"))
        assert "p" in allocations(here, ground.namespace)
        assert all(row["end_at"] is not None for row in here.frames["gaps_versions"].to_dicts())
        told = away.frames["gaps_versions"].to_dicts()
        assert {(row["cluster"], row["covers"], row["end_at"]) for row in told} == {
            ("away", "holders", None),
            ("away", "quota", None),
        }
        assert set(away.frames) == {"gaps_versions", "watermarks"}
    finally:
        for source in started.values():
            source.stop()


def test_what_dra_gives(sources: Sources, control_plane: ControlPlane, ground: Ground):
    """A claim of a template, and an extended resource that DRA serves: counted once, with their devices' UUIDs."""
    make_device_class(control_plane)
    name = ground.node(gpus=0)
    devices = [
        {
            "name": f"gpu-{index}",
            "attributes": {"type": {"string": "gpu"}, "uuid": {"string": f"GPU-{name}-{index}"}},
            "capacity": {"memory": {"value": "80Gi"}},
        }
        for index in range(4)
    ]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    whole = {"driver": "gpu.nvidia.com", "nodeName": name, "pool": pool, "devices": devices}
    make(control_plane, f"{DRA}/resourceslices", {"metadata": {"name": f"{name}-gpus"}, "spec": whole})
    exactly = {"deviceClassName": "gpu.nvidia.com", "count": 2}
    template = {"spec": {"devices": {"requests": [{"name": "gpus", "exactly": exactly}]}}}
    templates = f"{DRA}/namespaces/{ground.namespace}/resourceclaimtemplates"
    make(control_plane, templates, {"metadata": {"name": "two"}, "spec": template})
    source = sources(control_plane.token)
    until(lambda: source.complete)
    container = {"name": "main", "image": "x", "resources": {"claims": [{"name": "g"}]}}
    claims = [{"name": "g", "resourceClaimTemplateName": "two"}]
    ground.pod("claims", gpus=0, containers=[container], resourceClaims=claims, ends_after_s=2)
    ground.pod("extended", gpus=1)
    for pod in ("claims", "extended"):
        ground.wait(f"{ground.path}/pods/{pod}", lambda found: "nodeName" in found["spec"])
    ground.wait_for_pod("claims", "Succeeded")
    rows: dict[str, dict[str, Any]] = {}
    held: dict[int, dict[str, Any]] = {}

    def over() -> bool:
        taken = source.take(now_ms())
        rows.update(allocations(taken, ground.namespace))
        found = taken.frames.get("holdings_versions")
        held.update({row["holding_id"]: row for row in (found.to_dicts() if found is not None else [])})
        return {"claims", "extended"} <= set(rows) and rows["claims"]["end_at"] is not None

    until(over)
    parts = {pod: row["gpu_parts"] for pod, row in rows.items()}
    assert parts == {"claims": 2 * G, "extended": G}, "the extended resource counts once"
    devices_of = {
        pod: [each["device_id"] for each in held.values() if each["allocation_id"] == row["allocation_id"]]
        for pod, row in rows.items()
    }
    assert [len(devices_of["claims"]), len(devices_of["extended"])] == [2, 1]
    assert len({*devices_of["claims"], *devices_of["extended"]}) == 3
    ours = {device_id("c", f"GPU-{name}-{index}") for index in range(4)}
    assert {*devices_of["claims"], *devices_of["extended"]} <= ours
    ends = {
        each["end_at"] for each in held.values() if each["allocation_id"] == rows["claims"]["allocation_id"]
    }
    assert ends == {rows["claims"]["end_at"]}, "the claim is deleted at once, what it gave is kept"


def test_hostile_words_that_an_api_server_lets_through(
    sources: Sources, control_plane: ControlPlane, ground: Ground, tmp_path: Path
):
    """In annotations it takes anything, 64 KiB of it: as tags they are kept short, as a person's name not at all."""
    hostile = {
        "formula": "=cmd|' /C calc'!A0",
        "sql": "'; drop table lake.samples; --\nselect 1",
        "long": "x" * 65_000,
        "backwards": "\u202egnp.exe\u202c\u0007\x1b[31m",
        "null": "nul\x00byte",
    }
    names = tuple(f"test/{key}" for key in hostile)
    ground.node()
    for key, value in hostile.items():
        ground.pod(f"p-{key}", annotations={f"test/{key}": value, "test/who": value})
    for key in hostile:
        ground.wait(f"{ground.path}/pods/p-{key}", lambda found: "nodeName" in found["spec"])
    source = sources(control_plane.token, tag_labels=names, user_labels=("test/who",), person_key=b"k" * 32)
    until(lambda: source.complete)
    taken = source.take(now_ms())
    with memory_ledger() as ledger:
        commit(ledger, Batch("w/1/1", now_ms(), taken.frames))
        query = """
            select a.pod, w.tags, w.person_id from allocations as a
            join workloads as w using (cluster, workload_id) where a.namespace = ? order by a.pod
        """
        found = {
            pod: (json.loads(tags), person)
            for pod, tags, person in ledger.query(query, [ground.namespace]).rows()
        }
    assert set(found) == {f"p-{key}" for key in hostile}
    for key, value in hostile.items():
        tags, person = found[f"p-{key}"]
        assert tags == {f"test/{key}": value[:1024].replace("\x00", "\ufffd")}
        assert person is not None


def test_what_autoscalers_may_still_add(sources: Sources, control_plane: ControlPlane, ground: Ground):
    """No autoscaler runs: Karpenter's resource definitions, and an Event as the cluster-autoscaler writes it."""
    anything = {"x-kubernetes-preserve-unknown-fields": True, "type": "object"}
    spec = {"limits": anything, "template": anything}
    define(control_plane, "karpenter.sh", "v1", "NodePool", "nodepools", spec=spec, namespaced=False)
    define(control_plane, "karpenter.sh", "v1", "NodeClaim", "nodeclaims", spec=spec, namespaced=False)
    name = ground.namespace
    ground.node(labels={"karpenter.sh/nodepool": name})
    ground.pod("waits", gpus=9)
    body = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}}
    karpenter = "/apis/karpenter.sh/v1"
    limits = {"limits": {"nvidia.com/gpu": "32"}}
    control_plane.call("POST", f"{karpenter}/nodepools", {**body, "spec": limits})
    labels = {"name": f"{name}-c", "labels": {"karpenter.sh/nodepool": name}}
    status = {
        "capacity": {"nvidia.com/gpu": "8"},
        "conditions": [{"type": "Initialized", "status": "Unknown"}],
    }
    claim = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": labels, "status": status}
    control_plane.call("POST", f"{karpenter}/nodeclaims", claim)
    waits = control_plane.call("GET", f"{ground.path}/pods/waits")["metadata"]
    about = {"kind": "Pod", "name": "waits", "namespace": name, "uid": waits["uid"], "apiVersion": "v1"}
    moment = to_iso(now_ms())[:19] + "Z"
    event = {
        "metadata": {"name": "waits.1"},
        "involvedObject": about,
        "reason": "TriggeredScaleUp",
        "type": "Normal",
        "message": f"pod triggered scale-up: [{{{name}-group 1->2 (max: 4)}}]",
        "lastTimestamp": moment,
    }
    control_plane.call("POST", f"{ground.path}/events", event)
    source = sources(control_plane.token)
    until(lambda: source.complete)
    told: dict[str, dict[str, Any]] = {}

    def all_told() -> bool:
        frames = source.take(now_ms()).frames
        if "growth_versions" in frames:
            told.update({row["source_object"]: row for row in frames["growth_versions"].to_dicts()})
        return len(told) == 2

    until(all_told)
    found = {key: (row["limit_parts"] // G, row["coming_parts"] // G) for key, row in told.items()}
    assert found == {f"NodePool/{name}": (32, 8), f"NodeGroup/{name}-group": (4 * 9, 9)}


def test_an_api_server_that_goes_and_comes_back_has_told_everything(
    sources: Sources, control_plane: ControlPlane, ground: Ground
):
    ground.node()
    ground.pod("before", ends_after_s=1)
    source = sources(control_plane.token)
    until(lambda: source.complete)
    ground.wait_for_pod("before", "Succeeded")
    control_plane.processes["kube-apiserver"].stop()
    until(lambda: "nodes" in source.troubles)
    control_plane.start_api()
    ground.pod("after")
    ground.wait_for_pod("after")
    rows: dict[str, dict[str, Any]] = {}

    def told() -> bool:
        rows.update(allocations(source.take(now_ms()), ground.namespace))
        return "after" in rows and rows["before"]["end_at"] is not None

    until(told, 60)


def test_an_api_server_that_hangs_mid_watch_is_asked_again_and_has_told_everything(
    sources: Sources, control_plane: ControlPlane, ground: Ground, monkeypatch: pytest.MonkeyPatch
):
    """Stopped in the middle of its streams, it neither answers nor hangs up; then it goes on where it was."""
    monkeypatch.setattr(watch, "SILENCE_S", 2.0)
    ground.node()
    ground.pod("before", ends_after_s=1)
    source = sources(control_plane.token)
    until(lambda: source.complete)
    server = control_plane.processes["kube-apiserver"]
    os.kill(server.pid, signal.SIGSTOP)
    try:
        until(lambda: source.troubles.get("pods") == "silent")
    finally:
        os.kill(server.pid, signal.SIGCONT)
    ground.pod("after")
    ground.wait_for_pod("after")
    rows: dict[str, dict[str, Any]] = {}

    def told() -> bool:
        rows.update(allocations(source.take(now_ms()), ground.namespace))
        return "after" in rows and rows["before"]["end_at"] is not None

    until(told, 60)


def test_when_it_is_stopped_its_streams_end(sources: Sources, control_plane: ControlPlane) -> None:
    source = sources(control_plane.token)
    until(lambda: source.settled)
    source.stop()
    for watcher in source._watchers:
        watcher._thread.join(5)
        assert not watcher._thread.is_alive(), watcher.resource.name

"""The chart and what is rendered from it: by helm, by the rules of the house, and on a real API server."""

import json
import re
import subprocess
import time
import urllib.error
import zlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.checkup.kubernetes import kubernetes
from cli.checkup.line import State
from quartermaster.config.load import parse_configuration
from quartermaster.config.secret import Surroundings
from tests.install.render import CHART, KUSTOMIZE, manifests, rendered
from tests.servers.controlplane import ControlPlane
from tests.servers.fleet import Ground
from tests.servers.objects import define
from tests.servers.plugin import need
from tests.servers.recipes import program

DEPLOY = CHART.parents[1]
ACTING = (
    "enforcer.mode=act",
    "reports.enabled=true",
    *(f"enforcer.rights.{each}=true" for each in ("lend", "kueue", "kai", "volcano")),
)
MONITORED = ("monitoring.serviceMonitor=true", "monitoring.prometheusRule=true")
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PLACES = {
    "Namespace": "/api/v1/namespaces",
    "ClusterRole": f"{RBAC}/clusterroles",
    "ClusterRoleBinding": f"{RBAC}/clusterrolebindings",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Service": "/api/v1/namespaces/{}/services",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
    "Role": RBAC + "/namespaces/{}/roles",
    "RoleBinding": RBAC + "/namespaces/{}/rolebindings",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "CronJob": "/apis/batch/v1/namespaces/{}/cronjobs",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "ServiceMonitor": "/apis/monitoring.coreos.com/v1/namespaces/{}/servicemonitors",
    "PrometheusRule": "/apis/monitoring.coreos.com/v1/namespaces/{}/prometheusrules",
}

Objects = list[dict[str, Any]]


def objects(*settings: str, only: str = "") -> Objects:
    """What helm makes of the chart; without helm the test is left out."""
    need("helm")
    return [each for each in yaml.safe_load_all(rendered(*settings, only=only)) if each]


def pods(found: Objects) -> dict[str, dict[str, Any]]:
    """The pod's spec of each part."""
    told: dict[str, dict[str, Any]] = {}
    for each in found:
        if each["kind"] in {"Deployment", "StatefulSet"}:
            told[each["metadata"]["name"].removeprefix("quartermaster-")] = each["spec"]["template"]["spec"]
        elif each["kind"] == "CronJob":
            told["reports"] = each["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return told


def test_helm_finds_nothing_and_refuses_what_the_schema_does_not_know() -> None:
    need("helm")
    helm = program("helm")
    assert helm is not None
    done = subprocess.run([helm, "lint", "--strict", CHART], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    for wrong in ("enforcer.mode=danger", "rollup.evry=5m", "rollup.every=soon", "image.repository="):
        with pytest.raises(subprocess.CalledProcessError) as refused:
            rendered(wrong)
        assert "values" in refused.value.stderr or "at '" in refused.value.stderr


def test_every_value_is_in_the_schema_and_every_key_of_the_schema_has_a_value() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    assert values.keys() == schema["properties"].keys() - {"global"}


def test_the_rendered_base_is_what_the_chart_says_now() -> None:
    need("helm")
    for file, text in manifests().items():
        assert file.read_text(encoding="utf-8") == text, f"{file.name}: make manifests"
        kustomization = yaml.safe_load((file.parent / "kustomization.yaml").read_text(encoding="utf-8"))
        assert file.name in kustomization["resources"]
    assert sorted(each.name for each in KUSTOMIZE.iterdir()) == ["base", "monitoring"]


def test_the_charts_configuration_is_one_that_can_be_used() -> None:
    for settings in ((), ACTING):
        (found,) = (each for each in objects(*settings, only="base") if each["kind"] == "ConfigMap")
        text = found["data"]["quartermaster.yaml"]
        around = Surroundings({"POSTGRES_PASSWORD": "p"}, Path("/etc/quartermaster"), Path.read_text)
        loaded = parse_configuration(text, "quartermaster.yaml", around)
        configuration = loaded.need()
        acting = configuration.policy.acting
        assert (acting.mode, acting.namespace) == ("act" if settings else "shadow", "quartermaster")
        assert configuration.collector.listen == "0.0.0.0:9500"


@pytest.mark.parametrize("settings", [(), ACTING], ids=["shadow", "act"])
def test_every_pod_is_bounded_and_has_no_more_than_it_needs(settings: tuple[str, ...]) -> None:
    found = pods(objects(*settings))
    parts = {"collector", "rollup", "findings", "enforcer", "dashboards", "metrics"}
    assert found.keys() == parts | ({"reports"} if settings else set())
    for name, spec in found.items():
        (container,) = spec["containers"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert "memory" in container["resources"]["limits"]
        if name != "reports":
            assert {"startupProbe", "livenessProbe", "readinessProbe"} <= container.keys()
    tokens = {name for name, spec in found.items() if spec["automountServiceAccountToken"]}
    assert tokens == ({"collector", "enforcer"} if settings else {"collector"})


def test_in_shadow_the_enforcer_has_no_right_and_acting_is_asked_for() -> None:
    bound = {
        each["subjects"][0]["name"]
        for each in objects()
        if each["kind"] in {"ClusterRoleBinding", "RoleBinding"}
    }
    assert bound == {"quartermaster-collector"}
    assert pods(objects())["enforcer"]["containers"][0]["args"][:2] == ["enforce", "--watch"]
    assert pods(objects("enforcer.mode=plan"))["enforcer"]["containers"][0]["args"] == ["enforce", "--plan"]
    assert pods(objects(*ACTING))["enforcer"]["containers"][0]["args"] == ["enforce", "--act", "--yes"]


def test_the_charts_roles_and_rules_are_those_of_deploy() -> None:
    def rules(name: str, kind: str) -> Any:
        told = yaml.safe_load_all((DEPLOY / "rbac" / name).read_text(encoding="utf-8"))
        return next(each["rules"] for each in told if each["kind"] == kind)

    for file in (CHART / "files").glob("*.yaml"):
        ours = yaml.safe_load(file.read_text(encoding="utf-8"))
        if file.stem in {"rules", "operations"}:
            assert ours == yaml.safe_load((DEPLOY / "prometheus" / file.name).read_text(encoding="utf-8"))
        elif file.stem == "enforcer-own":
            assert ours == rules("enforcer-native.yaml", "Role")
        else:
            assert ours == rules(file.name, "ClusterRole"), file.name


def place(each: dict[str, Any]) -> str:
    return PLACES[each["kind"]].format(each["metadata"].get("namespace", ""))


def apply(plane: ControlPlane, found: Objects, *, dry: bool) -> None:
    """Server-side apply, as kubectl does it."""
    query = "?fieldManager=test&fieldValidation=Strict&force=true" + ("&dryRun=All" if dry else "")
    for each in found:
        path = f"{place(each)}/{each['metadata']['name']}{query}"
        plane.call("PATCH", path, each, kind="application/apply-patch+yaml")


def elsewhere(found: Objects, namespace: str) -> Objects:
    """The same in a namespace of the test's own."""
    text = json.dumps(found).replace('"namespace": "quartermaster"', f'"namespace": "{namespace}"')
    told: Objects = json.loads(text)
    for each in told:
        if each["kind"] == "Namespace":
            each["metadata"]["name"] = namespace
        elif each["kind"].startswith("ClusterRole"):
            each["metadata"]["name"] = f"{namespace}-{each['metadata']['name']}"
            if "roleRef" in each:
                each["roleRef"]["name"] = f"{namespace}-{each['roleRef']['name']}"
    return told


@pytest.fixture
def place_for_it(control_plane: ControlPlane, request: pytest.FixtureRequest) -> Generator[str]:
    """A namespace for the chart on a control plane that has the definitions which it needs."""
    namespace = f"qm-{zlib.crc32(request.node.name.encode()):08x}"
    group = "monitoring.coreos.com"
    one: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec: dict[str, Any] = {"selector": one} | {
        key: {"type": "array", "items": one} for key in ("endpoints", "groups")
    }
    for kind in ("ServiceMonitor", "PrometheusRule"):
        define(control_plane, group, "v1", kind, f"{kind.lower()}s", spec=spec, namespaced=True)
    apply(
        control_plane,
        [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gpu-operator"}}],
        dry=False,
    )
    yield namespace
    for each in elsewhere(objects(*ACTING, "namespace.create=true"), namespace):
        if each["kind"] == "Namespace" or each["kind"].startswith("ClusterRole"):
            try:
                control_plane.call("DELETE", f"{place(each)}/{each['metadata']['name']}")
            except urllib.error.HTTPError as error:
                if error.code != 404:
                    raise


def volumes(plane: ControlPlane) -> None:
    """Two volumes that the claims can have: nobody makes them here."""
    for name in ("qm-data", "qm-spool"):
        spec = {
            "capacity": {"storage": "100Gi"},
            "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
            "hostPath": {"path": f"/srv/{name}"},
            "persistentVolumeReclaimPolicy": "Delete",
        }
        told = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}
        path = f"/api/v1/persistentvolumes/{name}?fieldManager=test&force=true"
        plane.call("PATCH", path, told, kind="application/apply-patch+yaml")


@pytest.mark.patient
def test_the_api_server_takes_all_of_it_and_the_pods_run_under_the_restricted_standard(
    place_for_it: str, control_plane: ControlPlane, ground: Ground
) -> None:
    plane, namespace = control_plane, place_for_it
    base = elsewhere(objects("namespace.create=true"), namespace)
    apply(plane, [each for each in base if each["kind"] == "Namespace"], dry=False)
    for settings in ((), ACTING, MONITORED):
        apply(plane, elsewhere(objects(*settings), namespace), dry=True)
    ground.node()
    volumes(plane)
    apply(plane, base, dry=False)
    wanted = {"collector", "rollup", "findings", "enforcer", "dashboards", "metrics"}
    end = time.monotonic() + 60
    while True:
        found = plane.call("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]
        part = "app.kubernetes.io/component"
        running = {
            each["metadata"]["labels"][part] for each in found if each["status"].get("phase") == "Running"
        }
        if running == wanted:
            break
        assert time.monotonic() < end, (
            f"only {running} run: {plane.call('GET', f'/api/v1/namespaces/{namespace}/events')}"
        )
        time.sleep(0.2)


@pytest.mark.patient
def test_each_account_has_what_its_part_needs_and_nothing_of_the_others(
    place_for_it: str, control_plane: ControlPlane
) -> None:
    plane, namespace = control_plane, place_for_it
    everything = elsewhere(objects(*ACTING, "namespace.create=true"), namespace)
    kinds = {"Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}
    apply(plane, [each for each in everything if each["kind"] in kinds], dry=False)

    def look(account: str, part: str) -> list[str]:
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/quartermaster-{account}/token"
        file = plane.kubeconfig_of(plane.call("POST", path, {"spec": {}})["status"]["token"])
        text = (
            f"clusters: [{{name: c, holders: kubernetes, kubernetes: {{kubeconfig: '{file}'}}}}]\n"
            f"policy: {{acting: {{mode: act, lend: true, namespace: {namespace}}}}}"
        )
        configuration = parse_configuration(
            text, "q.yaml", Surroundings({}, Path("/"), Path.read_text)
        ).need()
        of = configuration.clusters[0]
        assert of.kubernetes is not None
        lines = kubernetes(of, of.kubernetes, configuration, part)
        return [each.words for each in lines if each.state is not State.ok]

    assert look("collector", "the collector") == []
    assert look("enforcer", "the enforcer") == []
    assert any("patch" in words for words in look("collector", "the enforcer"))
    assert len(look("ledger", "the collector")) > 10
    secrets = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    for account in ("collector", "enforcer", "ledger"):
        user = f"system:serviceaccount:{namespace}:quartermaster-{account}"
        attributes = {"verb": "get", "resource": "secrets", "namespace": namespace}
        answer = plane.call("POST", secrets, {"spec": {"user": user, "resourceAttributes": attributes}})
        assert answer["status"]["allowed"] is False


def test_no_value_is_a_secret() -> None:
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    assert not re.search(r"password=(?!\$\{env:)", text)

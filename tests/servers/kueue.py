"""A real Kueue beside the control plane: its resource definitions, its webhooks on 127.0.0.1, its controller."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.servers.certificate import Certificate, certificate
from tests.servers.controlplane import ControlPlane
from tests.servers.fleet import conditions
from tests.servers.process import Process, answers, free_port
from tests.servers.recipes import recipe

SYSTEM = "kueue-system"
_SERVICE = "kueue-webhook-service"
_SECRET = "kueue-webhook-server-cert"
# Kueue finds our certificate good, and keeps it, when it is for its service's name and its authority's.
_NAMES = (f"{_SERVICE}.{SYSTEM}.svc", "kueue-ca")
# The definitions whose older versions Kueue's webhook converts.
_CONVERTED = ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")
_SERVED = ("-kueue-x-k8s-io-", "-batch-v1-job")


def start_kueue(plane: ControlPlane, folder: Path) -> Process:
    """Kueue for Jobs on the control plane, ready. Raises ServerError. Its log is in the folder."""
    made = certificate(folder / "certificate", _NAMES, rsa=True)
    port, health = free_port(), free_port()
    client = {"caBundle": base64.b64encode(made.certificate.read_bytes()).decode(), "port": port}
    definitions = [
        _definition(path, client) for path in sorted((recipe("kueue").folder / "crd").glob("*.yaml"))
    ]
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for definition in definitions:
        plane.call("POST", path, definition)
    plane.call("POST", "/api/v1/namespaces", {"metadata": {"name": SYSTEM}})
    plane.call("POST", f"/api/v1/namespaces/{SYSTEM}/secrets", _secret(made))
    for webhooks in _webhooks(client):
        kind = webhooks["kind"].lower() + "s"
        plane.call("POST", f"/apis/admissionregistration.k8s.io/v1/{kind}", webhooks)
    settings = folder / "kueue.yaml"
    settings.write_text(yaml.safe_dump(_settings(port, health, made)), encoding="utf-8")
    command = [
        recipe("kueue").folder / "kueue",
        f"--config={settings}",
        "--feature-gates=VisibilityOnDemand=false",
    ]
    environment = {"KUBECONFIG": str(plane.kubeconfig), "TMPDIR": str(folder), "HOME": str(folder)}
    process = Process("kueue", command, folder, environment)
    try:
        process.wait_for(lambda: answers(f"http://127.0.0.1:{health}/readyz"), "an answer of /readyz")
        process.wait_for(lambda: _established(plane, len(definitions)), "all definitions established")
    except BaseException:
        process.stop()
        raise
    return process


def _definition(path: Path, client: dict[str, Any]) -> dict[str, Any]:
    """A resource definition, whose conversion (where there is one) is asked of our port."""
    # 1.6 MB of them: in plain Python that takes 1.2 s.
    definition = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    if definition["spec"]["names"]["plural"] in _CONVERTED:
        webhook = {"clientConfig": _client(client, "/convert"), "conversionReviewVersions": ["v1"]}
        definition["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    return definition


def _webhooks(client: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Its webhook configurations, of what this Kueue serves alone, asked of our port."""
    text = (recipe("kueue").folder / "webhook" / "manifests.yaml").read_text(encoding="utf-8")
    for found in yaml.safe_load_all(text):
        found["metadata"]["name"] = f"kueue-{found['metadata']['name']}"
        served = []
        for webhook in found["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            if any(part in path for part in _SERVED):
                served.append(webhook | {"clientConfig": _client(client, path)})
        yield found | {"webhooks": served}


def _client(client: dict[str, Any], path: str) -> dict[str, str]:
    return {"url": f"https://127.0.0.1:{client['port']}{path}", "caBundle": client["caBundle"]}


def _secret(made: Certificate) -> dict[str, Any]:
    certificate, key = (base64.b64encode(path.read_bytes()).decode() for path in (made.certificate, made.key))
    data = {"ca.crt": certificate, "ca.key": key, "tls.crt": certificate, "tls.key": key}
    return {"metadata": {"name": _SECRET}, "data": data}


def _settings(port: int, health: int, made: Certificate) -> dict[str, Any]:
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": SYSTEM,
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": port, "certDir": str(made.certificate.parent)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {
            "enable": True,
            "webhookServiceName": _SERVICE,
            "webhookSecretName": _SECRET,
        },
        "integrations": {"frameworks": ["batch/job"]},
    }


def _established(plane: ControlPlane, count: int) -> bool:
    found = plane.call("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"]
    ours = [each for each in found if each["spec"]["group"] == "kueue.x-k8s.io"]
    return len(ours) == count and all(conditions(each).get("Established") == "True" for each in ours)

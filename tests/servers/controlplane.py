"""A real Kubernetes control plane with fake kubelets: etcd, API server, controllers, scheduler, kwok."""

import json
import secrets
import shutil
import ssl
import urllib.error
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tests.servers.certificate import Certificate, certificate
from tests.servers.process import Process, answers, free_port
from tests.servers.recipes import program
from tests.servers.stages import LOST, write_stages

if TYPE_CHECKING:
    from kubernetes.client.api_client import ApiClient

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")


@dataclass
class ControlPlane:
    """A running control plane: its URL, its certificate, its administrator's token, and its processes."""

    folder: Path
    port: int
    certificate: Certificate
    token: str
    processes: dict[str, Process] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Where its API server is."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig of its administrator, in the groups `system:masters`."""
        return self.folder / "kubeconfig"

    def kubeconfig_of(self, token: str, context: str = "test") -> Path:
        """A kubeconfig of somebody's token, with one context, as a file of its own."""
        path = self.folder / f"kubeconfig-{context}-{secrets.token_hex(4)}"
        path.write_text(yaml.safe_dump(self._kubeconfig(token, context)), encoding="utf-8")
        return path

    def client(self, token: str = "", connections: int = 8) -> "ApiClient":
        """A client of its API, as the token's owner; without one, as the administrator."""
        from kubernetes.client.api_client import ApiClient
        from kubernetes.client.configuration import Configuration
        from kubernetes.config import load_kube_config_from_dict

        settings = Configuration()
        found = self._kubeconfig(token or self.token, "test")
        load_kube_config_from_dict(found, client_configuration=settings)
        settings.connection_pool_maxsize = connections  # pyright: ignore[reportAttributeAccessIssue]  (not in the stubs)
        return ApiClient(settings)

    def service_account(self, namespace: str, name: str) -> str:
        """The token of a new service account, without any rights yet."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        self.call("POST", path, {"metadata": {"name": name}})
        return self.call("POST", f"{path}/{name}/token", {"spec": {}})["status"]["token"]

    def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """One raw request as the administrator: the answer's JSON. Raises HTTPError, with the answer as a note."""
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("Content-Type", kind)
        data = None if body is None else json.dumps(body).encode()
        trusted = ssl.create_default_context(cafile=self.certificate.certificate)
        try:
            with urllib.request.urlopen(request, data, timeout=30, context=trusted) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            error.add_note(f"{method} {path}: {error.read().decode(errors='replace')}")
            raise

    def ready(self) -> bool:
        """Whether the API server says that it is ready."""
        trusted = ssl.create_default_context(cafile=self.certificate.certificate)
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=5, context=trusted) as response:
                return response.status == 200
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    def start(self, name: str, *arguments: str) -> Process:
        """Start one of its programs."""
        path = program(name)
        if path is None:
            raise LookupError(f"{name} is not built (make servers)")
        self.processes[name] = Process(name, [path, *arguments], self.folder)
        return self.processes[name]

    def start_api(self) -> Process:
        """Start the API server, on the port and the etcd that are there, and wait until it is ready."""
        api = self.start("kube-apiserver", *self._api_arguments())
        return api.wait_for(self.ready, "an answer of /readyz")

    def stop(self) -> None:
        """Kill all of its processes, the last that started first: what they know goes with them, the logs stay."""
        for process in reversed(self.processes.values()):
            process.kill()
        self.processes.clear()
        shutil.rmtree(self.folder / "etcd", ignore_errors=True)

    def _api_arguments(self) -> Sequence[str]:
        return (
            f"--etcd-servers={self._etcd}",
            f"--secure-port={self.port}",
            "--bind-address=127.0.0.1",
            f"--tls-cert-file={self.certificate.certificate}",
            f"--tls-private-key-file={self.certificate.key}",
            f"--service-account-key-file={self.certificate.certificate}",
            f"--service-account-signing-key-file={self.certificate.key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--allow-privileged=true",
            "--disable-admission-plugins=ServiceAccount",
        )

    @property
    def _etcd(self) -> str:
        return (self.folder / "etcd.url").read_text(encoding="utf-8")

    def _kubeconfig(self, token: str, context: str) -> dict[str, Any]:
        cluster = {"server": self.url, "certificate-authority": str(self.certificate.certificate)}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": context, "cluster": cluster}],
            "users": [{"name": context, "user": {"token": token}}],
            "contexts": [{"name": context, "context": {"cluster": context, "user": context}}],
            "current-context": context,
        }


def start_api_server(folder: Path) -> ControlPlane:
    """etcd and an API server alone, ready: what is written stays as it is. Raises ServerError, as below."""
    plane = ControlPlane(folder, free_port(), certificate(folder / "certificate"), secrets.token_hex(16))
    line = f'{plane.token},admin,admin,"system:masters"\n'
    (folder / "tokens.csv").write_text(line, encoding="utf-8")
    plane.kubeconfig.write_text(yaml.safe_dump(plane._kubeconfig(plane.token, "test")), encoding="utf-8")
    try:
        _start_etcd(plane)
        plane.start_api()
    except BaseException:
        with suppress(OSError):
            plane.stop()
        raise
    return plane


def start_control_plane(folder: Path) -> ControlPlane:
    """A control plane with its data and logs in the folder, ready. Raises ServerError; then nothing is left running."""
    plane = start_api_server(folder)
    try:
        as_admin = f"--kubeconfig={plane.kubeconfig}"
        plane.start(
            "kube-controller-manager",
            as_admin,
            f"--service-account-private-key-file={plane.certificate.key}",
            "--leader-elect=false",
            "--controllers=*,-nodeipam,-cloud-node-lifecycle",
            "--node-eviction-rate=100",
            "--secure-port=0",
        )
        plane.start("kube-scheduler", as_admin, "--leader-elect=false", "--secure-port=0")
        write_stages(folder / "stages.yaml")
        port = free_port()
        plane.start(
            "kwok",
            as_admin,
            f"--manage-nodes-with-label-selector=!{LOST}",
            "--node-lease-duration-seconds=40",
            f"--config={folder / 'stages.yaml'}",
            f"--server-address=127.0.0.1:{port}",
        ).wait_for(lambda: answers(f"http://127.0.0.1:{port}/healthz"), "an answer of /healthz")
    except BaseException:
        with suppress(OSError):
            plane.stop()
        raise
    return plane


def _start_etcd(plane: ControlPlane) -> None:
    url, peers = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    (plane.folder / "etcd.url").write_text(url, encoding="utf-8")
    plane.start(
        "etcd",
        f"--data-dir={plane.folder / 'etcd'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ).wait_for(lambda: answers(f"{url}/readyz"), "an answer of /readyz")

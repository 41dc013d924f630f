"""Quotas on a real control plane, under the rights of deploy/rbac alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from enforcer.audit.chain import Chain
from sql.ledger import memory_ledger
from tests.servers.controlplane import ControlPlane
from tests.servers.objects import make

RBAC = Path(__file__).parents[2] / "deploy" / "rbac"
FILES = ("enforcer-read", "enforcer-native", "enforcer-lend", "enforcer-kueue")
_OURS = "namespaces/quartermaster"
_ROLES = "/apis/rbac.authorization.k8s.io/v1"
PLACES = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": f"/api/v1/{_OURS}/serviceaccounts",
    "ClusterRole": f"{_ROLES}/clusterroles",
    "ClusterRoleBinding": f"{_ROLES}/clusterrolebindings",
    "Role": f"{_ROLES}/{_OURS}/roles",
    "RoleBinding": f"{_ROLES}/{_OURS}/rolebindings",
}


@pytest.fixture(scope="session")
def enforcers_token(control_plane: ControlPlane) -> str:
    """Of the service account that deploy/rbac makes: a call that it does not allow fails the test."""
    for name in FILES:
        for each in yaml.safe_load_all((RBAC / f"{name}.yaml").read_text(encoding="utf-8")):
            make(control_plane, PLACES[each["kind"]], each)
    path = f"{PLACES['ServiceAccount']}/enforcer/token"
    return control_plane.call("POST", path, {"spec": {}})["status"]["token"]


@pytest.fixture
def chain() -> Iterator[Chain]:
    """The audit of a cluster, in a ledger in memory."""
    with memory_ledger() as ledger:
        yield Chain(ledger, "c")

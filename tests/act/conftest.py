"""An API server without controllers, for one module's tests."""

from collections.abc import Iterator

import pytest

from tests.act.bare import Bare, make_bare
from tests.act.line import Line
from tests.servers.controlplane import ControlPlane, start_api_server
from tests.servers.hub import JupyterHub, start_hub
from tests.servers.objects import define
from tests.servers.plugin import leave_out, need
from tests.servers.recipes import HUB


def define_kinds(plane: ControlPlane) -> None:
    """Kinds of others, as far as acting looks at them."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    define(plane, "kubeflow.org", "v1", "Notebook", "notebooks", spec={"template": anything}, namespaced=True)
    define(
        plane,
        "kubeflow.org",
        "v1",
        "PyTorchJob",
        "pytorchjobs",
        spec={"runPolicy": anything},
        namespaced=True,
    )
    # KubeRay before 2026-05: a RayService has no field to be suspended by.
    define(
        plane,
        "ray.io",
        "v1",
        "RayService",
        "rayservices",
        spec={"serveConfigV2": {"type": "string"}},
        namespaced=True,
    )


@pytest.fixture(scope="session")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """etcd and an API server, with the kinds that are defined by others."""
    need("etcd", "kube-apiserver")
    plane = start_api_server(tmp_path_factory.mktemp("api"))
    define_kinds(plane)
    yield plane
    plane.stop()


@pytest.fixture(scope="session")
def line(api_server: ControlPlane) -> Iterator[Line]:
    """An open line to it."""
    made = Line(api_server)
    yield made
    made.close()


@pytest.fixture
def bare(api_server: ControlPlane, line: Line) -> Iterator[Bare]:
    """A namespace of the test's own on an API server without controllers; what is in it goes with the test."""
    made = make_bare(api_server, line)
    yield made
    made.clear()


@pytest.fixture(scope="session")
def hub(api_server: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterHub]:
    """A JupyterHub whose users' servers are pods on that API server; a test takes users of its own."""
    if not HUB.built:
        leave_out("JupyterHub", "make servers")
    made = start_hub(api_server, tmp_path_factory.mktemp("hub"))
    yield made
    made.stop()

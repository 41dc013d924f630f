"""Objects of a whole control plane that tests share: made once, by whoever comes first."""

import time
import urllib.error
from typing import Any

from tests.servers.controlplane import ControlPlane

DRA = "/apis/resource.k8s.io/v1"


def make(plane: ControlPlane, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Make an object; one that is there already is left, and nothing is given back."""
    try:
        return plane.call("POST", path, body)
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise
        return {}


def make_device_class(plane: ControlPlane) -> None:
    """NVIDIA's class of whole GPUs, which also serves the extended resource `nvidia.com/gpu`."""
    select = {"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}
    spec = {"selectors": [select], "extendedResourceName": "nvidia.com/gpu"}
    make(plane, f"{DRA}/deviceclasses", {"metadata": {"name": "gpu.nvidia.com"}, "spec": spec})


def define(
    plane: ControlPlane,
    group: str,
    version: str,
    kind: str,
    plural: str,
    *,
    spec: dict[str, Any],
    namespaced: bool,
) -> None:
    """A custom resource whose `spec` has these properties, served once this returns."""
    names = {"plural": plural, "singular": kind.lower(), "kind": kind}
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    exactly = {"type": "object", "properties": spec}
    whole = {"type": "object", "properties": {"spec": exactly, "status": anything}}
    schema = {"openAPIV3Schema": whole}
    served = {"name": version, "served": True, "storage": True, "schema": schema}
    scope = "Namespaced" if namespaced else "Cluster"
    body = {"group": group, "scope": scope, "names": names, "versions": [served]}
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    make(plane, path, {"metadata": {"name": f"{plural}.{group}"}, "spec": body})
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            plane.call("GET", f"/apis/{group}/{version}/{plural}")
        except urllib.error.HTTPError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError(f"{plural}.{group} is not served after 30 s")


def undefine(plane: ControlPlane, group: str, version: str, plural: str) -> None:
    """Take a custom resource away from a server that others use too; no longer served once this returns."""
    plane.call("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.{group}")
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            plane.call("GET", f"/apis/{group}/{version}/{plural}")
        except urllib.error.HTTPError:
            return
        time.sleep(0.05)
    raise TimeoutError(f"{plural}.{group} is still served after 30 s")

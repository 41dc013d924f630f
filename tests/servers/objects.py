"""Objects of a whole control plane that tests share: made once, by whoever comes first."""

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

"""What the understanding of a cluster's objects needs to know beside them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from quartermaster.pool import PoolRule
from quartermaster.team import Rule

SOURCE = "kubernetes"
# Believed before kube-state-metrics' history and before labels.
RANK = 10

GPU_RESOURCES = ("nvidia.com/gpu", "nvidia.com/gpu.shared", "amd.com/gpu")
GPU_DRIVERS = ("gpu.nvidia.com", "gpu.amd.com", "gpu.intel.com")
_MIG = re.compile(r"nvidia\.com/mig-(?P<profile>[0-9a-z.+-]+?)(?:\.shared)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Settings:
    """A cluster's name and what the configuration says of it.

    `telemetry`: devices are named by the exporters' pages, so that ids which kubelets report make none.
    `promised` are the (team, pool) whose guarantee the configuration itself gives. `most_parts`, by pool, is what an
    autoscaler may let a pool grow to. `names`: people's names may be kept, in the table that has them alone.
    """

    cluster: str
    resources: tuple[str, ...] = GPU_RESOURCES
    drivers: tuple[str, ...] = GPU_DRIVERS
    pools: tuple[PoolRule, ...] = ()
    rules: tuple[Rule, ...] = ()
    teams: frozenset[str] = frozenset()
    promised: frozenset[tuple[str, str]] = frozenset()
    user_labels: tuple[str, ...] = ()
    tag_labels: tuple[str, ...] = ()
    most_parts: Mapping[str, int] = field(default_factory=dict[str, int])
    quota_of: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    person_key: bytes | None = None
    names: bool = False
    telemetry: bool = True

    def counts(self, resource: str) -> bool:
        """Whether the resource is GPUs or parts of them."""
        return resource in self.resources or mig_profile(resource) is not None


def mig_profile(resource: str) -> str | None:
    """The profile of a MIG resource (`nvidia.com/mig-1g.10gb` → `1g.10gb`); None for any other resource."""
    if not resource.startswith("nvidia.com/mig-"):
        return None
    found = _MIG.fullmatch(resource)
    return found["profile"] if found else None

"""From the configuration to the loop of this host."""

import socket

from collector.cluster import Surroundings
from collector.nvml.fetch import Fetcher, Places
from collector.nvml.host import Host, HostLoop
from collector.nvml.settings import NVML, SLURM, Settings
from quartermaster.config.clusters import ClusterPart
from quartermaster.config.model import Configuration
from quartermaster.config.nvml import NvmlPart
from quartermaster.config.rules import pools_of, rules_of
from quartermaster.person import pseudonym_key


def host_name() -> str:
    """What this host is called: its name without a domain."""
    return socket.gethostname().partition(".")[0] or "localhost"


def is_elsewhere(part: ClusterPart) -> bool:
    """Whether the cluster is another host."""
    return part.nvml is not None and part.nvml.host not in {None, host_name(), socket.gethostname()}


def host_loop(part: ClusterPart, configuration: Configuration, around: Surroundings) -> HostLoop | None:
    """The loop of a cluster that is this host; None for other clusters. Raises ConfigurationError."""
    if part.nvml is None:
        return None
    settings = settings_of(part, part.nvml, configuration)
    memory = configuration.collector.spool.path / f"nvml-{part.name}.json"
    return HostLoop(Host(part, settings, memory), fetcher_of(part.nvml), around)


def fetcher_of(nvml: NvmlPart) -> Fetcher:
    """Who reads the host."""
    return Fetcher(Places(nvml.proc, nvml.cgroup), nvml.timeout_ms)


def settings_of(part: ClusterPart, nvml: NvmlPart, configuration: Configuration) -> Settings:
    """What the understanding of the host needs of the configuration."""
    return Settings(
        cluster=part.name,
        node=nvml.host or host_name(),
        source=SLURM if part.holders == SLURM else NVML,
        interval_ms=nvml.interval_ms,
        pools=pools_of(configuration),
        rules=rules_of(configuration),
        person_key=pseudonym_key(configuration.privacy.key, configuration.ledger.path),
    )

"""The sources that a configuration has, each with what it tells."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quartermaster.config.model import Configuration
    from sql.status import Asked


def asked(configuration: "Configuration") -> "list[Asked]":
    """Cluster, source and what it covers, of each."""
    found: list[Asked] = []
    for cluster in configuration.clusters:
        if cluster.dcgm.targets or cluster.dcgm.file_sd or cluster.dcgm.dns_srv:
            found.append((cluster.name, "dcgm", "telemetry"))
        if cluster.kubernetes is not None:
            found += [(cluster.name, "kubernetes", covers) for covers in ("holders", "quota")]
        if cluster.nvml is not None:
            found += [(cluster.name, "nvml", "telemetry"), (cluster.name, cluster.holders, "holders")]
    return found

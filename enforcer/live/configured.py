"""From the configuration to a cluster that is watched for plans."""

from collections.abc import Callable

from collector.kubernetes.configured import settings_of
from collector.kubernetes.talk import connect
from collector.log import Log
from enforcer.act.way import ways_of
from enforcer.live.cluster import CONNECTIONS, LiveCluster
from quartermaster.config.clusters import ClusterPart
from quartermaster.config.model import Configuration


def live_cluster(
    part: ClusterPart, configuration: Configuration, wall: Callable[[], int], log: Log
) -> LiveCluster | None:
    """The cluster, not yet watched; None where the configuration names no API server. Raises ConfigurationError."""
    if part.kubernetes is None:
        return None
    namespaces = part.kubernetes.namespaces
    api = connect(part.kubernetes, part.name, CONNECTIONS * max(1, len(namespaces)))
    ways = ways_of(configuration.policy.acting.kinds)
    hubs = frozenset(each.namespace for each in part.kubernetes.hubs)
    return LiveCluster(
        settings_of(part, configuration), api, wall, log, ways=ways, hubs=hubs, namespaces=namespaces
    )

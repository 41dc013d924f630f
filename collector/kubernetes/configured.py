"""From the configuration to a cluster's Kubernetes source."""

from collections.abc import Callable

from collector.kubernetes.resources import RESOURCES
from collector.kubernetes.settings import SOURCE, Settings
from collector.kubernetes.source import KubernetesSource
from collector.kubernetes.talk import connect
from collector.log import Log
from quartermaster.config.clusters import ClusterPart
from quartermaster.config.model import Configuration
from quartermaster.config.rules import pools_of, rules_of
from quartermaster.person import pseudonym_key
from quartermaster.team import glob_matches


def source_of(
    part: ClusterPart, configuration: Configuration, wall: Callable[[], int], log: Log
) -> KubernetesSource | None:
    """The cluster's Kubernetes, None where it is not who is believed about holders. Raises ConfigurationError."""
    if part.kubernetes is None or part.holders != SOURCE:
        return None
    api = connect(part.kubernetes, part.name, connections=len(RESOURCES) + 4)
    return KubernetesSource(settings_of(part, configuration), api, wall, log, part.kubernetes.patience_ms)


def settings_of(part: ClusterPart, configuration: Configuration) -> Settings:
    """What the understanding of the cluster's objects needs of the configuration."""
    kubernetes = part.kubernetes
    if kubernetes is None:
        raise ValueError(f"cluster {part.name} has no Kubernetes")
    dcgm = part.dcgm
    return Settings(
        cluster=part.name,
        resources=kubernetes.resources,
        drivers=kubernetes.drivers,
        pools=pools_of(configuration),
        rules=rules_of(configuration),
        teams=frozenset(each.name for each in configuration.teams),
        promised=frozenset(
            (each.team, each.pool)
            for each in configuration.guarantees
            if glob_matches(each.cluster, part.name)
        ),
        most_parts={
            each.name: each.most_parts for each in configuration.pools if each.most_parts is not None
        },
        user_labels=kubernetes.user_labels,
        tag_labels=kubernetes.tag_labels,
        quota_of={each.object: (each.team, each.pool) for each in kubernetes.quotas},
        person_key=pseudonym_key(configuration.privacy.key, configuration.ledger.path),
        names=not configuration.privacy.pseudonyms,
        telemetry=bool(dcgm.targets or dcgm.file_sd or dcgm.dns_srv),
    )

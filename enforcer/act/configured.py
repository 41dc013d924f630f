"""From the configuration to one who does things on a cluster."""

from collections.abc import Callable

from collector.kubernetes.talk import client_of
from enforcer.act.clearing import Pace
from enforcer.act.crew import HANDS
from enforcer.act.doing import Doing, Journal
from enforcer.act.hands import Hands
from enforcer.act.hub import Hubs, hubs_of
from enforcer.act.way import ways_of
from enforcer.act.wire import Wire
from quartermaster.clock import now_ms
from quartermaster.config.model import Configuration
from quartermaster.errors import InputError
from quartermaster.person import pseudonym_key

_BESIDE = 4  # connections for the lease and whoever else asks meanwhile


def wire_of(configuration: Configuration, cluster: str) -> Wire:
    """The cluster's API server. Raises InputError for a cluster without one, ConfigurationError."""
    part = next((each for each in configuration.clusters if each.name == cluster), None)
    if part is None or part.kubernetes is None:
        raise InputError(
            f"cluster {cluster!r} has no API server in the configuration", "give it kubernetes: in clusters:"
        )
    return Wire(client_of(part.kubernetes, cluster, HANDS + _BESIDE))


def hubs_in(configuration: Configuration, cluster: str) -> Hubs:
    """The cluster's Hubs. Raises ConfigurationError for a token, or a key of pseudonyms, that is not there."""
    parts = [
        hub
        for each in configuration.clusters
        if each.name == cluster and each.kubernetes is not None
        for hub in each.kubernetes.hubs
    ]
    if not parts:
        return Hubs()
    return hubs_of(parts, pseudonym_key(configuration.privacy.key, configuration.ledger.path))


def doing_of(
    configuration: Configuration, cluster: str, wire: Wire, journal: Journal, may: Callable[[int], str]
) -> Doing:
    """One who does things on a cluster, and tells the journal. Raises ConfigurationError as `hubs_in`."""
    hands, ways = (
        Hands(wire, hubs=hubs_in(configuration, cluster)),
        ways_of(configuration.policy.acting.kinds),
    )
    part = next(each.kubernetes for each in configuration.clusters if each.name == cluster)
    namespaces = () if part is None else part.namespaces
    return Doing(hands, journal, may, now_ms, Pace(), ways=ways, namespaces=namespaces)

"""From the configuration to a hand that moves a cluster's quotas."""

from collections.abc import Callable

from collector.kubernetes.configured import settings_of
from collector.kubernetes.talk import connect
from enforcer.act.doing import Doing
from enforcer.quotas.hand import Quotas
from enforcer.quotas.watched import CONNECTIONS, QuotaWatch
from quartermaster.config.clusters import ClusterPart
from quartermaster.config.model import Configuration
from sql.ledger import Ledger


def quotas_of(
    part: ClusterPart,
    configuration: Configuration,
    ledger: Ledger,
    doing: Doing,
    may: Callable[[int], str],
) -> Quotas | None:
    """The hand, not yet watching; None where the policy does not let quotas be moved, or there is no API server.

    Raises ConfigurationError.
    """
    if part.kubernetes is None or not configuration.policy.acting.lend:
        return None
    api = connect(part.kubernetes, part.name, CONNECTIONS)
    return Quotas(doing, ledger, QuotaWatch(settings_of(part, configuration), api, doing.wall), may)

"""A site: one cluster's parts put together, from the configuration: watched, led, acted upon, recorded."""

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from collector.kubernetes.talk import Api, client_of, connect
from collector.log import Log
from enforcer.act.actor import Actor
from enforcer.act.clearing import Pace
from enforcer.act.configured import hubs_in
from enforcer.act.crew import HANDS
from enforcer.act.doing import Doing
from enforcer.act.hands import Hands
from enforcer.act.leader import Leader
from enforcer.act.way import ways_of
from enforcer.act.wire import Wire
from enforcer.audit.chain import Chain
from enforcer.audit.head import Herald
from enforcer.book import rows
from enforcer.ladder.warner import Warner
from enforcer.live.cluster import LiveCluster
from enforcer.live.configured import live_cluster
from enforcer.loop.gate import Gate, Places
from enforcer.loop.hearsay import Listener
from enforcer.quotas.backends import kinds_moved
from enforcer.quotas.hand import Quotas
from enforcer.quotas.watched import QuotaWatch
from enforcer.shadow import Ruling
from quartermaster.clock import now_ms
from quartermaster.config.clusters import ClusterPart
from quartermaster.config.model import Configuration
from quartermaster.errors import ConfigurationError
from quartermaster.text import visible
from sql.ledger import Ledger

_PACE = Pace()


@dataclass(frozen=True)
class Site:
    """All that acting on one cluster takes."""

    cluster: str
    ruling: Ruling
    ledger: Ledger
    live: LiveCluster
    listener: Listener
    leader: Leader
    chain: Chain
    gate: Gate
    doing: Doing
    by_hand: Doing  # what a person asks to be put back, which no freeze holds up
    actor: Actor
    warner: Warner
    quotas: Quotas
    herald: Herald
    wall: Callable[[], int]

    def start(self) -> None:
        """Watch, listen, and try to become the leader. Raises LedgerError."""
        self.listener.start()
        self.live.start()
        if self.ruling.policy.acting.lend:
            self.quotas.start()
        self.leader.start()

    def stop(self) -> None:
        """Give the lease up, and watch no more."""
        self.leader.stop()
        self.live.stop()
        self.quotas.stop()
        self.listener.stop()
        self.doing.close()
        self.by_hand.close()


def site(
    part: ClusterPart,
    configuration: Configuration,
    ledger: Ledger,
    freeze_file: Path,
    log: Log,
    *,
    wall: Callable[[], int] = now_ms,
) -> Site:
    """A cluster's parts, none of them begun. Raises ConfigurationError where it cannot be acted upon."""
    live = live_cluster(part, configuration, wall, log)
    if live is None or part.kubernetes is None:
        raise ConfigurationError(
            f"cluster {visible(part.name)} has no `kubernetes`: nothing can be done there",
            "name its kubeconfig, or leave --plan and --act away: shadow mode needs no cluster",
        )
    policy = configuration.policy
    ruling = Ruling(policy, configuration.findings, configuration.business.time_zone)
    client = client_of(part.kubernetes, part.name, HANDS + 4)
    quota_kinds = kinds_moved(policy.acting.experimental)
    quota_api = connect(part.kubernetes, part.name, len(quota_kinds))
    wire = Wire(client)
    chain = Chain(ledger, part.name)
    identity = f"{os.uname().nodename[:40]}-{os.getpid()}-{secrets.token_hex(4)}"
    leader = Leader(
        wire, policy.acting.namespace, identity, least_epoch=_last_epoch(ledger, part.name), wall=wall
    )
    file = None if policy.acting.audit_file is None else Path(policy.acting.audit_file)
    gate = Gate(Places(freeze_file, Api(client), policy.acting.namespace, ledger, part.name), leader, wall)
    hands, ways = Hands(wire, hubs=hubs_in(configuration, part.name)), ways_of(policy.acting.kinds)
    namespaces = part.kubernetes.namespaces
    doing = Doing(hands, chain, gate.may, wall, _PACE, ways=ways, namespaces=namespaces)
    by_hand = Doing(hands, chain, lambda epoch: "", wall, _PACE, ways=ways, namespaces=namespaces)
    return Site(
        part.name,
        ruling,
        ledger,
        live,
        Listener(ledger, part.name, ruling, wall, live.changed),
        leader,
        chain,
        gate,
        doing,
        by_hand,
        Actor(doing),
        Warner(ledger, part.name, configuration.notify),
        Quotas(doing, ledger, QuotaWatch(live.settings, quota_api, wall, log, quota_kinds), gate.may),
        Herald(chain, log, file, leader.publish),
        wall,
    )


def _last_epoch(ledger: Ledger, cluster: str) -> int:
    with ledger.reading() as cursor:
        return rows(cursor, "last_epoch", {"cluster": cluster})["epoch"][0]

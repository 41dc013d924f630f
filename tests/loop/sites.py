"""A site for tests of the loop: a ledger in memory, its audit and the planner are real; the cluster is a snapshot."""

import io
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from collector.log import Log
from enforcer.act.order import Order, Under, came_of
from enforcer.act.seen import Seen
from enforcer.audit.chain import Chain
from enforcer.audit.deed import Deed, Phase, Result
from enforcer.audit.head import Herald
from enforcer.guard.refused import Refused
from enforcer.guard.switches import Freeze
from enforcer.ladder.warner import Warner
from enforcer.live.cluster import Look
from enforcer.loop.hearsay import Hearsay
from enforcer.loop.site import Site
from enforcer.loop.turn import Turns
from enforcer.plan import Action, Plan, hash_of_policy
from enforcer.recorded import record
from enforcer.shadow import Ruling
from enforcer.snapshot import Promise, Snapshot, Taking
from quartermaster.clock import HOUR_MS
from quartermaster.config.acting import Mode
from quartermaster.config.findings import FindingsPart
from quartermaster.config.notify import NotifyPart
from quartermaster.config.policy import PolicyPart
from sql.ledger import Ledger
from tests.enforcer.clusters import NOW
from tests.enforcer.scenes import POOL, ask, job, node, promise, scene
from tests.guard.cases import rules

Recheck = Callable[[Action, Seen], Refused | None]


def owners() -> Snapshot:
    """Two owners wait, each for a node that a borrower holds; whoever asked first is served first."""
    held = [job(uid, "a", f"n{n}", gpus=8) for n, uid in enumerate("xy")]
    waiting = [ask("q", "b", gpus=8, waits=9), ask("r", "b", gpus=8, waits=5)]
    return scene((node("n0"), node("n1")), *held, *waiting, promise("b", 16))


@dataclass
class Clocks:
    """Ours, which anybody may set; one that nobody sets; and the API server's, by how much it is ahead of ours."""

    wall_ms: int = NOW
    steady_s: float = 1000.0
    apart_ms: int = 0

    def wall(self) -> int:
        return self.wall_ms

    def steady(self) -> float:
        return self.steady_s

    def go_on(self, span_ms: int) -> None:
        """Time passes."""
        self.wall_ms += span_ms
        self.steady_s += span_ms / 1000

    def set(self, by_ms: int) -> None:
        """Somebody sets our wall clock."""
        self.wall_ms += by_ms
        self.apart_ms -= by_ms


@dataclass
class Live:
    """A cluster as it is given; it is looked at now."""

    clocks: Clocks
    snapshot: Snapshot
    settled: bool = True
    troubles: dict[str, str] = field(default_factory=dict[str, str])
    changed: threading.Event = field(default_factory=threading.Event)
    pools: Mapping[str, str] = field(default_factory=dict[str, str])  # of nodes, as it was told last

    def look(
        self, at_ms: int, promises: Sequence[Promise], takings: Sequence[Taking], pools: Mapping[str, str]
    ) -> Look:
        self.pools = pools
        now_ms = at_ms + self.clocks.apart_ms
        seen = replace(self.snapshot, at_ms=now_ms, seen_at_ms=now_ms, takings=tuple(takings))
        return Look(seen, {})


@dataclass
class Listener:
    hearsay: Hearsay | None
    trouble: str = ""

    def heard(self) -> Hearsay | None:
        return self.hearsay


@dataclass
class Leader:
    epoch: int = 3
    identity: str = "host-1"
    trouble: str = ""


@dataclass
class Gate:
    freeze: Freeze | None = None

    def look(self) -> Freeze | None:
        return self.freeze


@dataclass
class Promised:
    """The snapshot's own promises."""

    promises: tuple[Promise, ...]

    def at(self, at_ms: int, teams: object, *, caps: bool) -> tuple[Promise, ...]:
        return self.promises


@dataclass
class Actor:
    """Does what it is told, or fails at whom it is to fail; each takes its time."""

    chain: Chain
    clocks: Clocks
    fails_at: set[str] = field(default_factory=set[str])
    takes_ms: int = 0
    stopped: list[str] = field(default_factory=list[str])

    def carry_out(self, orders: Sequence[Order], under: Under, recheck: Recheck) -> tuple[Deed, ...]:
        intents = [self._intent(each, under) for each in orders]
        hashes = self.chain.write(intents)
        self.clocks.go_on(self.takes_ms)
        failed = any(each.object_uid in self.fails_at for each in intents)
        result = Result.FAILED if failed else Result.DONE
        came = [
            came_of(intent, row_hash, result, "", self.clocks.wall())
            for intent, row_hash in zip(intents, hashes, strict=True)
        ]
        self.chain.write(came)
        self.stopped += [each.object_uid for each in intents]
        return (*intents, *came)

    def _intent(self, order: Order, under: Under) -> Deed:
        action, target = order.action, order.action.target
        return Deed(
            under.cluster,
            self.clocks.wall(),
            Phase.INTENT,
            action.act.value,
            under.plan_hash,
            order.position,
            action.group,
            target.kind,
            target.namespace,
            target.name,
            target.uid,
            target.version,
            target.team,
            target.pool,
            action.for_uid,
            action.frees_parts,
            epoch=under.epoch,
        )


class Nobody:
    """Moves no quota."""

    def turn(self, *given: object) -> tuple[Deed, ...]:
        return ()


class Stage:
    """A site, whose parts a test may change, and its turns. Its process began an hour ago, and a plan was made under
    its policy before, unless that `is_new`."""

    def __init__(
        self,
        ledger: Ledger,
        cluster: str,
        snapshot: Snapshot | None = None,
        *,
        asked: Mode = "act",
        ran_ms: int = HOUR_MS,
        policy: PolicyPart | None = None,
        is_new: bool = False,
        audit_file: Path | None = None,
    ) -> None:
        self.snapshot = replace(snapshot or owners(), cluster=cluster)
        self.clocks = Clocks()
        self.live, self.leader, self.gate = Live(self.clocks, self.snapshot), Leader(), Gate()
        self.chain = Chain(ledger, cluster)
        self.actor = Actor(self.chain, self.clocks)
        promised = cast(Any, Promised(self.snapshot.promises))
        self.hearsay = Hearsay(
            NOW, promised, 30_000, (), (POOL,), coverage_permille=1000, coverage_of_pools={POOL: 1000}
        )
        self.listener = Listener(self.hearsay)
        told = policy or rules(mode=asked)
        parts: dict[str, Any] = {
            "cluster": cluster,
            "ruling": Ruling(told, FindingsPart(), "UTC"),
            "ledger": ledger,
            "live": self.live,
            "listener": self.listener,
            "leader": self.leader,
            "chain": self.chain,
            "gate": self.gate,
            "doing": None,
            "by_hand": None,
            "actor": self.actor,
            "warner": Warner(ledger, cluster, NotifyPart()),
            "quotas": Nobody(),
            "herald": Herald(self.chain, Log(stream=io.StringIO()), audit_file),
            "wall": self.clocks.wall,
        }
        self.site = Site(**parts)
        self.turns = Turns(self.site, asked, self.clocks.steady)
        if not is_new:
            before_ms = NOW - HOUR_MS
            record(ledger, Plan(cluster, before_ms, hash_of_policy(told.model_dump_json()), ()), {})
        self.clocks.go_on(ran_ms)

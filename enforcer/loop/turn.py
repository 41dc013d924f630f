"""A turn: the cluster as it is now, a plan of it, what the guard lets through, and what came of that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from collector.kubernetes.settings import SOURCE
from enforcer.act.order import Under, orders_of
from enforcer.act.seen import Seen
from enforcer.audit.carried import as_taken, as_takings, carried
from enforcer.audit.deed import Deed, Phase, Result
from enforcer.audit.requests import approvals
from enforcer.book import rows
from enforcer.freshness import Refusal
from enforcer.guard.judge import Judgement, judge
from enforcer.guard.recheck import recheck
from enforcer.guard.refused import Refused
from enforcer.guard.standing import Approval, Standing, Taken
from enforcer.idleness import Findings, by_uid
from enforcer.ladder.hearing import hear_live
from enforcer.live.cluster import Look
from enforcer.loop.hearsay import Hearsay
from enforcer.loop.site import Site
from enforcer.loop.told import Teller
from enforcer.loop.warned import Warnings
from enforcer.plan import Act, Action, Plan, hash_of_policy
from enforcer.planner import plan
from enforcer.recorded import record
from enforcer.snapshot import Snapshot, Taking
from quartermaster.clock import DAY_MS
from quartermaster.config.acting import Mode
from quartermaster.ids import content_id

_REMEMBERED_MS = 90 * DAY_MS


@dataclass(frozen=True)
class Turned:
    """What a turn came to: a plan, whether it is newly recorded, what the guard said, and what was done."""

    plan: Plan
    mode: Mode
    recorded: bool
    judgement: Judgement
    deeds: tuple[Deed, ...] = ()
    reclaims_s: tuple[
        float, ...
    ] = ()  # of each owner who was served: from its pods waiting to the last that went
    held: Mapping[str, str] = field(default_factory=dict[str, str])  # whose warning waits, and why, by UID


@dataclass(frozen=True)
class _Recalled:
    """What the ledger remembers of what was done and asked for."""

    taken: tuple[Taken, ...]
    takings: tuple[Taking, ...]
    approvals: tuple[Approval, ...]
    policy_since_ms: int


class Turns:
    """The turns of one site, one after the other. `asked` is how far the command's own flags go."""

    def __init__(self, site: Site, asked: Mode, started_at_ms: int) -> None:
        self._site, self._started_at_ms = site, started_at_ms
        self._asked: Mode = asked
        self._policy_hash = hash_of_policy(site.ruling.policy.model_dump_json())
        self._began_ms = started_at_ms
        self._teller, self._warnings = Teller(site), Warnings(site)

    def turn(self) -> Turned | Refusal:
        """One turn; or why there is no plan. Raises LedgerError: then nothing more is done."""
        site = self._site
        self._began_ms = at_ms = site.wall()
        hearsay = site.listener.heard(at_ms)
        if not site.live.settled:
            troubles = "; ".join(f"{name}: {words}" for name, words in sorted(site.live.troubles.items()))
            words = f"the cluster is not seen in full yet{f' ({troubles})' if troubles else ''}"
            return Refusal(site.cluster, at_ms, (words,))
        if hearsay is None:
            words = f"the ledger did not tell in time{f': {site.listener.trouble}' if site.listener.trouble else ''}"
            return Refusal(site.cluster, at_ms, (words,))
        self._warnings.settle()
        recalled = self._recall(at_ms)
        look = site.live.look(at_ms, (), recalled.takings)
        teams = {(each.team, each.pool) for each in (*look.snapshot.workloads, *look.snapshot.waiting)}
        snapshot = replace(look.snapshot, promises=hearsay.promised.at(at_ms, teams))
        look = replace(look, snapshot=snapshot)
        findings = self._findings(look, hearsay)
        made = plan(snapshot, findings, site.ruling.policy, site.ruling.zone)
        standing = self._standing(hearsay, findings, recalled, snapshot.at_ms - at_ms)
        judged = judge(made, snapshot, standing, site.ruling.policy, site.ruling.zone)
        recorded = record(site.ledger, made, self._ids(made), self._asked)
        self._teller.refusals(made, judged)
        under = Under(site.cluster, made.hash, site.leader.epoch, site.leader.identity)
        moved = site.quotas.turn(snapshot, hearsay.promised, site.ruling.policy, under, standing)
        deeds = (*moved, *self._carry_out(made, look, judged, standing, under))
        reclaims_s = self._reclaims(look.snapshot, deeds)
        held = self._warnings.begin(snapshot, findings, judged)
        site.herald.tell(site.wall())
        return Turned(made, self._asked, recorded, judged, deeds, reclaims_s, held)

    def settle(self) -> None:
        """Wait for the warnings that are under way."""
        self._warnings.settle(all_of_it=True)

    def _recall(self, at_ms: int) -> _Recalled:
        cluster = self._site.cluster
        with self._site.ledger.reading() as cursor:
            intents = carried(cursor, cluster, at_ms - _REMEMBERED_MS, phases=[Phase.INTENT])
            given = {"cluster": cluster, "policy_hash": self._policy_hash}
            since_ms = rows(cursor, "policy_since", given)["since_ms"][0]
            approved = approvals(cursor, cluster, at_ms) if self._asked == "plan" else ()
        recent = [each for each in intents if each.deed.at_ms > at_ms - DAY_MS]
        return _Recalled(
            as_taken(recent), as_takings(intents), approved, at_ms if since_ms is None else int(since_ms)
        )

    def _findings(self, look: Look, hearsay: Hearsay) -> Findings:
        if hearsay.silent:
            return Findings()
        with self._site.ledger.reading() as cursor:
            return hear_live(
                cursor,
                hearsay.found,
                hearsay.computing,
                look.snapshot,
                annotated_ms=look.kept_until_ms,
                policy=self._site.ruling.policy,
            )

    def _standing(self, hearsay: Hearsay, findings: Findings, recalled: _Recalled, apart_ms: int) -> Standing:
        """`apart_ms`: by how much the plan's clock, the API server's, is ahead of ours."""
        return Standing(
            self._site.wall() + apart_ms,
            self._asked,
            self._started_at_ms + apart_ms,
            recalled.policy_since_ms,
            self._site.gate.look(),
            hearsay.coverage_permille,
            hearsay.coverage_of_pools,
            recalled.taken,
            recalled.approvals,
            by_uid(findings.idle),
        )

    def _carry_out(
        self, made: Plan, look: Look, judged: Judgement, standing: Standing, under: Under
    ) -> tuple[Deed, ...]:
        """Do what is allowed, as the leader, group after group; people's approval is answered."""
        site = self._site
        groups = [group for group in judged.allowed if group[0].act is not Act.WARN]
        if not under.epoch or not groups:
            return ()
        deeds: list[Deed] = []
        for group in groups:
            orders = orders_of(made, group[0].group, look.snapshot)
            deeds += site.actor.carry_out(orders, under, self._recheck(made, standing))
        if judged.approval is not None:
            deeds += self._teller.approval(made, judged.approval, under.epoch)
        return tuple(deeds)

    def _reclaims(self, snapshot: Snapshot, deeds: Sequence[Deed]) -> tuple[float, ...]:
        """How long each owner waited for whom others were seen to go."""
        since_ms = {each.uid: each.since_ms for each in snapshot.waiting}
        apart_ms = snapshot.at_ms - self._began_ms
        last_ms: dict[str, int] = {}
        for deed in deeds:
            if deed.phase is Phase.OUTCOME and deed.act == Act.STOP and deed.result == Result.DONE:
                last_ms[deed.for_uid] = max(deed.at_ms, last_ms.get(deed.for_uid, 0))
        return tuple(
            (at_ms + apart_ms - since_ms[uid]) / 1000 for uid, at_ms in last_ms.items() if uid in since_ms
        )

    def _recheck(self, made: Plan, standing: Standing) -> "_Recheck":
        return _Recheck(self._site, made, standing)

    def _ids(self, made: Plan) -> dict[str, int]:
        """The ledger's ids of the workloads that the plan touches."""
        uids = {each.target.uid for each in made.actions}
        return {uid: content_id("workload", self._site.cluster, SOURCE, uid) for uid in uids}


@dataclass(frozen=True)
class _Recheck:
    """The guard's last look at an action, with the clock and the switches of that moment."""

    site: Site
    plan: Plan
    standing: Standing

    def __call__(self, action: Action, seen: Seen, /) -> Refused | None:
        now = replace(self.standing, now_ms=self.site.wall(), freeze=self.site.gate.look())
        return recheck(action, self.plan, seen, now, self.site.ruling.policy)

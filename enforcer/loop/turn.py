"""A turn: the cluster as it is now, a plan of it, what the guard lets through, and what came of that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from collector.kubernetes.settings import SOURCE
from enforcer.act.order import Under, orders_of
from enforcer.act.seen import Seen
from enforcer.act.served import NoWay
from enforcer.act.wire import Silence
from enforcer.audit.carried import as_taken, as_takings, carried
from enforcer.audit.deed import Deed, Phase
from enforcer.audit.requests import Kind, approvals, unanswered
from enforcer.book import rows
from enforcer.freshness import Refusal
from enforcer.guard.judge import Judgement, judge
from enforcer.guard.recheck import recheck
from enforcer.guard.refused import Refused
from enforcer.guard.standing import Approval, Standing, Taken
from enforcer.idleness import Findings, by_uid
from enforcer.ladder.hearing import hear_live
from enforcer.ladder.onsite import annotation, event
from enforcer.ladder.rung import rungs
from enforcer.ladder.warner import Warned
from enforcer.live.cluster import Look
from enforcer.loop.hearsay import Hearsay
from enforcer.loop.site import Site
from enforcer.plan import Act, Action, Plan, hash_of_policy
from enforcer.planner import plan
from enforcer.recorded import record
from enforcer.snapshot import Taking
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
        self._refused: dict[tuple[str, str, str], str] = {}  # what was told of each, so that it is told once

    def turn(self) -> Turned | Refusal:
        """One turn; or why there is no plan. Raises LedgerError: then nothing more is done."""
        site, at_ms = self._site, self._site.wall()
        hearsay = site.listener.heard(at_ms)
        if not site.live.settled:
            troubles = "; ".join(f"{name}: {words}" for name, words in sorted(site.live.troubles.items()))
            words = f"the cluster is not seen in full yet{f' ({troubles})' if troubles else ''}"
            return Refusal(site.cluster, at_ms, (words,))
        if hearsay is None:
            words = f"the ledger did not tell in time{f': {site.listener.trouble}' if site.listener.trouble else ''}"
            return Refusal(site.cluster, at_ms, (words,))
        self._on_the_cluster(site.warner.settle(at_ms))
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
        self._tell_refusals(made, judged)
        deeds = self._carry_out(made, look, judged, standing) if judged.allowed else ()
        held = self._warn(made, look, findings, judged)
        return Turned(made, self._asked, recorded, judged, deeds, held)

    def settle(self) -> None:
        """Wait for the warnings that are under way."""
        self._on_the_cluster(self._site.warner.settle(self._site.wall(), all_of_it=True))

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

    def _carry_out(self, made: Plan, look: Look, judged: Judgement, standing: Standing) -> tuple[Deed, ...]:
        """Do what is allowed, as the leader, group after group; people's approval is answered."""
        site = self._site
        epoch = site.leader.epoch
        groups = [group for group in judged.allowed if group[0].act is not Act.WARN]
        if not epoch or not groups:
            return ()
        under = Under(site.cluster, made.hash, epoch, site.leader.identity)
        deeds: list[Deed] = []
        for group in groups:
            orders = orders_of(made, group[0].group, look.snapshot)
            deeds += site.actor.carry_out(orders, under, self._recheck(made, standing))
        if judged.approval is not None:
            deeds += self._answer_approval(made, judged.approval, epoch)
        site.leader.publish(site.chain.head().text)
        return tuple(deeds)

    def _recheck(self, made: Plan, standing: Standing) -> "_Recheck":
        return _Recheck(self._site, made, standing)

    def _answer_approval(self, made: Plan, approval: Approval, epoch: int) -> tuple[Deed, ...]:
        site = self._site
        with site.ledger.reading() as cursor:
            still = any(
                each.request_id == approval.request_id
                for each in unanswered(cursor, site.cluster, [Kind.APPROVE])
            )
        if not still:
            return ()
        deed = Deed(
            site.cluster,
            site.wall(),
            Phase.ANSWERED,
            Kind.APPROVE.value,
            made.hash,
            actor=approval.by,
            epoch=epoch,
            words="it was carried out as far as the guard let it",
            request_id=approval.request_id,
        )
        site.chain.write([deed])
        return (deed,)

    def _tell_refusals(self, made: Plan, judged: Judgement) -> None:
        """What the guard refuses stands in the audit once for as long as the reason is the same."""
        now: dict[tuple[str, str, str], str] = {}
        deeds: list[Deed] = []
        for group, refused in judged.refused:
            for action in group:
                key = action.target.uid, action.act.value, action.for_uid
                now[key] = refused.reason.value
                if self._refused.get(key) != refused.reason.value:
                    deeds.append(self._refusal(made, action, refused))
        if deeds and self._site.leader.epoch:
            self._site.chain.write(deeds)
            self._refused = now
        elif not deeds:
            self._refused = now

    def _refusal(self, made: Plan, action: Action, refused: Refused) -> Deed:
        target = action.target
        return Deed(
            self._site.cluster,
            self._site.wall(),
            Phase.REFUSED,
            action.act.value,
            made.hash,
            made.actions.index(action),
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
            action.cause.value,
            epoch=self._site.leader.epoch,
            actor=self._site.leader.identity,
            result=refused.reason.value,
            words=refused.words,
        )

    def _warn(self, made: Plan, look: Look, findings: Findings, judged: Judgement) -> Mapping[str, str]:
        """Begin the warnings that are due; whose has to wait, and why."""
        site = self._site
        if not site.leader.epoch:
            return {}
        allowed = [action for group in judged.allowed for action in group if action.act is Act.WARN]
        wanted = rungs(allowed, look.snapshot, findings)
        held = site.warner.begin(wanted, site.ruling.policy, site.ruling.zone, site.wall())
        return {each.uid: each.words for each in held}

    def _on_the_cluster(self, warned: Sequence[Warned]) -> None:
        """What cannot be put there is missed by nobody: the message was accepted, and is what counts."""
        site = self._site
        epoch = site.leader.epoch
        for each in warned if epoch else ():
            workload = each.rung.workload
            try:
                path = site.doing.served.path(workload.kind, workload.namespace, workload.name)
                seen: dict[str, Any] | None = site.doing.hands.look(path)
            except (NoWay, Silence):
                continue
            if seen is not None and seen["metadata"]["uid"] == workload.uid:
                may = lambda: site.gate.may(epoch)  # noqa: E731
                site.doing.hands.do(annotation(each.rung, path, seen, each.at_ms), may)
                site.doing.hands.do(event(each.rung, each.message, seen, each.at_ms), may)

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

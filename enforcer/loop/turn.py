"""A turn: the cluster as it is now, a plan of it, what the guard lets through, and what came of that."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from collector.kubernetes.settings import SOURCE
from enforcer.act.order import Under, orders_of
from enforcer.act.seen import Seen
from enforcer.audit.carried import as_taken, as_takings, carried
from enforcer.audit.deed import Deed, Phase, Result
from enforcer.audit.requests import approvals
from enforcer.book import rows
from enforcer.freshness import Refusal
from enforcer.guard import turns as order
from enforcer.guard.judge import Judgement, judge
from enforcer.guard.recheck import recheck
from enforcer.guard.refused import Refused
from enforcer.guard.standing import Approval, Standing, Taken
from enforcer.guard.switches import Freeze
from enforcer.idleness import Findings, by_uid
from enforcer.ladder.hearing import hear_live
from enforcer.live.cluster import Look
from enforcer.loop.answers import Answers
from enforcer.loop.hearsay import Hearsay
from enforcer.loop.site import Site
from enforcer.loop.told import Teller
from enforcer.loop.warned import Warnings
from enforcer.past_use import with_past
from enforcer.plan import Act, Action, Plan, hash_of_policy
from enforcer.planner import plan
from enforcer.recorded import record
from enforcer.snapshot import Snapshot, Taking
from quartermaster.clock import DAY_MS, SECOND_MS, steady_s
from quartermaster.config.acting import Mode
from quartermaster.ids import content_id

_REMEMBERED_MS = 90 * DAY_MS
_MOST_NAMED = 3
Remembered = TypeVar("Remembered", Taken, Taking)


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
    unled: str = ""  # why nothing is done here whatever the guard says: the lease is not ours


@dataclass(frozen=True)
class _Recalled:
    """What the ledger remembers of what was done and asked for."""

    taken: tuple[Taken, ...]
    takings: tuple[Taking, ...]
    approvals: tuple[Approval, ...]
    policy_since_ms: int | None  # None: no plan was made under it yet


class Turns:
    """The turns of one site, one after the other. `asked` is how far the command's own flags go; `clock` tells seconds,
    and nobody sets it."""

    def __init__(self, site: Site, asked: Mode, clock: Callable[[], float] = steady_s) -> None:
        self._site, self._clock = site, clock
        self._asked: Mode = asked
        self._policy_hash = hash_of_policy(site.ruling.policy.model_dump_json())
        self._started_s = self._began_s = clock()
        self._began_ms = 0
        self._teller, self._warnings, self._answers = Teller(site), Warnings(site), Answers(site)

    def turn(self) -> Turned | Refusal:
        """One turn; or why there is no plan. Raises LedgerError: then nothing more is done."""
        site = self._site
        self._began_ms, self._began_s = site.wall(), self._clock()
        at_ms = self._began_ms
        site.herald.tell(at_ms)  # what could not be told after the last turn: nothing is done before it is
        hearsay = site.listener.heard()
        if not site.live.settled:
            troubles = in_short(site.live.troubles)
            words = f"the cluster is not seen in full yet{f' ({troubles})' if troubles else ''}"
            return Refusal(site.cluster, at_ms, (words,))
        if hearsay is None:
            words = f"the ledger did not tell in time{f': {site.listener.trouble}' if site.listener.trouble else ''}"
            return Refusal(site.cluster, at_ms, (words,))
        self._warnings.settle()
        recalled = self._recall(at_ms)
        look = site.live.look(at_ms, (), recalled.takings, hearsay.pools)
        teams = {(each.team, each.pool) for each in (*look.snapshot.workloads, *look.snapshot.waiting)}
        apart_ms = look.snapshot.at_ms - at_ms
        snapshot = replace(
            look.snapshot,
            promises=hearsay.promised.at(at_ms, teams, caps=not site.ruling.policy.acting.lend),
            takings=tuple(later(each, apart_ms) for each in look.snapshot.takings),
        )
        snapshot = with_past(snapshot, hearsay.past)
        look = replace(look, snapshot=snapshot)
        findings = self._findings(look, hearsay)
        made = plan(snapshot, findings, site.ruling.policy, site.ruling.zone)
        standing = self._standing(hearsay, findings, recalled, snapshot)
        judged = judge(made, snapshot, standing, site.ruling.policy, site.ruling.zone)
        recorded = record(site.ledger, made, self._ids(made), self._asked)
        self._teller.refusals(made, judged)
        under = Under(site.cluster, made.hash, site.leader.epoch, site.leader.identity)
        unled = "" if under.epoch else site.leader.trouble or "the lease was not renewed in time"
        moved = site.quotas.turn(snapshot, hearsay.promised, site.ruling.policy, under, standing)
        deeds = (*moved, *self._carry_out(made, look, judged, standing, under))
        deeds = (*deeds, *self._answers.answer(look.snapshot, made, standing, under))
        reclaims_s = self._reclaims(look.snapshot, deeds)
        held = self._warnings.begin(snapshot, findings, judged)
        site.herald.tell(site.wall())
        return Turned(made, self._asked, recorded, judged, deeds, reclaims_s, held, unled)

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
        # The guard counts the last day by a clock that may be another: so twice as much is remembered.
        recent = [each for each in intents if each.deed.at_ms > at_ms - 2 * DAY_MS]
        return _Recalled(
            as_taken(recent), as_takings(intents), approved, None if since_ms is None else int(since_ms)
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

    def _standing(
        self, hearsay: Hearsay, findings: Findings, recalled: _Recalled, snapshot: Snapshot
    ) -> Standing:
        """By the plan's clock, the API server's. How long this process runs is counted by one that nobody sets."""
        apart_ms = snapshot.at_ms - self._began_ms
        freeze = self._site.gate.look()
        now_ms = self._site.wall() + apart_ms
        # That nothing is held, where the cluster shows who holds, is a ledger that does not know it.
        known = hearsay.coverage_of_pools or not snapshot.workloads
        return Standing(
            now_ms,
            self._asked,
            now_ms - round((self._clock() - self._started_s) * SECOND_MS),
            snapshot.at_ms if recalled.policy_since_ms is None else recalled.policy_since_ms,
            freeze,
            hearsay.coverage_permille if known else None,
            hearsay.coverage_of_pools,
            tuple(later(each, apart_ms) for each in recalled.taken),
            recalled.approvals,
            by_uid(findings.idle),
        )

    def _carry_out(
        self, made: Plan, look: Look, judged: Judgement, standing: Standing, under: Under
    ) -> tuple[Deed, ...]:
        """Do what is allowed, as the leader, group after group; people's approval is answered.

        What counts on a group that was not done after all is left to the next turn, and so is all of a plan that has
        grown old meanwhile.
        """
        site = self._site
        groups = [group for group in judged.allowed if group[0].act is not Act.WARN]
        if not under.epoch or not groups:
            return ()
        deeds: list[Deed] = []
        turns = order.Turns(made, look.snapshot)
        undone: list[int] = []
        for group in groups:
            at = turns.groups.index(group)
            if any(turns.comes_after(at, before) for before in undone):
                undone.append(at)
                continue
            if (self._clock() - self._began_s) * SECOND_MS > site.ruling.policy.behind_ms:
                break
            orders = orders_of(made, group[0].group, look.snapshot)
            told = site.actor.carry_out(orders, under, self._recheck(made, standing))
            if not all_done(group, told):
                undone.append(at)
            deeds += told
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
    """The guard's last look at the actions of one group, with the clock and the switches of that moment.

    The switches are looked at once for all of them: sixteen looks, one after the other, take an owner a second, and
    the gate looks again before each single request that changes something.
    """

    site: Site
    plan: Plan
    standing: Standing

    def __call__(self, action: Action, seen: Seen, /) -> Refused | None:
        now = replace(self.standing, now_ms=self.site.wall(), freeze=self._freeze)
        return recheck(action, self.plan, seen, now, self.site.ruling.policy)

    @cached_property
    def _freeze(self) -> Freeze | None:
        return self.site.gate.look()


def later(each: Remembered, apart_ms: int) -> Remembered:
    """What our clock told, by one that is so far ahead. Where ours is ahead, or was set, it counts for longer."""
    return replace(each, at_ms=each.at_ms + max(0, apart_ms))


def all_done(group: Sequence[Action], deeds: Sequence[Deed]) -> bool:
    """Whether every action of a group was seen to be done."""
    done = {each.position for each in deeds if each.phase is Phase.OUTCOME and each.result == Result.DONE}
    return len(done) >= len(group)


def in_short(troubles: Mapping[str, str]) -> str:
    """What the server said of resources, each answer once: it is the same of all where the server is away."""
    of: dict[str, list[str]] = {}
    for name, words in sorted(troubles.items()):
        of.setdefault(words, []).append(name)
    return "; ".join(f"{_named(names)}: {words}" for words, names in of.items())


def _named(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")

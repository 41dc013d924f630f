"""The guard: which groups of a plan may be done now, and of every other why not. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from enforcer.guard.budgets import Budgets
from enforcer.guard.general import approval_of, to_acting, to_coverage, to_stale, to_unapproved
from enforcer.guard.limits import Group, Limits, stops
from enforcer.guard.refused import ORDER, Reason, Refused
from enforcer.guard.special import Objections
from enforcer.guard.standing import Approval, Standing, pool_parts
from enforcer.guard.turns import Turns
from enforcer.plan import Plan, hash_of_policy
from enforcer.snapshot import Snapshot
from quartermaster.config.policy import PolicyPart
from quartermaster.text import visible


@dataclass(frozen=True, slots=True)
class Judgement:
    """Groups that may be done, in this order, and the others, each with its one reason. `approval` is of the plan."""

    allowed: tuple[Group, ...]
    refused: tuple[tuple[Group, Refused], ...]
    approval: Approval | None = None


def judge(
    plan: Plan, snapshot: Snapshot, standing: Standing, policy: PolicyPart, zone: ZoneInfo
) -> Judgement:
    """What of the plan may be done now, on the cluster as `snapshot` shows it; `zone` is the business's time zone."""
    turns = Turns(plan, snapshot)
    general = _first(_general(plan, snapshot, standing, policy))
    if general is not None:
        return Judgement((), tuple((group, general) for group in turns.groups))
    cycle = _Cycle(turns, snapshot, standing, policy, zone)
    for at in turns.order():
        cycle.judge(at)
    refused = tuple((turns.groups[at], why) for at, why in cycle.refused.items())
    approval = approval_of(plan.hash, standing) if standing.asked == "plan" else None
    return Judgement(tuple(cycle.allowed), refused, approval)


def _general(plan: Plan, snapshot: Snapshot, standing: Standing, policy: PolicyPart) -> Iterator[Refused]:
    """Why nothing of the plan is done."""
    yield from to_acting(standing, policy.acting)
    yield from to_stale("what is seen of the cluster", snapshot.seen_at_ms, standing, policy.behind_ms)
    yield from to_stale("the plan", plan.at_ms, standing, policy.behind_ms)
    yield from to_coverage("the cluster", standing.coverage_permille, policy.acting)
    yield from to_unapproved(plan.hash, plan.snapshot_hash, standing)
    if plan.cluster != snapshot.cluster:
        words = f"it is a plan for cluster {plan.cluster}, and this is {snapshot.cluster}"
        yield Refused(Reason.DIFFERS, visible(words))
    if plan.policy_hash != hash_of_policy(policy.model_dump_json()):
        yield Refused(Reason.DIFFERS, "it was made under another policy")


class _Cycle:
    """A plan being judged, group after group."""

    def __init__(
        self, turns: Turns, snapshot: Snapshot, standing: Standing, policy: PolicyPart, zone: ZoneInfo
    ) -> None:
        self._turns = turns
        self._objections = Objections(snapshot, standing, policy, zone)
        self._budgets = Budgets(snapshot)
        self._limits = Limits(standing, policy.acting, pool_parts(snapshot))
        self.allowed: list[Group] = []
        self.refused: dict[int, Refused] = {}

    def judge(self, at: int) -> None:
        """Allow the group, or refuse it by the first reason."""
        group = self._turns.groups[at]
        refused = (
            _first(objection for action in group for objection in self._objections.to(action))
            or self._budgets.refuse(group)
            or _first(self._before(at))
            or self._limits.refuse(group)
        )
        if refused is None:
            self._budgets.spend(group)
            self._limits.take(group)
            self.allowed.append(group)
        else:
            self.refused[at] = refused

    def _before(self, at: int) -> Iterator[Refused]:
        """What an owner's group needs, or whose turn is before it, and is not done."""
        turns = self._turns
        for before, refused in self.refused.items() if turns.for_owner(at) else ():
            title = next((each.target.title for each in stops(turns.groups[before])), "")
            if turns.counts_on(at, before):
                yield _before(f"its owner's pods fit only with the GPUs of {title}, which is not stopped now")
            elif turns.needs_held(at, before):
                yield _before(f"those who are held back with the stopping of {title} could be bound first")
            elif turns.for_owner(before) and turns.pool(before) == turns.pool(at) and not refused.never_fits:
                yield _before(f"the owner for whom {title} is to be stopped comes first in this pool")


def _before(words: str) -> Refused:
    return Refused(Reason.BEFORE, visible(words))


def _first(objections: Iterable[Refused]) -> Refused | None:
    """The one whose reason stands first."""
    return min(objections, key=lambda each: ORDER[each.reason], default=None)

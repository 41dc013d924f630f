"""The actor: carries out the actions of one group, all or none, and tells of each before and after.

What is to be done is looked at again; then every intent is in the journal; then what waits is held back, owners are
stopped side by side, their pods are seen to go, what was held back is started; then every outcome is in the journal.
Where something is not as the plan has it, what has not begun is not begun. What cannot be told stays an open intent,
which `enforcer.act.resume` closes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from collector.kubernetes.values import Json
from enforcer.act.change import Change, Meant, NoChange
from enforcer.act.doing import Begun, Doing
from enforcer.act.grip import grip
from enforcer.act.hands import pod_path
from enforcer.act.order import Order, Under, intended, refused
from enforcer.act.seen import Seen, seen_of
from enforcer.act.served import NoWay
from enforcer.act.wire import Silence
from enforcer.audit.deed import Deed, Result
from enforcer.guard.refused import Reason, Refused
from enforcer.plan import Act, Action
from quartermaster.text import visible

_TURNS = (Act.HOLD, Act.STOP, Act.START)


class Recheck(Protocol):
    """The guard's last look: why an action is not to be done to what is there now; None where it is."""

    def __call__(self, action: Action, seen: Seen, /) -> Refused | None: ...


@dataclass(frozen=True, slots=True)
class _Sight:
    """An order, what is there, and where and how its owner is changed."""

    order: Order
    seen: Seen | None = None
    change: Change | None = None
    words: str = ""  # why it cannot be done


class Actor:
    """Acts on one cluster by what `doing` has: hands, a journal, and who says whether it may."""

    def __init__(self, doing: Doing) -> None:
        self._doing = doing
        self._hands, self._served, self._crew = doing.hands, doing.served, doing.crew

    def carry_out(self, orders: Sequence[Order], under: Under, recheck: Recheck) -> tuple[Deed, ...]:
        """Do a group's actions; the deeds that were written. Raises LedgerError: then what was begun stays open.

        Warnings are no acts on a workload: one among the orders is a ValueError.
        """
        if any(each.action.act not in _TURNS for each in orders):
            raise ValueError("only what holds back, stops or starts is carried out here")
        sights = self._look(orders, under)
        refusals = [_refusal(sight, recheck) for sight in sights]
        if not any(refusals):
            refusals = _by_budgets(sights)
        if any(refusals):
            return self._refuse(sights, refusals, under)
        changes = [sight.change for sight in sights if sight.change is not None]
        at_ms = self._doing.wall()
        intents = [intended(each, under, change, at_ms) for each, change in zip(orders, changes, strict=True)]
        begun = [
            replace(each, named=order.pods)
            for each, order in zip(
                self._doing.begin(intents, [change.patch for change in changes]), orders, strict=True
            )
        ]
        told: list[Begun] = []
        for act in _TURNS:
            turn = [each for each in begun if each.intent.act == act.value]
            if all(each.is_done for each in told):
                told += self._doing.do(turn, under.epoch)
            else:
                words = "it was not begun: something before it is not done"
                told += [replace(each, result=Result.FAILED, words=words) for each in turn]
        return (*intents, *self._doing.finish(told, under.epoch))

    def _refuse(
        self, sights: Sequence[_Sight], refusals: Sequence[Refused | None], under: Under
    ) -> tuple[Deed, ...]:
        """Nothing is begun: each action with its own reason, or that of another of the group."""
        other = Refused(Reason.BEFORE, "another action of its group is refused")
        at_ms = self._doing.wall()
        deeds = tuple(
            refused(sight.order, under, why or other, at_ms)
            for sight, why in zip(sights, refusals, strict=True)
        )
        self._doing.journal.write(deeds)
        return deeds

    def _look(self, orders: Sequence[Order], under: Under) -> list[_Sight]:
        spaces = sorted({each.action.target.namespace for each in orders if each.action.act is Act.STOP})
        pods = [
            pod_path(each.action.target.namespace, name) for each in orders for name in each.pods.values()
        ]
        try:
            budgets = dict(zip(spaces, self._crew.each(self._budgets, spaces), strict=True))
            there = dict(zip(pods, self._crew.each(self._hands.look, pods), strict=True))
        except Silence as silence:
            words = f"its pods, and what protects them, cannot be looked at: {silence}"
            return [_Sight(each, words=words) for each in orders]
        return self._crew.each(
            lambda order: self._sight(order, budgets.get(order.action.target.namespace, []), there, under),
            orders,
        )

    def _budgets(self, namespace: str) -> list[Json]:
        found = self._hands.look(
            f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets?resourceVersion=0"
        )
        return list((found or {}).get("items") or [])

    def _sight(
        self, order: Order, budgets: Sequence[Json], pods: Mapping[str, Json | None], under: Under
    ) -> _Sight:
        action, target = order.action, order.action.target
        try:
            held = grip(self._served, target.kind, target.namespace, target.name)
        except (NoWay, Silence) as error:
            return _Sight(order, words=str(error))
        at_ms = self._doing.wall()
        found = [pods[pod_path(target.namespace, name)] for name in order.pods.values()]
        there = [pod for pod in found if pod is not None and pod["metadata"]["uid"] in order.pods]
        if held is None:
            return _Sight(order, seen_of(at_ms, None, there, budgets), words=f"{target.title} is gone")
        metadata = held.object["metadata"]
        # What is patched is what must not have changed.
        seen = replace(seen_of(at_ms, held.owner, there, budgets), version=metadata["resourceVersion"])
        if action.act is Act.START:
            change = held.start()
        else:
            meant = Meant(at_ms, under.cluster, under.plan_hash, under.epoch, action.act.value)
            change = held.stop(meant)
        if isinstance(change, NoChange):
            return _Sight(order, seen, words=change.words)
        # The API server itself refuses it on anything but what the plan saw.
        uid = target.uid if held.object is held.owner else metadata["uid"]
        patch = replace(change.patch, uid=uid, version=target.version)
        return _Sight(order, seen, replace(change, patch=patch))


def _refusal(sight: _Sight, recheck: Recheck) -> Refused | None:
    """The guard's own reason first; then that it cannot be done."""
    found = None if sight.seen is None else recheck(sight.order.action, sight.seen)
    if found is None and sight.change is None:
        return Refused(Reason.DIFFERS, visible(sight.words))
    return found


def _by_budgets(sights: Sequence[_Sight]) -> list[Refused | None]:
    """What a PodDisruptionBudget says to all of a group together."""
    covers: dict[str, int] = {}
    for each in _stopped(sights):
        for budget in each.budgets:
            covers[budget.name] = covers.get(budget.name, 0) + budget.covers
    over = {
        budget.name: budget.allowed
        for each in _stopped(sights)
        for budget in each.budgets
        if covers[budget.name] > budget.allowed
    }
    found: list[Refused | None] = []
    for sight in sights:
        name = next(
            (each.name for each in (sight.seen.budgets if sight.seen else ()) if each.name in over), None
        )
        words = f"{name} lets {over.get(name or '', 0)} pods go now, and the group takes {covers.get(name or '', 0)}"
        found.append(None if name is None else Refused(Reason.DISRUPTION_BUDGET, visible(words)))
    return found


def _stopped(sights: Sequence[_Sight]) -> list[Seen]:
    return [each.seen for each in sights if each.seen is not None and each.order.action.act is Act.STOP]

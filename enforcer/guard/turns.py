"""Turns: in which order groups come to the limits, and which of them counts on another.

Owners come before what merely stands idle, in the plan's order, so that who waits longest is served first; what an
owner's group counts on comes right before it.
"""

from collections.abc import Sequence

from enforcer.guard.limits import Group, stops
from enforcer.plan import Act, Cause, Plan
from enforcer.shape import Shape
from enforcer.snapshot import Snapshot


class Turns:
    """The groups of a plan."""

    def __init__(self, plan: Plan, snapshot: Snapshot) -> None:
        found: dict[int, Group] = {}
        for action in plan.actions:
            found[action.group] = (*found.get(action.group, ()), action)
        self.groups = tuple(found.values())
        self._for_owner = [any(each.cause is Cause.OWNER for each in stops(group)) for group in self.groups]
        self._nodes = [
            {node for each in stops(group) for _, _, node in each.target.pods} for group in self.groups
        ]
        self._pools = {node.name: node.pool for node in snapshot.nodes}
        places = {answer.group: {node for node, _ in answer.places} for answer in plan.answers}
        self._places = [places.get(group[0].group, set[str]()) for group in self.groups]
        self._mixed = {
            each.uid for each in snapshot.waiting if _is_mixed([shape for shape, _, _ in each.pods])
        }

    def order(self) -> list[int]:
        """Their numbers in the order of their turns."""
        order: dict[int, None] = {}
        for at in range(len(self.groups)):
            if self.for_owner(at):
                order |= {before: None for before in range(at) if self.counts_on(at, before)}
                order[at] = None
        others = [at for at in range(len(self.groups)) if at not in order]
        return [*order, *sorted(others, key=lambda at: not stops(self.groups[at]))]

    def counts_on(self, at: int, before: int) -> bool:
        """Whether an owner's pods were found to fit with the GPUs that an earlier group takes.

        They were counted to fit on certain nodes. Pods of several shapes, and such as are bound to one another, fit
        somewhere only as all of the pool is counted.
        """
        if not self._for_owner[at] or not self._nodes[before]:
            return False
        if self.groups[at][0].for_uid in self._mixed:
            pool = self.pool(at)
            return any(self._pools.get(node, pool) == pool for node in self._nodes[before])
        return not self._nodes[before].isdisjoint(self._places[at])

    def needs_held(self, at: int, before: int) -> bool:
        """Whether an earlier group of its pool holds others back, who could be bound to what it frees."""
        return (
            self._for_owner[at]
            and self.pool(at) == self.pool(before)
            and any(each.act is Act.HOLD for each in self.groups[before])
        )

    def comes_after(self, at: int, before: int) -> bool:
        """Whether a group is not to be done while an earlier one that was allowed is not."""
        if not self.for_owner(at) or at == before:
            return False
        first_in_pool = self.for_owner(before) and self.pool(before) == self.pool(at)
        return first_in_pool or self.counts_on(at, before) or self.needs_held(at, before)

    def for_owner(self, at: int) -> bool:
        """Whether it stops anybody for an owner."""
        return self._for_owner[at]

    def pool(self, at: int) -> str:
        """The pool whose GPUs it takes; "" where it takes none."""
        return next((each.target.pool for each in stops(self.groups[at])), "")


def _is_mixed(shapes: Sequence[Shape]) -> bool:
    return len(set(shapes)) > 1 or any(each.apart_on or each.together_on for each in shapes)

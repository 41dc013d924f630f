"""Disruption budgets: how many pods the PodDisruptionBudgets of a cluster let go, over all that a cycle stops.

A controller that is told to stop ends its pods without asking them, so they are asked here.
"""

from collections.abc import Iterator

from enforcer.guard.limits import Group, stops
from enforcer.guard.refused import Reason, Refused
from enforcer.snapshot import Pod, Snapshot
from quartermaster.text import visible


class Budgets:
    """The budgets as they are seen, less what the cycle takes from them. One that is not known lets none go."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._left = {each.name: each.allowed for each in snapshot.budgets}
        self._workloads = {each.uid: each for each in snapshot.workloads}

    def refuse(self, group: Group) -> Refused | None:
        """Why a budget does not let the group's pods go, all of them; None where all do."""
        for pod in self._pods(group):
            if len(pod.budgets) > 1:
                words = f"pod {pod.namespace}/{pod.name} is under {len(pod.budgets)}, and so cannot be evicted at all"
                return Refused(Reason.DISRUPTION_BUDGET, visible(words))
        for name, count in self._wanted(group).items():
            left = self._left.get(name, 0)
            if count > left:
                words = f"{name} lets {max(0, left)} pods go now, and this takes {count}"
                return Refused(Reason.DISRUPTION_BUDGET, visible(words))
        return None

    def spend(self, group: Group) -> None:
        """The group is done."""
        for name, count in self._wanted(group).items():
            self._left[name] = self._left.get(name, 0) - count

    def _wanted(self, group: Group) -> dict[str, int]:
        wanted: dict[str, int] = {}
        for pod in self._pods(group):
            for name in pod.budgets:
                wanted[name] = wanted.get(name, 0) + 1
        return wanted

    def _pods(self, group: Group) -> Iterator[Pod]:
        for each in stops(group):
            workload = self._workloads.get(each.target.uid)
            if workload is not None:
                yield from (pod for pod in workload.pods if not pod.terminating)

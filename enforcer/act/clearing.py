"""Clearing: after owners are stopped, their pods are seen to go, and those that could go are evicted.

A pod's own controller deletes it by itself as a rule. What it has not come to when it had its head start is evicted,
as soon as that controller is stopped as well, so that nothing brings the pod back.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from collector.kubernetes.values import Json, mapping, text
from enforcer.act.crew import Crew
from enforcer.act.effects import Evict, How
from enforcer.act.hands import Hands, May, pod_path
from enforcer.act.pods import controller_path, fence, may_be_evicted
from enforcer.act.seen import is_going
from enforcer.act.wire import Silence

_ROUNDS_S = (0.05, 0.1, 0.25)


@dataclass(frozen=True, slots=True)
class Pace:
    """How long pods' own controllers are given before they are evicted, and how long they are waited for at most."""

    head_start_s: float = 0.1
    patience_s: float = 20.0


class Fate(StrEnum):
    """What is seen of a pod."""

    GOING = "it ends, or is gone"
    STAYS = "it stays"
    BUDGET = "a PodDisruptionBudget does not let it go"
    HELD = "nothing may be done any more"
    UNKNOWN = "it cannot be told"


@dataclass(frozen=True, slots=True)
class Named:
    """A pod to be cleared."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Cleared:
    """What became of a pod, seen `after_s` into the clearing."""

    fate: Fate
    words: str
    after_s: float


_FATES = {
    How.HAPPENED: Fate.GOING,
    How.GONE: Fate.GOING,
    How.BUDGET: Fate.BUDGET,
    How.HELD: Fate.HELD,
    How.UNKNOWN: Fate.UNKNOWN,
}


class Clearing:
    """The pods of one group's stopped owners."""

    def __init__(self, hands: Hands, crew: Crew, epoch: int, may: May, pace: Pace) -> None:
        self._hands, self._crew, self._epoch, self._may, self._pace = hands, crew, epoch, may, pace
        self._began = time.monotonic()
        self._controllers: dict[str, Json | None] = {}

    def clear(self, pods: Sequence[Named], stopped: Mapping[str, Json]) -> dict[str, Cleared]:
        """What became of each, by UID, when all go, or nothing more can be done for those that stay.

        `stopped` are the owners as they were just stopped, by their paths: often the pods' own controllers.
        """
        self._controllers.update(stopped)
        found: dict[str, Cleared] = {}
        left: list[Named] = list(pods)
        turn = 0
        if left:
            time.sleep(self._pace.head_start_s)
        while left:
            for pod, cleared in zip(left, self._crew.each(self._step, left), strict=True):
                found[pod.uid] = cleared
            left = [pod for pod in left if found[pod.uid].fate is Fate.STAYS]
            held = next((each for each in found.values() if each.fate is Fate.HELD), None)
            if held is not None:  # of those that stay it is not known whether they would have
                return found | {pod.uid: held for pod in left}
            if not left or self._past_s() > self._pace.patience_s:
                break
            time.sleep(_ROUNDS_S[min(turn, len(_ROUNDS_S) - 1)])
            turn += 1
            self._controllers.clear()
        return found

    def wait(self, ended: Callable[[], bool]) -> bool:
        """Whether it came to its end before patience did."""
        turn = 0
        while not ended():
            if self._past_s() > self._pace.patience_s:
                return False
            time.sleep(_ROUNDS_S[min(turn, len(_ROUNDS_S) - 1)])
            turn += 1
        return True

    def _past_s(self) -> float:
        return time.monotonic() - self._began

    def _step(self, pod: Named) -> Cleared:
        try:
            fate, words = self._one(pod)
        except Silence as silence:
            fate, words = Fate.UNKNOWN, str(silence)
        return Cleared(fate, words, self._past_s())

    def _one(self, pod: Named) -> tuple[Fate, str]:
        """Look at a pod once; and evict it, where it is its time."""
        seen = self._hands.look(pod_path(pod.namespace, pod.name))
        if seen is None or mapping(seen.get("metadata")).get("uid") != pod.uid or is_going(seen):
            return Fate.GOING, ""
        if not may_be_evicted(seen, self._controller(seen)):
            return Fate.STAYS, "its own controller is not stopped, or leaves it there"
        came = self._hands.do(fence(seen, self._epoch), self._may)
        if came.how is How.HAPPENED:
            version = text(mapping(came.object.get("metadata")).get("resourceVersion"))
            came = self._hands.do(Evict(pod.namespace, pod.name, pod.uid, version), self._may)
        return _FATES.get(came.how, Fate.STAYS), came.words

    def _controller(self, pod: Json) -> Json | None:
        path = controller_path(pod)
        if path and path not in self._controllers:
            self._controllers[path] = self._hands.look(path)
        return self._controllers.get(path)

"""Grants: what claims were given, kept while their pods hold it, though the claims themselves are gone first."""

from dataclasses import dataclass

from collector.kubernetes.claims import Claim, Given, given, read_claim
from collector.kubernetes.fleet import Fleet
from collector.kubernetes.settings import Settings
from collector.kubernetes.stream import GONE, Event
from quartermaster.clock import MINUTE_MS

# For so long an allocation is kept after its claim is gone: the pod's stream may be that much behind.
_KEPT_MS = 10 * MINUTE_MS
Name = tuple[str, str]  # namespace, name


@dataclass(slots=True)
class _Kept:
    """A claim's last allocation, with the devices as they were then."""

    claim: Claim
    given: Given
    pods: frozenset[str]
    gone_at: int | None = None


class Grants:
    """The claims of a cluster that give GPUs, or will."""

    def __init__(self, settings: Settings, fleet: Fleet) -> None:
        self._settings, self._fleet = settings, fleet
        self._kept: dict[Name, _Kept] = {}
        self._asked: dict[Name, int] = {}
        self._names: dict[str, Name] = {}

    def claim(self, event: Event, uid: str) -> frozenset[str]:
        """A claim was seen, or is gone; the pods (by uid) that it concerns.

        Its last allocation is kept, for a pod may be told of later than the end of its claim.
        """
        claim = read_claim(event.object, self._settings) if event.object else None
        name = (claim.namespace, claim.name) if claim is not None else self._names.get(uid)
        if name is None:
            return frozenset()
        if event.type == GONE:
            self._names.pop(uid, None)
            self._asked.pop(name, None)
            if name in self._kept:
                self._kept[name].gone_at = event.received_at
            self._forget(event.received_at)
            return frozenset()
        if claim is None:
            return frozenset()
        self._names[uid] = name
        if not (claim.grants or claim.unreadable):
            self._asked[name] = claim.asked_parts
            return claim.pods
        kept = self._kept.get(name)
        if kept is not None and kept.claim.uid == uid and kept.claim.grants == claim.grants:
            self._kept[name] = _Kept(claim, kept.given, kept.pods | claim.pods)
        else:
            self._kept[name] = _Kept(claim, given(claim, self._fleet.inventory.units()), claim.pods)
        return self._kept[name].pods

    def asked(self, namespace: str, name: str) -> int:
        """The parts that a claim asks for."""
        return self._asked.get((namespace, name), 0)

    def given_to(self, pod_uid: str, namespace: str, name: str) -> Given | None:
        """What a claim gives a pod; None where nothing (yet), or not to it."""
        kept = self._kept.get((namespace, name))
        return kept.given if kept is not None and pod_uid in kept.pods else None

    def look_again(self) -> frozenset[str]:
        """Look again at claims that name unknown devices; the pods that they concern."""
        concerned: frozenset[str] = frozenset()
        for kept in self._kept.values():
            if kept.given.unnamed_parts:
                kept.given = given(kept.claim, self._fleet.inventory.units())
                concerned |= kept.pods
        return concerned

    def _forget(self, now_ms: int) -> None:
        old = [
            name
            for name, kept in self._kept.items()
            if kept.gone_at is not None and now_ms - kept.gone_at > _KEPT_MS
        ]
        for name in old:
            del self._kept[name]

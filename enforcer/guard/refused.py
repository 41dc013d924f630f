"""Refused: that the guard says no, for which reason, and with which figures."""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why something is not done. Where several hold, the first of them here is told."""

    MODE = "the policy does not allow it"
    FROZEN = "everything is frozen"
    JUST_STARTED = "the enforcer has just started"
    POLICY_CHANGED = "the policy has just changed"
    STALE = "the picture of the cluster is stale"
    COVERAGE = "too little of what is held is known"
    NOT_APPROVED = "nobody has approved it"
    EXPIRED = "its approval has expired"
    VOID = "another plan was approved"
    DIFFERS = "reality differs from the plan"
    PROTECTED = "it is protected"
    NO_WAY = "nothing brings it back"
    IN_VAIN = "stopping it had no effect before"
    REPORTED_ONLY = "idle workloads of its kind are reported only"
    OPTED_OUT = "it opted out"
    KEPT = "its people keep it"
    BUSINESS_HOURS = "people are at work"
    NOT_IDLE = "it is not surely idle now"
    UNTOLD = "nobody was told"
    DISRUPTION_BUDGET = "a PodDisruptionBudget does not let its pods go"
    BEFORE = "something before it is not done"
    A_CYCLE = "as many as may be at a time are stopped"
    AN_HOUR = "as many as may be in an hour were stopped"
    TEAM_AN_HOUR = "as many of its team as may be in an hour were stopped"
    POOL_A_DAY = "as much of its pool as may be in a day was taken"


LIMITS = frozenset({Reason.A_CYCLE, Reason.AN_HOUR, Reason.TEAM_AN_HOUR, Reason.POOL_A_DAY})
ORDER = {reason: place for place, reason in enumerate(Reason)}


@dataclass(frozen=True, slots=True)
class Refused:
    """A no. `until_ms` is when this reason ends by itself; None where waiting does not end it, or nobody can tell."""

    reason: Reason
    words: str
    until_ms: int | None = None

    @property
    def never_fits(self) -> bool:
        """Whether it is larger than a limit allows at any time."""
        return self.reason in LIMITS and self.until_ms is None

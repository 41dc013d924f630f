"""The plan: what would be done to whom, in which order, why, at which cost and for which gain. Values alone."""

import json
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from hashlib import sha256

from enforcer.harm import Harm


class Act(StrEnum):
    """What is done to a workload."""

    HOLD = "hold"  # what waits is kept from the scheduler until the owner's pods are bound
    STOP = "stop"  # its owner is stopped, then its pods are evicted, then the freed GPUs are watched
    START = "start"  # what was stopped or held back begins again
    WARN = "warn"  # its people are told what will be done


class Cause(StrEnum):
    """By which rule."""

    OWNER = "an owner asks for its guarantee"
    IDLE = "it stands idle"
    ENTITLED = "it is entitled to GPUs that are free"
    GIVEN = "its people give it back"  # of what they asked for, in no plan


class Step(StrEnum):
    """The steps of an action, in their order. An owner is always stopped before its pods are evicted."""

    RECORD = "record what was there"
    STOP_OWNER = "stop its owner"
    EVICT = "evict its pods that are still there"
    WATCH = "watch the freed GPUs until the owner's pods are bound"
    HOLD_BACK = "hold it back"
    START = "start it"
    NOTIFY = "send the warning"


STEPS = {
    Act.STOP: (Step.RECORD, Step.STOP_OWNER, Step.EVICT, Step.WATCH),
    Act.HOLD: (Step.RECORD, Step.HOLD_BACK),
    Act.START: (Step.START,),
    Act.WARN: (Step.NOTIFY,),
}


@dataclass(frozen=True, slots=True)
class Target:
    """The workload that is acted upon, as the plan saw it: acting on anything else is not this plan."""

    uid: str
    version: str
    kind: str
    namespace: str
    name: str
    team: str
    pool: str
    way_down: str
    pods: tuple[tuple[str, str, str], ...] = ()  # UID, version and node of each, by UID

    @property
    def title(self) -> str:
        """`Job vision/train`."""
        return f"{self.kind} {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do. Actions of one `group` belong together: all or none, in order."""

    group: int
    act: Act
    cause: Cause
    target: Target
    for_uid: str = ""  # the waiting workload it is done for
    frees_parts: int = 0
    gains_parts: int = 0  # what the waiting workload gets by the whole group
    harm: Harm | None = None
    stage: str = ""  # of a warning
    why: tuple[str, ...] = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        """What is done, in order."""
        return STEPS[self.act]


class Verdict(StrEnum):
    """What becomes of a workload that waits."""

    FREE = "free GPUs fit it"
    RELEASED = "GPUs that are being released fit it"
    BOOTING = "a node that is booting fits it"
    TAKEN = "GPUs are taken for it"
    LEFT = "its queue system takes borrowed GPUs back by itself"
    WATCHED = "GPUs that were freed for it are watched"
    YOUNG = "borrowers are given their minimum runtime"
    NONE_FITS = "nothing that may be taken fits it"
    ABOVE = "it asks for more than its team's guarantee"
    UNSURE = "it cannot be told where it fits"
    STARTED = "it is started"


@dataclass(frozen=True, slots=True)
class Rejected:
    """Something else that could have been done, and why it is not."""

    uid: str
    title: str
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What the plan has for one workload that waits."""

    uid: str
    title: str
    team: str
    pool: str
    parts: int
    waited_pms: int  # part-milliseconds it has waited for so far
    verdict: Verdict
    words: str
    gains_parts: int = 0  # what it gets, where it gets anything
    places: tuple[tuple[str, int], ...] = ()  # where: nodes, and how many of its pods on each
    until_ms: int | None = None
    freed_at_ms: int | None = None  # when GPUs were last freed for it, where they have been watched in vain
    group: int | None = None
    rejected: tuple[Rejected, ...] = ()


@dataclass(frozen=True, slots=True)
class Balance:
    """A team in a pool, before and after the plan; in parts."""

    pool: str
    team: str
    guaranteed_parts: int
    fair_parts: int
    held_before_parts: int
    held_after_parts: int
    waiting_parts: int


@dataclass(frozen=True)
class Plan:
    """What would be done. Without actions it says why."""

    cluster: str
    at_ms: int
    policy_hash: str
    actions: tuple[Action, ...] = ()
    answers: tuple[Answer, ...] = ()
    balances: tuple[Balance, ...] = ()
    notes: tuple[str, ...] = ()
    spared: tuple[Rejected, ...] = field(default=())  # idle workloads that are not acted upon, and why

    @cached_property
    def snapshot_hash(self) -> str:
        """Of all that the actions rest upon: the objects they touch with their versions, and their pods."""
        return _hash([_told(action.target) for action in self.actions])

    @cached_property
    def hash(self) -> str:
        """Of what would be done to whom, for whom, under which policy.

        Figures that grow by the minute and the instant are not in it: the same action on the same objects has the
        same hash a minute later, and any other action, object, version or policy another.
        """
        actions = [
            [each.group, each.act, each.cause, each.stage, each.for_uid, each.frees_parts, _told(each.target)]
            for each in self.actions
        ]
        return _hash([self.cluster, self.policy_hash, actions])


def hash_of_policy(text: str) -> str:
    """The hash of a policy, from its JSON."""
    return _hash(json.loads(text))


def _told(target: Target) -> list[object]:
    return [
        target.uid,
        target.version,
        target.kind,
        target.namespace,
        target.name,
        target.team,
        target.pool,
        target.way_down,
        [list(pod) for pod in target.pods],
    ]


def _hash(told: object) -> str:
    canonical = json.dumps(told, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return sha256(canonical.encode()).hexdigest()

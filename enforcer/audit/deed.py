"""A deed: one row of the audit, before an act (its intent) or after it (its outcome). Values alone."""

from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """What a deed tells."""

    INTENT = "intent"  # it is about to be done
    OUTCOME = "outcome"  # what came of it
    REFUSED = "refused"  # the guard said no, and nothing was begun
    ANSWERED = "answered"  # what became of a person's request


class Result(StrEnum):
    """What came of an intent."""

    DONE = "done"  # it was seen to be done
    NO_EFFECT = "no effect"  # it was answered well and nothing changed; it is not tried again
    FAILED = "failed"  # it was refused or could not be asked for; nothing changed
    ABANDONED = "abandoned"  # it was begun before a restart, and is not gone on with
    UNDONE = "undone"  # somebody else put back what was done; it is not fought


@dataclass(frozen=True, slots=True)
class Deed:
    """What was meant for one object, or what came of it. An outcome has the `intent` it belongs to."""

    cluster: str
    at_ms: int
    phase: Phase
    act: str  # enforcer.plan.Act's value, `restore`, or the kind of a request
    plan_hash: str = ""
    position: int = 0  # of the action within the plan
    group: int = 0
    kind: str = ""
    namespace: str = ""
    name: str = ""
    object_uid: str = ""
    object_version: str = ""
    team: str = ""
    pool: str = ""
    for_uid: str = ""
    frees_parts: int = 0
    cause: str = ""  # enforcer.plan.Cause's value
    before: str = ""  # JSON: the fields as they were before the change; what `restore` puts back
    after: str = ""  # JSON: the fields as they are meant to be, or as they were seen
    epoch: int = 0  # of the lease under which it was meant
    actor: str = ""  # who did it: the enforcer's identity, or a person
    result: str = ""  # enforcer.audit.deed.Result's value; of a refusal its reason
    words: str = ""  # for a person
    intent: str = ""  # of an outcome: the hash of its intent's row
    request_id: int | None = None

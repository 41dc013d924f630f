"""Deeds for the tests of the audit."""

from dataclasses import replace
from typing import Any

from enforcer.audit.deed import Deed, Phase, Result

T0 = 1_795_000_000_000
CLUSTER = "prod"


def intent(uid: str = "u1", at_ms: int = T0, act: str = "stop", **changed: Any) -> Deed:
    """That a Job of 8 GPUs is about to be stopped."""
    made = Deed(
        CLUSTER,
        at_ms,
        Phase.INTENT,
        act,
        plan_hash="p1",
        kind="Job",
        namespace="vision",
        name=f"train-{uid}",
        object_uid=uid,
        object_version="41",
        team="vision",
        pool="training",
        frees_parts=8 * 168_000,
        cause="it stands idle",
        before='{"spec":{"suspend":false}}',
        after='{"spec":{"suspend":true}}',
        epoch=3,
        actor="quartermaster-0",
    )
    return replace(made, **changed)


def outcome(
    of: Deed, row_hash: str, result: Result = Result.DONE, after_ms: int = 500, **changed: Any
) -> Deed:
    """What came of an intent."""
    told = {"phase": Phase.OUTCOME, "result": result.value, "intent": row_hash, "at_ms": of.at_ms + after_ms}
    return replace(of, **told | {"before": ""} | changed)


def refused(uid: str = "u1", at_ms: int = T0, reason: str = "frozen", **changed: Any) -> Deed:
    """That the guard said no."""
    told = {"phase": Phase.REFUSED, "result": reason, "words": f"not done: {reason}", "before": ""}
    return replace(intent(uid, at_ms), **told | changed)


def many(count: int) -> list[Deed]:
    """Refusals, one a second."""
    return [refused(f"u{number}", T0 + 1000 * number) for number in range(count)]

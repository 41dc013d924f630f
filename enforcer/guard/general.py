"""General objections: why nothing at all is done now, whatever a plan says."""

from collections.abc import Iterator

from enforcer.guard.refused import Reason, Refused
from enforcer.guard.standing import Approval, Standing
from quartermaster.clock import SECOND_MS, to_iso
from quartermaster.config.acting import ActingPart
from quartermaster.text import visible

_FURTHER = {"shadow": 0, "plan": 1, "act": 2}


def to_acting(standing: Standing, acting: ActingPart) -> Iterator[Refused]:
    """By the mode, a switch, or because something is too new."""
    if standing.asked == "shadow":
        yield Refused(Reason.MODE, "shadow is asked for: nothing is done")
    elif _FURTHER[standing.asked] > _FURTHER[acting.mode]:
        words = f"--{standing.asked} is asked for, and policy.acting.mode is {acting.mode}"
        yield Refused(Reason.MODE, words)
    yield from to_frozen(standing)
    yield from _too_new(
        Reason.JUST_STARTED, "the enforcer started", standing, standing.started_at_ms, acting.after_start_ms
    )
    yield from _too_new(
        Reason.POLICY_CHANGED,
        "the policy changed",
        standing,
        standing.policy_since_ms,
        acting.after_policy_change_ms,
    )


def to_frozen(standing: Standing) -> Iterator[Refused]:
    """By a switch."""
    if standing.freeze is not None:
        yield Refused(Reason.FROZEN, standing.freeze.words)


def to_stale(what: str, at_ms: int, standing: Standing, behind_ms: int) -> Iterator[Refused]:
    """By the age of a picture, which is older than `behind_ms` or from the future."""
    age_ms = standing.now_ms - at_ms
    if not 0 <= age_ms <= behind_ms:
        words = f"{what} is {_seconds(age_ms)} old; nothing is done on one that is older than {_seconds(behind_ms)}"
        yield Refused(Reason.STALE, f"{words}, or from the future")


def to_coverage(where: str, permille: int | None, acting: ActingPart) -> Iterator[Refused]:
    """By what is known of what is held there."""
    needed = acting.coverage_permille
    if permille is None:
        yield Refused(
            Reason.COVERAGE, visible(f"how much of what is held in {where} is known cannot be told")
        )
    elif permille < needed:
        words = f"{permille / 10:g} % of what is held in {where} is known; {needed / 10:g} % are needed"
        yield Refused(Reason.COVERAGE, visible(words))


def to_unapproved(plan_hash: str, snapshot_hash: str, standing: Standing) -> Iterator[Refused]:
    """By what people approved, where they are asked."""
    if standing.asked != "plan" or approval_of(plan_hash, standing) is not None:
        return
    same = [each for each in standing.approvals if each.plan_hash == plan_hash]
    others = [each for each in standing.approvals if _holds(each, standing.now_ms)]
    if same:
        last = max(same, key=_until)
        words = f"it was approved at {to_iso(last.at_ms)} by {last.by}, until {to_iso(last.until_ms)}"
        yield Refused(Reason.EXPIRED, visible(words))
    elif others:
        last = max(others, key=_until)
        changed = (
            "its policy, or for whom it is done, is not the same"
            if last.snapshot_hash == snapshot_hash
            else "the objects that it would touch have changed"
        )
        words = (
            f"plan {last.plan_hash[:12]} was approved at {to_iso(last.at_ms)} by {last.by}, and this is plan "
            f"{plan_hash[:12]}: {changed}"
        )
        yield Refused(Reason.VOID, visible(words))
    else:
        yield Refused(Reason.NOT_APPROVED, f"quartermaster approve {plan_hash[:12]} approves it")


def approval_of(plan_hash: str, standing: Standing) -> Approval | None:
    """The approval of the plan that holds now."""
    found = [
        each for each in standing.approvals if each.plan_hash == plan_hash and _holds(each, standing.now_ms)
    ]
    return max(found, key=_until, default=None)


def _holds(each: Approval, now_ms: int) -> bool:
    return each.at_ms <= now_ms < each.until_ms


def _until(each: Approval) -> int:
    return each.until_ms


def _too_new(reason: Reason, what: str, standing: Standing, since_ms: int, wait_ms: int) -> Iterator[Refused]:
    until_ms = since_ms + wait_ms
    if standing.now_ms < until_ms:
        words = f"{what} at {to_iso(since_ms)}; nothing is done until {to_iso(until_ms)}"
        yield Refused(reason, words, until_ms)


def _seconds(span_ms: int) -> str:
    return f"{span_ms / SECOND_MS:g} s"

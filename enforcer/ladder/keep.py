"""Keeping: until when people's wishes spare an idle workload, as far as the policy lets them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from analytics.measure import Cursor
from enforcer.book import rows
from enforcer.idleness import Findings, Idle
from enforcer.ladder.rung import keepable_until_ms, steps_of
from enforcer.snapshot import Workload
from quartermaster.config.policy import PolicyPart


def asked(cursor: Cursor, cluster: str, at_ms: int) -> Mapping[str, int]:
    """Until when `quartermaster keep` was asked to keep each workload, by UID; what is over is left out."""
    given = {"cluster": cluster, "at_ms": at_ms}
    return {row["uid"]: row["until_ms"] for row in rows(cursor, "keeps", given).iter_rows(named=True)}


def kept(
    findings: Findings,
    workloads: Iterable[Workload],
    policy: PolicyPart,
    wishes: Iterable[Mapping[str, int]],
) -> Findings:
    """The findings with how long people keep each workload: the longest of the `wishes` (each until when, by UID), but
    no longer than the policy lets them."""
    told = {each.uid: each for each in workloads}
    longest: dict[str, int] = {}
    for wish in wishes:
        for uid, until_ms in wish.items():
            longest[uid] = max(until_ms, longest.get(uid, 0))
    return replace(
        findings,
        idle=tuple(
            _kept(each, told.get(each.uid), longest.get(each.uid, 0), policy) for each in findings.idle
        ),
    )


def _kept(found: Idle, workload: Workload | None, until_ms: int, policy: PolicyPart) -> Idle:
    steps = None if workload is None else steps_of(policy, workload.kind, serving=workload.serving)
    if steps is None or not until_ms:
        return found
    most_ms = keepable_until_ms(steps, found.since_ms, found.notices)
    return replace(found, keep_until_ms=max(found.keep_until_ms, min(until_ms, most_ms)))

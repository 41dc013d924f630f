"""Hearing outside of shadow: what analysis found, with the warnings that were truly accepted and who keeps what."""

from collections.abc import Iterable, Mapping

from analytics.found import Found
from analytics.measure import Cursor
from enforcer.heard import hear
from enforcer.idleness import Findings
from enforcer.ladder.keep import asked, kept
from enforcer.ladder.told import notified
from enforcer.shadow import past_grace
from enforcer.snapshot import Snapshot
from quartermaster.config.policy import PolicyPart


def hear_live(
    cursor: Cursor,
    found: Iterable[Found],
    computing: Iterable[str],
    snapshot: Snapshot,
    *,
    annotated_ms: Mapping[str, int],
    policy: PolicyPart,
) -> Findings:
    """The findings of a plan that may be carried out.

    `annotated_ms` is until when `quartermaster/keep-until` on each workload asks for it to be kept, by UID. Raises
    LedgerError.
    """
    cluster, at_ms = snapshot.cluster, snapshot.at_ms
    there, pools = tuple(found), frozenset(computing)
    if not hear(there, pools, {}, {}).idle:
        return Findings((), pools)  # the ledger is not asked about nobody: a turn has little time
    heard = hear(there, pools, notified(cursor, cluster, at_ms), {})
    wishes = asked(cursor, cluster, at_ms), annotated_ms
    return kept(past_grace(heard, snapshot, policy.grace_ms), snapshot.workloads, policy, wishes)

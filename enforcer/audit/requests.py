"""What people's requests come to: those that nobody answered yet, and what of them holds at an instant."""

from collections.abc import Sequence

from analytics.asking.request import Kind, Request
from enforcer.book import rows
from enforcer.guard.standing import Approval
from enforcer.guard.switches import Command
from sql.catalog import Cursor


def unanswered(cursor: Cursor, cluster: str, kinds: Sequence[Kind] = tuple(Kind)) -> tuple[Request, ...]:
    """What was asked of a cluster and is not answered by a deed with its `request_id`, the oldest first."""
    found = rows(cursor, "requests_open", {"cluster": cluster, "kinds": [each.value for each in kinds]})
    return tuple(
        Request(
            row["cluster"],
            row["asked_at_ms"],
            row["asked_by"],
            Kind(row["kind"]),
            row["subject"],
            row["until_ms"],
            row["words"],
        )
        for row in found.iter_rows(named=True)
    )


def commands(cursor: Cursor, cluster: str, at_ms: int) -> tuple[Command, ...]:
    """Each freeze and thaw of a cluster that has not run out, in order: what `enforcer.guard.switches` goes by."""
    found = rows(cursor, "requests_commands", {"cluster": cluster, "at_ms": at_ms})
    return tuple(
        Command(row["asked_at_ms"], row["thaws"], row["who"], row["why"])
        for row in found.iter_rows(named=True)
    )


def approvals(cursor: Cursor, cluster: str, at_ms: int) -> tuple[Approval, ...]:
    """The approvals that hold at an instant, or ran out in the hour before it, of plans that the ledger has."""
    found = rows(cursor, "requests_approvals", {"cluster": cluster, "at_ms": at_ms})
    return tuple(
        Approval(
            row["plan_hash"],
            row["snapshot_hash"],
            row["at_ms"],
            row["until_ms"],
            row["who"],
            row["request_id"],
        )
        for row in found.iter_rows(named=True)
    )

"""Requests: what a person asks the enforcer to do. A row is the asking; the answer is a deed."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import polars as pl

from enforcer.audit.row import LONGEST_TEXT, clean
from enforcer.book import rows
from enforcer.guard.standing import Approval
from enforcer.guard.switches import Command
from quartermaster.errors import InputError
from quartermaster.ids import content_id
from quartermaster.person import pseudonym_of
from sql.catalog import Cursor
from sql.ledger import Ledger


class Kind(StrEnum):
    """What may be asked for."""

    APPROVE = "approve"  # a plan, by its whole hash
    FREEZE = "freeze"  # nothing more is done to the cluster
    THAW = "thaw"  # it goes on
    KEEP = "keep"  # a workload is not taken until then
    RESTORE = "restore"  # what was stopped starts again
    BOOK = "book"  # more is promised for a while: the row in quotas is the answer, as for the next two
    OFFER = "offer"  # less is
    CANCEL = "cancel"  # a booking or an offer ends


@dataclass(frozen=True, slots=True)
class Request:
    """One asking. `asked_by` is a pseudonym; `until_ms`: until when it is asked for, None: for good."""

    cluster: str
    asked_at_ms: int
    asked_by: str
    kind: Kind
    subject: str = ""  # a plan's hash, or the workload; "": the whole cluster
    until_ms: int | None = None
    words: str = ""

    @property
    def request_id(self) -> int:
        """The same for the same asking, so that it is there once however often it is sent."""
        return content_id(
            "request", self.cluster, self.asked_at_ms, self.asked_by, self.kind.value, self.subject
        )


def ask(ledger: Ledger, request: Request) -> bool:
    """Put a request into the ledger; False where it is there already.

    Raises LedgerError; InputError for one by a name, which could never be erased from what is kept for ever.
    """
    return ledger.append(f"request/{request.request_id}", {"requests": frame(request)})


def frame(request: Request) -> pl.DataFrame:
    """The row of a request, for who writes it together with what it brings about. Raises InputError as `ask`."""
    if pseudonym_of(request.asked_by) is None:
        raise InputError("a request is kept under a pseudonym, person-…", "give no name")
    row = {
        "cluster": request.cluster,
        "request_id": request.request_id,
        "asked_at": request.asked_at_ms,
        "asked_by": request.asked_by,
        "kind": request.kind.value,
        "subject": clean(request.subject, LONGEST_TEXT),
        "until": request.until_ms,
        "words": clean(request.words, LONGEST_TEXT),
    }
    return pl.DataFrame([row], schema_overrides={"until": pl.Int64})


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

"""A request: what a person asks the enforcer to do. A row is the asking; the answer is a deed."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import polars as pl

import sql
from quartermaster.errors import InputError
from quartermaster.ids import content_id
from quartermaster.person import pseudonym_of
from quartermaster.text import storable
from sql.catalog import Cursor
from sql.ledger import Ledger

_LONGEST = 1_000
_QUERIES = Path(sql.__file__).parent / "queries"


class Kind(StrEnum):
    """What may be asked for."""

    APPROVE = "approve"  # a plan, by its whole hash
    FREEZE = "freeze"  # nothing more is done to the cluster
    THAW = "thaw"  # it goes on
    KEEP = "keep"  # a workload is not taken until then
    RESTORE = "restore"  # what was stopped starts again
    GIVE_BACK = "give back"  # a workload may be stopped at once: its people need it no more
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
        "subject": storable(request.subject, _LONGEST),
        "until": request.until_ms,
        "words": storable(request.words, _LONGEST),
    }
    return pl.DataFrame([row], schema_overrides={"until": pl.Int64})


def rows(cursor: Cursor, name: str, given: Mapping[str, object], folder: str = "asking") -> pl.DataFrame:
    """What one of the queries in a folder of sql/queries finds."""
    cursor.execute((_QUERIES / folder / f"{name}.sql").read_text(encoding="utf-8"), dict(given))
    return cursor.pl()

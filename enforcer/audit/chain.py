"""The chain: deeds written to the ledger, each row bound to the one before it by its hash; one chain a cluster."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from enforcer.audit.carried import Carried, as_taken, as_takings, carried, carried_of
from enforcer.audit.deed import Deed, Phase
from enforcer.audit.row import Head, chained, cleaned, deed_of, frame, key_of
from enforcer.book import rows
from enforcer.guard.standing import Taken
from enforcer.snapshot import Taking
from quartermaster.clock import now_ms
from quartermaster.errors import InputError, LedgerError
from quartermaster.ids import content_id
from sql.catalog import Cursor
from sql.ledger import Ledger


class Chain:
    """The chain of one cluster. Any number of processes may write to it.

    Each write replaces the cluster's row of `deed_heads`, and of two commits that replace the same row one fails and
    begins again: no number is given twice and no row has two that follow it, on any catalog (ADR 0024).
    """

    def __init__(self, ledger: Ledger, cluster: str) -> None:
        self.ledger = ledger
        self.cluster = cluster
        self.written: Head | None = None  # where it ended after the last write of this process
        self._begun = False

    def write(self, deeds: Sequence[Deed]) -> tuple[str, ...]:
        """Write deeds in one commit, and give the hash of each one's row. What was written before is not doubled.

        Once it returns, they are committed and synced. Raises LedgerError when nothing was acknowledged (the same
        deeds may be written again), InputError for a deed that is of another cluster or cannot be recorded.
        """
        if any(each.cluster != self.cluster for each in deeds):
            raise InputError(f"a deed of another cluster than {self.cluster!r}", "each cluster has its chain")
        told = [cleaned(each) for each in deeds]
        new = list(dict.fromkeys(told))
        if not new:
            return ()
        self._begin()
        written: list[dict[str, Any]] = []

        def work(cursor: Cursor) -> None:
            written[:] = chained(new, self._head(cursor) or Head(0, ""))
            at_ms = now_ms()
            self.ledger.insert(cursor, "deeds", frame(written), recorded_at=at_ms)
            last = Head(written[-1]["number"], written[-1]["row_hash"])
            cursor.execute("delete from lake.deed_heads where cluster = ?", [self.cluster])
            self.ledger.insert(cursor, "deed_heads", self._as_row(last), recorded_at=at_ms)

        if self.ledger.write(f"audit/{key_of(new)}", work, message="deeds are written"):
            hashes = {deed: row["row_hash"] for deed, row in zip(new, written, strict=True)}
            self.written = Head(written[-1]["number"], written[-1]["row_hash"])
        else:
            hashes = self._found(new)
        return tuple(hashes[each] for each in told)

    def head(self) -> Head:
        """Where the chain ends. Raises LedgerError."""
        with self.ledger.reading() as cursor:
            return self._head(cursor) or Head(0, "")

    def open_intents(self) -> tuple[Carried, ...]:
        """Intents of which nothing is told yet, the oldest first: what a restart finishes or abandons."""
        with self.ledger.reading() as cursor:
            return carried(cursor, self.cluster, phases=[Phase.INTENT], only_open=True)

    def recent(self, since_ms: int) -> tuple[Taken, ...]:
        """Workloads that were stopped since then, or may have been: what counts against the guard's limits."""
        return as_taken(self._intents(since_ms))

    def takings(self, since_ms: int) -> tuple[Taking, ...]:
        """The same for a snapshot; with those that had no effect, so that they are not tried again."""
        return as_takings(self._intents(since_ms))

    def stopped(self, since_ms: int = 0) -> tuple[Carried, ...]:
        """Intents by which objects were stopped or held back since then, or may have been, and not started again since.

        An object is among them once, with what its last stop recorded as `before`.
        """
        with self.ledger.reading() as cursor:
            found = rows(cursor, "audit_stopped", {"cluster": self.cluster, "from_ms": since_ms})
        return tuple(carried_of(row) for row in found.iter_rows(named=True))

    def _intents(self, since_ms: int) -> tuple[Carried, ...]:
        with self.ledger.reading() as cursor:
            return carried(cursor, self.cluster, since_ms, phases=[Phase.INTENT])

    def _head(self, cursor: Cursor) -> Head | None:
        found = rows(cursor, "audit_head", {"cluster": self.cluster})
        return Head(*found.row(0)) if found.height else None

    def _begin(self) -> None:
        """See to it that there is a head to be replaced."""
        if self._begun:
            return
        with self.ledger.reading() as cursor:
            head = self._head(cursor)
            there = rows(cursor, "audit_span", {"cluster": self.cluster})["rows"][0]
        if head is None and there:
            raise LedgerError(
                f"the audit of {self.cluster} has {there:,} rows and no head: somebody took it out",
                "quartermaster audit verify says what else is amiss; nothing is written to it",
            )
        if head is None:
            first = {"deed_heads": self._as_row(Head(0, ""))}
            self.ledger.append(f"audit/begin/{content_id('audit', self.cluster)}", first)
        for table in ("deeds", "deed_heads"):
            self.ledger.columns(table)  # not to be looked up under the lock
        self._begun = True

    def _as_row(self, head: Head) -> pl.DataFrame:
        return pl.DataFrame({"cluster": [self.cluster], "number": [head.number], "row_hash": [head.row_hash]})

    def _found(self, deeds: Sequence[Deed]) -> dict[Deed, str]:
        """The hashes of deeds that were written before."""
        instants = [each.at_ms for each in deeds]
        span = {"cluster": self.cluster, "from_ms": min(instants), "until_ms": max(instants)}
        with self.ledger.reading() as cursor:
            there = rows(cursor, "audit_told", span)
        known = {deed_of(row): row["row_hash"] for row in there.iter_rows(named=True)}
        if missing := [each for each in deeds if each not in known]:
            raise LedgerError(
                f"{len(missing)} deeds of {self.cluster} were written and are not there any more",
                "quartermaster audit verify says what is amiss",
            )
        return known

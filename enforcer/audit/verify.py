"""Verify: walk along each cluster's chain in the ledger, in pieces, and say what is amiss."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from enforcer.audit.row import Head
from enforcer.audit.walk import Flaw, Kind, Walk
from enforcer.book import rows
from sql.catalog import Cursor
from sql.ledger import Ledger

PIECE = 10_000  # rows in memory at a time
_SHORTEST = 8  # of digits that may be the beginning of a hash, and not a number alone


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a walk along a cluster's chain found: the first flaws, and how many there are."""

    cluster: str
    rows: int
    head: Head
    flaws: tuple[Flaw, ...]
    found: int


def clusters(ledger: Ledger) -> tuple[str, ...]:
    """The clusters of which the ledger has, or had, an audit."""
    with ledger.reading() as cursor:
        return tuple(rows(cursor, "audit_clusters", {})["cluster"])


def verify(
    ledger: Ledger,
    cluster: str,
    heads: Mapping[int, str] | None = None,
    *,
    wanted: str = "",
    went: Callable[[int, int], None] | None = None,
) -> Verdict:
    """Whether the chain is whole, and holds the heads that were published: by number, and `wanted`, a hash alone.

    `went` hears how many rows of how many are looked at. Memory is bounded by PIECE and the heads. Raises LedgerError.
    """
    walk = Walk(heads or {})
    met = not wanted
    with ledger.reading() as cursor:
        span = rows(cursor, "audit_span", {"cluster": cluster}).row(0, named=True)
        at = span["first"]
        while at is not None:
            last = at + PIECE - 1
            piece = rows(cursor, "audit_rows", {"cluster": cluster, "first": at, "last": last})
            for row in piece.iter_rows(named=True):
                walk.take(row)
                met = met or row["row_hash"] == wanted
            if went:
                went(walk.rows, span["rows"])
            at = rows(cursor, "audit_next", {"cluster": cluster, "last": last})["next"][0]
        if span["unnumbered"]:
            walk.note(None, Kind.STRAY, f"{span['unnumbered']} rows have no number")
        walk.end(_noted(cursor, cluster))
    if not met:
        walk.note(None, Kind.CUT, f"no row has the hash {wanted[:64]}: it was cut off, or changed")
    return Verdict(cluster, walk.rows + span["unnumbered"], walk.last, tuple(walk.flaws), walk.found)


def rows_of(ledger: Ledger, cluster: str, wanted: str | None, most: int) -> list[dict[str, Any]]:
    """The last rows of a cluster's chain, or those whose number it is or whose hash begins so; at most so many.

    Raises LedgerError.
    """
    number = int(wanted) if wanted and re.fullmatch(r"[0-9]{1,18}", wanted) else None
    prefix = None if number is not None and len(str(wanted)) < _SHORTEST else wanted
    given = {"cluster": cluster, "every": wanted is None, "number": number, "prefix": prefix, "most": most}
    with ledger.reading() as cursor:
        return rows(cursor, "audit_shown", given).to_dicts()


def _noted(cursor: Cursor, cluster: str) -> Head | None:
    found = rows(cursor, "audit_head", {"cluster": cluster})
    return Head(*found.row(0)) if found.height else None

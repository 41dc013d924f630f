"""Guarantees that were moved, in the ledger: proposals of its last weeks, applied as quotas without an end, and undone.

A move is rows in `quotas` of source `rebalance`, in one commit: bookings for who gets, offers for who gives. So all who
go by bookings go by moves. A declaration of other guarantees in the pool ends them (sql.declare).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl

import sql
from analytics.asking.request import Kind, Request, frame
from analytics.measure import FOREVER_MS
from enforcer.book import rows
from enforcer.bookings import LOCK
from enforcer.promised import Promised, then
from enforcer.rebalance import Proposal, Use, propose
from quartermaster.clock import DAY_MS
from quartermaster.config.policy import RebalancePart
from quartermaster.errors import InputError
from quartermaster.ids import content_id
from quartermaster.records import Quota
from sql.catalog import Cursor
from sql.ledger import Ledger

WEEK_MS = 7 * DAY_MS
FEWEST_HOURS = 7 * 24  # in which nothing is known nobody's need is
_RARE_PERMILLE = 10  # of the hours looked at: so many may have been busier than what a team is said to need
_SOURCE = "rebalance"
_QUERIES = Path(sql.__file__).parent / "queries" / "rebalance"


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a pool: its teams' use, and of how many hours that is; too few give no proposal."""

    uses: tuple[Use, ...]
    hours: int

    def proposal(self, bounds: RebalancePart) -> Proposal | None:
        """The moves within the bounds; None where there are none, or too little is known."""
        return propose(bounds, self.uses) if self.hours >= FEWEST_HOURS else None


def known(cursor: Cursor, cluster: str, bounds: RebalancePart, at_ms: int) -> Known:
    """The use of the pool's teams in the weeks before the instant, and what of their guarantees was moved.

    Who is no team any more, or whose work no rule gives to a team, gets nothing.
    """
    pool = bounds.pool
    span = {"from_ms": at_ms - bounds.weeks * WEEK_MS, "until_ms": at_ms}
    needed = _rows(cursor, "needed", {"cluster": cluster, **span, "rare_permille": _RARE_PERMILLE})
    hours = max((row["hours"] for row in needed), default=0)
    needs = {row["team"]: row["parts"] for row in needed if row["pool"] == pool}
    given = {"cluster": cluster, "from_ms": at_ms, "until_ms": at_ms, "forever": FOREVER_MS}
    promised = Promised(*(rows(cursor, name, given) for name in ("promises", "departments")))
    guaranteed = {
        each.team: each.guaranteed_parts for each in promised.guarantees_at(at_ms) if each.pool == pool
    }
    moved: dict[str, int] = {}
    for row in _moves(cursor, cluster, pool, at_ms):
        team = row["team"]
        if row["end_ms"] is None:
            guaranteed[team] = max(0, guaranteed.get(team, 0) + row["parts"])
        if row["start_ms"] > at_ms - WEEK_MS:
            moved[team] = moved.get(team, 0) + abs(row["parts"])
    teams = sorted({*guaranteed, *(needs.keys() & then(promised.departments, at_ms)["team"].to_list())})
    uses = (Use(team, guaranteed.get(team, 0), needs.get(team, 0), moved.get(team, 0)) for team in teams)
    return Known(tuple(uses), hours)


def apply(
    ledger: Ledger, cluster: str, bounds: RebalancePart, shown: Proposal, *, asked_by: str, at_ms: int
) -> None:
    """Move what the proposal says, from `at_ms` on. Raises LedgerError; InputError where it is no longer the same."""
    with ledger.exclusive(LOCK):
        with ledger.reading() as cursor:
            now = known(cursor, cluster, bounds, at_ms).proposal(bounds)
        if now is None or now.moves != shown.moves:
            raise InputError(
                "what would be moved is no longer what was shown", "look at the proposal again, then apply it"
            )
        changes = {move.team: move.after_parts - move.before_parts for move in shown.moves}
        quotas = [_quota(cluster, shown.pool, team, parts, start_ms=at_ms) for team, parts in changes.items()]
        _append(ledger, quotas, asked_by, at_ms)


def undo(ledger: Ledger, cluster: str, pool: str, asked_by: str, at_ms: int) -> Mapping[str, int]:
    """End what was moved last in the pool, all of it: by team how much, as it was moved. Empty where nothing stands."""
    with ledger.exclusive(LOCK):
        with ledger.reading() as cursor:
            standing = [row for row in _moves(cursor, cluster, pool, at_ms) if row["end_ms"] is None]
        last = [row for row in standing if row["start_ms"] == standing[-1]["start_ms"]]
        quotas = [
            _quota(
                cluster,
                pool,
                row["team"],
                row["parts"],
                start_ms=row["start_ms"],
                end_ms=at_ms,
                revision=row["revision"] + 1,
            )
            for row in last
        ]
        if quotas:
            _append(ledger, quotas, asked_by, at_ms)
    return {row["team"]: row["parts"] for row in last}


def _append(ledger: Ledger, quotas: Sequence[Quota], asked_by: str, at_ms: int) -> None:
    """Write the rows, and who asked for each, in one commit."""
    requests = pl.concat(frame(_request(each, asked_by, at_ms)) for each in quotas)
    ledger.append(
        f"rebalance/{uuid4().hex}",
        {"quotas_versions": list(quotas), "requests": requests},
        recorded_at=at_ms,
    )


def _request(each: Quota, asked_by: str, at_ms: int) -> Request:
    kind = Kind.CANCEL if each.end_at is not None else Kind.OFFER if each.kind == "offer" else Kind.BOOK
    return Request(each.cluster, at_ms, asked_by, kind, f"{each.quota_id:016x}", each.end_at, _SOURCE)


def _quota(
    cluster: str,
    pool: str,
    team: str,
    parts: int,
    *,
    start_ms: int,
    end_ms: int | None = None,
    revision: int = 0,
) -> Quota:
    return Quota(
        cluster,
        content_id(_SOURCE, cluster, pool, team, start_ms),
        start_ms,
        end_ms,
        team,
        pool,
        abs(parts),
        kind="offer" if parts < 0 else "booking",
        source=_SOURCE,
        revision=revision,
    )


def _moves(cursor: Cursor, cluster: str, pool: str, at_ms: int) -> Iterator[Mapping[str, Any]]:
    given = {"cluster": cluster, "since_ms": at_ms - WEEK_MS, "at_ms": at_ms}
    return (row for row in _rows(cursor, "moves", given) if row["pool"] == pool)


def _rows(cursor: Cursor, name: str, given: Mapping[str, object]) -> list[dict[str, Any]]:
    cursor.execute((_QUERIES / f"{name}.sql").read_text(encoding="utf-8"), given)
    return cursor.pl().to_dicts()

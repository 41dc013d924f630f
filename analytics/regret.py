"""Regret: what became of those whom plans would have stopped: did they compute again within 2, 8, 24 hours?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import polars as pl

from analytics.measure import Cursor
from analytics.views.rows import rows
from quartermaster.clock import HOUR_MS

HORIZONS_H = (2, 8, 24)
_SCHEMA = {"number": pl.Int64, "cluster": pl.String, "workload_id": pl.Int64, "at_ms": pl.Int64}


@dataclass(frozen=True)
class Victim:
    """A workload that a plan would have stopped, at an instant."""

    cluster: str
    cause: str
    kind: str
    name: str  # namespace/name
    team: str
    pool: str
    workload_id: int
    at_ms: int
    parts: int


class Outcome(StrEnum):
    """What became of a would-be victim within a horizon."""

    BACK = "computed again"
    IDLE = "stayed idle"
    ENDED = "ended by itself"
    UNKNOWN = "unknown"
    OPEN = "not over yet"


@dataclass(frozen=True)
class Watched:
    """A would-be victim, one outcome a horizon, when it computed again (to the hour), and what it would have given.

    `given_pms` is the time from then on in which it was known to be idle, until it computed again, ended, or thirty
    days had passed.
    """

    victim: Victim
    outcomes: tuple[Outcome, ...]
    back_ms: int | None
    given_pms: int


@dataclass(frozen=True)
class Regret:
    """Of those of one rule and kind: how many there were, how many had which outcome by horizon, what they gave."""

    cause: str
    kind: str
    taken: int
    outcomes: Mapping[int, Mapping[Outcome, int]]
    given_pms: int


def recorded(cursor: Cursor, cluster: str) -> list[Victim]:
    """Whom the plans that are recorded would have stopped."""
    found = rows(cursor, "enforce", "victims", cluster=cluster)
    return [Victim(**row) for row in found if row["workload_id"] is not None]


def watch(cursor: Cursor, victims: Sequence[Victim]) -> list[Watched]:
    """What became of each, from the hours that are rolled up."""
    given = [(number, each.cluster, each.workload_id, each.at_ms) for number, each in enumerate(victims)]
    cursor.register("given_rows", pl.DataFrame(given, schema=_SCHEMA, orient="row"))
    try:
        cursor.execute("create or replace temp table victims as from given_rows")
    finally:
        cursor.unregister("given_rows")
    found = rows(cursor, "enforce", "returns")
    return [_watched(each, row) for each, row in zip(victims, found, strict=True)]


def outcome(row: Mapping[str, Any], at_ms: int, horizon_h: int) -> Outcome:
    """The outcome within a horizon, given a row of sql/queries/enforce/returns.sql.

    That it computed is seen even where the rest is unknown; that it did not is said only of what is known for 95 %.
    """
    end_ms = at_ms + horizon_h * HOUR_MS
    held_pms, unknown_pms = row[f"held_{horizon_h}_pms"], row[f"unknown_{horizon_h}_pms"]
    if row["back_ms"] is not None and row["back_ms"] < end_ms:
        return Outcome.BACK
    if row["rolled_until_ms"] < end_ms:
        return Outcome.OPEN
    if unknown_pms * 20 > held_pms:
        return Outcome.UNKNOWN
    if row[f"until_{horizon_h}_ms"] < end_ms:
        return Outcome.ENDED
    return Outcome.IDLE


def _watched(victim: Victim, row: Mapping[str, Any]) -> Watched:
    outcomes = tuple(outcome(row, victim.at_ms, each) for each in HORIZONS_H)
    return Watched(victim, outcomes, row["back_ms"], row["given_pms"])


def tally(watched: Iterable[Watched]) -> list[Regret]:
    """By rule and kind, in order of their names."""
    groups: dict[tuple[str, str], list[Watched]] = {}
    for each in watched:
        groups.setdefault((each.victim.cause, each.victim.kind), []).append(each)
    return [together(those, cause, kind) for (cause, kind), those in sorted(groups.items())]


def together(watched: Sequence[Watched], cause: str = "", kind: str = "") -> Regret:
    """All of them as one."""
    outcomes = {
        horizon: {each: sum(one.outcomes[at] is each for one in watched) for each in Outcome}
        for at, horizon in enumerate(HORIZONS_H)
    }
    return Regret(cause, kind, len(watched), outcomes, sum(each.given_pms for each in watched))

"""What is promised at an instant, from the ledger's rows: guarantees, limits, weights, departments; with bookings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from enforcer.booking import Booking, in_force
from enforcer.snapshot import Promise

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Promised:
    """Rows of sql/queries/enforce/promises.sql and departments.sql, for any instant of the span they are of."""

    promises: pl.DataFrame
    departments: pl.DataFrame

    def at(self, at_ms: int, teams: Iterable[tuple[str, str]] = ()) -> tuple[Promise, ...]:
        """The promises at an instant, bookings and offers in them; of nothing for others of `teams` (team, pool)."""
        departments = {
            row["team"]: row["department"] for row in then(self.departments, at_ms).iter_rows(named=True)
        }
        told = then(self.promises, at_ms).to_dicts()
        keys = {*teams, *((row["team"], row["pool"]) for row in told)}
        promises = {key: Promise(*key, 0, department=departments.get(key[0], "")) for key in keys}
        for row in told:
            if row["kind"] == "promise":
                key = row["team"], row["pool"]
                promises[key] = replace(
                    promises[key],
                    guaranteed_parts=promises[key].guaranteed_parts + row["guaranteed_parts"],
                    limit_parts=row["limit_parts"],
                    weight=row["weight"],
                )
        return in_force(promises.values(), [_booking(row) for row in told if row["kind"] != "promise"], at_ms)


def then(told: pl.DataFrame, at_ms: int) -> pl.DataFrame:
    """The rows that stand at an instant."""
    return told.filter((pl.col("start_ms") <= at_ms) & (pl.col("end_ms") > at_ms))


def _booking(row: Row) -> Booking:
    span = row["start_ms"], row["end_ms"]
    return Booking(row["team"], row["pool"], row["guaranteed_parts"], *span, offer=row["kind"] == "offer")

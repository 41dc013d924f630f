"""What is promised at an instant, from the ledger's rows: guarantees, limits, weights, departments; with bookings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from enforcer.booking import Booking, in_force
from enforcer.snapshot import Promise

Row = Mapping[str, Any]
_CAP = "ResourceQuota/"


@dataclass(frozen=True)
class Promised:
    """Rows of sql/queries/enforce/promises.sql and departments.sql, for any instant of the span they are of."""

    promises: pl.DataFrame
    departments: pl.DataFrame

    def at(
        self, at_ms: int, teams: Iterable[tuple[str, str]] = (), *, caps: bool = True
    ) -> tuple[Promise, ...]:
        """The promises at an instant, bookings and offers in them; of nothing for others of `teams` (team, pool).

        Without `caps` a ResourceQuota is no limit of its team's: it is raised as the team's fair share grows.
        """
        return in_force(self.guarantees_at(at_ms, teams, caps=caps), self.bookings_at(at_ms), at_ms)

    def guarantees_at(
        self, at_ms: int, teams: Iterable[tuple[str, str]] = (), *, caps: bool = True
    ) -> tuple[Promise, ...]:
        """The same without bookings and offers."""
        departments = {
            row["team"]: row["department"] for row in then(self.departments, at_ms).iter_rows(named=True)
        }
        told = then(self.promises, at_ms).to_dicts()
        keys = {*teams, *((row["team"], row["pool"]) for row in told)}
        promises = {key: Promise(*key, 0, department=departments.get(key[0], "")) for key in keys}
        for row in told:
            if row["kind"] == "promise":
                key = row["team"], row["pool"]
                is_cap = row["source_object"].startswith(_CAP)
                promises[key] = replace(
                    promises[key],
                    guaranteed_parts=promises[key].guaranteed_parts + row["guaranteed_parts"],
                    limit_parts=row["limit_parts"] if caps or not is_cap else promises[key].limit_parts,
                    weight=promises[key].weight if is_cap else row["weight"],
                )
        return tuple(promises.values())

    def bookings_at(self, at_ms: int) -> list[Booking]:
        """The bookings and offers that stand at an instant."""
        return [_booking(row) for row in then(self.promises, at_ms).to_dicts() if row["kind"] != "promise"]

    def edges(self, start_ms: int, end_ms: int) -> list[int]:
        """The instants at which something promised begins or ends, with those of the span, in order."""
        told = {*self.promises["start_ms"], *self.promises["end_ms"]}
        return sorted({start_ms, end_ms, *(edge for edge in told if start_ms < edge < end_ms)})

    def owners_at(self, at_ms: int) -> dict[str, tuple[str, str]]:
        """Team and pool of each quota object, as the collector told them, by its name (`ClusterQueue/a/h100`)."""
        return {
            row["source_object"]: (row["team"], row["pool"])
            for row in then(self.promises, at_ms).iter_rows(named=True)
            if row["kind"] == "promise" and row["source_object"]
        }


def then(told: pl.DataFrame, at_ms: int) -> pl.DataFrame:
    """The rows that stand at an instant."""
    return told.filter((pl.col("start_ms") <= at_ms) & (pl.col("end_ms") > at_ms))


def _booking(row: Row) -> Booking:
    span = row["start_ms"], row["end_ms"]
    return Booking(row["team"], row["pool"], row["guaranteed_parts"], *span, offer=row["kind"] == "offer")

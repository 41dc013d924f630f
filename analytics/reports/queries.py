"""The queries behind a report, on one cursor, and the values that their rows hold."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from importlib.resources import files
from typing import Any

from analytics.reports.figures import Amount, Split, millionths
from analytics.reports.span import Span
from quartermaster.clock import to_datetime
from sql.ledger import Cursor

Row = dict[str, Any]
_LAID = ("span_usage", "span_charges", "past_usage")


@dataclass(frozen=True, slots=True)
class Queries:
    """The queries of sql/queries/report, on one cursor, for one span and some teams (None: all).

    `lay` comes first: it keeps the span's rows as temporary tables, which the other queries read.
    """

    cursor: Cursor
    span: Span
    teams: tuple[str, ...] | None = None

    def lay(self) -> None:
        """Keep the span's usage and charges, and what came before it, as temporary tables."""
        for name in _LAID:
            text, parameters = self._bound(report_sql(name), {})
            self.cursor.execute(f"create or replace temp table {name} as {text}", parameters)

    def of(self, teams: tuple[str, ...] | None) -> "Queries":
        """The same for other teams."""
        return replace(self, teams=teams)

    def rows(self, name: str, **given: object) -> list[Row]:
        """The rows of a query. Whole numbers, DECIMAL(38, 0) too, are ints: a money column is in millionths."""
        found = self.cursor.execute(*self._bound(report_sql(name), given))
        columns = [column[0] for column in found.description]
        return [dict(zip(columns, map(_whole, row), strict=True)) for row in found.fetchall()]

    def _bound(self, text: str, given: Mapping[str, object]) -> tuple[str, dict[str, object]]:
        known = {
            "begins": [*self.span.past, self.span.first],
            "first_day": self.span.first,
            "last_day": self.span.last,
            "start_at": to_datetime(self.span.start_ms),
            "end_at": to_datetime(self.span.end_ms),
            "teams": None if self.teams is None else list(self.teams),
            **given,
        }
        return text, {name: value for name, value in known.items() if f"${name}" in text}


def _whole(value: object) -> object:
    return int(value) if isinstance(value, Decimal) else value


def amount_of(row: Row, kind: str) -> Amount:
    """The time of a kind and its cost, from a row of sums."""
    return Amount(row[kind], millionths(row[f"{kind}_micros"]))


def split_of(row: Row) -> Split:
    """All six amounts of a row of sums."""
    return Split(
        *(
            amount_of(row, kind)
            for kind in ("computing", "idle", "unknown", "unallocated", "unavailable", "unobserved")
        )
    )


def report_sql(name: str) -> str:
    """The text of sql/queries/report/<name>.sql."""
    return (files("sql") / "queries" / "report" / f"{name}.sql").read_text(encoding="utf-8")

"""The queries behind a week's report, on one cursor, and the values that their rows hold."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from importlib.resources import files
from typing import Any

from analytics.business import Week
from analytics.reports.figures import Amount, Split, millionths
from quartermaster.clock import to_datetime
from sql.ledger import Cursor

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Queries:
    """The queries of sql/queries/report, on one cursor, for one week and one team (None: all)."""

    cursor: Cursor
    week: Week
    team: str | None

    def rows(self, name: str, **given: object) -> list[Row]:
        """The rows of a query. Whole numbers, DECIMAL(38, 0) too, are ints: a money column is in millionths."""
        found = self.cursor.execute(*self._bound(report_sql(name), given))
        columns = [column[0] for column in found.description]
        return [dict(zip(columns, map(_whole, row), strict=True)) for row in found.fetchall()]

    def lay(self, name: str) -> None:
        """Keep the rows of a query as a temporary table of its name."""
        text, parameters = self._bound(report_sql(name), {})
        self.cursor.execute(f"create temp table {name} as {text}", parameters)

    def _bound(self, text: str, given: Mapping[str, object]) -> tuple[str, dict[str, object]]:
        known = {
            "before_day": (date.fromisoformat(self.week.days[0].day) - timedelta(days=7)).isoformat(),
            "first_day": self.week.days[0].day,
            "last_day": self.week.days[-1].day,
            "start_at": to_datetime(self.week.start_ms),
            "end_at": to_datetime(self.week.end_ms),
            "team": self.team,
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

"""Measuring usage: the SQL steps of sql/queries/usage over a span of some clusters, into temporary tables."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import duckdb
import polars as pl

import sql
from analytics.business import Day, days_between
from quartermaster.clock import HOUR_MS, to_datetime
from quartermaster.ids import device_id
from quartermaster.parts import GPU_PARTS

FOREVER_MS = 253_402_300_800_000
MOST_WATTS = 3000
_BATCH_ROWS = 122_880

Cursor = duckdb.DuckDBPyConnection
_QUERIES = Path(sql.__file__).parent / "queries" / "usage"
_SCHEMAS = {
    "asked_clusters": {"c": pl.Int64, "cluster": pl.String},
    "asked_spans": {"c": pl.Int64, "from_ms": pl.Int64, "until_ms": pl.Int64},
    "midnights": {"at_ms": pl.Int64},
    "given_days": {"business_day": pl.String, "from_ms": pl.Int64, "until_ms": pl.Int64},
    "ghost_ids": {
        "c": pl.Int64,
        "node": pl.String,
        "device_index": pl.Int64,
        "device_id": pl.Int64,
        "gpu_uuid": pl.String,
    },
}


@dataclass(frozen=True)
class Measured:
    """The rows of a span: the columns of usage_hourly, quota_hourly, lending_hourly, times as epoch ms."""

    usage: pl.DataFrame
    quota: pl.DataFrame
    lending: pl.DataFrame


class Measure:
    """What is told about some clusters, read once; then any spans of them can be measured.

    The cursor stands where the ledger's tables are found by their names; all it makes is temporary.
    """

    def __init__(self, cursor: Cursor, clusters: Sequence[str], from_ms: int, until_ms: int) -> None:
        self._cursor = cursor
        self._clusters = {name: number for number, name in enumerate(sorted(clusters))}
        self._from_ms, self._until_ms = from_ms, until_ms
        self._give("asked_clusters", [(number, name) for name, number in self._clusters.items()])
        for step in _steps("t"):
            self._run(step)
            if step == "t04_ghosts":
                self._name_ghosts()
        self._run("t18_sources")

    def spans(self, spans: Mapping[str, tuple[int, int]], time_zone: str, longest_hold_ms: int) -> Measured:
        """The rows of one span [from, until) a cluster, whole hours in epoch ms.

        `longest_hold_ms` is how far before and after a span samples are read.
        """
        self.steps(spans, time_zone, longest_hold_ms)
        usage, quota, lending = (
            self._cursor.sql(f"from {name}_rows").pl() for name in ("usage", "quota", "lending")
        )
        return Measured(usage, quota, lending)

    def steps(
        self,
        spans: Mapping[str, tuple[int, int]],
        time_zone: str,
        longest_hold_ms: int,
        watch: Callable[[str], object] = lambda _: None,
    ) -> None:
        """Run the steps: usage_rows, quota_rows and lending_rows then hold the span's rows."""
        first, last = min(span[0] for span in spans.values()), max(span[1] for span in spans.values())
        self._give("asked_spans", [(self._clusters[cluster], *span) for cluster, span in spans.items()])
        self._give("midnights", [(at,) for at in midnights(first, last, time_zone)])
        for step in _steps("s"):
            if step.startswith(("s15", "s17")):
                for cluster, (from_ms, until_ms) in spans.items():
                    low, high = (
                        to_datetime(from_ms - longest_hold_ms),
                        to_datetime(until_ms + longest_hold_ms + 1),
                    )
                    self._run(
                        step,
                        c=self._clusters[cluster],
                        cluster=cluster,
                        low_at=low,
                        high_at=high,
                        longest_hold_ms=longest_hold_ms,
                    )
            else:
                self._run(step)
            watch(step)

    def rows(self, table: str) -> object:
        """A stream (of Arrow) of what the steps made: table `usage`, `quota` or `lending`, times as epoch ms."""
        found = self._cursor.sql(f"from {table}_rows")
        # The stub of pyarrow is not installed.
        return cast(Any, found).to_arrow_reader(_BATCH_ROWS)

    def daily(self, days: Sequence[Day]) -> pl.DataFrame:
        """The rows of usage_daily of business days that lie wholly in the span the steps were run for."""
        self._give("given_days", [(day.day, day.start_ms, day.end_ms) for day in days])
        self._run("rows_of_days")
        return self._cursor.sql(_text("daily")).pl()

    def _run(self, step: str, **more: object) -> None:
        text = _text(step)
        given = {
            "forever": FOREVER_MS,
            "gpu_parts": GPU_PARTS,
            "hour_ms": HOUR_MS,
            "most_watts": MOST_WATTS,
            "from_ms": self._from_ms,
            "until_ms": self._until_ms,
        } | more
        self._cursor.execute(text, {name: given[name] for name in set(re.findall(r"\$([a-z_]+)", text))})

    def _give(self, table: str, rows: Sequence[tuple[object, ...]]) -> None:
        frame = pl.DataFrame(rows, schema=_SCHEMAS[table], orient="row")
        self._cursor.register("given_rows", frame)
        try:
            self._cursor.execute(f"create or replace temp table {table} as from given_rows")
        finally:
            self._cursor.unregister("given_rows")

    def _name_ghosts(self) -> None:
        names = {number: name for name, number in self._clusters.items()}
        found = self._cursor.sql("select distinct c, node, device_index from ghosts").fetchall()
        self._give(
            "ghost_ids",
            [
                (c, node, index, device_id(names[c], f"{node}/{index}"), f"{node}/{index}")
                for c, node, index in found
            ],
        )


def midnights(from_ms: int, until_ms: int, time_zone: str) -> list[int]:
    """The starts of business days in [from, until), in epoch ms."""
    days = days_between(from_ms, until_ms, time_zone) if from_ms < until_ms else []
    return [day.start_ms for day in days if day.start_ms >= from_ms]


@cache
def _steps(kind: str) -> list[str]:
    return sorted(
        file.stem for file in _QUERIES.glob(f"{kind}[0-9][0-9]_*.sql") if file.stem != "t18_sources"
    )


@cache
def _text(step: str) -> str:
    return (_QUERIES / f"{step}.sql").read_text(encoding="utf-8")

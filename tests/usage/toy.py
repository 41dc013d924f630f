# ruff: noqa: E501
"""A ledger's tables and views in a plain DuckDB, without a lake: for thousands of histories in seconds."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

import sql
from analytics.measure import Measure
from sql.revision import view_texts
from tests.usage.accountant import Account
from tests.usage.history import History

_ROOM = Path(sql.__file__).parent
TABLES = {
    "nodes": "nodes_versions", "devices": "devices_versions", "workloads": "workloads_versions", "allocations": "allocations_versions",
    "holdings": "holdings_versions", "demand": "demand_versions", "quotas": "quotas_versions", "authority": "authority_versions",
    "gaps": "gaps_versions", "series": "series_versions", "samples": "samples", "team_rules": "team_rules_versions",
    "thresholds": "thresholds_versions",
}  # fmt: skip
WORDS = ("team_rules", "thresholds", "cuts")


def toy(threads: int = 1) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": threads})
    connection.execute("set timezone = 'UTC'")
    migration = (_ROOM / "migrations" / "versions" / "0001_ledger.sql").read_text(encoding="utf-8")
    for statement in re.findall(r"create table [^;]*;", migration):
        connection.execute(statement)
    for view, text in view_texts().items():
        if "." not in view:  # the ledger's own: those for people have a schema
            connection.execute(f"create view {view} as {text}")
    return connection


def empty(connection: duckdb.DuckDBPyConnection) -> None:
    for table in (*TABLES.values(), "cuts"):
        connection.execute(f"delete from {table}")


def frames(history: History, *, words: bool = True) -> dict[str, pl.DataFrame]:
    """The history's rows by table, times as epoch milliseconds."""
    found = {
        table: frame(getattr(history, name))
        for name, table in TABLES.items()
        if getattr(history, name) and (words or name not in WORDS)
    }
    if history.cuts and words:
        found["cuts"] = pl.DataFrame({"cut_at": history.cuts, "reason": ["rule"] * len(history.cuts)})
    return found


def frame(rows: Sequence[Any]) -> pl.DataFrame:
    return pl.DataFrame(
        {f.name: [getattr(row, f.name) for row in rows] for f in fields(rows[0])}, infer_schema_length=None
    )


def tell(connection: duckdb.DuckDBPyConnection, histories: Iterable[History], words: History) -> None:
    for history in histories:
        for table, rows in frames(history, words=False).items():
            insert(connection, table, rows)
    for table, rows in frames(words).items():
        insert(connection, table, rows)


def insert(connection: duckdb.DuckDBPyConnection, table: str, rows: pl.DataFrame) -> None:
    connection.register("given", rows)
    columns = [
        f"make_timestamptz({name}::bigint * 1000)" if name.endswith("_at") else name for name in rows.columns
    ]
    connection.execute(
        f"insert into {table} ({', '.join(rows.columns)}) select {', '.join(columns)} from given"
    )
    connection.unregister("given")


def measured(
    measure: Measure, spans: dict[str, tuple[int, int]], time_zone: str = "UTC"
) -> dict[str, Account]:
    """What the SQL finds, in the accountant's form."""
    rows = measure.spans(spans, time_zone, 4 * 3_600_000)
    return {cluster: as_account(rows, cluster) for cluster in spans}


def as_account(rows: Any, cluster: str) -> Account:
    usage = {}
    for row in rows.usage.filter(pl.col("cluster") == cluster).iter_rows(named=True):
        key = (
            row["row_start_at"],
            row["pool"],
            row["model"],
            row["node"],
            row["device_id"],
            row["allocation_id"],
        )
        assert key not in usage, f"two rows of usage for {key}"
        usage[key] = {k: v for k, v in row.items() if k not in KEYS}
    quota = {}
    for row in rows.quota.filter(pl.col("cluster") == cluster).iter_rows(named=True):
        quota[row["row_start_at"], row["pool"], row["team"]] = {
            k: v for k, v in row.items() if k not in KEYS | {"team"}
        }
    lending = {
        (row["row_start_at"], row["pool"], row["lender"], row["borrower"]): row["lent_pms"]
        for row in rows.lending.filter(pl.col("cluster") == cluster).iter_rows(named=True)
    }
    return Account(usage, quota, lending)


KEYS = {"cluster", "row_start_at", "row_end_at", "pool", "model", "node", "device_id", "allocation_id"}

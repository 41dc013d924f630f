"""Tables without rows: asked of the catalog as seldom as others, and what is noted of them misleads nobody later."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from sql.catalog import Cursor
from sql.ledger import Ledger, open_ledger
from tests.ledgers import lay_ledger

CATALOG = "__ducklake_metadata_lake"
QUESTIONS = (
    "select * from watermarks",
    "select * from watermarks where cluster = 'f'",
    "select * from watermarks where covers is null",
    "select * from watermarks where covers is not null",
    "select count(*), min(cluster), max(complete_until_at) from watermarks",
    "select cluster, count(*) from watermarks group by cluster",
    "select a.cluster from watermarks as a inner join watermarks as b using (cluster)",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lay_ledger(tmp_path / "ledger")
    return tmp_path / "ledger"


def rows(at_ms: int, count: int = 1) -> dict[str, pl.DataFrame]:
    """So many rows of two kinds each, one without `covers`."""
    two = {
        "cluster": ["c", "f"],
        "source": ["s", "s"],
        "covers": ["holders", None],
        "complete_until_at": [at_ms, 2],
    }
    return {"watermarks": pl.concat([pl.DataFrame(two)] * count)}


def asked_of_the_catalog(ledger: Ledger, sql: str) -> int:
    """How many statements DuckDB runs for the query, the catalog's with it."""
    with contextlib.closing(ledger.cursor()) as cursor:
        cursor.execute(sql).fetchall()
        cursor.execute("call truncate_duckdb_logs()")
        cursor.execute("call enable_logging('QueryLog')")
        cursor.execute(sql).fetchall()
        cursor.execute("call disable_logging()")
        told = cursor.execute("select count(*) from duckdb_logs() where type = 'QueryLog'").fetchone()
        assert told is not None
        return told[0]


def test_a_table_of_many_columns_is_no_dearer_than_one_of_few(folder: Path) -> None:
    with open_ledger(folder) as ledger:
        few = asked_of_the_catalog(ledger, "select * from alembic_version")
        assert asked_of_the_catalog(ledger, "select * from usage_hourly") == few


def erase(cursor: Cursor) -> None:
    cursor.execute("delete from watermarks")


def steps(writer: Ledger) -> Iterator[str]:
    """From no rows to rows in the catalog, to a file of rows, to none, to rows again."""
    yield "empty"
    writer.append("test/1/1", rows(5))
    yield "first rows"
    writer.append("test/1/2", rows(1))
    yield "more rows"
    writer.append("test/1/3", rows(7, 100), recorded_at=1)
    yield "a file"
    writer.write("test/1/4", erase)
    yield "empty again"
    writer.append("test/1/5", rows(3))
    yield "rows again"


@pytest.mark.patient
def test_whoever_looked_before_the_first_rows_sees_them(folder: Path) -> None:
    with open_ledger(folder) as writer, open_ledger(folder, read_only=True) as reader:
        for step in steps(writer):
            with open_ledger(folder, read_only=True) as new:
                for question in QUESTIONS:
                    found = reader.query(question).rows()
                    assert sorted(map(str, found)) == sorted(map(str, new.query(question).rows())), step
        assert reader.query(QUESTIONS[1]).height == 1


@pytest.mark.patient
def test_the_statistics_become_what_ducklake_makes_of_the_same_rows(tmp_path: Path) -> None:
    told: list[list[tuple[object, ...]]] = []
    for name, noted in (("ours", True), ("its own", False)):
        lay_ledger(tmp_path / name)
        with open_ledger(tmp_path / name) as ledger, contextlib.closing(ledger.cursor()) as cursor:
            (table,) = cursor.execute(
                f"select table_id from {CATALOG}.ducklake_table where table_name = 'watermarks'"
            ).fetchall()[0]
            tables = (f"{CATALOG}.ducklake_table_stats", f"{CATALOG}.ducklake_table_column_stats")
            if not noted:
                for each in tables:
                    cursor.execute(f"delete from {each} where table_id = ?", [table])
            for number, more in enumerate((rows(5), rows(1), rows(7, 100))):
                ledger.append(f"test/1/{number}", more, recorded_at=1)
            for each in tables:
                told.append(
                    cursor.execute(f"from {each} where table_id = ? order by all", [table]).fetchall()
                )
                assert len(told[-1]) > 0
    assert told[:2] == told[2:]

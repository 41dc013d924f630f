"""Parquet by month: what other tools read is what the ledger has."""

import hashlib
import importlib
import json
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from analytics.finance.months import TABLES, export_month
from analytics.finance.span import Span, span_of
from analytics.money.calendar import Calendar
from analytics.money.charges import charge
from quartermaster.errors import InputError
from sql.ledger import Ledger
from tests.money.books import Books

pd: Any = importlib.import_module("pandas")  # neither has stubs here
pq: Any = importlib.import_module("pyarrow.parquet")

# What Spark 3, Trino and Hive read as it is: no unsigned or nested types, no nanoseconds, no 128-bit integers.
PLAIN = ("string", "int32", "int64", "double", "date32[day]", "timestamp[us, tz=UTC]", "bool")


@pytest.fixture(scope="module")
def ledger(books: Books) -> Ledger:
    """Two months of a team that borrows, and of one that lends."""
    books.card()
    books.rate("2.50")
    for start in (
        "2026-10-31T23:00:00Z",
        "2026-11-01T00:00:00Z",
        "2026-11-30T23:00:00Z",
        "2026-12-01T00:00:00Z",
    ):
        books.usage(start, team="vision", gpus=3, computing=0.5)
        books.usage(start, gpus=1)
        books.guarantee("nlp", 2, start)
        row = {
            "cluster": "demo",
            "pool": "training",
            "lender": "nlp",
            "borrower": "vision",
            "row_start_at": start,
        }
        books.add("lending_hourly", **row, row_end_at=start, lent_pms=604_800_000_000)
    ledger = books.fill()
    charge(ledger, 0, "UTC")
    return ledger


@pytest.fixture
def november() -> Span:
    """The month."""
    return span_of(Calendar().named("2026-11"))


@pytest.mark.patient
def test_every_table_of_the_month_is_there_with_a_manifest_that_holds(
    ledger: Ledger, november: Span, tmp_path: Path
) -> None:
    pieces = export_month(ledger, november, tmp_path / "out", "UTC")
    manifest = json.loads((tmp_path / "out" / "manifest-2026-11.json").read_text())
    assert [piece.table for piece in pieces] == list(TABLES) == [each["table"] for each in manifest["files"]]
    for each in manifest["files"]:
        content = (tmp_path / "out" / each["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == each["sha256"]
        assert len(content) == each["bytes"]
        frame = pl.read_parquet(tmp_path / "out" / each["file"])
        assert len(frame) == each["rows"] > 0
        assert list(each["columns"]) == frame.columns
    found = sorted(file.name for file in (tmp_path / "out").rglob("*") if file.is_file())
    assert found == ["data.parquet"] * 4 + ["manifest-2026-11.json"]


@pytest.mark.patient
def test_the_same_ledger_gives_the_same_bytes(ledger: Ledger, november: Span, tmp_path: Path) -> None:
    first = export_month(ledger, november, tmp_path / "a", "UTC")
    assert export_month(ledger, november, tmp_path / "b", "UTC") == first
    assert export_month(ledger, november, tmp_path / "a", "UTC") == first, "over what is there"


def test_columns_have_plain_types(ledger: Ledger, november: Span, tmp_path: Path) -> None:
    for piece in export_month(ledger, november, tmp_path, "UTC"):
        schema = pq.read_schema(tmp_path / piece.file)
        for field in schema:
            kind = str(field.type)
            assert kind in PLAIN or kind.startswith("decimal128("), (piece.table, field.name, kind)


@pytest.mark.patient
def test_other_tools_read_it_and_the_sums_are_the_ledgers(
    ledger: Ledger, november: Span, tmp_path: Path
) -> None:
    export_month(ledger, november, tmp_path, "UTC")
    export_month(ledger, span_of(Calendar().named("2026-12")), tmp_path, "UTC")
    ((cost,),) = ledger.query(
        "select sum(amount) from charges where business_day between '2026-11-01' and '2026-11-30'"
    ).rows()
    held = 2 * 3 * 1.0
    charges = pd.read_parquet(tmp_path / "charges")
    mine = charges[charges["month"] == "2026-11"]
    assert mine["amount"].sum() == cost
    usage = pd.read_parquet(tmp_path / "usage_daily", filters=[("month", "=", "2026-11")])
    assert float(usage["held_gpu_h"].sum()) == held
    query = (
        f"select sum(amount) from read_parquet('{tmp_path}/charges/*/*.parquet', hive_partitioning = true)"
    )
    with duckdb.connect() as other:
        assert other.execute(f"{query} where month = '2026-11'").fetchone() == (cost,)
    lent = pl.scan_parquet(tmp_path / "lending", hive_partitioning=True).filter(month="2026-11").collect()
    assert lent["lent_gpu_h"].sum() == 2
    assert set(lent["borrower"]) == {"vision"}
    quota = pl.read_parquet(tmp_path / "quota" / "month=2026-11" / "data.parquet")
    assert quota["guaranteed_gpu_h"].sum() == 4


def test_a_month_of_the_businesss_time_zone(ledger: Ledger, tmp_path: Path) -> None:
    span = span_of(Calendar("Europe/Berlin").named("2026-11"))
    export_month(ledger, span, tmp_path, "Europe/Berlin")
    quota = pl.read_parquet(tmp_path / "quota" / "month=2026-11" / "data.parquet")
    # the last hour of October in UTC is November's first in Berlin, and November's last is December's
    assert [f"{at:%m-%d %H}" for at in quota["start_at"]] == ["10-31 23", "11-01 00"]


def test_an_empty_month_has_its_columns_and_a_folder_that_cannot_be_made_is_said(
    ledger: Ledger, tmp_path: Path
) -> None:
    pieces = export_month(ledger, span_of(Calendar().named("2027-01")), tmp_path, "UTC")
    assert {piece.rows for piece in pieces} == {0}
    assert "amount" in pl.read_parquet(tmp_path / "charges" / "month=2027-01" / "data.parquet").columns
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be made"):
        export_month(ledger, span_of(Calendar().named("2027-01")), tmp_path / "file", "UTC")

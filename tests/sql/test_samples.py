"""Samples in files of our own, on each catalog: rows, statistics and upkeep as of those that DuckLake wrote."""

import os
import time
from pathlib import Path

import polars as pl
import pytest

from quartermaster.clock import DAY_MS, HOUR_MS, from_iso, now_ms
from quartermaster.errors import LedgerError
from sql.backup import backup, restore
from sql.ledger import Cursor, Ledger, memory_ledger, open_ledger
from sql.retention import Retention
from sql.samples import write_samples
from tests.ledgers import new_ledger, tend

SEPTEMBER_MS, OCTOBER_MS = from_iso("2026-09-30T23:00:00"), from_iso("2026-10-01T00:00:00")
HOSTILE = "it's=a/b %20ü*"


def rows_of(cluster: str, *, from_ms: int = SEPTEMBER_MS, pages: int = 240, series: int = 5) -> pl.DataFrame:
    """Rows in the table's order, from September to October; some numbers null, some columns missing."""
    numbers = [(one, page) for one in range(series) for page in range(pages)]
    return pl.DataFrame(
        {
            "series_id": [(-1) ** one * 10**17 + one for one, _ in numbers],
            "sampled_at": [from_ms + page * 30_000 for _, page in numbers],
            "hold_ms": pl.Series([75_000 for _ in numbers], dtype=pl.Int32),
            "gpu_util_permille": pl.Series([page * 10 % 1010 for _, page in numbers], dtype=pl.Int32),
            "power_dw": pl.Series([None if page % 7 == 0 else page for _, page in numbers], dtype=pl.Int32),
            "energy_j": [10**12 + one * 10**11 - page for one, page in numbers],
            "label_ref": [None if one % 2 else -one for one, _ in numbers],
            "cluster": [cluster for _ in numbers],
            "source": ["prometheus" for _ in numbers],
        }
    ).sort("series_id", "sampled_at")


def take_up(ledger: Ledger, key: str, cluster: str, rows: pl.DataFrame) -> tuple[Path, ...]:
    files = write_samples(ledger, cluster, rows)
    assert ledger.write(key, lambda cursor: ledger.adopt(cursor, "samples", files))
    return files


def one(ledger: Ledger, query: str) -> object:
    return ledger.query(query).item()


@pytest.mark.patient
def test_taken_up_is_as_inserted(ledger: Ledger) -> None:
    """Every column, null and bound of the statistics; and every way to ask for a part of the rows."""
    cluster = HOSTILE
    ledger.append("w/1/1", {"samples": rows_of("inserted").with_columns(xid=1, sm_permille=2)})
    ledger.append("w/1/2", {"samples": rows_of("inserted")})
    take_up(ledger, "w/1/3", cluster, rows_of(cluster).with_columns(xid=1, sm_permille=2))
    files = take_up(ledger, "w/1/4", cluster, rows_of(cluster))
    assert [file.parts[-3:-1] for file in files] == [("year=2026", "month=9"), ("year=2026", "month=10")]
    for condition in (
        *("true", "xid is null", "xid is not null", "sm_permille > 1", "power_dw is null", "label_ref = -2"),
        *("month(sampled_at) = 9", "year(sampled_at) = 2026", "year(sampled_at) < 2026", "series_id < 0"),
        "sampled_at >= '2026-10-01 00:30:00+00'",
    ):
        columns = "select * exclude (cluster) from samples where"
        theirs = ledger.query(f"{columns} cluster = 'inserted' and {condition} order by all")
        ours = ledger.query(
            f"{columns} cluster = $cluster and {condition} order by all", {"cluster": cluster}
        )
        assert ours.equals(theirs), condition
    bounds = (
        "select column_id, sum(value_count), sum(null_count), min(min_value), max(max_value) "
        "from __ducklake_metadata_lake.ducklake_file_column_stats "
        "inner join __ducklake_metadata_lake.ducklake_data_file as f using (data_file_id) "
        "where f.mapping_id is {} null and column_id > 1 group by 1 order by 1"
    )
    assert ledger.query(bounds.format("not")).equals(ledger.query(bounds.format("")))
    newest = one(ledger, "select max(snapshot_id) from ducklake_snapshots('lake')")
    news = f"select count(*) from ducklake_table_insertions('lake', 'main', 'samples', {newest}, {newest})"
    assert one(ledger, news) == 1200


@pytest.mark.patient
def test_upkeep_keeps_such_files_as_its_own(ledger: Ledger) -> None:
    """Their partitions are noted as others' are, they are merged with others, and removed when nobody needs them."""
    partitions = (
        "select list(partition_value order by partition_key_index) as keys, "
        "list(distinct partition_key_index order by partition_key_index) as indexes "
        "from __ducklake_metadata_lake.ducklake_file_partition_value group by data_file_id order by all"
    )
    first = take_up(ledger, "w/1/1", "c", rows_of("c"))
    ledger.append("w/1/2", {"samples": rows_of("c", from_ms=SEPTEMBER_MS + 3 * HOUR_MS)})
    told = [(["c", "2026", "10"], [0, 1, 2])] * 2 + [(["c", "2026", "9"], [0, 1, 2])]
    assert [step.what for step in tend(ledger, now_ms()) if step.table == "samples"] == ["place"]
    assert ledger.query(partitions).rows() == told
    assert not any(step.what == "place" for step in tend(ledger, now_ms()))
    more = take_up(ledger, "w/1/3", "c", rows_of("c", from_ms=OCTOBER_MS + DAY_MS))
    sums = (
        "select count(*), sum(power_dw), sum(energy_j), count(distinct (series_id, sampled_at)) from samples"
    )
    before = ledger.query(sums).rows()
    tend(ledger, now_ms(), everything=True)
    assert ledger.query(sums).rows() == before
    assert ledger.query(partitions).rows() == told[1:]
    tend(ledger, now_ms() + DAY_MS, everything=True)
    assert ledger.query(sums).rows() == before
    assert [file.exists() for file in (*first, *more)] == [True, False, False]
    rolled = pl.DataFrame(
        {"cluster": ["c"], "snapshot_id": [99], "rolled_until_at": [OCTOBER_MS + 9 * DAY_MS]}
    )
    ledger.append("mark/1/1", {"rollup_marks": rolled})
    tend(ledger, now_ms() + 9 * DAY_MS, everything=True, keep=Retention(tables_ms={"samples": DAY_MS}))
    tend(ledger, now_ms() + 20 * DAY_MS, everything=True)
    assert one(ledger, "select count(*) from samples") == 0
    assert not list((ledger.catalog.data / "main" / "samples").rglob("*.parquet"))


@pytest.mark.patient
def test_a_commit_that_fails_or_comes_twice_takes_up_nothing(tmp_path: Path) -> None:
    with new_ledger(tmp_path) as ledger:
        files = write_samples(ledger, "c", rows_of("c"))

        def fail(cursor: Cursor) -> None:
            ledger.adopt(cursor, "samples", files)
            raise LedgerError("no", "no")

        with pytest.raises(LedgerError):
            ledger.write("w/1/1", fail)
        assert one(ledger, "select count(*) from samples") == 0
        assert all(file.exists() for file in files)
        taken = take_up(ledger, "w/1/1", "c", rows_of("c"))
        assert not ledger.write("w/1/1", lambda cursor: ledger.adopt(cursor, "samples", files))
        assert one(ledger, "select count(*) from samples") == 1200
        long_ago = time.time() - 2 * 86_400
        for file in (*files, *taken):
            os.utime(file, (long_ago, long_ago))
        tend(ledger, now_ms(), everything=True)
        assert not any(file.exists() for file in files)
        assert one(ledger, "select count(*) from samples") == 1200


@pytest.mark.patient
def test_a_backup_has_them_and_a_folder_may_move(tmp_path: Path) -> None:
    with new_ledger(tmp_path / "ledger") as ledger:
        take_up(ledger, "w/1/1", HOSTILE, rows_of(HOSTILE))
        made = backup(ledger, tmp_path / "backup", now_ms())
    assert restore(tmp_path / "backup", tmp_path / "restored", "sqlite") == made
    (tmp_path / "ledger").rename(tmp_path / "moved")
    for folder in ("restored", "moved"):
        with open_ledger(tmp_path / folder, read_only=True) as ledger:
            assert one(ledger, "select count(distinct (series_id, sampled_at)) from samples") == 1200


@pytest.mark.patient
def test_few_rows_and_folders_that_look_like_values_are_left_to_inserting(tmp_path: Path) -> None:
    with memory_ledger() as ledger:
        assert write_samples(ledger, "c", rows_of("c", series=1, pages=99)) == ()
    with new_ledger(tmp_path / "source=a") as ledger:
        assert write_samples(ledger, "c", rows_of("c")) == ()


@pytest.mark.patient
def test_a_disk_that_takes_nothing_is_told() -> None:
    with memory_ledger() as ledger:
        (ledger.catalog.data / "main").mkdir(exist_ok=True)
        (ledger.catalog.data / "main" / "samples").write_text("in the way")
        with pytest.raises(LedgerError, match="writing"):
            write_samples(ledger, "c", rows_of("c"))

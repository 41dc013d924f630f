# ruff: noqa: E501
"""The roll-up's worker: incremental is recomputed from scratch, bit for bit, in any order and any number of times (decision 10)."""

from collections.abc import Iterator
from random import Random

import polars as pl
import pytest

from analytics.usage import roll_up
from quartermaster import records
from sql.ledger import Ledger, memory_ledger
from tests.depth import deep
from tests.usage.histories import HOURS, ORIGIN, random_history, random_words
from tests.usage.toy import frames

HOUR = 3_600_000
TABLES = ("usage_hourly", "usage_daily", "quota_hourly", "lending_hourly")


@pytest.fixture(scope="module")
def ledger() -> Iterator[Ledger]:
    with memory_ledger() as opened:
        yield opened


def rows(ledger: Ledger, cluster: str) -> dict[str, pl.DataFrame]:
    """All that the roll-up wrote for a cluster, in one order."""
    return {
        table: ledger.query(
            f"select * from {table} where cluster = $cluster order by all", {"cluster": cluster}
        )
        for table in TABLES
    }


def batches(rng: Random, told: dict[str, pl.DataFrame], count: int) -> list[dict[str, pl.DataFrame]]:
    """The rows of a history in some batches, each row in one at random."""
    found: list[dict[str, pl.DataFrame]] = [{} for _ in range(count)]
    for table, table_rows in told.items():
        where = [rng.randrange(count) for _ in range(table_rows.height)]
        for number in range(count):
            part = table_rows.filter(pl.Series([place == number for place in where]))
            if part.height:
                found[number][table] = part
    return found


@pytest.mark.parametrize("seed", range(deep(3, 1)))
@pytest.mark.patient
def test_incremental_is_from_scratch(ledger: Ledger, seed: int) -> None:
    incremental_is_from_scratch(ledger, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 400))
def test_incremental_is_from_scratch_for_long(ledger: Ledger, seed: int) -> None:
    incremental_is_from_scratch(ledger, seed)


def incremental_is_from_scratch(ledger: Ledger, seed: int) -> None:
    rng = Random(seed)
    cluster, zone = f"i{seed}", rng.choice(["UTC", "Asia/Kolkata"])
    history = random_history(rng, cluster, random_words(rng))
    for place, batch in enumerate(batches(rng, frames(history), rng.randint(2, 5))):
        ledger.append(f"told/{seed}/{place}", batch)
        complete = ORIGIN + rng.randint(0, HOURS) * HOUR + 5 * 60_000
        mark = records.Watermark(cluster, "dcgm", "telemetry", complete)
        ledger.append(f"mark/{seed}/{place}", {"watermarks": [mark]})
        known = ledger.query("select 1 from nodes where cluster = $cluster", {"cluster": cluster}).height
        for _ in range(rng.choice([1, 1, 2]) if known else 0):
            roll_up(ledger, ORIGIN + 10 * HOUR, zone, [cluster])
    mark = records.Watermark(cluster, "dcgm", "telemetry", ORIGIN + HOURS * HOUR + 5 * 60_000)
    ledger.append(f"mark/{seed}/last", {"watermarks": [mark]})
    roll_up(ledger, ORIGIN + 10 * HOUR, zone, [cluster])
    found = rows(ledger, cluster)
    roll_up(ledger, ORIGIN + 10 * HOUR, zone, [cluster], everything=True)
    expected = rows(ledger, cluster)
    for table in TABLES:
        differing = found[table].join(expected[table], on=found[table].columns, how="anti", nulls_equal=True)
        assert found[table].equals(expected[table]), f"{table}: {differing}"

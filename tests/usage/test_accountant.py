"""The roll-up's SQL and the brute-force accountant agree on random histories, in every column of every row."""

from random import Random
from typing import Any

import duckdb
import pytest

from analytics.measure import Measure, midnights
from tests.depth import deep
from tests.usage.accountant import Account, account
from tests.usage.histories import HOURS, ORIGIN, STEP, random_history, random_words
from tests.usage.toy import KEYS, empty, measured, tell, toy

UNTIL = ORIGIN + HOURS * 3_600_000
ZONES = ("UTC", "Asia/Kolkata", "America/New_York")


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    return toy(threads=2)  # what threads do to an order, the accountant would see


def compare(connection: duckdb.DuckDBPyConnection, seed: int, count: int) -> None:
    """One batch: `count` clusters, each with a history of its own, measured at once."""
    rng = Random(seed)
    zone = rng.choice(ZONES)
    words = random_words(rng)
    histories = {f"c{number}": random_history(rng, f"c{number}", words) for number in range(count)}
    empty(connection)
    tell(connection, histories.values(), words)
    found = measured(
        Measure(connection, list(histories), ORIGIN, UNTIL), dict.fromkeys(histories, (ORIGIN, UNTIL)), zone
    )
    for cluster, history in histories.items():
        expected = account(history, cluster, ORIGIN, UNTIL, STEP, midnights(ORIGIN, UNTIL, zone))
        same(f"seed {seed}, {cluster}", found[cluster], expected)


def same(where: str, found: Account, expected: Account) -> None:
    """Every row of both is in both, and the same in every column; quota rows without any figure are not written."""
    quota = {
        key: {k: v for k, v in row.items() if k not in KEYS}
        for key, row in expected.quota.items()
        if any(row.values())
    }
    quota = {
        key: row
        for key, row in quota.items()
        if row["guaranteed_pms"] or row["held_pms"] or row["waiting_pms"]
    }
    for what, have, want in (
        ("usage", found.usage, expected.usage),
        ("quota", found.quota, quota),
        ("lending", found.lending, expected.lending),
    ):
        for key in have.keys() | want.keys():
            assert key in have, f"{where}: {what} lacks {key}: {want[key]}"
            assert key in want, f"{where}: {what} has {key}: {have[key]}"
            if have[key] != want[key]:
                row: Any = have[key]
                other: Any = want[key]
                differs = (
                    {name: (row[name], other[name]) for name in row if row[name] != other[name]}
                    if isinstance(row, dict)
                    else (row, other)
                )
                raise AssertionError(f"{where}: {what} {key}: (found, expected) {differs}")


@pytest.mark.parametrize("seed", range(deep(8, 2)))
def test_the_accountant_agrees(connection: duckdb.DuckDBPyConnection, seed: int) -> None:
    compare(connection, seed, 40)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1000, 1100))
def test_the_accountant_agrees_for_long(connection: duckdb.DuckDBPyConnection, seed: int) -> None:
    compare(connection, seed, 60)

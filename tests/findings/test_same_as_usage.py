"""What findings hear is what usage adds up: on random histories each piece's voices sum to the roll-up's figures."""

from pathlib import Path
from random import Random

import duckdb
import pytest

import sql
from analytics.measure import Measure, Measured, midnights
from tests.depth import deep
from tests.usage.accountant import account
from tests.usage.histories import HOURS, ORIGIN, STEP, random_history, random_words
from tests.usage.test_accountant import same
from tests.usage.toy import as_account, empty, tell, toy

UNTIL = ORIGIN + HOURS * 3_600_000
STRETCHES = (Path(sql.__file__).parent / "queries" / "findings" / "f1_stretches.sql").read_text(
    encoding="utf-8"
)
APART = """
select q
from (
  select
    q,
    coalesce(sum(e - s) filter (where busy), 0) as computing_ms,
    coalesce(sum(e - s) filter (where not busy), 0) as idle_ms,
    coalesce(sum(least(e - s, metered_ms)) filter (where weak and not busy), 0) as confirmed_ms,
    coalesce(sum(least(e - s, metered_ms)) filter (where weak and hung), 0) as stalled_ms
  from stretches
  where e > s
  group by q
) as heard
full join (from listened where computing_ms + idle_ms > 0) as added using (q)
where
  (heard.computing_ms, heard.idle_ms, heard.confirmed_ms, heard.stalled_ms)
  is distinct from (added.computing_ms, added.idle_ms, added.confirmed_ms, added.stalled_ms)
"""


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    return toy()


@pytest.mark.parametrize("seed", range(deep(3, 1)))
@pytest.mark.patient
def test_voices_add_up_to_usage(connection: duckdb.DuckDBPyConnection, seed: int) -> None:
    rng = Random(seed)
    words = random_words(rng)
    histories = {f"c{number}": random_history(rng, f"c{number}", words) for number in range(24)}
    empty(connection)
    tell(connection, histories.values(), words)

    def hear_all(step: str) -> None:
        if step == "s12_units":
            connection.execute("update units set simple = false")

    measure = Measure(connection, list(histories), ORIGIN, UNTIL)
    measure.steps(dict.fromkeys(histories, (ORIGIN, UNTIL)), "UTC", 4 * 3_600_000, hear_all)
    connection.execute(STRETCHES)
    assert connection.execute("select count(*) > 20 from stretches").fetchone() == (True,)
    assert connection.execute(APART).fetchall() == []
    rows = Measured(*(connection.sql(f"from {name}_rows").pl() for name in ("usage", "quota", "lending")))
    for cluster, history in histories.items():
        expected = account(history, cluster, ORIGIN, UNTIL, STEP, midnights(ORIGIN, UNTIL, "UTC"))
        same(f"seed {seed}, {cluster}", as_account(rows, cluster), expected)

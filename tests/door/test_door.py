"""The door: what it answers, and what it does not, however it is asked."""

import contextlib
import os
import subprocess
import time
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quartermaster.errors import InputError, LedgerError
from sql import statement
from sql.door import Answer, Limits, ask
from sql.ledger import Cursor, open_ledger
from tests.ledgers import new_ledger

QUICK = Limits(seconds=20, memory_mib=512, rows=100, answer_mib=8)
TABLES = frozenset({"teams", "samples"})
OTHERS = TABLES | {"people", "duckdb_secrets", "sqlite_master"}


def answer(folder: Path, query: str, limits: Limits = QUICK) -> Answer:
    return ask(folder, "sqlite", query, limits)


@pytest.mark.parametrize(
    "query",
    [
        "select team from teams",
        "from lake.teams select team where start_at < now() order by 1 -- a comment;",
        "with t as (select * from teams) select t.team.upper(), count(*) over () from t",
        "with recursive n (i) as (select 1 union all select i + 1 from n where i < 3) select * from n",
        "select * from teams at (version => 2)",
        "describe teams",
        "summarize teams",
        "show tables",
        "values (1)",
        "select unnest(range(3)), list_transform([1], lambda x: x + 1), sum(1) filter (where true)",
        "select * from teams a left join teams b using (team) asof join teams c on a.start_at >= c.start_at",
        "select time_bucket(interval 1 hour, now()), strftime(now(), '%G-W%V'), '1.5'::decimal(9, 2) // 1",
        "unpivot (select 1 as a, 2 as b) on a, b into name x value y",
        "select * from (select 1 as team) tablesample 50 percent (bernoulli, 1)",
        "select count(distinct team), quantile_cont(revision, 0.5), arg_max(team, revision) from teams",
        "(select team from teams) union all (select 'x') except select 'y'",
    ],
)
@pytest.mark.patient
def test_what_is_a_question(query: str):
    with duckdb.connect() as connection:
        statement.check(connection, query, TABLES, OTHERS)


NO_QUESTIONS = (Path(__file__).parent / "no_questions.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("query", NO_QUESTIONS)
@pytest.mark.patient
def test_what_is_none(query: str):
    with duckdb.connect() as connection:
        connection.execute("create table teams (team varchar, start_at timestamptz, revision int)")
        with pytest.raises(InputError) as refused:
            statement.check(connection, query, TABLES, OTHERS)
    assert refused.value.hint


@given(st.text(max_size=40))
@pytest.mark.patient
def test_no_text_is_more_than_refused(text: str):
    with duckdb.connect() as connection, contextlib.suppress(InputError):
        statement.check(connection, f"select 1 {text}", frozenset(), frozenset())


def test_every_allowed_function_is_one_of_duckdbs():
    with duckdb.connect() as connection:
        known = {
            row[0] for row in connection.execute("select function_name from duckdb_functions()").fetchall()
        }
    windows = {
        "row_number",
        "rank",
        "dense_rank",
        "rank_dense",
        "percent_rank",
        "cume_dist",
        "ntile",
        "lead",
        "lag",
    }
    windows |= {"first_value", "last_value", "nth_value", "fill"}
    assert known | windows >= statement.FUNCTIONS


@pytest.mark.patient
def test_an_answer(asked_ledger: Path):
    found = answer(
        asked_ledger, "select team, department, 1.5::decimal(9, 2) as d from teams order by team_id"
    )
    assert found.columns == ["team", "department", "d"]
    assert [tuple(map(str, row)) for row in found.rows] == [
        ("vision", "research", "1.50"),
        ("=1+1", "None", "1.50"),
    ]
    assert not found.more


@pytest.mark.patient
def test_more_rows_than_asked_for_are_not_fetched(asked_ledger: Path):
    found = answer(asked_ledger, "select * from range(1000000000)")
    assert len(found.rows) == 100
    assert found.more


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select nosuch from teams", "nosuch"),
        ("select * from tems", "no table 'tems'"),
        ("select 1 / 'x'", "Conversion"),
        ("select repeat('x', 2000000000)", "memory|without an answer"),
        ("select repeat('x', 9000000) from range(100)", "larger than 8 MiB|memory"),
        ("select list(x) from range(1000000000) t (x)", "memory|without an answer|longer than"),
        (
            "select * from range(100000) a, range(100000) b order by hash(a.range, b.range)",
            "memory|without|longer than",
        ),
        ("select 'infinity'::interval, interval 999999999 month, '10000-01-01'::date", "."),
    ],
)
@pytest.mark.patient
def test_what_breaks_is_told_and_breaks_nothing_else(query: str, expected: str, asked_ledger: Path):
    with pytest.raises(InputError, match=expected):
        answer(asked_ledger, query, Limits(seconds=8, memory_mib=256, rows=100, answer_mib=8))


@pytest.mark.parametrize(
    "query",
    [
        "select count(*) from range(1000000000000)",
        "with recursive r as (select 1 as x union all select x + 1 from r) select max(x) from r",
        "select max(regexp_matches(repeat('a', 20000) || range, '(a*)*b')) from range(10000000)",
    ],
)
@pytest.mark.patient
def test_what_takes_too_long_is_killed(query: str, asked_ledger: Path):
    began = time.monotonic()
    with pytest.raises(InputError, match=r"longer than 2 s|memory|without an answer"):
        answer(asked_ledger, query, Limits(seconds=2, memory_mib=256))
    assert time.monotonic() - began < 8
    ps = ["ps", "--ppid", str(os.getpid()), "-o", "args="]
    children = subprocess.run(ps, capture_output=True, text=True, check=False)
    assert "sql.room" not in children.stdout


@pytest.mark.patient
def test_the_room_is_closed_even_where_the_check_is_blind(
    asked_ledger: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """The second wall: with every name allowed, DuckDB's own settings keep the rest of the machine out."""
    import sql.room

    def nothing(*_: object) -> None: ...

    def blind(*_: object) -> statement.Read:
        return statement.Read(frozenset(), None)

    monkeypatch.setattr(sql.room, "check", blind)
    monkeypatch.setattr(sql.room, "_limit", nothing)
    request = {
        "folder": str(asked_ledger),
        "catalog": "sqlite",
        "seconds": 9,
        "memory_mib": 256,
        "rows": 10,
        "answer_mib": 8,
    }
    outside = tmp_path / "outside.txt"
    outside.write_text("secret")
    for query in (
        f"from read_text('{outside}')",
        f"copy (select 1) to '{tmp_path / 'written.csv'}'",
        f"attach '{tmp_path / 'x.db'}'",
        "set memory_limit = '100GB'",
        "install httpfs",
        "insert into teams_versions (team) values ('x')",
        "delete from people",
    ):
        room = sql.room.open_room(str(asked_ledger), "sqlite")
        with contextlib.closing(room.connection), pytest.raises(duckdb.Error):
            sql.room._answer(room, {**request, "query": query})
    assert [file.name for file in tmp_path.iterdir()] == ["outside.txt"]


def test_the_environment_does_not_come_along(monkeypatch: pytest.MonkeyPatch):
    from sql.door import environment

    monkeypatch.setenv("PGPASSWORD", "hunter2")
    assert "hunter2" not in str(environment())


@pytest.mark.patient
def test_a_missing_ledger_is_told(tmp_path: Path):
    with pytest.raises(LedgerError, match="there is no ledger"):
        answer(tmp_path / "nowhere", "select 1")
    assert not (tmp_path / "nowhere").exists()


def test_nothing_was_written(asked_ledger: Path):
    with open_ledger(asked_ledger, read_only=True) as ledger:
        assert ledger.query("select count(*) as n from people")["n"][0] == 1


@pytest.mark.patient
def test_a_teams_rows_that_do_not_fit_are_refused_with_the_next_step_and_leave_no_file(tmp_path: Path):
    rows = (
        "insert into usage_hourly by name select 'c' as cluster, 'vision' as team, 'node-' || i as node, "
        "i as device_id, md5(i::varchar) as model, 1000 * i as held_pms from range(200000) as t (i)"
    )

    def work(cursor: Cursor) -> None:
        cursor.execute(rows)

    with new_ledger(tmp_path / "ledger") as ledger:
        ledger.write("t/1/1", work)
    little = Limits(memory_mib=32)
    with pytest.raises(InputError, match="more than 32 MiB") as caught:
        ask(
            tmp_path / "ledger",
            "sqlite",
            "select * from reporting.usage_by_hour limit 1",
            little,
            teams=["vision"],
        )
    assert caught.value.hint.startswith("your teams' rows are copied")
    found = ask(
        tmp_path / "ledger",
        "sqlite",
        "select count(team) from reporting.usage_by_hour",
        little,
        teams=["vision"],
    )
    assert found.rows == [(200_000,)]
    assert not list(Path.cwd().glob("*.tmp"))

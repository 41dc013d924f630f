"""Attacks on the door, in the SQL and through parameters, as somebody who may see all teams and as somebody of one.

Oracle: whatever comes back, answer or error, holds none of the canaries: another team's rows, a person's name, a file's
content, the environment, a path of the machine, the word by which a token opens the door.
"""

import contextlib
import json
import os
from collections.abc import Callable, Generator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quartermaster.errors import InputError, LedgerError
from sql import statement
from sql.described import described
from sql.door import Bound, Limits, request, understood
from sql.room import HIDDEN
from sql.rooms import Rooms
from sql.scope import SCOPED
from tests.ledgers import new_ledger

QUICK = Limits(seconds=10, memory_mib=512, rows=1000, answer_mib=8)
SECRETS = ("CANARY-FILE", "CANARY-ENV", "Alice Liddell", "alice@example.org", "CANARY-HASH")
RIVALS = ("rivals", "CANARY-JOB", "98765")
LINES = [
    line
    for line in (Path(__file__).parent / "attacks.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


@dataclass(frozen=True)
class Fortress:
    """A ledger with what is to be protected, and rooms that answer about it."""

    folder: Path
    outside: Path
    rooms: Rooms

    def answer(
        self,
        query: str,
        teams: list[str] | None = None,
        parameters: dict[str, Bound] | None = None,
        limits: Limits = QUICK,
    ) -> bytes:
        """What comes back: rows or an error, all of it."""
        asked = request(self.folder, "sqlite", query, limits, parameters=parameters, teams=teams, form="json")
        out, killed = self.rooms.answer(asked, limits)
        with contextlib.suppress(InputError, LedgerError):
            understood(out, limits, killed=killed)
        return out

    def written_out(self, attack: str) -> str:
        return attack.replace("{outside}", str(self.outside)).replace("{ledger}", str(self.folder))


@pytest.fixture(scope="module")
def fortress(tmp_path_factory: pytest.TempPathFactory) -> Generator[Fortress]:
    base = tmp_path_factory.mktemp("fortress")
    outside = base / "outside.csv"
    outside.write_text("secret\nCANARY-FILE\n", encoding="utf-8")
    with new_ledger(base / "ledger") as ledger:
        fill(ledger.append)
    os.environ["QM_CANARY"] = "CANARY-ENV"
    rooms = Rooms(base / "ledger", "sqlite", 2)
    try:
        yield Fortress(base / "ledger", outside, rooms)
    finally:
        rooms.close()
        del os.environ["QM_CANARY"]


def fill(append: Callable[..., bool]) -> None:
    span = {"start_at": [0, 0], "end_at": [None, None], "revision": [0, 0]}
    teams = {"team_id": [1, 2], "team": ["vision", "rivals"], "department": ["research", "rivals"]}
    usage = {
        "cluster": ["c", "c"],
        "business_day": ["2026-11-23"] * 2,
        "team": ["vision", "rivals"],
        "workload_id": [1, 2],
        "held_pms": [Decimal(604_800_000_000)] * 2,
    }
    charges = {"cluster": ["c", "c"], "business_day": ["2026-11-23"] * 2, "team": ["vision", "rivals"]}
    charges |= {"account": ["team"] * 2, "kind": ["base"] * 2, "amount": [Decimal(1), Decimal(98765)]}
    names = {"cluster": ["c", "c"], "workload_id": [1, 2], "name": ["train", "CANARY-JOB"]}
    person = {"person_id": [7], "name": ["Alice Liddell"], "contact": ["alice@example.org"]}
    tables = {
        "teams_versions": teams | span,
        "usage_daily": usage,
        "charges": charges,
        "workloads_versions": names | span,
        "people": person,
    }
    append("t/1/1", {table: pl.DataFrame(rows) for table, rows in tables.items()})


def told_none(out: bytes, canaries: tuple[str, ...], fortress: Fortress, said: str = "") -> None:
    """What the caller said themselves may come back in an error."""
    text = out.decode("utf-8", "replace")
    for canary in (*canaries, str(fortress.folder), str(fortress.outside)):
        assert canary not in text or canary in said, text[:500]


# What passes the check and says nothing: constants of DuckDB's, and a name that is no aggregate.
HARMLESS = {"select current_user, session_user", "select list_aggregate([1], 'getenv')"}


@pytest.mark.parametrize("attack", [line for line in LINES if line not in HARMLESS])
@pytest.mark.patient
def test_no_attack_passes_the_check(attack: str) -> None:
    """The first wall: refused by its tree, before DuckDB plans anything."""
    names = frozenset(described())
    everything = names | {"duckdb_secrets", "sqlite_master", "pg_tables"}
    with duckdb.connect() as connection, pytest.raises(InputError) as refused:
        statement.check(connection, attack, names - HIDDEN, everything)
    assert refused.value.hint


@pytest.mark.parametrize(
    "attacks",
    [pytest.param(LINES, marks=pytest.mark.soak, id="all")]
    + [
        pytest.param(LINES[first::8], marks=pytest.mark.patient, id=f"each eighth from {first}")
        for first in (0, 5)
    ],
)
@pytest.mark.parametrize("teams", [None, ["vision"]], ids=["fleet", "team"])
def test_no_attack_is_answered(fortress: Fortress, teams: list[str] | None, attacks: list[str]) -> None:
    """Through the door as it stands, whichever wall stops it; the first wall alone is asked about each line above."""
    before = fortress.outside.read_bytes()
    canaries = SECRETS if teams is None else SECRETS + RIVALS
    for attack in attacks:
        query = fortress.written_out(attack)
        told_none(fortress.answer(query, teams), canaries, fortress, query)
    assert fortress.outside.read_bytes() == before


LEAKY = [
    "select team::integer from reporting.teams",
    "select * from reporting.teams where team::integer = 1",
    "select * from reporting.usage_by_day where (team || '!')::date > day",
    "select * from reporting.costs where 1 / (amount - 98765)::integer = 0 or error_of(team)",
    "select * from reporting.costs where cast(concat(team, amount) as date) = day",
    "select count(*) from reporting.costs where amount > 90000",
    "select sum(amount) from reporting.costs",
    "select * from reporting.workloads where name like 'CANARY%' and name::date = first_day",
    "select * from reporting.workloads where regexp_matches(name, team::varchar) and name::int > 0",
    "select count(*), max(team), min(team) from reporting.usage_by_day",
    "select * from reporting.usage_by_day at (version => 1)",
    "select * from reporting.usage_by_day at (timestamp => now())",
    "select histogram(team) from reporting.costs",
    "summarize reporting.costs",
    "describe reporting.costs",
    "show tables",
    "select * from (show tables)",
    "from reporting.teams union all by name from reporting.costs",
    "select * from lake.reporting.costs",
    "select * from usage_daily",
    "select * from charges",
    "select * from teams",
    "select t from reporting.teams t",
    "select columns('.*') from reporting.teams",
    "select * from reporting.teams a, reporting.teams b",
    "with reporting as (select 1) select * from reporting.teams",
    "with teams as (select 'x' as team) select * from reporting.teams",
    "with usage_daily as (select 1) select * from usage_daily",
]


@pytest.mark.parametrize("query", LEAKY)
@pytest.mark.patient
def test_a_team_sees_no_other_teams_rows(fortress: Fortress, query: str) -> None:
    told_none(fortress.answer(query, ["vision"]), SECRETS + RIVALS, fortress, query)


def test_a_team_sees_its_own(fortress: Fortress) -> None:
    told = fortress.answer("select team, amount from reporting.costs", ["vision"])
    assert json.loads(told.partition(b"\n")[2])["rows"] == [{"team": "vision", "amount": 1.0}]
    assert b'"rows": [\n\n]' in fortress.answer("from reporting.costs", [])
    both = fortress.answer("select count(*) as n from reporting.teams", ["vision", "rivals"])
    assert json.loads(both.partition(b"\n")[2])["rows"] == [{"n": 2}]


@pytest.mark.parametrize(
    "team", ["' or '1'='1", "vision') or ('1'='1", "x'; drop table people; --", "\x00", "\\", "ｖｉｓｉｏｎ"]
)
@pytest.mark.patient
def test_a_hostile_name_of_a_token_is_a_name(fortress: Fortress, team: str) -> None:
    told_none(
        fortress.answer("select team from reporting.teams", [team]),
        (*SECRETS, *RIVALS, "vision"),
        fortress,
        team,
    )


PAYLOADS = [
    "' or '1'='1",
    "x' union select name from people --",
    "$team",
    "{outside}",
    "people",
    "'; copy people to '/tmp/x'; --",
    "\x00",
    "\ud800",
    "1e999999",
    "((((((((((",
    "%' escape '\\",
    "\u202ex",
]


@pytest.mark.parametrize(
    "kind", ["varchar", "integer", "decimal", "date", "timestamp", "boolean", "blob", "people"]
)
@pytest.mark.patient
def test_no_attack_comes_through_a_parameter(fortress: Fortress, kind: str) -> None:
    for payload in PAYLOADS if kind == "varchar" else PAYLOADS[:3]:
        text = fortress.written_out(payload)
        query = "select team, $p as p from reporting.teams where team = $p or team like $p"
        told = fortress.answer(query, ["vision"], {"p": (kind, text)})
        told_none(told, SECRETS + RIVALS, fortress, text)
        assert b'"team": "vision"' not in told or kind != "varchar"


@pytest.mark.parametrize(
    "place",
    [
        "from $p",
        "from reporting.$p",
        "select * from read_text($p)",
        "from query_table($p)",
        "set x = $p",
        "select $p from people",
    ],
)
@pytest.mark.patient
def test_a_parameter_is_no_name(fortress: Fortress, place: str) -> None:
    told = fortress.answer(place, ["vision"], {"p": ("varchar", "people")})
    assert b'"error"' in told
    told_none(told, SECRETS, fortress)


BOMBS = [
    "select count(*) from range(1000000000000)",
    "with recursive r as (select 1 as x union all select x + 1 from r) select max(x) from r",
    "with recursive r as (select 'x' as x union all select x || x from r) select max(x) from r",
    "select repeat(repeat('x', 1000000), 1000000)",
    "select list(a) from range(1000000000) t (a)",
    "select max(regexp_matches(repeat('a', 20000) || range, '(a*)*b')) from range(10000000)",
    "select regexp_replace(repeat('a', 1000000), '(.*?,){9,}', 'x', 'g')",
    "select max(levenshtein(repeat('a', 30000), repeat('b', 30000) || range)) from range(100000)",
    "select lpad('x', 2000000000, 'y')",
    "select factorial(100000)",
    "select 2 ** 100000",
    "select list_sort(range(100000000))",
    "select string_agg(range, ',') from range(1000000000)",
    "select * from range(100000) a, range(100000) b, range(100000) c order by hash(a.range, b.range, c.range)",
    "select json_group_array(range) from range(1000000000)",
    "select " + "(" * 5000 + "1" + ")" * 5000,
    "select " + "1+" * 40000 + "1",
    "select " + ",".join(f"'{'x' * 1000}'" for _ in range(90)),
    "select " + "[" * 2000 + "1" + "]" * 2000,
    " union all ".join(["select 1"] * 6000),
    "select 'x' " + "-- " * 40000,
    "with "
    + ", ".join(
        f"c{i} as (select * from {f'c{i - 1} as a, c{i - 1} as b' if i else '(select 1)'})" for i in range(40)
    )
    + " select count(*) from c39",
]


@pytest.mark.patient
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_harms_nobody_else(fortress: Fortress, bomb: str) -> None:
    small = Limits(seconds=3, memory_mib=256, rows=10, answer_mib=4)
    told = fortress.answer(bomb, None, None, small)
    told_none(told, SECRETS, fortress)
    assert len(told) < 2 * 4 * 2**20
    assert b"vision" in fortress.answer("select team from reporting.teams", ["vision"])


# Pieces of queries, put together at random; what passes the check is run where a secret would show.
NAMES = [
    "people",
    "reporting.teams",
    "teams",
    "lake.people",
    "main.people",
    "duckdb_secrets()",
    "'{f}'",
    '"people"',
    "x",
]
SCALARS = [
    "1", "team", "name", "x.*", "*", "'a'", "getenv('QM_CANARY')", "(select max(name) from people)", "count(*)",
    "[(from people)]", "current_setting('x')", "$p", "?", "people", "columns(*)", "max(name)", "read_text('{f}')",
]  # fmt: skip
name = st.sampled_from(NAMES)
scalar = st.sampled_from(SCALARS)
simple = st.builds(
    "select {} from {} {}".format, scalar, name, st.sampled_from(["", "x", "as people", "t (name)"])
)
source = st.one_of(
    name,
    st.builds("({}) x".format, simple),
    st.builds("{} cross join {}".format, name, name),
    st.builds("read_text({})".format, scalar),
    st.builds("query_table({})".format, scalar),
)
spaces = st.sampled_from([" ", "\n", "/**/", "\t", "--\n", "\u00a0", "\u3000"])
query = st.one_of(
    simple,
    st.builds("with {} as ({}) select {} from {}".format, name, simple, scalar, source),
    st.builds("select {} from {} where {} = {} order by {}".format, scalar, source, scalar, scalar, scalar),
    st.builds("{} union all {}".format, simple, simple),
    st.builds("{};{}".format, simple, simple),
    st.builds("select * from ({}) x where exists ({})".format, simple, simple),
    st.builds("with recursive x as ({} union all {}) from x".format, simple, simple),
)


@settings(max_examples=300)
@given(query, spaces)
@pytest.mark.patient
def test_what_passes_the_check_shows_no_secret(text: str, space: str) -> None:
    text = text.replace(" ", space).replace("{f}", __file__)
    names = frozenset({"people", "teams", "reporting.teams"})
    with duckdb.connect() as connection, contextlib.suppress(InputError):
        statement.check(connection, text, names - HIDDEN, names | {"duckdb_secrets"}, frozenset({"p"}))
        connection.execute("create schema reporting; create table people (name varchar)")
        connection.execute("insert into people values ('CANARY')")
        connection.execute("create table teams as select 'vision' as team, 'n' as name")
        connection.execute("create table reporting.teams as from teams")
        try:
            bound = {"p": "people"} if "$p" in text else None
            told = str(connection.execute(text, bound).fetchmany(50))
        except duckdb.Error as error:
            told = str(error)
        assert "CANARY" not in told, text


def test_only_stable_views_are_for_teams() -> None:
    for view, columns in SCOPED.items():
        there = {column.name for column in described()[view].columns}
        assert set(columns) <= there
        personal = {"actor", "person_id"} & there
        assert personal <= {"actor"}  # a pseudonym, of the enforcer or of who asked for it

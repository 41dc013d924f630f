"""docs/schema.md is complete, and the ledger says of itself what the page says, without a hole."""

from collections.abc import Generator

import duckdb
import pytest

from sql import revision, statement
from sql.described import Described, described, parse
from sql.ledger import Ledger, memory_ledger
from sql.room import HIDDEN
from sql.upgrade import upgrade

BY_COMMAND = {"people", "people_reads", "tokens", "tokens_versions"}  # never in SQL


@pytest.fixture(scope="module")
def told() -> dict[str, Described]:
    return described()


@pytest.fixture(scope="module")
def empty() -> Generator[Ledger]:
    """A new ledger."""
    with memory_ledger() as ledger:
        yield ledger


@pytest.fixture(scope="module")
def there(empty: Ledger) -> dict[str, list[tuple[str, str, str | None]]]:
    """Each of its tables and views, with its columns, their types and comments."""
    return columns_of(empty)


def columns_of(ledger: Ledger) -> dict[str, list[tuple[str, str, str | None]]]:
    columns = ledger.query(
        "select schema_name, table_name, column_name, data_type, comment from duckdb_columns() "
        "where database_name = 'lake' order by all"
    )
    found: dict[str, list[tuple[str, str, str | None]]] = {}
    for schema, table, name, kind, comment in columns.iter_rows():
        found.setdefault(table if schema == "main" else f"{schema}.{table}", []).append((name, kind, comment))
    found.pop("alembic_version")
    return found


@pytest.mark.patient
def test_the_page_names_what_there_is(
    told: dict[str, Described], there: dict[str, list[tuple[str, str, str | None]]]
) -> None:
    assert set(told) == set(there)
    for name, expected in there.items():
        columns = sorted((column.name, column.type) for column in told[name].columns)
        assert columns == [(column, kind) for column, kind, _ in expected], name


def test_everything_has_a_comment_in_the_ledger(
    empty: Ledger, there: dict[str, list[tuple[str, str, str | None]]]
) -> None:
    said = empty.query(
        "select schema_name, table_name as name, comment from duckdb_tables() where database_name = 'lake' "
        "union all select schema_name, view_name, comment from duckdb_views() where database_name = 'lake'"
    )
    comments = {
        (name if schema == "main" else f"{schema}.{name}"): comment or ""
        for schema, name, comment in said.iter_rows()
    }
    views = set(revision.view_texts())
    for name, columns in there.items():
        assert comments[name], name
        for column, _, comment in columns:
            assert comment if name not in views else f"\n{column}: " in comments[name], f"{name}.{column}"


def test_each_has_grain_source_example_and_words(told: dict[str, Described]) -> None:
    for name, described_ in told.items():
        assert len(described_.grain) > 20, name
        assert described_.source, name
        assert described_.example, name
        for column in described_.columns:
            assert len(column.what) > 2, f"{name}.{column.name}"


@pytest.mark.patient
def test_every_example_is_answered(empty: Ledger, told: dict[str, Described]) -> None:
    names = frozenset(told)
    with duckdb.connect() as connection:
        for name, described_ in told.items():
            if name not in BY_COMMAND:
                statement.check(connection, described_.example, names - HIDDEN, names)
                empty.query(described_.example)


def test_a_page_is_read_as_it_is_written() -> None:
    found = parse(
        "| `_ms` | milliseconds |\n\n### x_versions · view x\n\nversion. A thing; [see](x.md).\n\nSource: `a`\n"
        "Example: `select 1`\n\n| column | type | what |\n|---|---|---|\n| hold_ms | BIGINT | how long |\n\n## More\n"
    )
    assert set(found) == {"x_versions", "x"}
    assert found["x"].comment == (
        "version. A thing; see.\nSource: `a`\nExample: select 1\nhold_ms: how long [milliseconds]"
    )
    assert found["x_versions"].columns[0].comment == "how long [milliseconds]"


@pytest.mark.patient
def test_another_page_lays_the_comments_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    with memory_ledger() as ledger:
        assert upgrade(ledger) is False
        text = (revision.HERE / "schema.md").read_text(encoding="utf-8")
        changed = text.replace("One telemetry series at one time.", "One series at one instant of time.")
        monkeypatch.setattr(revision, "page", lambda: changed)
        monkeypatch.setattr(revision, "described", lambda: parse(changed))
        assert upgrade(ledger)
        said = ledger.query("select comment from duckdb_tables() where table_name = 'samples'").item()
    assert said.startswith("append. One series at one instant")

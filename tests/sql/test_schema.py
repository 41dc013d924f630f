"""docs/schema.md is complete: each table, view and column of the ledger, and none that there is not."""

import re
from pathlib import Path

from sql.ledger import memory_ledger

PAGE = Path(__file__).parents[2] / "docs" / "schema.md"
HEADING = re.compile(r"### (?P<table>\w+)(?: · view (?P<view>\w+))?")
COLUMN = re.compile(r"\| (?P<name>\w+) \| (?P<type>[A-Z][A-Z0-9(), ]*) \| (?P<what>.+) \|")


def documented() -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {"alembic_version": [("version_num", "VARCHAR")]}
    here: list[str] = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if heading := HEADING.fullmatch(line):
            here = [name for name in heading.groups() if name]
            found |= {name: [] for name in here}
        elif column := COLUMN.fullmatch(line):
            assert column["what"].strip()
            for name in here:
                found[name].append((column["name"], column["type"]))
    return found


def test_the_page_names_what_there_is() -> None:
    with memory_ledger() as ledger:
        columns = ledger.query(
            "select table_name, column_name, data_type from information_schema.columns "
            "where table_catalog = 'lake' order by table_name, ordinal_position"
        )
    there: dict[str, list[tuple[str, str]]] = {}
    for table, name, kind in columns.iter_rows():
        there.setdefault(table, []).append((name, kind))
    told = documented()
    assert set(told) == set(there)
    for table, expected in there.items():
        assert told[table] == expected, table

"""One ledger for the tests of the ladder, emptied before each that takes it."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from sql.ledger import Cursor, Ledger, memory_ledger

_TABLES = (
    "notifications",
    "requests",
    "people",
    "people_reads",
    "workloads_versions",
    "allocations_versions",
    "findings_versions",
)


@pytest.fixture(scope="session")
def opened() -> Iterator[Ledger]:
    """A ledger in memory."""
    with memory_ledger() as ledger:
        yield ledger


@pytest.fixture
def ledger(opened: Ledger) -> Ledger:
    """The same, empty of what these tests write."""

    def clear(cursor: Cursor) -> None:
        for table in _TABLES:
            cursor.execute(f"delete from lake.{table}")

    opened.write(f"clear/{uuid4().hex}", clear)
    return opened

"""What the tests of money share: a ledger to write into by hand."""

from collections.abc import Generator

import pytest

from sql.ledger import Ledger, memory_ledger
from tests.money.books import Books


@pytest.fixture(scope="session")
def money_ledger() -> Generator[Ledger]:
    """One ledger for all tests of a process; `books` empties it."""
    with memory_ledger() as ledger:
        yield ledger


@pytest.fixture
def books(money_ledger: Ledger) -> Books:
    """An empty ledger to write into."""
    return Books(money_ledger)

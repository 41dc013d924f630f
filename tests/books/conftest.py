"""What the tests of the books share: a ledger to write into by hand, and a month of usage in it."""

from collections.abc import Generator

import pytest

from sql.ledger import Ledger, memory_ledger
from tests.money.books import Books


@pytest.fixture(scope="session")
def books_ledger() -> Generator[Ledger]:
    """One ledger for all tests of a process; `books` empties it."""
    with memory_ledger() as ledger:
        yield ledger


@pytest.fixture
def books(books_ledger: Ledger) -> Books:
    """An empty ledger to write into."""
    return Books(books_ledger)


@pytest.fixture
def october(books: Books) -> Books:
    """Two days of October and one of November, at 2 EUR: vision holds 4 GPUs, speech 2, and 2 are free."""
    books.card(author="anna")
    books.rate("2", author="anna")
    for day in ("2026-10-01", "2026-10-31", "2026-11-02"):
        books.usage(f"{day}T00:00:00Z", hours=1, gpus=4, team="vision")
        books.usage(f"{day}T00:00:00Z", hours=1, gpus=2, team="speech", device_id=2)
        books.usage(f"{day}T00:00:00Z", hours=1, gpus=2, device_id=3)
    for name in ("vision-job", "speech-job"):
        books.name(name, "Job", name)
    books.add(
        "nodes_versions",
        cluster="demo",
        node="n1",
        start_at="2026-10-01T00:00:00Z",
        pool="training",
        revision=0,
    )
    books.add(
        "teams_versions",
        team_id=1,
        team="vision",
        department="research",
        cost_centre="4711",
        start_at=0,
        revision=0,
    )
    books.rolled_until("2026-11-03T00:00:00Z")
    books.fill()
    return books

"""A ledger for the tests of the loop; a test takes a cluster of its own."""

from collections.abc import Iterator

import pytest

from sql.ledger import Ledger, memory_ledger


@pytest.fixture(scope="session")
def shared() -> Iterator[Ledger]:
    """A ledger in memory."""
    with memory_ledger() as opened:
        yield opened


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> str:
    """A cluster's name of the test's own."""
    return request.node.name

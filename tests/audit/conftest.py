"""Ledgers for the tests of the audit: one for all that keep to clusters of their own, and one on each catalog."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sql.ledger import Ledger, memory_ledger
from tests.sql.conftest import SHARED_CATALOGS, Place, laid_place


@pytest.fixture(scope="session")
def shared() -> Iterator[Ledger]:
    """A ledger in memory; a test takes a cluster of its own."""
    with memory_ledger() as opened:
        yield opened


@pytest.fixture(params=SHARED_CATALOGS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """The place of a ledger that several processes may open."""
    return laid_place(request, request.param, tmp_path)

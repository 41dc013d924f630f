"""What the tests of dcgm-exporter share: the ledger's columns of samples."""

import pytest

from sql.ledger import memory_ledger


@pytest.fixture(scope="module")
def samples_columns() -> list[str]:
    """The columns of table `samples`, in order."""
    with memory_ledger() as ledger:
        return list(ledger.columns("samples"))

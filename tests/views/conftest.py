"""The scene's ledger, filled once; and one whose names try to be code."""

from collections.abc import Generator

import pytest

from sql.ledger import Ledger
from tests.ledgers import new_ledger
from tests.views.scene import HOSTILE, fill


@pytest.fixture(scope="package")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Generator[Ledger]:
    """The scene."""
    with new_ledger(tmp_path_factory.mktemp("scene")) as ledger:
        fill(ledger)
        yield ledger


@pytest.fixture(scope="package")
def hostile_scene(tmp_path_factory: pytest.TempPathFactory) -> Generator[Ledger]:
    """The same with names that are code in HTML, Markdown and a spreadsheet."""
    with new_ledger(tmp_path_factory.mktemp("hostile")) as ledger:
        fill(ledger, lambda name: f"{name}{HOSTILE}")
        yield ledger

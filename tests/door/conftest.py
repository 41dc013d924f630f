"""A small ledger on disk, to be asked through the door."""

from pathlib import Path

import polars as pl
import pytest

from tests.ledgers import new_ledger


@pytest.fixture(scope="session")
def asked_ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("it's a ledger") / "ledger"
    teams = {"team_id": [1, 2], "team": ["vision", "=1+1"], "department": ["research", None]}
    spans = {"start_at": [0, 0], "end_at": [None, None], "revision": [0, 0]}
    person = {"person_id": [7], "name": ["Alice Liddell"], "contact": ["alice@example.org"]}
    with new_ledger(folder) as ledger:
        ledger.append(
            "t/1/1", {"teams_versions": pl.DataFrame(teams | spans), "people": pl.DataFrame(person)}
        )
    return folder

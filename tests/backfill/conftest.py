"""A configuration and a ledger for backfill's tests."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from quartermaster.config.load import load_configuration
from quartermaster.config.model import Configuration
from sql.ledger import Ledger
from tests.ledgers import new_ledger

FILE = """\
ledger: {{path: {ledger}}}
clusters:
  - name: sim
    holders: {holders}
    prometheus: {{url: "{url}"{more}}}
pools: [{{name: training, models: ["*H100*"]}}]
teams: [{{name: vision}}]
team_rules: [{{team: vision, namespace: "vision*"}}]
"""


@pytest.fixture
def configured(tmp_path: Path) -> Callable[..., Configuration]:
    """Makes the configuration of a cluster `sim` whose Prometheus is at an address."""

    def make(url: str, holders: str = "labels", more: str = "") -> Configuration:
        file = tmp_path / "quartermaster.yaml"
        file.write_text(FILE.format(ledger=tmp_path / "ledger", url=url, holders=holders, more=more))
        return load_configuration(file, {})

    return make


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """A ledger of the test's own."""
    with new_ledger(tmp_path / "ledger") as opened:
        yield opened

"""What the configuration may still change when books are closed, and what it may not."""

from pathlib import Path
from uuid import uuid4

import pytest

from quartermaster.clock import from_iso
from quartermaster.config.load import parse_configuration
from quartermaster.config.model import Configuration
from quartermaster.config.secret import Surroundings
from quartermaster.errors import ConfigurationError
from sql.declare import declare
from sql.ledger import Cursor
from tests.money.books import Books

NOW = from_iso("2026-11-30T12:00:00Z")
BASE = """
clusters: [{name: demo}]
pools: [{name: training}]
teams: [{name: vision}, {name: speech}]
team_rules: [{team: vision, namespace: "vision-*"}]
guarantees: [{team: vision, pool: training, gpus: 16}]
rate_cards: [{card: "2026", prices: [{gpu_hour: "1.00"}]}]
"""


def configured(text: str) -> Configuration:
    return parse_configuration(text, "q.yaml", Surroundings({}, Path("/nowhere"), Path.read_text)).need()


@pytest.fixture
def closed(books: Books) -> Books:
    """All that BASE says has been declared, and October is closed."""
    span = {"start_at": "2026-10-01T00:00:00Z", "end_at": "2026-11-01T00:00:00Z"}
    books.add(
        "periods_versions",
        period="2026-10",
        revision=0,
        state="closed",
        number=1,
        **span,
        start_day="2026-10-01",
        end_day="2026-11-01",
    )
    periods, books.rows = books.rows, {}

    def empty(cursor: Cursor) -> None:
        for table in ("quotas_versions", "team_rules_versions", "thresholds_versions", "cuts"):
            cursor.execute(f"delete from {table}")

    books.ledger.write(f"empty/{uuid4().hex}", empty)
    declare(books.ledger, configured(BASE), NOW - 1)
    books.rows = periods
    books.fill()
    return books


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('namespace: "vision-*"', 'namespace: "vision-*", to: 2026-10-15T00:00:00Z'),
        ("gpus: 16", "gpus: 16, from: 2026-10-15T00:00:00Z"),
        ("gpus: 16}", "gpus: 16}, {team: speech, pool: training, gpus: 1, from: 2026-10-31T23:00:00Z}"),
        (
            '{card: "2026", prices: [{gpu_hour: "1.00"}]}',
            '{card: "2026", prices: [{gpu_hour: "1.00"}]}, '
            '{card: b, from: 2026-10-31T00:00:00Z, prices: [{gpu_hour: "2"}]}',
        ),
    ],
)
@pytest.mark.patient
def test_what_would_change_a_closed_period_is_refused_with_the_next_instant(
    closed: Books, old: str, new: str
) -> None:
    with pytest.raises(ConfigurationError, match="the books of 2026-10 are closed") as refused:
        declare(closed.ledger, configured(BASE.replace(old, new)), NOW)
    assert "2026-11-01T00:00:00.000Z or later" in refused.value.hint


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("gpus: 16", "gpus: 8"),
        ("gpus: 16", "gpus: 16, to: 2026-11-01T00:00:00Z"),
        ('gpu_hour: "1.00"', 'gpu_hour: "2.00"'),
        ("gpus: 16}", "gpus: 16}, {team: speech, pool: training, gpus: 1}"),
        ('namespace: "vision-*"}', 'namespace: "vision-*"}, {team: speech, namespace: "speech-*"}'),
        ("{name: speech}", "{name: speech}, {name: new}"),
    ],
)
@pytest.mark.patient
def test_what_begins_after_it_is_taken_and_the_past_stays(closed: Books, old: str, new: str) -> None:
    assert declare(closed.ledger, configured(BASE.replace(old, new)), NOW)
    for view in ("quotas", "team_rules", "cards", "teams"):
        starts = closed.ledger.query(f"select epoch_ms(start_at) as at from {view}_versions").to_series()
        assert all(at == 0 or at >= from_iso("2026-11-01T00:00:00Z") for at in starts)


@pytest.mark.patient
def test_declaring_the_same_again_changes_nothing(closed: Books) -> None:
    assert declare(closed.ledger, configured(BASE), NOW) == []

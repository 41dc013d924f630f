"""Noted: a finding stays one while it is found; it ends with its end; what grows is written by the hour."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import pytest

from analytics.found import Found, Kind
from analytics.noted import note
from quartermaster.clock import HOUR_MS, MINUTE_MS
from sql.ledger import Ledger, memory_ledger

START = 1_796_000_400_000 // HOUR_MS * HOUR_MS + 20 * MINUTE_MS
IDLE = Found(
    cluster="c",
    kind=Kind.idle,
    subject="Job vision/train",
    since_ms=START,
    team="vision",
    pool="p",
    signals=("gr_engine", "power"),
    coverage_permille=990,
    cost=Decimal("1.500000"),
    currency="EUR",
    evidence={"doubts": [], "gpus": "2"},
)
QUOTA = replace(
    IDLE, kind=Kind.idle_quota, subject="vision in p", signals=(), coverage_permille=None, cost=None
)


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with memory_ledger() as opened:
        yield opened


def told(ledger: Ledger) -> list[tuple[object, ...]]:
    return ledger.query(
        "select subject, epoch_ms(start_at), epoch_ms(end_at), state, revision, cost from findings order by all"
    ).rows()


def versions(ledger: Ledger) -> int:
    return ledger.query("select count(*) from findings_versions").item()


@pytest.mark.patient
def test_a_finding_from_its_beginning_to_its_end(ledger: Ledger) -> None:
    at = START + HOUR_MS
    assert note(ledger, "c", [IDLE], at).new == 1
    assert told(ledger) == [("Job vision/train", START, None, "open", 0, Decimal("1.500000"))]
    grown = replace(IDLE, cost=Decimal("1.600000"))
    assert note(ledger, "c", [grown], at + 10 * MINUTE_MS).new == 0
    assert versions(ledger) == 1  # what only grows is written by the hour
    note(ledger, "c", [grown], at + HOUR_MS)
    assert told(ledger) == [("Job vision/train", START, None, "open", 1, Decimal("1.600000"))]
    assert note(ledger, "c", [], at + 2 * HOUR_MS).ended == 1
    assert told(ledger) == [("Job vision/train", START, at + 2 * HOUR_MS, "resolved", 2, Decimal("1.600000"))]
    note(ledger, "c", [], at + 3 * HOUR_MS)
    assert versions(ledger) == 3


@pytest.mark.patient
def test_a_changed_doubt_is_written_at_once(ledger: Ledger) -> None:
    note(ledger, "c", [IDLE], START + HOUR_MS)
    doubtful = replace(IDLE, doubts=("stale",), evidence={"doubts": ["stale"]})
    note(ledger, "c", [doubtful], START + HOUR_MS + MINUTE_MS)
    assert versions(ledger) == 2


@pytest.mark.patient
def test_who_computed_in_between_is_found_anew(ledger: Ledger) -> None:
    note(ledger, "c", [IDLE], START + HOUR_MS)
    later = START + 3 * HOUR_MS
    note(ledger, "c", [replace(IDLE, since_ms=later)], later + HOUR_MS)
    assert [row[:4] for row in told(ledger)] == [
        ("Job vision/train", START, later, "resolved"),
        ("Job vision/train", later, None, "open"),
    ]


@pytest.mark.patient
def test_a_beginning_that_is_only_known_by_the_hour_is_the_same(ledger: Ledger) -> None:
    note(ledger, "c", [IDLE], START + HOUR_MS)
    by_the_hour = replace(IDLE, since_ms=START + 40 * MINUTE_MS)
    note(ledger, "c", [by_the_hour], START + 9 * HOUR_MS)
    assert [row[:3] for row in told(ledger)] == [("Job vision/train", START, None)]


@pytest.mark.patient
def test_what_is_judged_over_a_moving_window_goes_on(ledger: Ledger) -> None:
    for hours in range(4):
        note(ledger, "c", [replace(QUOTA, since_ms=START + hours * HOUR_MS)], START + (hours + 168) * HOUR_MS)
    assert [row[:3] for row in told(ledger)] == [("vision in p", START, None)]


@pytest.mark.patient
def test_other_clusters_and_other_kinds_are_left_alone(ledger: Ledger) -> None:
    note(ledger, "d", [replace(IDLE, cluster="d")], START + HOUR_MS)
    note(ledger, "c", [IDLE], START + HOUR_MS)
    note(ledger, "c", [], START + 2 * HOUR_MS)
    states = ledger.query("select cluster, state from findings order by cluster").rows()
    assert states == [("c", "resolved"), ("d", "open")]


@pytest.mark.patient
def test_the_same_look_twice_is_noted_once(ledger: Ledger) -> None:
    for _ in range(2):
        note(ledger, "c", [IDLE], START + HOUR_MS)
    assert versions(ledger) == 1

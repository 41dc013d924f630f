"""Budgets: what is spent, where it will end, and each alert once; the forecast held against made histories."""

import json
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.money.budgets import Burn, burn_down, record_alerts
from analytics.money.calendar import Calendar
from analytics.money.charges import charge
from analytics.money.forecast import forecast
from quartermaster.clock import from_iso
from tests.money.books import Books

NOW = from_iso("2026-11-11T06:00:00Z")


@pytest.fixture
def spending(books: Books) -> Books:
    """Ten weeks to 10 November: vision spends 100 EUR on every weekday, and nothing at weekends."""
    books.card()
    books.rate("100")
    for week in range(10):
        for weekday in range(5):
            day = from_iso("2026-09-07T00:00:00Z") + (week * 7 + weekday) * 86_400_000
            if day < from_iso("2026-11-11T00:00:00Z"):
                books.usage(
                    "2026-09-07T00:00:00Z", team="vision", row_start_at=day, row_end_at=day + 3_600_000
                )
    books.rolled_until("2026-11-11T00:00:00Z")
    budget(books, amount="1000")
    charge(books.fill(), 0, "UTC")
    return books


def budget(books: Books, team: str = "vision", period: str = "", **given_: Any) -> None:
    row = {
        "budget_id": hash((team, period)) % 2**62,
        "team": team,
        "period": period,
        "start_at": 0,
        "revision": 0,
    }
    row |= {"currency": "EUR", "alerts": json.dumps([500, 700, 1000])} | given_
    books.add("budgets_versions", **row | {"amount": Decimal(row["amount"])})


def burns(books: Books, period: str = "2026-11", now_ms: int = NOW) -> list[Burn]:
    with books.ledger.reading() as cursor:
        return burn_down(cursor, Calendar().named(period), now_ms)


@pytest.mark.patient
def test_a_budget_burns_down_and_its_end_is_foreseen(spending: Books) -> None:
    (found,) = burns(spending)
    assert (found.spent, found.days_done, found.days) == (Decimal(700), 10, 30)
    assert found.end == 2100  # November has 21 weekdays
    assert (found.low, found.high) == (2100, 2100)  # every week was the same
    assert found.reached == (500, 700)


@pytest.mark.patient
def test_a_budget_of_the_period_comes_before_that_of_each(spending: Books) -> None:
    budget(spending, period="2026-11", amount="7000")
    spending.fill()
    assert [each.budget for each in burns(spending)] == [Decimal(7000)]
    assert [each.budget for each in burns(spending, "2026-10")] == [Decimal(1000)]


@pytest.mark.patient
def test_an_alert_is_recorded_once_at_each_threshold(spending: Books) -> None:
    new = record_alerts(spending.ledger, burns(spending), NOW)
    assert [(each.team, each.permille) for each in new] == [("vision", 500), ("vision", 700)]
    assert record_alerts(spending.ledger, burns(spending), NOW) == []
    stages = spending.ledger.query(
        "select object_uid, stage, accepted from notifications order by stage"
    ).rows()
    assert stages == [("budget/2026-11/vision", f"budget {each} %", False) for each in ("50", "70")]
    assert (
        len(record_alerts(spending.ledger, burns(spending, "2026-10"), NOW)) == 3
    )  # another period has its own


@pytest.mark.patient
def test_a_team_that_has_spent_nothing_has_no_forecast(spending: Books) -> None:
    budget(spending, team="new", amount="5")
    spending.fill()
    found = burns(spending)[0]
    assert (found.team, found.spent, found.end, found.low, found.reached) == ("new", 0, 0, None, ())


@given(st.lists(st.integers(0, 10**12), max_size=90), st.integers(0, 31))
def test_the_interval_holds_the_forecast(history: list[int], days: int) -> None:
    found = forecast(history, days)
    assert (found.low_micros is None) == (len(history) < 21)
    if found.low_micros is not None and found.high_micros is not None:
        assert 0 <= found.low_micros <= found.micros <= found.high_micros


@given(st.lists(st.integers(0, 10**9), min_size=7, max_size=7), st.integers(0, 31), st.integers(3, 12))
def test_a_week_that_repeats_itself_is_foreseen_exactly(week: list[int], days: int, weeks: int) -> None:
    found = forecast(week * weeks, days)
    expected = sum(week[day % 7] for day in range(days))
    assert (found.micros, found.low_micros, found.high_micros) == (expected, expected, expected)


def test_back_tested_on_made_histories_the_interval_holds_four_fifths() -> None:
    """Weekly rhythm, noise of a third, and in half of them a level that drifts by two percent a week: 400 histories."""
    dice, held = Random(6), 0
    for number in range(400):
        drift = 1.02 if number % 2 else 1.0
        rhythm = [dice.uniform(0.2, 1.5) for _ in range(7)]
        whole = [
            round(1e8 * rhythm[day % 7] * drift ** (day / 7) * dice.uniform(0.67, 1.33))
            for day in range(84 + 21)
        ]
        found = forecast(whole[:84], 21)
        assert found.low_micros is not None
        assert found.high_micros is not None
        held += found.low_micros <= sum(whole[84:]) <= found.high_micros
    assert held >= 320

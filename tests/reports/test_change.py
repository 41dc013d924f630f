"""Why what is owed changed: each cause by hand, and a law: the causes add up to the change."""

from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analytics.money.charges import charge
from analytics.reports.details import Change
from analytics.reports.made import report
from analytics.reports.span import span_of
from analytics.reports.weekly import weekly
from quartermaster.clock import from_iso
from sql.ledger import Ledger
from tests.money.books import Books
from tests.reports.conftest import MONTH, WEEK

NOW = from_iso("2026-12-01T06:00:00Z")


def change_of(ledger: Ledger, team: str | None = None, week: str = WEEK) -> Change:
    found = weekly(ledger, week, team, now_ms=NOW).change
    assert found is not None
    return found


def causes(change: Change) -> dict[tuple[str, str], Decimal]:
    return {(cause.kind, cause.title): cause.amount for cause in change.causes}


def test_a_new_workload_and_one_that_ended(quarter: Ledger) -> None:
    change = change_of(quarter, "language")
    assert change.spans == 4
    assert causes(change) == {
        ("new", "PyTorchJob language/llama"): 5 * 24 * 7 * 2,
        ("ended", "Job language/tuning"): -3 * 24 * 7 * 2,
        ("price", ""): 5 * 24 * 7 * Decimal("0.5"),
        # 5 GPUs that nobody held, by three teams at 2.00; now 3 at 2.50
        ("shared", ""): Decimal(3 * 24 * 7) * Decimal("2.5") / 3 - Decimal(5 * 24 * 7 * 2) / 3,
    }


def test_a_price_alone(quarter: Ledger) -> None:
    change = change_of(quarter, "vision")
    assert change.causes[0].kind == "price"
    assert change.causes[0].amount == 6 * 24 * 7 * Decimal("0.5")


@pytest.mark.patient
def test_before_is_the_mean_of_the_teams_own_past(quarter: Ledger) -> None:
    change = change_of(quarter, "vision")
    assert change.now == weekly(quarter, WEEK, "vision", now_ms=NOW).billed
    weeks = [weekly(quarter, f"2026-W{number}", "vision", now_ms=NOW).billed for number in range(44, 48)]
    assert abs(change.before - sum(weeks, Decimal(0)) / 4) <= Decimal("0.000001")
    assert change.held_before_pms == 4 * change.held_pms
    assert change.idle_before_pms == 4 * change.idle_pms


def test_months_are_compared_with_months(quarter: Ledger) -> None:
    found = report(quarter, span_of(MONTH, "UTC"), now_ms=NOW).change
    assert found is not None
    assert found.spans == 1  # October; of September there are three days, and so it is no past


def test_a_first_week_is_compared_with_nothing(quarter: Ledger) -> None:
    assert weekly(quarter, "2026-W40", now_ms=NOW).change is None


def test_a_week_that_is_not_over_is_compared_with_nothing(quarter: Ledger) -> None:
    assert weekly(quarter, "2026-W49", now_ms=NOW).change is None


@pytest.mark.patient
def test_a_past_in_another_currency_is_no_past(books: Books) -> None:
    books.card("eur", end_at="2026-11-23T00:00:00Z")
    books.rate("1", card="eur")
    books.card("usd", start="2026-11-23T00:00:00Z", currency="USD")
    books.rate("1", card="usd")
    books.usage("2026-11-16T00:00:00Z", team="vision")
    books.usage("2026-11-23T00:00:00Z", team="vision")
    books.rolled_until("2026-12-01T00:00:00Z")
    charge(books.fill(), 0, "UTC")
    assert weekly(books.ledger, WEEK, now_ms=NOW).change is None


LINES = st.lists(
    st.tuples(
        st.integers(0, 34),  # days before the week's end
        st.sampled_from(("a", "b")),
        st.integers(0, 9),  # which workload
        st.sampled_from(("base", "base", "base", "shared", "adjustment", "correction")),
        st.integers(0, 10**12),  # part-milliseconds
        st.integers(-(10**10), 10**11),  # millionths
    ),
    min_size=1,
    max_size=40,
)


@given(lines=LINES)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.patient
def test_causes_add_up_to_the_change(
    lines: list[tuple[int, str, int, str, int, int]], money_ledger: Ledger
) -> None:
    books = Books(money_ledger)
    for number, (back, team, workload, kind, quantity_pms, micros) in enumerate(lines):
        day = (date(2026, 11, 29) - timedelta(days=back)).isoformat()
        whose = {"team": team, "workload_id": workload if kind == "base" else None, "account": "team"}
        line = {"cluster": "demo", "pool": "p", "model": "m", "currency": "EUR", "measure": "gpu_hour"}
        amount = {"quantity_pms": quantity_pms if kind == "base" else 0, "amount": Decimal(micros).scaleb(-6)}
        books.add("charges", charge_id=number, business_day=day, kind=kind, **whose, **line, **amount)
        books.usage(f"{day}T00:00:00Z", team=team)
    line = {"cluster": "demo", "pool": "p", "model": "m", "currency": "EUR", "measure": "gpu_hour"}
    free = {"kind": "unallocated", "account": "own", "quantity_pms": 0, "amount": Decimal(0)}
    for back in range(35):  # every day is charged, so that each week is one to compare with
        day = (date(2026, 11, 29) - timedelta(days=back)).isoformat()
        books.add("charges", charge_id=-back, business_day=day, **line, **free)
    books.rolled_until("2026-12-01T00:00:00Z")
    ledger = books.fill()
    here = {team for back, team, *_ in lines if back < 7}
    for team in (None, *sorted(here)) if here else ():
        told = weekly(ledger, WEEK, team, now_ms=NOW)
        assert told.change is not None
        assert told.change.spans == 4
        assert told.change.now == told.billed
        assert sum(cause.amount for cause in told.change.causes) == told.change.amount

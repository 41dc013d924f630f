"""Corrections: what came late is booked once in the open period, names what it corrects, and adds up."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analytics.money.calendar import Calendar
from analytics.money.charges import charge
from analytics.money.close import close, reopen
from analytics.money.corrections import correct
from analytics.money.ready import Terms
from quartermaster.clock import from_iso
from sql.checks import run as run_checks
from sql.ledger import memory_ledger
from tests.books.late import shut, tell
from tests.money.books import Books

NOW = from_iso("2026-11-06T12:00:00Z")
TERMS = Terms(Calendar(), NOW, "bert")
DAY = "2026-10-01"
HOUR = f"{DAY}T00:00:00Z"


def corrections(books: Books) -> list[dict[str, Any]]:
    return [line for line in books.lines() if line["kind"] == "correction"]


def told(lines: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    names = ("business_day", "team", "account", "detail", "amount")
    return sorted((tuple(line[name] for name in names) for line in lines), key=str)


@pytest.fixture
def closed(october: Books) -> Books:
    shut(october)
    return october


@pytest.mark.patient
def test_without_late_data_there_is_nothing_to_correct(closed: Books) -> None:
    found = correct(closed.ledger, NOW, "UTC")
    assert (found.days, found.lines) == ((), 0)


@pytest.mark.patient
def test_what_came_late_names_the_line_that_it_corrects_and_is_booked_today(closed: Books) -> None:
    before = closed.lines()
    original = next(line for line in before if line["business_day"] == DAY and line["team"] == "vision")
    tell(closed, HOUR, 1, "vision", 1)  # vision held one of the two GPUs that were thought free
    tell(closed, HOUR, 1, None, -1, device_id=3)
    found = correct(closed.ledger, NOW, "UTC")
    assert (found.days, found.lines, found.amount) == ((DAY,), 2, Decimal(0))
    made = corrections(closed)
    assert told(made) == [
        ("2026-11-06", "vision", "team", "base", Decimal(2)),
        ("2026-11-06", None, "own", "unallocated", Decimal(-2)),
    ]
    assert next(line for line in made if line["team"])["corrects"] == original["charge_id"]
    assert [line for line in closed.lines() if line["kind"] != "correction"] == before
    assert correct(closed.ledger, NOW, "UTC").lines == 0  # once


@pytest.mark.patient
def test_charging_does_not_touch_what_was_corrected(closed: Books) -> None:
    tell(closed, HOUR, 1, "vision", 1)
    correct(closed.ledger, NOW, "UTC")
    before = closed.lines()
    charge(closed.ledger, NOW, "UTC", everything=True)
    assert [line for line in before if line["business_day"] <= "2026-10-31"] == [
        line for line in closed.lines() if line["business_day"] <= "2026-10-31"
    ]
    assert corrections(closed) == [line for line in before if line["kind"] == "correction"]


@pytest.mark.patient
def test_later_differences_are_to_the_line_and_its_corrections(closed: Books) -> None:
    for gpus, sum_now in ((1, 2), (0.5, 3), (-1.5, 0)):
        tell(closed, HOUR, 1, "vision", gpus)
        correct(closed.ledger, NOW, "UTC")
        assert sum(line["amount"] for line in corrections(closed)) == sum_now
    assert len({line["charge_id"] for line in corrections(closed)}) == 3


@pytest.mark.patient
def test_a_team_that_had_no_line_gets_one_that_corrects_none(closed: Books) -> None:
    tell(closed, HOUR, 1, "late", 1)
    closed.name("late-job", "Job", "late")
    correct(closed.fill() and closed.ledger, NOW, "UTC")
    (line,) = corrections(closed)
    assert (line["team"], line["amount"], line["corrects"], line["detail"]) == (
        "late",
        Decimal(2),
        None,
        "base",
    )
    tell(closed, HOUR, 1, "late", -1)
    correct(closed.ledger, NOW, "UTC")
    assert sum(line["amount"] for line in corrections(closed)) == 0
    assert run_checks(closed.ledger, ["charge_orphans", "adjustments"]) == []


@pytest.mark.patient
def test_what_was_corrected_is_taken_back_when_its_period_is_open_again(closed: Books) -> None:
    tell(closed, HOUR, 1, "vision", 1)
    correct(closed.ledger, NOW, "UTC")
    reopen(closed.ledger, "2026-10", replace(TERMS, reason="late data"))
    charge(closed.ledger, NOW, "UTC", [DAY])
    correct(closed.ledger, NOW + 1, "UTC")
    assert sum(line["amount"] for line in corrections(closed)) == 0
    assert len(corrections(closed)) == 2
    vision = [
        line["amount"] for line in closed.lines() if line["business_day"] == DAY and line["team"] == "vision"
    ]
    assert vision == [Decimal(10)]  # five GPUs now: the difference is in the usage itself
    assert closed.ledger.query("from usage_late").is_empty()
    assert run_checks(closed.ledger, ["rule_one", "daily_of_hourly", "charge_orphans", "adjustments"]) == []
    again = close(closed.ledger, "2026-10", TERMS)
    assert (again.number, again.replaces) == (2, 1)
    assert correct(closed.ledger, NOW, "UTC").lines == 0


@pytest.mark.patient
def test_corrections_are_lines_of_the_period_in_which_they_are_booked(closed: Books) -> None:
    tell(closed, HOUR, 1, "vision", 1)
    correct(closed.ledger, NOW, "UTC")
    close(closed.ledger, "2026-11", replace(TERMS, now_ms=from_iso("2026-12-10T00:00:00Z")))
    rows = closed.ledger.query(
        "select team, exact_amount from statements where period = '2026-11' order by team"
    )
    assert ("vision", Decimal(10)) in rows.rows()  # 4 GPU-hours of November, and October's correction


_DIFFERENCES = st.lists(
    st.tuples(
        st.sampled_from(["vision", "speech", "new", None]),
        st.sampled_from([DAY, "2026-10-31"]),
        st.integers(1, 7),
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.patient
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_DIFFERENCES, st.sampled_from(["own", "held", "even", "none"]))
def test_closed_lines_and_corrections_add_up_to_what_an_open_period_would_have(
    differences: list[tuple[str | None, str, int]], unallocated: str
) -> None:
    """The law: closing early and correcting comes, line by line, to charging all of it at once."""
    with memory_ledger() as one, memory_ledger() as other:
        sums: list[dict[int, Decimal]] = []
        for ledger, is_closed in ((one, True), (other, False)):
            books = Books(ledger)
            books.card(unallocated=unallocated)
            books.rate("0.333333")
            for day in (DAY, "2026-10-31"):
                books.usage(f"{day}T00:00:00Z", hours=1, gpus=3, team="vision")
                books.usage(f"{day}T00:00:00Z", hours=1, gpus=7, device_id=3)
            for name in ("vision", "speech", "new"):
                books.name(f"{name}-job", "Job", name)
            if not is_closed:
                for number, (team, day, gpus) in enumerate(differences):
                    given = {"team": team} if team else {}
                    books.usage(f"{day}T00:00:00Z", hours=1, gpus=gpus, device_id=10 + number, **given)
            books.fill()
            if is_closed:
                close(ledger, "2026-10", TERMS)
                for number, (team, day, gpus) in enumerate(differences):
                    tell(books, f"{day}T00:00:00Z", 1, team, gpus, device_id=10 + number)
                    correct(ledger, NOW, "UTC")
            else:
                charge(ledger, NOW, "UTC")
            found = ledger.query(
                "select coalesce(k.line_id, c.charge_id) as line, sum(c.amount) as amount from charges as c "
                "left join corrections as k on c.charge_id = k.charge_id group by all having sum(c.amount) <> 0"
            )
            sums.append(dict(found.iter_rows()))
        assert sums[0] == sums[1]

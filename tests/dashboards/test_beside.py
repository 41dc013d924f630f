"""The overview's cards and steps: budgets, who waits, what to do, each from rows."""

from dataclasses import replace
from decimal import Decimal

import pytest

from analytics.money.budgets import Burn
from analytics.money.calendar import Calendar
from analytics.reports.figures import Report
from analytics.views.overview import Beside, cards, steps
from analytics.views.queue import Queue, Wait
from quartermaster.clock import HOUR_MS
from quartermaster.parts import GPU_PARTS

NOBODY = Queue(0, (), (), ())


def burn(team: str, budget: int, spent: int, end: int) -> Burn:
    period = Calendar().named("2026-11")
    amounts = (Decimal(budget), "EUR", (), Decimal(spent), 20, 30, Decimal(end))
    return Burn(period, team, *amounts, None, None, 0, ())


def wait(gpus: int, hours: int) -> Wait:
    return Wait("c", "p", "t", "Job", "n", "j", "u", None, gpus * GPU_PARTS, 1, -hours * HOUR_MS, None, 1, 1)


def words(report: Report, found: Beside) -> dict[str, tuple[str, str, bool]]:
    return {
        card.label: (card.value.replace("\u00a0", " "), card.note.replace("\u00a0", " "), card.alarming)
        for card in cards(report, found)
    }


def test_the_two_wastes_stand_apart_and_nobody_waits(a_week: Report) -> None:
    told = words(a_week, Beside((), NOBODY))
    assert list(told) == ["Cost of capacity", "Idle while held", "Held by nobody", "Waiting now"]
    assert told["Held by nobody"][0] == f"{a_week.split.unallocated.cost:,.0f} EUR"
    assert told["Waiting now"][0] == "Nobody"


def test_budgets_are_added_up_and_told_against_the_forecast(a_week: Report) -> None:
    one = words(a_week, Beside((burn("a", 1000, 500, 900),), NOBODY))
    assert one["Spent of budget, 2026-11"] == (
        "50.0 %",
        "500 of 1,000 EUR; forecast 900, below by 100",
        False,
    )
    two = words(a_week, Beside((burn("a", 1000, 500, 900), burn("b", 200, 100, 400)), NOBODY))
    assert two["Spent of 2 budgets, 2026-11"] == (
        "50.0 %",
        "600 of 1,200 EUR; forecast 1,300, over by 100",
        True,
    )


def test_who_waits_is_told_in_gpus(a_week: Report) -> None:
    found = Beside((), Queue(0, (wait(8, 2), wait(1, 30)), (), ()))
    assert words(a_week, found)["Waiting now"] == ("9 GPUs", "for 2 workloads; the longest 1 d 6 h", False)
    single = words(a_week, Beside((), Queue(0, (wait(2, 1),), (), ())))
    assert single["Waiting now"] == ("2 GPUs", "for 1 workload; the longest 1 h", False)


def test_each_step_leads_to_its_evidence(a_week: Report, a_hostile_week: Report) -> None:
    told = steps(a_week)
    assert [step.href for step in told][:1] == ["fleet"]  # nobody held the most
    assert told[1].href.startswith("waste?week=2026-W48&team=")
    assert all("<" not in step.href and " " not in step.href for step in steps(a_hostile_week))


@pytest.mark.parametrize("priced", [True, False])
def test_a_step_saves_money_or_time(a_week: Report, *, priced: bool) -> None:
    report = a_week if priced else replace(a_week, currency="")
    assert all(step.saves.endswith("EUR" if priced else "GPU-h") for step in steps(report))

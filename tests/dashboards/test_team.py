"""The Team page: a team's hours, its budget and whose its idle workloads are; of the reader's teams alone."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analytics.money.budgets import Burn
from analytics.money.calendar import Calendar
from analytics.reports import charts
from analytics.reports.details import LentRow
from analytics.reports.figures import Report
from analytics.reports.weekly import weekly
from analytics.scope import ALL, Scope
from analytics.views import team_charts, team_tables
from analytics.views.team import TeamHour, TeamWeek, team_week
from quartermaster.clock import HOUR_MS, from_iso
from quartermaster.errors import InputError
from quartermaster.ids import content_id
from quartermaster.parts import GPU_PARTS
from quartermaster.person import pseudonym
from sql.ledger import open_ledger
from tests.dashboards.apptest import run, words

NOW = from_iso("2026-11-29T01:00:00Z")
NOTEBOOK = content_id("workload", "vision-lab/jupyter-experiments")


@pytest.fixture(scope="module")
def configuration(a_ledger_of_a_week: Callable[..., Path]) -> Path:
    """The week's ledger, where the notebook is a person's and vision has a budget."""
    path = a_ledger_of_a_week()
    with open_ledger(path.parent / "ledger") as ledger:
        ledger.append(
            "test/budget",
            {
                "budgets_versions": pl.DataFrame(
                    [
                        {
                            "budget_id": place,
                            "team": team,
                            "period": "",
                            "amount": Decimal(amount),
                            "currency": "EUR",
                            "alerts": "[500, 1000]",
                            "start_at": 0,
                            "revision": 0,
                        }
                        for place, (team, amount) in enumerate({"vision": 30000, "speech": 5}.items())
                    ],
                    schema_overrides={"amount": pl.Decimal(18, 6)},
                )
            },
        )
        ledger.write(
            "test/person",
            lambda cursor: (
                cursor.execute(
                    "update workloads_versions set person_id = 77 where workload_id = ?", [NOTEBOOK]
                )
                and None
            ),
        )
    return path


def week_of(path: Path, team: str, scope: Scope = ALL) -> tuple[Report, TeamWeek]:
    with open_ledger(path.parent / "ledger", read_only=True) as ledger:
        report = weekly(ledger, "2026-W47", team, scope=scope, now_ms=NOW)
        return report, team_week(ledger, scope, report, Calendar(), now_ms=NOW)


def test_the_hours_add_up_to_the_report_s_states(configuration: Path) -> None:
    report, week = week_of(configuration, "vision")
    split = report.split
    assert sum(hour.computing_pms for hour in week.hours) == split.computing.pms
    assert sum(hour.idle_pms for hour in week.hours) == split.idle.pms
    assert sum(hour.unknown_pms for hour in week.hours) == split.unknown.pms
    assert sum(hour.guaranteed_pms for hour in week.hours) == report.by_team[0].guaranteed_pms


def test_an_idle_workload_has_its_owner_s_pseudonym(configuration: Path) -> None:
    report, week = week_of(configuration, "vision")
    rows = {row[0]: row[1] for row in team_tables.idle(report, week).rows}
    assert rows["Notebook vision-lab/jupyter-experiments"] == pseudonym(77)


def test_the_budget_is_the_team_s_and_its_days_add_up(configuration: Path) -> None:
    _, week = week_of(configuration, "vision")
    assert week.burn is not None
    assert week.burn.budget == 30000
    assert week.burn.days_done == 28
    assert sum(amount for _, amount in week.burn.daily) == week.burn.spent
    assert week_of(configuration, "search")[1].burn is None


def test_another_s_team_is_one_that_is_not_there(configuration: Path) -> None:
    own = Scope(frozenset({"speech"}))
    report, _ = week_of(configuration, "vision")
    with open_ledger(configuration.parent / "ledger", read_only=True) as ledger:
        with pytest.raises(InputError, match="no team 'vision'"):
            team_week(ledger, own, report, Calendar(), now_ms=NOW)
        with pytest.raises(InputError, match="no team vision"):
            weekly(ledger, "2026-W47", "vision", scope=own, now_ms=NOW)


def test_lending_tells_the_team_s_side(configuration: Path) -> None:
    lent = (LentRow("vision", "b", 5), LentRow("c", "vision", 7), LentRow("b", "c", 9))
    report = replace(week_of(configuration, "vision")[0], lending=lent)
    assert team_tables.lending(report).rows == (("Borrowed from c", 7), ("Lent to b", 5))


def hour(start: int, *gpus: int) -> TeamHour:
    sizes = (each * GPU_PARTS * HOUR_MS for each in gpus)
    return TeamHour(start * HOUR_MS, *sizes)  # pyright: ignore[reportCallIssue]


HOURS = (hour(0, 4, 2, 1, 6, 1, 0, 0), hour(1, 1, 0, 0, 6, 0, 2, 0))


def test_the_chart_stacks_what_was_held_below_the_guarantee_s_line() -> None:
    drawn: dict[str, Any] = team_charts.use(HOURS, "UTC", "light", 500).to_dict()
    bars, line = (layer["data"]["values"] for layer in drawn["layer"])
    assert [(bar["state"], bar["low"], bar["high"]) for bar in bars] == [
        ("computing", 0, 4),
        ("idle", 4, 6),
        ("unknown", 6, 7),
        ("computing", 0, 1),
    ]
    assert [point["guaranteed"] for point in line] == [6, 6]
    without = tuple(replace(each, guaranteed_pms=0) for each in HOURS)
    assert len(team_charts.use(without, "UTC", "light", 500).to_dict()["layer"]) == 1
    assert charts.svg(team_charts.use(HOURS, "UTC", "dark", 500)).startswith("<svg")


def test_the_chart_of_use_in_words() -> None:
    assert team_tables.use_words(HOURS) == (
        "GPUs held hour by hour: 4.0 on average, 7.0 at most; above the guarantee in 1 of 2 hours."
    )
    assert team_tables.use_words(()) == "The team held nothing."


def burning(*daily: int, end: int, low: int | None, high: int | None) -> Burn:
    period = Calendar().named("2026-11")
    days = tuple((day.day, Decimal(amount)) for day, amount in zip(period.days, daily, strict=False))
    return Burn(
        period,
        "t",
        Decimal(100),
        "EUR",
        (),
        Decimal(sum(daily)),
        len(daily),
        30,
        Decimal(end),
        None if low is None else Decimal(low),
        None if high is None else Decimal(high),
        0,
        days,
    )


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (burning(10, 20, end=90, low=80, high=95), "Within budget"),
        (burning(10, 20, end=190, low=180, high=None), "Over budget"),
        (burning(end=0, low=None, high=None), "Within budget"),
    ],
)
def test_the_budget_in_figures(found: Burn, told: str) -> None:
    spent, left, ahead = team_tables.budget(found)
    assert ahead.value == told
    assert spent.value == f"{found.spent} EUR"
    assert left.value == f"{100 - found.spent} EUR"
    assert charts.svg(team_charts.burn(found, "light", 400)).startswith("<svg")


def test_the_budget_s_line_goes_down_day_by_day_and_then_by_the_forecast() -> None:
    found = burning(10, 20, end=90, low=80, high=95)
    layers = team_charts.burn(found, "light", 400).to_dict()["layer"]
    done = layers[-1]["data"]["values"]
    assert [(point["day"], point["left"]) for point in done] == [
        ("2026-11-01", 100),
        ("2026-11-02", 90),
        ("2026-11-03", 70),
    ]
    last = layers[1]["data"]["values"][-1]
    assert last == {"day": "2026-12-01", "left": 10, "low": 5, "high": 20}


def test_the_page(configuration: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = run(configuration, monkeypatch, "team", week="2026-W47", team="vision")
    text = words(page)
    assert "Guarantee in use" in text
    assert pseudonym(77) in text
    assert "of 30,000 in 2026-11" in text
    assert len(page.get("vega_lite_chart")) == 2
    assert "speech-train" not in text
    first = run(configuration, monkeypatch, "team")
    assert first.selectbox("team").value == "forecasting"

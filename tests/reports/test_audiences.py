"""For whom a report is: the same ledger, told to managers, finance, a department and a team."""

from decimal import Decimal

import pytest

from analytics.reports import audience
from analytics.reports.audience import MANAGERS, Audience, Kind
from analytics.reports.figures import GPU_HOUR_PMS, Report
from analytics.reports.made import report, reports, teams_of
from analytics.reports.span import span_of
from quartermaster.clock import from_iso
from quartermaster.errors import InputError
from sql.ledger import Ledger
from tests.reports.conftest import MONTH, WEEK

NOW = from_iso("2026-12-01T06:00:00Z")


def told(ledger: Ledger, audience_: str, span: str = WEEK) -> Report:
    return report(ledger, span_of(span, "UTC"), audience.parse(audience_), now_ms=NOW)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("managers", MANAGERS),
        ("finance", Audience(Kind.FINANCE)),
        ("team vision", Audience(Kind.TEAM, "vision")),
        ("department big models", Audience(Kind.DEPARTMENT, "big models")),
    ],
)
def test_an_audience_is_written_in_words(text: str, expected: Audience) -> None:
    assert audience.parse(text) == expected
    assert expected.words == text


@pytest.mark.parametrize("text", ["", "team", "managers all", "teams vision", "department  "])
def test_what_is_no_audience_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is no audience"):
        audience.parse(text)


def test_a_departments_report_is_its_teams(quarter: Ledger) -> None:
    research = told(quarter, "department research")
    teams = [told(quarter, f"team {name}") for name in ("vision", "language")]
    assert {row.team for row in research.by_team} == {"vision", "language"}
    assert research.billed == sum(one.billed for one in teams)
    assert research.split == teams[0].split + teams[1].split
    assert research.own_lines == ()


def test_all_teams_together_are_the_whole(quarter: Ledger) -> None:
    whole = told(quarter, "managers")
    teams = [told(quarter, f"team {name}") for name in teams_of(quarter, span_of(WEEK, "UTC"))]
    assert whole.billed == sum(one.billed for one in teams)
    held = [one.split.held for one in teams]
    assert whole.split.held == held[0] + held[1] + held[2]


def test_reports_made_together_are_those_made_alone(quarter: Ledger) -> None:
    audiences = [
        MANAGERS,
        *(audience.parse(text) for text in ("finance", "team speech", "department research")),
    ]
    together = reports(quarter, span_of(WEEK, "UTC"), audiences, now_ms=NOW)
    assert together == [told(quarter, one.words) for one in audiences]


def test_a_month_is_its_days(quarter: Ledger) -> None:
    month = told(quarter, "managers", MONTH)
    assert (month.unit, month.span, len(month.days)) == ("month", "2026-11", 30)
    assert month.split.capacity.pms == 16 * 24 * 30 * GPU_HOUR_PMS
    assert month.pool_cost == 16 * 24 * (22 * 2 + 8 * Decimal("2.5"))
    assert month.pool_cost_before == 16 * 24 * 31 * 2


def test_days_add_up_to_the_span(quarter: Ledger) -> None:
    week = told(quarter, "managers")
    assert [day for day, _ in week.days_split] == list(week.days)
    total = week.days_split[0][1]
    for _, split in week.days_split[1:]:
        total += split
    assert total == week.split


def test_lending_is_told_to_both_sides(quarter: Ledger) -> None:
    for reader in ("managers", "team vision", "team language", "department research"):
        (row,) = told(quarter, reader).lending
        assert (row.lender, row.borrower, row.pms) == ("vision", "language", 7 * 24 * GPU_HOUR_PMS)
    assert told(quarter, "team speech").lending == ()


def test_finances_books_tie_to_the_pools_cost(quarter: Ledger) -> None:
    finance = told(quarter, "finance")
    assert finance.books is not None
    assert finance.books.total == finance.books.capacity == finance.pool_cost
    assert finance.books.of_account("team") == finance.billed
    assert sum(row.owed for row in finance.books.centres) == finance.billed
    assert [(row.cost_centre, row.team) for row in finance.books.centres] == [
        ("4711", "language"),
        ("4711", "vision"),
        ("", "speech"),
    ]
    assert told(quarter, "managers").books is None


@pytest.mark.parametrize(
    ("reader", "message", "hint"),
    [
        ("team visoin", "no team visoin in 2026-W48", "vision"),
        ("department reserch", "no department reserch", "research"),
    ],
)
def test_who_is_not_there_is_said_with_the_nearest(
    quarter: Ledger, reader: str, message: str, hint: str
) -> None:
    with pytest.raises(InputError, match=message) as error:
        told(quarter, reader)
    assert hint in error.value.hint


@pytest.mark.parametrize("span", ["2026-13", "2026-W54", "november", "2026-1", "1999-01"])
def test_what_is_no_span_is_refused(quarter: Ledger, span: str) -> None:
    with pytest.raises(InputError):
        told(quarter, "managers", span)

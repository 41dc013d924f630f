"""For whom a report is: the same ledger, told to managers, finance, a department and a team."""

import io
from datetime import date
from decimal import Decimal

import pytest
from pypdf import PdfReader

from analytics.money.calendar import WEEKS, Calendar
from analytics.money.close import close
from analytics.money.ready import Terms
from analytics.reports import audience
from analytics.reports.audience import MANAGERS, Audience, Kind
from analytics.reports.details import Closed
from analytics.reports.figures import GPU_HOUR_PMS, Report
from analytics.reports.forms import Form, written
from analytics.reports.made import report, reports, teams_of
from analytics.reports.span import month as of_month
from analytics.reports.span import of_period, span_of
from cli.bill import text as in_words
from quartermaster.clock import from_iso
from quartermaster.errors import InputError
from sql.ledger import Ledger
from tests.money.books import Books
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


@pytest.mark.patient
def test_a_departments_report_is_its_teams(quarter: Ledger) -> None:
    research = told(quarter, "department research")
    teams = [told(quarter, f"team {name}") for name in ("vision", "language")]
    assert {row.team for row in research.by_team} == {"vision", "language"}
    assert research.billed == sum(one.billed for one in teams)
    assert research.split == teams[0].split + teams[1].split
    assert research.own_lines == ()


@pytest.mark.patient
def test_all_teams_together_are_the_whole(quarter: Ledger) -> None:
    whole = told(quarter, "managers")
    teams = [told(quarter, f"team {name}") for name in teams_of(quarter, span_of(WEEK, "UTC"))]
    assert whole.billed == sum(one.billed for one in teams)
    held = [one.split.held for one in teams]
    assert whole.split.held == held[0] + held[1] + held[2]


@pytest.mark.patient
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


@pytest.mark.parametrize("text", ["0000-01", "0001-01", "1999-12", "2199-12", "9999-12", "2026-13"])
def test_a_month_that_nobody_bills_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        of_month(text, "UTC")


def test_a_fiscal_period_is_its_weeks(quarter: Ledger) -> None:
    calendar = Calendar("UTC", WEEKS, date(2026, 3, 2))
    span = of_period("FY2026-P09", calendar)
    assert (span.first, span.last, span.past) == (
        "2026-10-26",
        "2026-11-29",
        ("2026-07-27", "2026-08-31", "2026-09-28"),
    )
    found = report(quarter, span, MANAGERS, now_ms=NOW)
    assert found.pool_cost == 16 * 24 * (28 * 2 + 7 * Decimal("2.5"))
    assert found.pool_cost_before == 16 * 24 * 28 * 2
    assert (found.change.spans if found.change else None) == 1  # P08; nothing is known of P07
    assert found.closed is None
    assert of_period("2026-11", Calendar("UTC")) == span_of("2026-11", "UTC")


def test_a_closed_periods_report_names_its_number_its_hash_and_the_teams_statement(books: Books) -> None:
    books.card()
    books.rate("2")
    for team in ("language", "vision"):
        books.usage("2026-10-01T00:00:00Z", team=team)
        books.name(f"{team}-job", "Job", team)
    october = span_of("2026-10", "UTC")
    closed = close(books.fill(), "2026-10", Terms(Calendar(), NOW, "bert", at_once=True))
    team, all_teams = reports(books.ledger, october, [audience.team("vision"), MANAGERS], now_ms=NOW)
    assert team.closed == Closed(1, closed.sha256 or "", "1-002")
    assert all_teams.closed == Closed(1, closed.sha256 or "", "")
    for form in (Form.HTML, Form.JSON):
        assert (closed.sha256 or "").encode() in written(team, form)
    assert f"statement 1-002, SHA-256 {closed.sha256}" in in_words(team, 200)
    pages = PdfReader(io.BytesIO(written(team, Form.PDF))).pages
    assert "Books closed with number 1, statement 1-002" in " ".join(pages[0].extract_text().split())
    of_week = reports(books.ledger, span_of("2026-W40", "UTC"), [MANAGERS], now_ms=NOW)[0]
    assert of_week.closed is None


def test_days_add_up_to_the_span(quarter: Ledger) -> None:
    week = told(quarter, "managers")
    assert [day for day, _ in week.days_split] == list(week.days)
    total = week.days_split[0][1]
    for _, split in week.days_split[1:]:
        total += split
    assert total == week.split


@pytest.mark.patient
def test_lending_is_told_to_both_sides(quarter: Ledger) -> None:
    for reader in ("managers", "team vision", "team language", "department research"):
        (row,) = told(quarter, reader).lending
        assert (row.lender, row.borrower, row.pms) == ("vision", "language", 7 * 24 * GPU_HOUR_PMS)
    assert told(quarter, "team speech").lending == ()


@pytest.mark.patient
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
@pytest.mark.patient
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

"""One figure, one set of digits: what HTML, PDF, XLSX, JSON and SQL say of a span is the same."""

import io
import json
import re
from decimal import Decimal
from typing import Any

import openpyxl
import pytest
from pypdf import PdfReader

from analytics.reports import audience
from analytics.reports.figures import GPU_HOUR_PMS, Report
from analytics.reports.forms import Form, written
from analytics.reports.made import reports
from analytics.reports.questions import tables
from analytics.reports.span import span_of
from analytics.reports.tables import Kind, shown
from quartermaster.clock import from_iso
from sql.ledger import Ledger
from tests.dashboards.test_report_html import Read
from tests.reports.conftest import MONTH, WEEK

NOW = from_iso("2026-12-01T06:00:00Z")
READERS = ("managers", "finance", "department research", "team language")


@pytest.fixture(scope="module", params=(WEEK, MONTH))
def told(quarter: Ledger, request: pytest.FixtureRequest) -> list[Report]:
    return reports(quarter, span_of(request.param, "UTC"), map(audience.parse, READERS), now_ms=NOW)


def amount(words: str) -> Decimal:
    return Decimal(words.replace(",", "").replace("−", "-"))


def of_span(report: Report, ledger: Ledger, what: str, team: str) -> Any:
    days = [team, report.days[0], report.days[-1]]
    return ledger.query(f"select {what} and team = ? and business_day between ? and ?", days).item()


def words_of(content: bytes, form: Form) -> str:
    if form is Form.HTML:
        return Read(content.decode()).text.replace("\u00a0", " ")
    text = " ".join(page.extract_text() for page in PdfReader(io.BytesIO(content)).pages)
    return re.sub(r"\s+", " ", text.replace("\u200b", "").replace("\u00a0", " "))


@pytest.mark.patient
def test_html_and_pdf_tell_every_cent_of_every_table(told: list[Report]) -> None:
    for report in told:
        for form in (Form.HTML, Form.PDF):
            words = words_of(written(report, form), form)
            for table in tables(report):
                money = [place for place, column in enumerate(table.columns) if column.kind is Kind.MONEY]
                rows, total = shown(table)
                for row in (*rows, *([total] if total else [])):
                    for place in money:
                        if (
                            form is Form.HTML
                            and table.key == "teams"
                            and table.columns[place].label != "Owes"
                        ):
                            continue  # the page has a table of teams of its own
                        assert row[place] in words, (report.audience.words, form, table.key, row)


def test_the_workbook_has_the_same_figures_as_numbers(told: list[Report]) -> None:
    for report in told:
        book = openpyxl.load_workbook(io.BytesIO(written(report, Form.XLSX)))
        for table in tables(report, 100):
            sheet = book[table.title[:31]]
            rows, total = shown(table)
            expected = [*rows, *([total] if total else [])]
            for at, row in enumerate(expected, 2):
                for place, column in enumerate(table.columns):
                    value = sheet.cell(at, place + 1).value
                    if column.kind is Kind.MONEY and row[place] not in {"", "–"}:
                        assert f"{Decimal(str(value)):,.2f}".replace("-", "−") == row[place]
                    elif column.kind in {Kind.HOURS, Kind.SHARE} and value is not None:
                        assert isinstance(value, int | float)
            for place, column in enumerate(table.columns):
                if column.kind is Kind.MONEY and total and total[place]:
                    values = [sheet.cell(at + 2, place + 1).value or 0 for at in range(len(rows))]
                    assert sum(map(Decimal, map(str, values))) == Decimal(
                        total[place].replace(",", "").replace("−", "-")
                    )


@pytest.mark.patient
def test_json_has_sqls_digits(told: list[Report], quarter: Ledger) -> None:
    for report in told:
        document: dict[str, Any] = json.loads(written(report, Form.JSON))
        for row in document["by_team"]:
            owed = of_span(
                report, quarter, "sum(amount) as owed from charges where account = 'team'", row["team"]
            )
            assert row["cost"] == f"{owed:.6f}"
            held = of_span(report, quarter, "sum(held_pms) as held from usage_daily where true", row["team"])
            assert row["split"]["held"]["pms"] == int(held)


def test_cents_are_less_than_one_from_the_exact_amount(told: list[Report]) -> None:
    for report in told:
        for table in tables(report):
            cents = table.in_cents
            for exact, shown_ in zip(table.rows, cents.rows, strict=True):
                for place, column in enumerate(table.columns):
                    before, after = exact[place], shown_[place]
                    if (
                        column.kind is Kind.MONEY
                        and isinstance(before, Decimal)
                        and isinstance(after, Decimal)
                    ):
                        assert abs(before - after) < Decimal("0.01")


@pytest.mark.patient
def test_the_same_report_is_the_same_bytes(told: list[Report]) -> None:
    for form in Form:
        assert written(told[0], form) == written(told[0], form)


def test_hours_in_a_workbook_are_not_rounded(told: list[Report]) -> None:
    book = openpyxl.load_workbook(io.BytesIO(written(told[0], Form.XLSX)))
    assert book["By day"].cell(2, 4).value == told[0].days_split[0][1].unknown.pms / GPU_HOUR_PMS
    assert book["By day"].cell(2, 4).number_format == "[>=10]#,##0;[=0]0;0.0"

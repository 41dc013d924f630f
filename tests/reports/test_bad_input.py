"""Names that mean something to a program, names without end, nobody, nothing, no prices, ten thousand workloads."""

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import openpyxl
import pytest
from pypdf import PdfReader

from analytics.money.charges import charge
from analytics.reports import audience
from analytics.reports.figures import Report, Split
from analytics.reports.forms import Form, file_name, written
from analytics.reports.made import report as made
from analytics.reports.sending.parcel import pack
from analytics.reports.span import span_of
from analytics.reports.summary import headline
from quartermaster.clock import from_iso
from quartermaster.config.reports import SendingPart
from sql.ledger import Ledger
from tests.dashboards.test_report_html import Read
from tests.money.books import Books
from tests.reports.conftest import WEEK

NOW = from_iso("2026-12-01T06:00:00Z")
HOSTILE = {
    "typst": '#panic("x") #image("/etc/passwd") $x$ *b* @ref \\ <label>',
    "html": "<script>alert(1)</script>&amp;\"'",
    "formula": '=HYPERLINK("http://x","y")',
    "command": "@SUM(1)+cmd|' /C calc'!A0",
    "right to left": "\u202egnp.exe مرحبا بالعالم",
    "control": "a\x00b\x1b[31mc\nd\te",
    "long": "n" * 65_536,
    "template": "{{ 7*7 }}{% raw %}",
}


def renamed(report: Report, name: str) -> Report:
    """The report with every stranger's name so."""

    def workload(row: Any) -> Any:
        return replace(row, kind=name, namespace=name, name=name, team=name)

    return replace(
        report,
        audience=audience.team(name),
        by_day=tuple(replace(row, name=name if row.is_team else row.name) for row in report.by_day),
        by_team=tuple(replace(row, team=name, department=name) for row in report.by_team),
        by_workload=tuple(map(workload, report.by_workload)),
        by_pool=tuple(replace(row, pool=name, model=name, cluster=name) for row in report.by_pool),
        idlest=tuple(replace(row, workload=workload(row.workload)) for row in report.idlest),
        lending=tuple(replace(row, lender=name, borrower=name) for row in report.lending),
        notes=(name, *report.notes),
        change=report.change
        and replace(
            report.change,
            causes=tuple(replace(cause, title=name, team=name) for cause in report.change.causes),
        ),
    )


@pytest.fixture(scope="module")
def week(quarter: Ledger) -> Report:
    return made(quarter, span_of(WEEK, "UTC"), audience.parse("team vision"), now_ms=NOW)


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.patient
def test_a_name_is_text_in_every_form(week: Report, name: str) -> None:
    report = renamed(week, name)
    page = written(report, Form.HTML).decode()
    assert "<script" not in page
    assert not Read(page).unclosed
    assert len(page) < 500_000
    paper = PdfReader(io.BytesIO(written(report, Form.PDF)))
    assert len(paper.pages) <= 6
    book = openpyxl.load_workbook(io.BytesIO(written(report, Form.XLSX)))
    for sheet in book:
        for cell in (cell for row in sheet.iter_rows() for cell in row if cell.value is not None):
            assert cell.data_type in {"s", "n"}, (sheet.title, cell.coordinate)
            assert cell.hyperlink is None
            assert "\n" not in str(cell.value)
    for line in written(report, Form.CSV).decode().split("\r\n"):
        assert not any(cell.lstrip('"').startswith(("=", "@", "+")) for cell in line.split(","))
    assert file_name(report, Form.PDF).replace("-", "").replace(".", "").isalnum()
    assert len(file_name(report, Form.PDF)) < 120


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_letter_obeys_nobodys_name(week: Report, name: str) -> None:
    sending = SendingPart(name="m", schedule="0 7 * * 1", audience="managers", to=("x",), forms=("csv",))
    parcel = pack(renamed(week, name), sending)
    assert parcel.title.isprintable()
    assert len(parcel.title) < 200
    assert not any(sign in parcel.body for sign in ("<", "@", "\x1b", "\u202e", "{{", "$"))
    assert len(parcel.body) < 4_000


def unpriced(week: Report) -> Report:
    return replace(week, currency="", change=None)


def empty(week: Report) -> Report:
    nothing = dict.fromkeys(
        ("by_day", "by_team", "by_pool", "by_workload", "idlest", "lending", "days_split", "notes"), ()
    )
    unknown: dict[str, Any] = {"workload_count": 0, "provisional": True, "known_until_ms": None}
    return replace(unpriced(week), split=Split(), **nothing, **unknown)


@pytest.mark.parametrize("without", [unpriced, empty])
@pytest.mark.patient
def test_without_prices_or_anything_every_form_is_made(
    week: Report, without: Callable[[Report], Report]
) -> None:
    report = without(week)
    for form in Form:
        assert written(report, form)
    words = " ".join(page.extract_text() for page in PdfReader(io.BytesIO(written(report, Form.PDF))).pages)
    assert "EUR" not in words
    assert "EUR" not in Read(written(report, Form.HTML).decode()).text


@pytest.mark.patient
def test_ten_thousand_workloads_of_a_team(books: Books) -> None:
    books.card()
    books.rate("1")
    for number in range(10_000):
        books.usage(hours=1, gpus=1, team="many", workload=f"w{number}", device_id=number)
    books.rolled_until("2026-12-01T00:00:00Z")
    charge(books.fill(), 0, "UTC")
    report = made(books.ledger, span_of(WEEK, "UTC"), audience.team("many"), now_ms=NOW)
    assert (report.workload_count, len(report.by_workload), report.billed) == (10_000, 100, 10_000)
    assert len(PdfReader(io.BytesIO(written(report, Form.PDF))).pages) <= 5
    assert "The 25 of 10,000 that cost most" in Read(written(report, Form.HTML).decode()).text


@pytest.mark.patient
def test_a_team_that_is_known_and_has_nothing_has_a_report(books: Books) -> None:
    books.card()
    books.rate("1")
    books.usage(team="vision")
    books.add("teams_versions", team_id=1, team="new", start_at="2026-01-01", revision=0)
    charge(books.fill(), 0, "UTC")
    report = made(books.ledger, span_of(WEEK, "UTC"), audience.team("new"), now_ms=NOW)
    assert (report.billed, report.by_team) == (0, ())
    assert headline(report) == "Team new held no GPU and owes 0\u00a0EUR."
    for form in Form:
        assert written(report, form)

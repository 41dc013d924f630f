"""The bill on a terminal, as JSON and as CSV: nothing wraps, nothing is obeyed, everything adds up."""

import csv
import io
import json
import re
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from analytics.money.charges import charge
from analytics.reports.document import VERSION, to_document
from analytics.reports.figures import GPU_HOUR_PMS, OwnLine, Report
from analytics.reports.spreadsheet import COLUMNS, to_csv
from analytics.reports.weekly import weekly
from cli.bill import show, text
from quartermaster.clock import from_iso
from sql.ledger import memory_ledger
from tests.money.books import Books

HOSTILE = "=cmd()[bold]\x1b[31m\x07\u202ex"
NOW = from_iso("2026-11-30T08:00:00Z")


@pytest.fixture(scope="module")
def report() -> Report:
    """A small week with a hostile name in it, in thirds of a cent."""
    with memory_ledger() as ledger:
        books = Books(ledger)
        books.card(unallocated="held")
        books.rate("0.333333333")
        books.usage(
            hours=10, gpus=1 / 7, team="vision", computing=0.5, unknown=0.1, faulted=0.1, workload="w"
        )
        books.usage(hours=10, gpus=2 / 7, team=HOSTILE, workload="nb")
        books.usage(hours=10, gpus=4 / 7, unavailable=0.25, unobserved=0.25)
        books.guarantee("vision", 1, hours=10)
        books.name("nb", "Notebook", HOSTILE)
        books.rolled_until("2026-11-25T00:00:00Z")
        charge(books.fill(), 0, "UTC")
        return weekly(books.ledger, "2026-W48", now_ms=NOW)


@pytest.mark.patient
def test_the_bill_fits_80_columns_and_has_no_escape_codes(report: Report) -> None:
    page = text(report)
    assert max(map(len, page.splitlines())) <= 80
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", page)
    for told in ("2026-W48", "provisional", "By team", "What nobody held", "Most idle", "do not know", "-> "):
        assert told in page


@pytest.mark.parametrize("width", [40, 60, 100])
def test_no_figure_is_cut_however_narrow_the_terminal(report: Report, width: int) -> None:
    large = replace(report, by_team=tuple(replace(row, cost=row.cost * 10**9) for row in report.by_team))
    for told in (report, large):
        figures = [set(re.findall(r"\d[\d,.]*", text(told, room))) for room in (200, width)]
        assert figures[0] <= figures[1]
        assert "vision" in text(told, width)


def test_markup_in_a_name_is_shown(report: Report) -> None:
    assert "=cmd()[bold]\N{REPLACEMENT CHARACTER}[31m" in text(report).replace("\n", "").replace(" ", "")


def test_the_columns_of_cents_add_up(report: Report) -> None:
    page = text(report)
    parts = [line for line in page.splitlines() if re.match(r"[█▒?░x!]  [a-z]", line)]
    cents = [Decimal(line.split()[-1]) for line in parts]
    (whole,) = (line for line in page.splitlines() if "capacity" in line)
    assert sum(cents) == Decimal(whole.split()[-1]) == Decimal("3.33")


def test_without_a_price_no_cost_is_shown(report: Report) -> None:
    unpriced = replace(report, currency="", notes=())
    page = text(unpriced)
    assert "cost" not in page
    assert not re.search(r"\d\.\d\d\b", page)
    assert all(row["cost"] == "" for row in rows(to_csv(unpriced)))
    assert to_document(unpriced)["pool_cost"] is None


def test_a_change_is_shown_where_there_was_a_week_before(report: Report) -> None:
    assert "change" not in text(report)
    rows_before = tuple(replace(row, cost_before=Decimal(1)) for row in report.by_team)
    page = text(replace(report, by_team=rows_before, pool_cost_before=Decimal(2)))
    assert "change" in page
    assert max(map(len, page.splitlines())) <= 80


def test_an_empty_team_and_no_capacity_are_no_trouble(report: Report) -> None:
    nothing = replace(
        report,
        split=type(report.split)(),
        by_team=(),
        by_workload=(),
        workload_count=0,
        idlest=(),
        own_lines=(),
        notes=(),
    )
    assert "capacity" in text(nothing)
    assert to_csv(nothing)


def test_on_a_terminal_in_ascii(
    report: Report, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    show(report)
    page = capsys.readouterr().out
    assert "\x1b" not in page
    assert max(map(len, page.splitlines())) <= 80


# --- CSV --------------------------------------------------------------------------------------------------


def rows(page: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(page)))


def test_no_cell_is_a_formula(report: Report) -> None:
    hostile = replace(report, notes=("+1", "-1", "@x", "\t=1", " =1", "|cmd", "fine"))
    for row in csv.reader(io.StringIO(to_csv(hostile))):
        assert len(row) == len(COLUMNS)
        for cell in row:
            assert not cell.lstrip(" ").startswith(("=", "+", "@", "\t", "|")), cell
            assert not cell.startswith("-") or float(cell) < 0


def test_csv_has_each_section_with_exact_costs(report: Report) -> None:
    found = rows(to_csv(report))
    sections = {row["section"] for row in found}
    assert sections == {"total", "day", "team", "pool", "workload", "idle", "nobody", "note"}
    (whole,) = (row for row in found if row["section"] == "total")
    assert Decimal(whole["cost"]) == report.pool_cost
    teams = [row for row in found if row["section"] == "team"]
    assert sum(Decimal(row["cost"]) for row in teams) == report.billed
    assert teams[0]["coverage"] == "1.000000"


# --- JSON -------------------------------------------------------------------------------------------------


def test_json_has_a_version_and_exact_figures(report: Report) -> None:
    document = json.loads(json.dumps(to_document(report)))
    assert (document["report"], document["version"]) == ("weekly", VERSION)
    assert Decimal(document["pool_cost"]) == report.pool_cost
    assert document["split"]["capacity"]["pms"] == 10 * GPU_HOUR_PMS
    assert document["split"]["capacity"]["gpu_hours"] == 10
    assert document["known_until"] == "2026-11-25T00:00:00.000Z"
    assert {row["team"] for row in document["by_team"]} == {"vision", HOSTILE}
    assert document["idlest"][0]["workload"]["name"] == HOSTILE
    assert document["idlest"][0]["last_computing"] is None


def test_json_tells_every_figure(report: Report) -> None:
    """Whatever a report gains, its document must tell too."""
    document: dict[str, Any] = to_document(report)
    renamed = {
        "start_ms": "start",
        "end_ms": "end",
        "generated_at_ms": "generated_at",
        "known_until_ms": "known_until",
    }
    assert {renamed.get(name, name) for name in report.__dataclass_fields__} <= set(document)
    (line,) = (line for line in document["own_lines"] if line["kind"] == "unallocated")
    assert set(OwnLine.__dataclass_fields__) - {"amount"} <= set(line)

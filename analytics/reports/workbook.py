"""A report as a workbook (XLSX): a sheet a question, real numbers, no formula from anybody's text.

Money stands in cents, shared out as in the other forms for people, so that a column's sum is its total. Time stands in
GPU-hours, unrounded. The same report gives the same bytes.
"""

import io
from collections.abc import Mapping, Sequence
from decimal import Decimal
from importlib import import_module
from typing import Any, TypeAlias

from analytics.reports import legible, summary
from analytics.reports.changed import changed
from analytics.reports.figures import GPU_HOUR_PMS, Report
from analytics.reports.questions import tables
from analytics.reports.tables import Cell, Column, Kind, Table
from analytics.reports.worth import Task, worth_doing
from quartermaster.clock import to_datetime
from quartermaster.parts import GPU_PARTS

Book: TypeAlias = Any  # xlsxwriter says only half of what its methods take
Sheet: TypeAlias = Any
Shape: TypeAlias = Any
WORKLOADS = 100
_FORMATS = {
    Kind.TEXT: "@",
    Kind.WORDS: "@",
    Kind.HOURS: "[>=10]#,##0;[=0]0;0.0",
    Kind.MONEY: "#,##0.00",
    Kind.SHARE: "0.0 %",
    Kind.COUNT: "#,##0",
    Kind.GPUS: "#,##0.##",
    Kind.PRICES: "@",
}
_WIDTHS = {Kind.TEXT: (12, 48), Kind.WORDS: (40, 70)}
_NUMBER_WIDTH = 15
_INK, _GROUND = "#17212b", "#f0f3f6"


def to_xlsx(report: Report) -> bytes:
    """The report as the bytes of an XLSX file."""
    file = io.BytesIO()
    options = {
        "in_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
    }
    book: Book = import_module("xlsxwriter").Workbook(file, options)
    with book:
        made = to_datetime(report.generated_at_ms).replace(tzinfo=None, microsecond=0)
        about = f"GPU report {report.span}, {legible.name(summary.whose(report))}"
        book.set_properties({"title": about, "author": "Quartermaster", "created": made})
        formats = _formats(book)
        _summary(book.add_worksheet("Summary"), report, formats)
        for table in tables(report, WORKLOADS):
            _sheet(book.add_worksheet(table.title[:31]), table.in_cents, formats)
        _notes(book.add_worksheet("Not known"), report, formats)
    return file.getvalue()


def _formats(book: Book) -> Mapping[str, Shape]:
    base = {"font_name": "Calibri", "font_size": 11, "font_color": _INK, "valign": "top"}
    found: dict[str, Shape] = {
        "title": book.add_format({**base, "bold": True, "font_size": 16}),
        "muted": book.add_format({**base, "font_color": "#51606f"}),
        "wrapped": book.add_format({**base, "text_wrap": True}),
        "label": book.add_format({**base, "bold": True}),
    }
    for kind, shape in _FORMATS.items():
        aligned = {"align": "left" if kind in {Kind.TEXT, Kind.WORDS} else "right", "num_format": shape}
        head = {"bold": True, "bg_color": _GROUND, "bottom": 1, "text_wrap": True, "align": aligned["align"]}
        found |= {
            kind.value: book.add_format({**base, **aligned, "text_wrap": kind is Kind.WORDS}),
            f"{kind.value} total": book.add_format({**base, **aligned, "bold": True, "top": 1}),
            f"{kind.value} head": book.add_format({**base, **head}),
        }
    return found


def _summary(sheet: Sheet, report: Report, formats: Mapping[str, Shape]) -> None:
    sheet.hide_gridlines(2)
    sheet.set_column(0, 0, 34)
    sheet.set_column(1, 1, 90)
    at = " · ".join(summary.facts(report))
    sheet.write_string(
        0, 0, f"GPU {'cost and use' if report.priced else 'use'}, {summary.period(report)}", formats["title"]
    )
    sheet.write_string(1, 0, legible.sentence(at), formats["muted"])
    told = [
        ("In a sentence", summary.headline(report)),
        ("What changed", changed(report)),
        *((card.label, f"{card.value} ({card.note})") for card in summary.cards(report)),
        *(
            (f"Worth doing, {place}", _task(report, task))
            for place, task in enumerate(worth_doing(report), 1)
        ),
        ("Coverage", summary.footnote(report)),
        ("Won back", summary.won_back(report, report.won_ever)),
    ]
    for row, (label, words) in enumerate((each for each in told if each[1]), 3):
        sheet.write_string(row, 0, label, formats["label"])
        sheet.write_string(row, 1, legible.sentence(words), formats["wrapped"])


def _task(report: Report, task: Task) -> str:
    saves = (
        summary.money(report, task.saves.cost, 0)
        if report.priced
        else f"{summary.hours(task.saves)} GPU-hours"
    )
    return f"{task.about}: {task.do} It would save {saves} a {report.unit}, at most."


def _sheet(sheet: Sheet, table: Table, formats: Mapping[str, Shape]) -> None:
    for place, column in enumerate(table.columns):
        sheet.write_string(0, place, column.heading, formats[f"{column.kind.value} head"])
        sheet.set_column(place, place, _width(column, [row[place] for row in table.rows]))
    for at, row in enumerate(table.rows, 1):
        for place, (column, cell) in enumerate(zip(table.columns, row, strict=True)):
            _write(sheet, (at, place), column.kind, cell, formats[column.kind.value])
    if table.total is not None and table.rows:
        at = len(table.rows) + 1
        for place, (column, cell) in enumerate(zip(table.columns, table.total, strict=True)):
            _write(sheet, (at, place), column.kind, cell, formats[f"{column.kind.value} total"])
    sheet.freeze_panes(1, 1)
    if table.rows:
        sheet.autofilter(0, 0, len(table.rows), len(table.columns) - 1)
    sheet.set_landscape()
    sheet.fit_to_pages(1, 0)
    sheet.repeat_rows(0)


def _write(sheet: Sheet, at: tuple[int, int], kind: Kind, cell: Cell, shape: Shape) -> None:
    value = number(kind, cell)
    if value is not None:
        sheet.write_number(*at, value, shape)
    elif cell is None or (isinstance(cell, tuple) and kind is Kind.SHARE):
        sheet.write_blank(*at, None, shape)
    elif isinstance(cell, tuple):
        sheet.write_string(*at, ", ".join(map(summary.price, map(Decimal, cell))), shape)
    else:
        text = str(cell)
        sheet.write_string(*at, legible.name(text) if kind is Kind.TEXT else legible.sentence(text), shape)


def number(kind: Kind, cell: Cell) -> float | None:
    """What a cell is as a number: GPU-hours, money, a ratio, a count; None where it is text or nothing."""
    match cell:
        case Decimal():
            return float(cell)  # cents, which a double holds and tells exactly
        case int() if kind is Kind.HOURS:
            return cell / GPU_HOUR_PMS
        case int() if kind is Kind.GPUS:
            return cell / GPU_PARTS
        case int():
            return cell
        case (int(part), int(whole)) if kind is Kind.SHARE and whole:
            return part / whole
        case _:
            return None


def _notes(sheet: Sheet, report: Report, formats: Mapping[str, Shape]) -> None:
    sheet.set_column(0, 0, 120)
    sheet.write_string(0, 0, "What these figures do not know", formats["words head"])
    for at, note in enumerate(report.notes or ("Nothing that is known to be missing.",), 1):
        sheet.write_string(at, 0, legible.sentence(note), formats["words"])
    sheet.freeze_panes(1, 0)


def _width(column: Column, cells: Sequence[Cell]) -> int:
    if column.kind not in _WIDTHS:
        return max(_NUMBER_WIDTH, min(26, len(column.heading) + 2))
    least, most = _WIDTHS[column.kind]
    return max(least, min(most, max((len(str(cell)) + 2 for cell in cells), default=least)))

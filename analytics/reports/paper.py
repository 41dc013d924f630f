"""A report on paper (PDF): set by typst from a template of ours, names as data, charts as vectors.

The same report gives the same bytes. Inter comes along; for letters that it lacks the machine's own fonts are used, and
there bytes may differ between machines.
"""

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import as_file, files
from typing import Any, cast

import typst

from analytics.reports import bar, charts, legible, summary, theme
from analytics.reports.changed import changed
from analytics.reports.figures import Report
from analytics.reports.questions import tables
from analytics.reports.tables import Column, Kind, Table, shown
from analytics.reports.theme import STATE
from analytics.reports.worth import worth_doing
from analytics.wonback import METHOD
from quartermaster.clock import to_datetime

_CHART_PX = 780
_SHORT = 14  # letters of a column that needs no more room than they take
_HERE = files("analytics.reports")
Told = dict[str, Any]


def to_pdf(report: Report) -> bytes:
    """The report as the bytes of a PDF file with tagged text."""
    with charts.drawn_by_us():
        told = json.dumps(_told(report), ensure_ascii=False)
    made = int(report.generated_at_ms // 1000)
    found = _compiler().compile(_source(), format="pdf", sys_inputs={"told": told}, timestamp=made)
    return cast(bytes, found)  # a list of them only where pages are pictures


@cache
def _compiler() -> typst.Compiler:
    with as_file(_HERE / "fonts") as folder:
        fonts = typst.Fonts(font_paths=[folder])
    return typst.Compiler(font_paths=fonts)


@cache
def _source() -> bytes:
    return (_HERE / "templates" / "report.typ").read_bytes()


def _told(report: Report) -> Told:
    made = to_datetime(report.generated_at_ms)
    unit = report.currency or "GPU-hours"
    whose = legible.name(summary.whose(report))
    won = (("In this " + report.unit, report.won_back), ("Since it was installed", report.won_ever))
    bars, colours = summary.day_bars(report), theme.palette("light")
    hours = summary.split_hours(report)
    return {
        "title": f"GPU report {report.span}, {whose}",
        "made": [made.year, made.month, made.day, made.hour, made.minute, made.second],
        "footer": f"GPU report {report.span} · {whose} · made on {made.day} {made:%B %Y, %H:%M} UTC",
        "provisional": report.provisional,
        "state": "Provisional" if report.provisional else f"Complete {report.unit}",
        "heading": f"GPU {'cost and use' if report.priced else 'use'}, {summary.period(report)}",
        "about": legible.sentence(" · ".join(summary.facts(report))),
        "headline": legible.sentence(summary.headline(report)),
        "changed": legible.sentence(changed(report)),
        "cards": [
            {"label": card.label, "value": card.value, "note": card.note, "alarming": card.alarming}
            for card in summary.cards(report)
        ],
        "footnote": summary.footnote(report),
        "chart": {
            "title": f"{'Cost' if report.priced else 'GPU-hours'} by day",
            "note": summary.day_note(report),
            "svg": charts.svg(charts.cost_by_day(bars, unit, "light", _CHART_PX, 215)) if bars else "",
            "alt": f"Stacked bars, one a day: {'; '.join(summary.day_totals(report))}.",
            "legend": [
                {"colour": colours[row.token], "name": legible.name(row.name, 40), "amount": row.amount}
                for row in summary.day_legend(report)
            ],
        },
        "tasks": [
            {
                "about": task.about,
                "do": legible.sentence(task.do),
                "saves": summary.money(report, task.saves.cost, 0)
                if report.priced
                else f"{summary.hours(task.saves)} GPU-h",
            }
            for task in worth_doing(report)
        ],
        "saved": f"saved a {report.unit}, at most",
        "split": {
            "title": f"What the {report.audience.kind} held" if report.some else "Where the capacity went",
            "note": f"Share of {summary.hours(report.split.capacity)} GPU-hours; hatched where nobody could measure",
            "svg": bar.svg(hours, "light", _CHART_PX) if any(hours.values()) else "",
            "alt": f"Bar of GPU-hours: {summary.split_words(report)}.",
            "legend": [
                {
                    "colour": colours[name],
                    "name": STATE[name].label,
                    "amount": f"{summary.hours(amount)} GPU-h, {summary.share(amount.pms, report.split.capacity.pms)}",
                }
                for name, amount in report.split.parts
                if amount.pms
            ],
        },
        "tables": [_table(table) for table in tables(report)],
        "won": [
            legible.sentence(f"{when}: {summary.won_back(report, found)}")
            for when, found in won
            if found is not None
        ],
        "method": METHOD,
        "notes": [legible.sentence(note) for note in report.notes]
        or ["Nothing that is known to be missing."],
    }


def _table(table: Table) -> Told:
    rows, total = shown(table)
    kept = [place for place, column in enumerate(table.columns) if column.on_paper]
    return {
        "title": table.title,
        "note": legible.sentence(table.note),
        "empty": table.empty,
        "columns": [_column(table.columns[place], [row[place] for row in rows]) for place in kept],
        "rows": [[row[place] for place in kept] for row in rows],
        "total": None if total is None else [total[place] for place in kept],
    }


def _column(column: Column, cells: Sequence[str]) -> Told:
    """How wide a column is against the others; 0: as wide as what is in it, which is short."""
    longest = max(len(cell) for cell in (column.label, *cells))
    width = min(48 if column.kind is Kind.WORDS else 30, longest)
    if column.is_number or longest <= _SHORT:
        width = 0
    return {"label": column.label, "number": column.is_number, "words": not column.is_number, "width": width}

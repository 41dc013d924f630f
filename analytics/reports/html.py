"""A report as one HTML file: no script, nothing fetched, light and dark, fit for paper and phone."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from analytics.reports import bar, charts, legible, summary, theme
from analytics.reports.audience import Kind
from analytics.reports.changed import changed
from analytics.reports.figures import Amount, Report
from analytics.reports.questions import WORKLOADS, tables
from analytics.reports.tables import Column, Table, shown
from analytics.reports.worth import worth_doing
from analytics.wonback import METHOD
from quartermaster.clock import to_datetime

if TYPE_CHECKING:
    from altair import LayerChart

_WIDE_PX, _NARROW_PX = 860, 330
_HERE = files("analytics.reports")


def render(report: Report) -> str:
    """The report as a complete HTML document. Every name in it is escaped, whatever it says."""
    page = _environment().get_template("report.html.j2")
    look = {"light": theme.css_variables("light"), "dark": theme.css_variables("dark")}
    look |= {"css": _text("blocks.css") + _text("report.css"), "font": _font()}
    safe = {name: Markup(text) for name, text in look.items()}  # noqa: S704 - our own files
    with charts.drawn_by_us():
        drawings = _drawings(report)
    return page.render(drawings=drawings, **safe, **_values(report))


def block(name: str, report: Report, *arguments: object) -> str:
    """One piece of the report as HTML for a page, by the name of its macro in templates/blocks.html.j2.

    Names are escaped; `style` dresses it.
    """
    pieces = _environment().get_template("blocks.html.j2").make_module(_values(report))
    return f'<div class="qm">{getattr(pieces, name)(*arguments)}</div>'


def notice(title: str, text: str, step: str = "") -> str:
    """What a page says when it has nothing to show, as a piece of HTML: why, and the next step."""
    return _environment().get_template("notice.html.j2").render(title=title, text=text, step=step)


def heading(title: str, facts: Sequence[str], badge: str = "", *, provisional: bool = False) -> str:
    """A page's title, what its numbers stand on, and in a badge the state they are in."""
    return _piece("heading", title, facts, badge, provisional)


def note(text: str) -> str:
    """A quiet line below a card's title: what is shown, in which unit."""
    return _piece("note", text)


def cards(figures: Sequence[summary.Card], footnote: str = "") -> str:
    """A row of figures, and what they rest on."""
    return _piece("cards", figures, footnote)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do: about what, what, what it saves in which unit, and the page that shows why."""

    about: str
    do: str
    saves: str
    unit: str
    href: str


def steps(rows: Sequence[Step]) -> str:
    """What is worth doing first, each with a link to its evidence."""
    return _piece("steps", rows)


def sentences(told: Sequence[str]) -> str:
    """Sentences as a list."""
    return _piece("sentences", told)


def legend(rows: Sequence[summary.LegendRow]) -> str:
    """A chart's legend, which wraps."""
    return _piece("legend", rows)


def table(rows: Table) -> str:
    """A table in words; on a telephone each row is a block. Without rows its own words say so."""
    return _piece("table", _in_words(rows))


def style(tone: theme.Tone) -> str:
    """The style sheet of `block`'s pieces, in one tone."""
    return f"<style>:root {{ {theme.css_variables(tone)} }}\n{_text('blocks.css')}</style>"


def badge(report: Report) -> str:
    """The state of the report's figures: `Complete week`, or until when the data goes."""
    if not report.provisional:
        return f"Complete {report.unit}"
    until = "" if report.known_until_ms is None else f" · data until {instant(report.known_until_ms)}"
    return f"Provisional{until}"


def instant(at_ms: int) -> str:
    """An instant as `30 November 2026, 12:00 UTC`."""
    moment = to_datetime(at_ms)
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


def _piece(name: str, *arguments: object) -> str:
    """A macro of templates/pieces.html.j2."""
    pieces = _environment().get_template("pieces.html.j2").module
    return f'<div class="qm">{getattr(pieces, name)(*arguments)}</div>'


@dataclass(frozen=True, slots=True)
class _Shown:
    """A table in words."""

    title: str
    note: str
    empty: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    total: Sequence[str] | None


def _values(report: Report) -> dict[str, object]:
    told = {table.key: _in_words(table) for table in tables(report, WORKLOADS)}
    owes = next((at for at, column in enumerate(told["teams"].columns) if column.label == "Owes"), -1)
    total = told["teams"].total
    return {
        "tables": told,
        "owed": [row[owes] for row in told["teams"].rows],
        "owed_in_all": total[owes] if total else "",
        "badge_words": badge(report),
        "tasks": worth_doing(report),
        "changed": changed(report),
        "report": report,
        "summary": summary,
        "won_back_method": METHOD,
        "states": theme.STATES,
        "state_of": theme.STATE,
        "workloads": report.by_workload[:WORKLOADS],
    }


def _in_words(table: Table) -> _Shown:
    told, total = shown(table)
    return _Shown(table.title, table.note, table.empty, table.columns, told, total)


def _drawings(report: Report) -> dict[str, tuple[Markup, Markup]]:
    """Each chart twice: for a page's width and for a telephone's."""
    hours, days = summary.split_hours(report), summary.day_bars(report)
    unit = report.currency or "GPU-hours"
    found = {
        "split": (
            _marked(bar.svg(hours, "light", _WIDE_PX)),
            _marked(bar.svg(hours, "light", _NARROW_PX)),
        ),
        "days": (
            _drawn(charts.cost_by_day(days, unit, "light", _WIDE_PX - 60)),
            _drawn(charts.cost_by_day(days, unit, "light", _NARROW_PX - 50, 190)),
        ),
    }
    if report.audience.kind is not Kind.TEAM:  # of one team the split bar says the same
        teams = summary.team_bars(report)
        found["teams"] = (
            _drawn(charts.team_bars(teams, "light", _WIDE_PX - 170)),
            _drawn(charts.team_bars(teams, "light", _NARROW_PX - 110, 90)),
        )
    return found


def _pms_hours(pms: int) -> str:
    return summary.hours(Amount(pms))


def _drawn(chart: "LayerChart") -> Markup:
    return _marked(charts.svg(chart))


def _marked(svg: str) -> Markup:
    return Markup(theme.with_variables(svg))  # noqa: S704 - drawn by us, its text escaped by the drawer


def _shown(value: object) -> object:
    """Our own markup as it is; a stranger's text without what does not show. Hard spaces stay."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return legible.sentence(value)
    return value


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "hours": summary.hours,
        "pms_hours": _pms_hours,
        "percent": summary.percent,
        "instant": instant,
        "price": summary.price,
    }
    return environment


@cache
def _text(name: str) -> str:
    return (_HERE / "templates" / name).read_text(encoding="utf-8")


@cache
def _font() -> str:
    return b64encode((_HERE / "fonts" / "inter.woff2").read_bytes()).decode()

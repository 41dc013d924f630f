"""The weekly report as one HTML file: no script, nothing fetched, light and dark, fit for paper and phones."""

from base64 import b64encode
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from analytics.reports import charts, summary, theme
from analytics.reports.figures import Amount, WeeklyReport
from quartermaster.clock import to_datetime

if TYPE_CHECKING:
    from altair import LayerChart

WORKLOADS = 25
_WIDE_PX, _NARROW_PX = 860, 330
_HERE = files("analytics.reports")


def render(report: WeeklyReport) -> str:
    """The report as a complete HTML document. Every name in it is escaped, whatever it says."""
    return (
        _environment()
        .get_template("weekly.html.j2")
        .render(
            report=report,
            states=theme.STATES,
            state_of=theme.STATE,
            drawings=_drawings(report),
            light=Markup(theme.css_variables("light")),  # noqa: S704
            dark=Markup(theme.css_variables("dark")),  # noqa: S704
            css=Markup(_text("report.css")),  # noqa: S704
            font=_font(),
            workloads=report.by_workload[:WORKLOADS],
            summary=summary,
        )
    )


def instant(at_ms: int) -> str:
    """An instant as `30 November 2026, 12:00 UTC`."""
    moment = to_datetime(at_ms)
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


def _drawings(report: WeeklyReport) -> dict[str, tuple[Markup, Markup]]:
    """Each chart twice: for a page's width and for a telephone's."""
    hours, days, teams = summary.split_hours(report), summary.day_bars(report), summary.team_bars(report)
    unit = report.currency or "GPU-hours"
    return {
        "split": (
            _drawn(charts.split_bar(hours, "light", _WIDE_PX)),
            _drawn(charts.split_bar(hours, "light", _NARROW_PX)),
        ),
        "days": (
            _drawn(charts.cost_by_day(days, unit, "light", _WIDE_PX - 60)),
            _drawn(charts.cost_by_day(days, unit, "light", _NARROW_PX - 50, 190)),
        ),
        "teams": (
            _drawn(charts.team_bars(teams, "light", _WIDE_PX - 170)),
            _drawn(charts.team_bars(teams, "light", _NARROW_PX - 110, 90)),
        ),
    }


def _pms_hours(pms: int) -> str:
    return summary.hours(Amount(pms))


def _drawn(chart: "LayerChart") -> Markup:
    return Markup(theme.with_variables(charts.svg(chart)))  # noqa: S704 - drawn by us, its text escaped by the drawer


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "hours": summary.hours,
        "pms_hours": _pms_hours,
        "percent": summary.percent,
        "instant": instant,
    }
    return environment


@cache
def _text(name: str) -> str:
    return (_HERE / "templates" / name).read_text(encoding="utf-8")


@cache
def _font() -> str:
    return b64encode((_HERE / "fonts" / "inter.woff2").read_bytes()).decode()

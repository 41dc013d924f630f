"""The charts: the split bar, cost by day, the teams' bars; by Altair for pages and as SVG for reports.

A chart has no title and no legend of its own: both stand outside, where they wrap and can be read aloud.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import polars as pl

from analytics.reports import bar, legible
from analytics.reports.theme import FONT, STATE, STATES, Tone, palette

if TYPE_CHECKING:
    import altair as alt

Width = int | Literal["container"]
MOST_ROWS = 5_000
MANY_DAYS = 10  # above them a day has neither a date nor a total of its own
_ASSUMED_WIDTH_PX = 900
_HEADROOM_PX = 16  # what stands above the highest bar


@dataclass(frozen=True)
class DayBar:
    """What one series cost on one day: `token` is its colour, `order` its place in the stack from below."""

    day: str
    series: str
    token: str
    order: int
    amount: float
    text: str


@dataclass(frozen=True)
class TeamBar:
    """What a team held in one state, and its guarantee (None: it has none), both as GPUs on average."""

    team: str
    state: str
    gpus: float
    guaranteed_gpus: float | None
    text: str


def split_bar(gpu_hours: Mapping[str, float], tone: Tone, width: Width = "container") -> "alt.LayerChart":
    """One bar over all capacity, cut by state in its fixed order; hatched where nobody could measure.

    `gpu_hours` is by the state's name; states that are missing count as 0.
    """
    import altair as alt

    colours = palette(tone)
    pixels = width if isinstance(width, int) else _ASSUMED_WIDTH_PX
    segments = bar.segments(gpu_hours, pixels)
    order = [state.name for state in STATES]
    x = alt.X("from:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=None)
    base = alt.Chart(data_of(segments), width=width, height=bar.HEIGHT_PX)
    bars = base.mark_bar(strokeWidth=1.5).encode(
        x=x,
        x2="to:Q",
        stroke=alt.Stroke("state:N", scale=edges_of(order, colours), legend=None),
        y=alt.YValue(0),
        y2=alt.Y2Value(bar.HEIGHT_PX),
        color=alt.Color("state:N", scale=scale_of(order, [colours[name] for name in order]), legend=None),
        tooltip=[
            alt.Tooltip("label:N", title="State"),
            alt.Tooltip("share:N", title="Share"),
            alt.Tooltip("hours:N", title="GPU-hours"),
        ],
    )
    lines = bar.hatches(segments, pixels)
    whole = alt.Scale(domain=[0, 1], nice=False)
    tall = alt.Scale(domain=[0, 1], nice=False, range=[bar.HEIGHT_PX, 0])
    hatch = (
        alt.Chart(data_of(lines))
        .mark_rule(strokeWidth=1.2, opacity=0.5, color=colours["text"])
        .encode(
            x=alt.X("x:Q", scale=whole, axis=None),
            x2="x2:Q",
            y=alt.Y("y:Q", scale=tall, axis=None),
            y2="y2:Q",
        )
    )
    words = (
        base.transform_filter(alt.datum.roomy)
        .mark_text(fontSize=13, fontWeight=600)
        .encode(
            x=alt.X("middle:Q"),
            y=alt.YValue(bar.HEIGHT_PX / 2),
            text="share:N",
            color=alt.Color(
                "state:N", scale=scale_of(order, [colours[f"on_{name}"] for name in order]), legend=None
            ),
        )
    )
    layers = [bars, hatch, words] if lines else [bars, words]
    return layered(layers, colours)


def cost_by_day(
    costs: Sequence[DayBar], unit: str, tone: Tone, width: Width = "container", height: int = 205
) -> "alt.LayerChart":
    """A stacked bar a day, one series above the other in order; of up to MANY_DAYS with the total above each bar."""
    import altair as alt

    colours = palette(tone)
    tokens = sorted({cost.token for cost in costs})
    days = sorted({cost.day for cost in costs})
    many = len(days) > MANY_DAYS
    x = alt.X(
        "day:N",
        sort=days,
        axis=axis_of(labelAngle=0, labelExpr=_MONDAY_LABEL if many else _DAY_LABEL, ticks=False, domain=True),
        scale=alt.Scale(paddingInner=0.28),
    )
    y = alt.Y("sum(amount):Q", axis=axis_of(tickCount=4, format="~s", title=unit, grid=True), stack="zero")
    base = alt.Chart(data_of([vars(cost) for cost in costs]), width=width, height=height)
    bars = base.mark_bar(strokeWidth=0.8).encode(
        x=x,
        y=y,
        stroke=alt.Stroke("token:N", scale=edges_of(tokens, colours), legend=None),
        color=alt.Color("token:N", scale=scale_of(tokens, [colours[token] for token in tokens]), legend=None),
        order=alt.Order("order:Q"),
        tooltip=[
            alt.Tooltip("day:N", title="Day"),
            alt.Tooltip("series:N", title="Whose"),
            alt.Tooltip("text:N", title="Amount"),
        ],
    )
    totals = base.mark_text(dy=-7, fontSize=11, fontWeight=600, color=colours["text"]).encode(
        x=x, y=alt.Y("sum(amount):Q"), text=alt.Text("sum(amount):Q", format=".3~s")
    )
    return layered([bars] if many else [bars, totals], colours, _HEADROOM_PX)


def team_bars(
    teams: Sequence[TeamBar], tone: Tone, width: Width = "container", label_px: int = 150, axis_px: int = 0
) -> "alt.LayerChart":
    """A bar a team: GPUs held on average, cut by state, with a mark where the team's guarantee ends.

    `axis_px` is what the axis takes, for a host that counts it into the height (Streamlit does).
    """
    import altair as alt

    colours = palette(tone)
    names = list(dict.fromkeys(team.team for team in teams))
    held = [state.name for state in STATES[:3]]
    position = {name: place for place, name in enumerate(held)}
    rows = [vars(team) | {"order": position[team.state], "label": STATE[team.state].label} for team in teams]
    y = alt.Y(
        "team:N",
        sort=names,
        axis=axis_of(labelLimit=label_px, ticks=False, labelPadding=8, labelFontSize=12),
        scale=alt.Scale(paddingInner=0.34),
    )
    height = max(1, len(names)) * 30 + axis_px
    bars = (
        alt.Chart(data_of(rows), width=width, height=height)
        .mark_bar(stroke=colours["background"], strokeWidth=0.8)
        .encode(
            y=y,
            x=alt.X(
                "sum(gpus):Q",
                axis=axis_of(tickCount=5, grid=True, title="GPUs on average", domain=False),
                stack="zero",
            ),
            color=alt.Color("state:N", scale=scale_of(held, [colours[name] for name in held]), legend=None),
            order=alt.Order("order:Q"),
            tooltip=[
                alt.Tooltip("team:N", title="Team"),
                alt.Tooltip("label:N", title="State"),
                alt.Tooltip("text:N", title="Held"),
            ],
        )
    )
    promised = {team.team: team.guaranteed_gpus for team in teams if team.guaranteed_gpus}
    marks = (
        alt.Chart(data_of([{"team": name, "guaranteed": gpus} for name, gpus in promised.items()]))
        .mark_tick(thickness=3, size=23, opacity=1, color=colours["text"])
        .encode(
            y=y,
            x="guaranteed:Q",
            tooltip=[
                alt.Tooltip("team:N", title="Team"),
                alt.Tooltip("guaranteed:Q", title="Guaranteed GPUs", format=",.1f"),
            ],
        )
    )
    layers = [bars, marks] if promised else [bars]
    return layered(layers, colours)


@contextmanager
def drawn_by_us() -> Generator[None]:
    """While many charts are made: Altair does not check each part of them against its schema, which takes longer than
    the drawing. What could be wrong is ours, and the tests draw it."""
    from altair.utils import schemapi

    with schemapi.debug_mode(False):
        yield


def svg(chart: "alt.LayerChart") -> str:
    """The chart as one SVG element, without script, network or browser."""
    import vl_convert

    return vl_convert.vegalite_to_svg(cast(Any, _shown(cast(Any, chart).to_dict(validate=False))))


def _shown(value: object) -> object:
    """All of a chart without signs that do not show (on a control character the drawer ends the process), and without
    names that have no end."""
    if isinstance(value, str):
        return legible.sentence(value)
    if isinstance(value, dict):
        return {name: _shown(entry) for name, entry in cast(dict[str, object], value).items()}
    if isinstance(value, list):
        return [_shown(entry) for entry in cast(list[object], value)]
    return value


_DAY_LABEL = "[timeFormat(toDate(datum.value), '%a'), timeFormat(toDate(datum.value), '%-d %b')]"
_MONDAY_LABEL = "day(toDate(datum.value)) == 1 ? timeFormat(toDate(datum.value), '%-d %b') : ''"


def data_of(rows: Sequence[Mapping[str, object]]) -> "alt.Data":
    """Rows inline in the chart. Raises ValueError above MOST_ROWS: aggregate in SQL first."""
    import altair as alt

    if len(rows) > MOST_ROWS:
        raise ValueError(f"{len(rows)} rows are too many for a chart")
    return alt.Data(values=pl.DataFrame(rows, infer_schema_length=None).to_dicts())


def scale_of(domain: list[str], colours: list[str]) -> "alt.Scale":
    """The colours of these values, one each, in order."""
    import altair as alt

    return alt.Scale(domain=domain, range=colours)


def edges_of(tokens: list[str], colours: Mapping[str, str]) -> "alt.Scale":
    """Each piece is set off by the ground's colour; one that is nearly as light has a line around it."""
    return scale_of(tokens, [colours["outline" if name == "unobserved" else "background"] for name in tokens])


def axis_of(
    *,
    title: str | None = None,
    grid: bool = False,
    domain: bool = False,
    **options: Any,  # noqa: ANN401
) -> "alt.Axis":
    """A quiet axis: without title, grid and line unless asked for."""
    import altair as alt

    return alt.Axis(title=title, grid=grid, domain=domain, **options)


def layered(
    layers: "Sequence[alt.Chart]", colours: Mapping[str, str], headroom_px: int = 0
) -> "alt.LayerChart":
    """The layers as one chart in the house's dress; each layer colours by its own scale."""
    import altair as alt

    axis = {
        "labelColor": "muted",
        "titleColor": "muted",
        "gridColor": "line",
        "domainColor": "outline",
        "tickColor": "line",
    }
    dress = {
        "font": FONT,
        "background": "transparent",
        "padding": {"left": 0, "right": 0, "bottom": 0, "top": headroom_px},
        "view": {"stroke": None},
        "axis": {name: colours[token] for name, token in axis.items()}
        | {"titleFontWeight": 400, "titleFontSize": 11, "labelFontSize": 11},
    }
    return alt.LayerChart(
        layer=layers, config=dress, resolve={"scale": {"color": "independent", "stroke": "independent"}}
    )

"""A team drawn: what it held hour by hour against its guarantee, and its budget burning down."""

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from analytics.money.budgets import Burn
from analytics.reports.charts import Width, axis_of, data_of, layered, scale_of
from analytics.reports.theme import STATE, STATES, Tone, palette
from analytics.views.instants import minute
from analytics.views.team import TeamHour
from quartermaster.clock import HOUR_MS
from quartermaster.parts import GPU_PARTS

if TYPE_CHECKING:
    import altair as alt

_HELD = tuple(state.name for state in STATES[:3])


def use(
    hours: Sequence[TeamHour], time_zone: str, tone: Tone, width: Width = "container", height: int = 240
) -> "alt.LayerChart":
    """GPUs held in each hour, by state, as a stack; and the guarantee as a line in steps."""
    import altair as alt

    colours = palette(tone)
    held: list[dict[str, object]] = []
    promised: list[dict[str, object]] = []
    for hour in hours:
        at = minute(hour.start_ms, time_zone)
        sizes = (hour.computing_pms, hour.idle_pms, hour.unknown_pms)
        for order, (name, pms) in enumerate(zip(_HELD, sizes, strict=True)):
            held.append(
                {
                    "at": hour.start_ms,
                    "until": hour.start_ms + HOUR_MS,
                    "hour": at,
                    "state": name,
                    "label": STATE[name].label,
                    "order": order,
                    "low": _gpus(sum(sizes[:order])),
                    "high": _gpus(sum(sizes[: order + 1])),
                    "gpus": _gpus(pms),
                }
            )
        promised.append({"at": hour.start_ms, "hour": at, "guaranteed": _gpus(hour.guaranteed_pms)})
    days = sorted(
        {minute(hour.start_ms, time_zone).split(",")[0]: hour.start_ms for hour in reversed(hours)}.values()
    )
    named = {str(start): minute(start, time_zone).rsplit(" ", 2)[0] for start in days}
    x = alt.X(
        "at:Q",
        scale=alt.Scale(domain=[hours[0].start_ms, hours[-1].start_ms + HOUR_MS], nice=False),
        axis=axis_of(values=days, labelExpr=f"{named}[datum.value]", domain=True, labelAlign="left"),
    )
    bars = (
        alt.Chart(data_of([row for row in held if row["gpus"]]), width=width, height=height)
        .mark_rect()
        .encode(
            x=x,
            x2="until:Q",
            y=alt.Y("low:Q", axis=axis_of(title="GPUs", grid=True, tickCount=5)),
            y2="high:Q",
            color=alt.Color(
                "state:N", scale=scale_of(list(_HELD), [colours[name] for name in _HELD]), legend=None
            ),
            tooltip=[
                alt.Tooltip("hour:N", title="Hour from"),
                alt.Tooltip("label:N", title="State"),
                alt.Tooltip("gpus:Q", title="GPUs", format=",.1f"),
            ],
        )
    )
    line = (
        alt.Chart(data_of(promised), width=width, height=height)
        .mark_line(interpolate="step-after", strokeWidth=2.2, color=colours["text"])
        .encode(x=x, y="guaranteed:Q")
    )
    layers = [bars, line] if any(hour.guaranteed_pms for hour in hours) else [bars]
    return layered(layers, colours)


def burn(found: Burn, tone: Tone, width: Width = "container", height: int = 220) -> "alt.LayerChart":
    """What is left of the budget day by day, then where it goes by the forecast, with its range where one is known."""
    import altair as alt

    colours = palette(tone)
    left = found.budget
    spent: list[dict[str, object]] = [{"day": found.period.start_day, "left": float(left)}]
    for day, amount in found.daily:
        left -= amount
        spent.append({"day": _after(day), "left": float(left)})
    today, last = str(spent[-1]["day"]), found.period.end_day
    ahead: list[dict[str, object]] = [
        _ahead(today, left, left, left),
        _ahead(
            last,
            found.budget - found.end,
            found.budget - (found.end if found.high is None else found.high),
            found.budget - (found.end if found.low is None else found.low),
        ),
    ]
    days = [found.period.start_day, *(day for day, _ in found.daily)]
    x = alt.X(
        "day:T",
        scale=alt.Scale(domain=[days[0], last]),
        axis=axis_of(format="%-d %b", tickCount=5, domain=True),
    )
    y = alt.Y("left:Q", axis=axis_of(title=f"{found.currency} left", grid=True, format="~s", tickCount=5))
    base = alt.Chart(data_of(spent), width=width, height=height)
    done = base.mark_line(strokeWidth=2.4, color=colours["computing"]).encode(
        x=x,
        y=y,
        tooltip=[alt.Tooltip("day:T", title="Day"), alt.Tooltip("left:Q", title="Left", format=",.0f")],
    )
    zero = (
        alt.Chart(data_of([{"nothing": 0}]))
        .mark_rule(color=colours["warning"], strokeWidth=1.4)
        .encode(y="nothing:Q")
    )
    layers = [zero, done]
    if today < last:
        coming = alt.Chart(data_of(ahead), width=width, height=height)
        band = coming.mark_area(opacity=0.22, color=colours["computing"]).encode(
            x=x, y=alt.Y("low:Q"), y2="high:Q"
        )
        line = coming.mark_line(strokeWidth=2, strokeDash=[5, 4], color=colours["computing"]).encode(
            x=x, y="left:Q"
        )
        layers = [zero, band, line, done]
    return layered(layers, colours)


def _ahead(day: str, left: Decimal, low: Decimal, high: Decimal) -> dict[str, object]:
    return {"day": day, "left": float(left), "low": float(low), "high": float(high)}


def _after(day: str) -> str:
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()


def _gpus(pms: int) -> float:
    return pms / HOUR_MS / GPU_PARTS

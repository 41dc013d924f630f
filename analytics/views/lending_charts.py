"""Lending drawn: the flow from lenders to borrowers, and what each team gave or took week by week."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from analytics.reports.charts import Width, axis_of, data_of, layered, scale_of
from analytics.reports.figures import Amount
from analytics.reports.summary import LegendRow, hours
from analytics.reports.theme import SERIES, Tone, palette
from analytics.views.lending import Lending, Pair
from quartermaster.clock import HOUR_MS
from quartermaster.parts import GPU_PARTS

if TYPE_CHECKING:
    import altair as alt

REST = "Other teams"
_MOST_PAIRS = 40
_STEPS = 16  # points along a band; more are not seen
_GAP = 0.045  # between two teams on a side, of the height
_HOUR_PMS = GPU_PARTS * HOUR_MS


def tokens(names: Iterable[str]) -> dict[str, str]:
    """A colour a team, by its place in the list; from the sixth on they share one."""
    return {name: SERIES[place] if place < len(SERIES) else "series_rest" for place, name in enumerate(names)}


def flow(
    pairs: Sequence[Pair], teams: Sequence[str], tone: Tone, width: Width = "container", height: int = 360
) -> "alt.LayerChart":
    """Bands from lenders, on the left, to borrowers, as thick as what was lent; `teams` have colours in this order."""
    import altair as alt

    colours, shown = palette(tone), pairs[:_MOST_PAIRS]
    colour_of = tokens(teams)
    left, right = _stacked(shown, lends=True), _stacked(shown, lends=False)
    points: list[dict[str, object]] = []
    for number, pair in enumerate(shown):
        token = colour_of[pair.lender]
        about: dict[str, object] = {"token": token, "lender": pair.lender, "borrower": pair.borrower}
        about |= {"band": number, "text": f"{hours(Amount(pair.pms))} GPU-hours"}
        points += _band(left[number], right[number], about)
    found = sorted({str(point["token"]) for point in points})
    whole = alt.Scale(domain=[0, 1], nice=False)
    across = alt.Scale(domain=[-0.36, 1.36], nice=False)
    bands = (
        alt.Chart(data_of(points), width=width, height=height)
        .mark_area(opacity=0.72)
        .encode(
            x=alt.X("x:Q", scale=across, axis=None),
            y=alt.Y("low:Q", scale=whole, axis=None),
            y2="high:Q",
            detail="band:N",
            color=alt.Color(
                "token:N", scale=scale_of(found, [colours[token] for token in found]), legend=None
            ),
            tooltip=[
                alt.Tooltip("lender:N", title="Lender"),
                alt.Tooltip("borrower:N", title="Borrower"),
                alt.Tooltip("text:N", title="Lent"),
            ],
        )
    )
    names = [
        alt.Chart(data_of(_names(shown, lends=lends)))
        .mark_text(
            align="right" if lends else "left", dx=-8 if lends else 8, fontSize=12, color=colours["text"]
        )
        .encode(x=alt.X("x:Q", scale=across), y=alt.Y("y:Q", scale=whole), text="name:N")
        for lends in (True, False)
    ]
    return layered([bands, *names], colours)


def _stacked(pairs: Sequence[Pair], *, lends: bool) -> list[tuple[float, float]]:
    """Where each band begins or ends on its side, from below, in [0, 1]: teams one above the other, with gaps."""
    total = sum(pair.pms for pair in pairs) or 1
    sides = list(dict.fromkeys(pair.lender if lends else pair.borrower for pair in pairs))
    room = 1 - _GAP * (len(sides) - 1)
    at = 1.0
    found: dict[int, tuple[float, float]] = {}
    for side in sides:
        for number, pair in enumerate(pairs):
            if side == (pair.lender if lends else pair.borrower):
                found[number] = (at - pair.pms / total * room, at)
                at = found[number][0]
        at -= _GAP
    return [found[number] for number in range(len(pairs))]


def _band(
    left: tuple[float, float], right: tuple[float, float], about: dict[str, object]
) -> list[dict[str, object]]:
    points: list[dict[str, object]] = []
    for step in range(_STEPS + 1):
        x = step / _STEPS
        bend = x * x * (3 - 2 * x)
        low, high = (start + (end - start) * bend for start, end in zip(left, right, strict=True))
        points.append(about | {"x": x, "low": low, "high": high})
    return points


def _names(pairs: Sequence[Pair], *, lends: bool) -> list[dict[str, object]]:
    spans: dict[str, list[float]] = {}
    for pair, span in zip(pairs, _stacked(pairs, lends=lends), strict=True):
        spans.setdefault(pair.lender if lends else pair.borrower, []).extend(span)
    return [
        {
            "name": name if len(name) <= 18 else f"{name[:17]}…",
            "x": 0 if lends else 1,
            "y": (min(of) + max(of)) / 2,
        }
        for name, of in spans.items()
    ]


def balances(lending: Lending, tone: Tone, width: Width = "container", height: int = 230) -> "alt.LayerChart":
    """A stack a week: above the line what teams lent more than they borrowed, below it what they borrowed more."""
    import altair as alt

    colours, colour_of = palette(tone), tokens(lending.teams)
    weeks = [f"W{week[-2:]}" for week in lending.weeks]
    rows = [
        {
            "week": f"W{each.week[-2:]}",
            "team": each.team,
            "token": colour_of[each.team],
            "gpu_hours": each.given_pms / _HOUR_PMS,
            "text": f"{hours(Amount(abs(each.given_pms)))} GPU-hours {'given' if each.given_pms > 0 else 'taken'}",
        }
        for each in lending.balances
        if each.given_pms
    ]
    tokens_used = sorted({row["token"] for row in rows if isinstance(row["token"], str)})
    bars = (
        alt.Chart(data_of(rows), width=width, height=height)
        .mark_bar(stroke=colours["background"], strokeWidth=0.8)
        .encode(
            x=alt.X(
                "week:N",
                sort=weeks,
                axis=axis_of(labelAngle=0, ticks=False),
                scale=alt.Scale(domain=weeks, paddingInner=0.4),
            ),
            y=alt.Y("gpu_hours:Q", axis=axis_of(title="GPU-hours", grid=True, tickCount=5, format="~s")),
            color=alt.Color(
                "token:N", scale=scale_of(tokens_used, [colours[token] for token in tokens_used]), legend=None
            ),
            detail="team:N",
            tooltip=[
                alt.Tooltip("week:N", title="Week"),
                alt.Tooltip("team:N", title="Team"),
                alt.Tooltip("text:N", title="In balance"),
            ],
        )
    )
    zero = (
        alt.Chart(data_of([{"zero": 0}]))
        .mark_rule(color=colours["outline"], strokeWidth=1)
        .encode(y="zero:Q")
    )
    return layered([bars, zero], colours)


def legend(lending: Lending) -> list[LegendRow]:
    """Each team's colour and what it gave (or took) over all weeks."""
    sums: dict[str, int] = {}
    for each in lending.balances:
        sums[each.team] = sums.get(each.team, 0) + each.given_pms
    colour_of = {name: token for name, token in tokens(lending.teams).items() if sums.get(name)}
    rows = [
        LegendRow(token, name, _signed(sums[name])) for name, token in colour_of.items() if token in SERIES
    ]
    rest = [name for name, token in colour_of.items() if token not in SERIES]
    if rest:
        rows.append(LegendRow("series_rest", REST, _signed(sum(sums[name] for name in rest))))
    return rows


def _signed(pms: int) -> str:
    return f"{'+' if pms > 0 else '−' if pms < 0 else ''}{hours(Amount(abs(pms)))} GPU-h"

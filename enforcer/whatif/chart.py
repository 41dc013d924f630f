"""The chart of a comparison: each team's GPU-hours and waiting under both policies, as SVG."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from analytics.reports.charts import svg
from analytics.reports.theme import FONT, palette
from quartermaster.text import visible

if TYPE_CHECKING:
    import altair as alt

_WIDTH_PX = 330
_PANELS = (
    ("held_gpu_hours", "GPU-hours held"),
    ("waited_mean_hours", "Hours waited, on average"),
    ("lost_gpu_hours", "GPU-hours of work lost"),
)


def draw(compared: Mapping[str, Any]) -> str:
    """One picture: three panels, a pair of bars a team in each, above them all what is compared."""
    import altair as alt

    colours = palette("light")
    names = [each["policy"] for each in compared["policies"]]
    panels = [_panel(compared["policies"], figure, title, names, colours) for figure, title in _PANELS]
    whole = alt.hconcat(*panels, spacing=28).properties(
        title=visible(f"What if: {compared['cluster']}, {compared['from'][:10]} to {compared['to'][:10]}"),
        config={
            "font": FONT,
            "background": colours["background"],
            "view": {"stroke": None},
            "axis": {
                "labelColor": colours["muted"],
                "titleColor": colours["muted"],
                "gridColor": colours["line"],
            },
            "title": {"color": colours["text"], "anchor": "start"},
            "legend": {"labelColor": colours["text"], "titleColor": colours["muted"]},
        },
    )
    return svg(cast(Any, whole))


def _panel(
    policies: Sequence[Mapping[str, Any]],
    figure: str,
    title: str,
    names: list[str],
    colours: Mapping[str, str],
) -> "alt.Chart":
    import altair as alt

    rows = [
        {"team": visible(team["team"]), "policy": each["policy"], "amount": float(team[figure])}
        for each in policies
        for team in each["teams"]
    ]
    scale = alt.Scale(domain=names, range=[colours["series_rest"], colours["accent"]])
    return (
        alt.Chart(alt.Data(values=rows), width=_WIDTH_PX, height=alt.Step(11))
        .mark_bar()
        .encode(
            y=alt.Y("team:N", title=None, axis=alt.Axis(ticks=False, labelLimit=150)),
            yOffset=alt.YOffset("policy:N", sort=names),
            x=alt.X("amount:Q", title=title, axis=alt.Axis(tickCount=4, grid=True, domain=False)),
            color=alt.Color("policy:N", scale=scale, sort=names, legend=alt.Legend(title="policy")),
        )
    )

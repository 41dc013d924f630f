"""The charts: what is drawn, from which figures, with no text of a stranger obeyed."""

import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import altair as alt
import pytest

from analytics.reports import bar, charts, summary
from analytics.reports.charts import DayBar, TeamBar
from analytics.reports.figures import Report
from analytics.reports.theme import Tone, palette

HOSTILE = '<script>alert(1)</script>"]; datum.x'
HOURS = {
    "computing": 50.0,
    "idle": 20.0,
    "unknown": 10.0,
    "unallocated": 10.0,
    "unavailable": 5.0,
    "unobserved": 5.0,
}


def values(chart: alt.LayerChart, layer: int = 0) -> list[dict[str, Any]]:
    return chart.to_dict()["layer"][layer]["data"]["values"]


def test_the_split_bar_is_cut_in_the_states_order_and_ends_at_one() -> None:
    segments = values(charts.split_bar(HOURS, "light", 700))
    assert [segment["state"] for segment in segments] == list(HOURS)
    assert segments[0]["from"] == 0
    assert segments[-1]["to"] == pytest.approx(1)
    assert segments[0]["share"] == "50.0 %"
    assert all(a["to"] == b["from"] for a, b in pairwise(segments))


def test_hatches_stay_within_their_segments() -> None:
    chart = charts.split_bar(HOURS, "light", 700)
    spans = [
        (s["from"], s["to"]) for s in values(chart) if s["state"] in {"unknown", "unavailable", "unobserved"}
    ]
    lines = values(chart, 1)
    assert len(lines) > 10
    for line in lines:
        low, high = sorted((line["x"], line["x2"]))
        assert any(start - 1e-9 <= low and high <= end + 1e-9 for start, end in spans)
        assert 0 <= line["y"] < line["y2"] <= 1


@pytest.mark.parametrize("hours", [{}, {"idle": 0.0}, {"computing": 3.0}])
def test_a_split_bar_of_little_is_drawn(hours: dict[str, float]) -> None:
    assert charts.svg(charts.split_bar(hours, "dark", 300)).startswith("<svg")


def test_a_label_stands_only_where_there_is_room() -> None:
    labelled = [s["state"] for s in values(charts.split_bar(HOURS, "light", 330)) if s["roomy"]]
    assert labelled == ["computing", "idle"]


@pytest.mark.parametrize("sign", ["\0", "\x07", "\x1b", "\x9b", "\u202e", "\uffff"], ids=ascii)
def test_signs_that_do_not_show_are_drawn_as_one_that_does(sign: str) -> None:
    teams = [TeamBar(f"vi{sign}sion", "idle", 3.0, 2.0, "3.0 GPUs")]
    drawn = charts.svg(charts.team_bars(teams, "light", 400))
    assert "vi\N{REPLACEMENT CHARACTER}sion" in drawn
    assert sign not in drawn


def test_hostile_names_are_text() -> None:
    days = [DayBar("2026-11-23", HOSTILE, "series_1", 0, 5.0, "5 EUR")]
    teams = [TeamBar(HOSTILE, "idle", 3.0, 2.0, "3.0 GPUs")]
    for chart in (charts.cost_by_day(days, HOSTILE, "light", 400), charts.team_bars(teams, "light", 400)):
        drawn = charts.svg(chart)
        assert "<script" not in drawn
        assert not re.search(r"""(href|src)\s*=""", drawn)
        assert "alert" not in "".join(
            re.findall(r'"(?:calculate|labelExpr|filter|expr)": "[^"]*"', chart.to_json())
        )


def test_more_rows_than_a_chart_can_show_are_refused() -> None:
    days = [DayBar("2026-11-23", str(n), "series_1", n, 1.0, "1") for n in range(charts.MOST_ROWS + 1)]
    with pytest.raises(ValueError, match="5001 rows"):
        charts.cost_by_day(days, "EUR", "light")


def test_a_week_s_charts_are_small_and_drawn_without_script(a_week: Report) -> None:
    tones: tuple[Tone, ...] = ("light", "dark")
    for tone in tones:
        drawings = [
            charts.split_bar(summary.split_hours(a_week), tone, 800),
            charts.cost_by_day(summary.day_bars(a_week), "EUR", tone, 800),
            charts.team_bars(summary.team_bars(a_week), tone, 800),
        ]
        for drawing in drawings:
            drawn = charts.svg(drawing)
            assert len(drawn) < 60_000
            assert "<script" not in drawn


def test_the_smaller_teams_are_one_series_and_nothing_is_lost(a_week: Report) -> None:
    bars = summary.day_bars(a_week)
    assert {bar.series for bar in bars if bar.token == "series_rest"} == {summary.REST}
    assert sum(bar.amount for bar in bars) == pytest.approx(float(sum(row.cost for row in a_week.by_day)))
    assert {bar.series for bar in bars} == {row.name for row in summary.day_legend(a_week)}


@pytest.mark.parametrize("hours", [HOURS, {}])
def test_a_reports_bar_is_that_of_the_pages(hours: dict[str, float]) -> None:
    drawn = ElementTree.fromstring(bar.svg(hours, "light", 700))  # noqa: S314 - ours
    told = values(charts.split_bar(hours, "light", 700)) if hours else []
    there = drawn.findall("{*}rect")
    assert [each.get("fill") for each in there] == [palette("light")[each["state"]] for each in told]
    assert [float(each.get("x", "")) for each in there] == [round(700 * each["from"], 2) for each in told]
    assert sum(float(each.get("width", "")) for each in there) == pytest.approx(700 if told else 0, abs=0.03)
    assert [each.text for each in drawn.findall("{*}text")] == [
        each["share"] for each in told if each["roomy"]
    ]
    assert len(drawn.findall("{*}path")) == (len(hours) == len(HOURS))

"""The split bar: all capacity cut by state, hatched where nobody could measure; its geometry, and as SVG by itself.

A report has it twice, and a drawer of charts takes half of the report's time for so little. Pages draw it with Altair
(`charts.split_bar`), by the same geometry.
"""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from analytics.reports.theme import FONT, STATE, STATES, Tone, palette

HEIGHT_PX = 44
_WORDS_PX = 58  # what "12.3 %" takes
_BASELINE_PX = 4.5  # of text of 13 px below the bar's middle
_MARGIN_PX = 1
Segment = dict[str, Any]


def svg(gpu_hours: Mapping[str, float], tone: Tone, width_px: int) -> str:
    """The bar as one SVG element, `width_px` wide. `gpu_hours` is by the state's name; what is missing counts as 0."""
    colours, cut = palette(tone), segments(gpu_hours, width_px)
    wide, tall = width_px + 2 * _MARGIN_PX, HEIGHT_PX + 2 * _MARGIN_PX
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{tall}" '
        f'viewBox="{-_MARGIN_PX} {-_MARGIN_PX} {wide} {tall}" font-family="{escape(FONT)}">'
    ]
    for each in cut:
        edge = colours["outline" if each["state"] == "unobserved" else "background"]
        left, width = each["from"] * width_px, (each["to"] - each["from"]) * width_px
        drawn.append(
            f'<rect x="{left:.2f}" y="0" width="{width:.2f}" height="{HEIGHT_PX}" fill="{colours[each["state"]]}" '
            f'stroke="{edge}" stroke-width="1.5"/>'
        )
    lines = "".join(
        f"M{line['x'] * width_px:.2f},{(1 - line['y']) * HEIGHT_PX:.2f}"
        f"L{line['x2'] * width_px:.2f},{(1 - line['y2']) * HEIGHT_PX:.2f}"
        for line in hatches(cut, width_px)
    )
    if lines:
        drawn.append(f'<path d="{lines}" stroke="{colours["text"]}" stroke-width="1.2" opacity="0.5"/>')
    drawn += [
        f'<text x="{each["middle"] * width_px:.2f}" y="{HEIGHT_PX / 2 + _BASELINE_PX}" text-anchor="middle" '
        f'font-size="13" font-weight="600" fill="{colours["on_" + each["state"]]}">{each["share"]}</text>'
        for each in cut
        if each["roomy"]
    ]
    return "".join((*drawn, "</svg>"))


def segments(gpu_hours: Mapping[str, float], width_px: int) -> list[Segment]:
    """The bar's segments in the states' order, as shares of its width; `roomy`: its share fits into it as text."""
    total = sum(gpu_hours.get(state.name, 0.0) for state in STATES)
    found: list[Segment] = []
    start = 0.0
    for state in STATES:
        hours = gpu_hours.get(state.name, 0.0)
        if hours <= 0 or total <= 0:
            continue
        end = start + hours / total
        share = f"{100 * hours / total:.1f} %"
        found.append(
            {
                "state": state.name,
                "label": state.label,
                "from": start,
                "to": end,
                "middle": (start + end) / 2,
                "share": share,
                "hours": f"{hours:,.0f}",
                "roomy": (end - start) * width_px >= _WORDS_PX,
            }
        )
        start = end
    return found


def hatches(segments: Iterable[Segment], width_px: int) -> list[dict[str, float]]:
    """Line pieces, in shares of the bar's width and height, clipped to their segment."""
    lean, step = HEIGHT_PX / width_px, 9 / width_px
    lines: list[dict[str, float]] = []
    for segment in segments:
        hatch, start, end = STATE[segment["state"]].hatch, segment["from"], segment["to"]
        slope = {"rising": lean, "falling": -lean, "upright": 0.0}.get(hatch)
        if slope is None:
            continue
        count = int((end - start + lean) / step) + 1
        for place in range(count):
            foot = (start - lean if slope > 0 else start) + (place + 0.5) * step
            low, high = _clip(foot, slope, start, end)
            if low < high:
                lines.append({"x": foot + slope * low, "x2": foot + slope * high, "y": low, "y2": high})
    return lines


def _clip(foot: float, slope: float, start: float, end: float) -> tuple[float, float]:
    """The heights in [0, 1] between which foot + slope · height is in [start, end]; (1, 0) for nowhere."""
    if not slope:
        return (0.0, 1.0) if start <= foot <= end else (1.0, 0.0)
    first, second = sorted(((start - foot) / slope, (end - foot) / slope))
    return max(0.0, first), min(1.0, second)

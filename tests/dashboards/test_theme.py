"""The palette, measured: apart for every kind of eye, readable on every ground, the same everywhere."""

import itertools
import re
import tomllib
from importlib.resources import files

import pytest

from analytics.reports import theme
from analytics.reports.theme import Tone

# Machado, Oliveira & Fernandes (2009), severity 1.0, on linear RGB
SIGHT = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.01182, 0.04294, 0.968881),
    ),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.3039),
    ),
}
TONES: tuple[Tone, ...] = ("light", "dark")
STATES = [state.name for state in theme.STATES]


def linear(colour: str) -> list[float]:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def lab(colour: str, sight: str) -> tuple[float, float, float]:
    r, g, b = (
        min(1, max(0, sum(m * c for m, c in zip(row, linear(colour), strict=True)))) for row in SIGHT[sight]
    )
    white = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047, 0.2126 * r + 0.7152 * g + 0.0722 * b
    xyz = (*white, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883)
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(first: str, second: str, sight: str) -> float:
    """The colour difference ΔE (CIE 1976)."""
    return sum((a - b) ** 2 for a, b in zip(lab(first, sight), lab(second, sight), strict=True)) ** 0.5


def contrast(first: str, second: str) -> float:
    """The contrast ratio of WCAG 2.2."""
    weights = (0.2126, 0.7152, 0.0722)
    low, high = sorted(
        sum(w * c for w, c in zip(weights, linear(colour), strict=True)) for colour in (first, second)
    )
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("tone", TONES)
@pytest.mark.parametrize("sight", SIGHT)
def test_states_are_apart_for_every_eye(tone: Tone, sight: str) -> None:
    colours = theme.palette(tone)
    for first, second in itertools.combinations(STATES, 2):
        assert distance(colours[first], colours[second], sight) >= 12, (first, second)


@pytest.mark.parametrize("tone", TONES)
@pytest.mark.parametrize("sight", SIGHT)
def test_neighbours_in_the_split_bar_and_in_a_stack_are_far_apart(tone: Tone, sight: str) -> None:
    colours = theme.palette(tone)
    for order in (STATES, [*theme.SERIES, "series_rest", "unallocated"]):
        for first, second in itertools.pairwise(order):
            assert distance(colours[first], colours[second], sight) >= 20, (first, second)


@pytest.mark.parametrize("tone", TONES)
@pytest.mark.parametrize("sight", SIGHT)
def test_series_are_apart_for_every_eye(tone: Tone, sight: str) -> None:
    colours = theme.palette(tone)
    for first, second in itertools.combinations([*theme.SERIES, "series_rest"], 2):
        assert distance(colours[first], colours[second], sight) >= 9, (first, second)


def test_states_that_nobody_measured_are_told_apart_without_colour() -> None:
    hatches = [state.hatch for state in theme.STATES if state.hatch]
    assert len(hatches) == len(set(hatches)) == 3
    assert [state.name for state in theme.STATES if state.hatch] == ["unknown", "unavailable", "unobserved"]


@pytest.mark.parametrize("tone", TONES)
def test_text_is_readable(tone: Tone) -> None:
    colours = theme.palette(tone)
    for text, grounds in {
        "text": ("background", "surface"),
        "muted": ("background", "surface"),
        "accent": ("background", "surface"),
        "warning": ("background", "warning_surface"),
    }.items():
        assert all(contrast(colours[text], colours[ground]) >= 4.5 for ground in grounds), text
    assert all(contrast(colours[f"on_{name}"], colours[name]) >= 4.5 for name in STATES)
    assert contrast(colours["outline"], colours["background"]) >= 3


@pytest.mark.parametrize("tone", TONES)
def test_a_tones_colours_are_distinct_so_that_a_drawing_can_be_read_back(tone: Tone) -> None:
    colours = theme.palette(tone)
    assert len(set(colours.values())) == len(colours)
    assert all(re.fullmatch(r"#[0-9a-f]{6}", colour) for colour in colours.values())


def test_a_drawing_gets_variables() -> None:
    assert theme.with_variables('<path fill="#14569e"/>') == '<path fill="var(--computing,#14569e)"/>'
    assert theme.with_variables('<path stroke="#fffffe"/>') == '<path stroke="var(--on-computing,#fffffe)"/>'


def test_the_pages_have_the_same_colours_and_fonts() -> None:
    folder = files("dashboards.site")
    look = tomllib.loads((folder / ".streamlit" / "config.toml").read_text())["theme"]
    names = {
        "primaryColor": "accent",
        "backgroundColor": "background",
        "secondaryBackgroundColor": "surface",
        "textColor": "text",
        "borderColor": "line",
    }
    for tone in TONES:
        assert look[tone] == {name: theme.palette(tone)[token] for name, token in names.items()}
    for name in ("inter.woff2", "OFL.txt"):
        assert (folder / "static" / name).read_bytes() == (
            files("analytics.reports") / "fonts" / name
        ).read_bytes()

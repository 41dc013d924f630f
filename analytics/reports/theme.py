"""How Quartermaster looks: one palette, light and dark, and one fixed sign for each state of capacity.

The colours were chosen by measure, and tests/dashboards/test_theme.py repeats it: under simulated
deuteranopia, protanopia and tritanopia (Machado, Oliveira & Fernandes 2009, severity 1) any two states and
any two series stay apart, and text has the contrast of WCAG 2.2 AA on every ground it stands on. Colour is
never alone: states keep their order and their label, and unknown, unavailable and unobserved are hatched,
each in its own direction.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Tone = Literal["light", "dark"]
FONT = "Inter, 'Segoe UI', system-ui, -apple-system, 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True)
class State:
    """A state of capacity: its name, what a reader sees, what it means, and how it is hatched."""

    name: str
    label: str
    meaning: str
    hatch: Literal["", "rising", "falling", "upright"]


STATES: tuple[State, ...] = (
    State("computing", "Computing", "held, and telemetry shows activity", ""),
    State("idle", "Idle", "held, and telemetry shows no activity", ""),
    State("unknown", "Unknown", "held, and no telemetry says what it did", "rising"),
    State("unallocated", "Unallocated", "free: nobody held it", ""),
    State("unavailable", "Unavailable", "cordoned, not ready or sick", "falling"),
    State("unobserved", "Unobserved", "without anybody who could tell", "upright"),
)
STATE = {state.name: state for state in STATES}

# token: (light, dark). Within a tone no two are equal, so that a drawing's colours can be made CSS variables.
_TOKENS: Mapping[str, tuple[str, str]] = {
    "background": ("#ffffff", "#12181f"),
    "surface": ("#f6f8fa", "#1a222b"),
    "text": ("#17212b", "#e7edf3"),
    "muted": ("#51606f", "#a9b6c3"),
    "line": ("#dde3ea", "#2d3844"),
    "outline": ("#7c8894", "#768391"),
    "accent": ("#14569d", "#6cb0f7"),
    "warning": ("#8f4a00", "#f8b870"),
    "warning_surface": ("#fff4e3", "#33261a"),
    "computing": ("#14569e", "#3d86dc"),
    "idle": ("#f29a2e", "#f7ab4f"),
    "unknown": ("#b987d3", "#d0aef0"),
    "unallocated": ("#c0cad5", "#4a5765"),
    "unavailable": ("#596573", "#8c9aa8"),
    "unobserved": ("#e8ecf1", "#232d38"),
    "series_1": ("#0b6e6a", "#2a9d96"),
    "series_2": ("#d9a90f", "#edcb4e"),
    "series_3": ("#6f42ae", "#9a74dc"),
    "series_4": ("#63bd84", "#9fe3b0"),
    "series_5": ("#c4497f", "#ee86b2"),
    "series_rest": ("#86684a", "#8d7a60"),
    "on_computing": ("#fffffe", "#08111c"),
    "on_idle": ("#17212a", "#08111b"),
    "on_unknown": ("#17212c", "#08111d"),
    "on_unallocated": ("#17212d", "#e7edf4"),
    "on_unavailable": ("#fffffd", "#08111a"),
    "on_unobserved": ("#17212e", "#e7edf5"),
}
TOKENS = tuple(_TOKENS)
SERIES = tuple(token for token in _TOKENS if token.startswith("series_") and token != "series_rest")  # noqa: S105


def palette(tone: Tone) -> dict[str, str]:
    """Every token's colour in the tone, as `#rrggbb`."""
    return {token: colours[tone == "dark"] for token, colours in _TOKENS.items()}


def css_variables(tone: Tone) -> str:
    """The palette as CSS declarations: `--computing: #14569e; …`."""
    return " ".join(f"--{token.replace('_', '-')}: {colour};" for token, colour in palette(tone).items())


def with_variables(svg: str) -> str:
    """A drawing of the light tone with its colours made CSS variables (light where these are missing)."""
    for token, colour in palette("light").items():
        svg = svg.replace(f'"{colour}"', f'"var(--{token.replace("_", "-")},{colour})"')
    return svg

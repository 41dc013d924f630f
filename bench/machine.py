"""What a figure was measured on, and how a benchmark gives its result."""

import os
import platform
from dataclasses import dataclass
from importlib.metadata import version


@dataclass(frozen=True)
class Result:
    """A line of the table: `what` was measured, the stated `goal`, the `figure` with its unit, if it was reached."""

    what: str
    goal: str
    figure: str
    reached: bool
    detail: str = ""


def machine() -> str:
    """The machine and the versions that matter, in one line."""
    packages = ", ".join(
        f"{name} {version(name)}" for name in ("duckdb", "polars", "aiohttp", "prometheus-client")
    )
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, {packages}"

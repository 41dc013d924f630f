"""How the command speaks: tables that fit, plain text without a terminal, JSON for machines, errors in two lines."""

import codecs
import json
import os
import re
import sys
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import IO

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from quartermaster.errors import QuartermasterError
from quartermaster.text import visible, visible_lines

# What JSON leaves as it is and a terminal would obey: controls above ASCII, and what turns or hides text.
_UNSEEN = re.compile("[\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")

SPELT = "quartermaster.spelt"  # what to do about signs that a stream's encoding lacks
_SPELLING = {"–": "-", "—": "-", "·": "|", "…": "...", "→": "->", "×": "x", "÷": "/", "\u00a0": " "}


def _spelt(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(_SPELLING.get(sign, "?") for sign in signs), error.end


codecs.register_error(SPELT, _spelt)


def plain() -> bool:
    """Whether colour is unwanted (NO_COLOR) or useless (no terminal, or one that knows no escape codes)."""
    return bool(os.environ.get("NO_COLOR")) or dumb() or not sys.stdout.isatty()


def dumb() -> bool:
    """Whether the terminal says of itself that it cannot move its cursor (TERM=dumb): nothing may move on it."""
    return os.environ.get("TERM", "").lower() in {"dumb", "unknown"}


def console(stream: IO[str] | None = None) -> Console:
    """A console on stdout (or the stream): no escape codes where they are unwanted, 80 columns without a terminal."""
    return Console(file=stream, color_system=None if plain() else "auto", highlight=False, soft_wrap=False)


def say(text: str, *, style: str = "") -> None:
    """One paragraph, markup escaped, hostile text shown."""
    console().print(escape(visible(text)), style=style or None)


def table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, right: Sequence[str] = ()
) -> None:
    """A table; the columns named in `right` hold figures. Hostile text is shown, never obeyed."""
    drawn = Table(
        title=escape(visible(title)) if title else None,
        title_justify="left",
        box=None,
        pad_edge=False,
        header_style="bold",
    )
    for column in columns:
        drawn.add_column(
            escape(visible(column)), justify="right" if column in right else "left", overflow="fold"
        )
    for row in rows:
        drawn.add_row(*(escape("" if cell is None else visible(str(cell))) for cell in row))
    console().print(drawn)


def emit_json(value: object) -> None:
    """The value as JSON on stdout, as `json_text` has it."""
    typer.echo(json_text(value))


def emit_line(value: object) -> None:
    """The same in one line, for a stream of values."""
    typer.echo(json_text(value, indent=None))


def json_text(value: object, *, indent: int | None = 2) -> str:
    """The value as JSON: decimals as strings (they are exact), instants as ISO 8601, what does not show
    escaped."""
    text = json.dumps(value, default=_plain_value, ensure_ascii=False, indent=indent)
    return _UNSEEN.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def progress() -> Progress:
    """A progress bar on stderr: silent where nobody watches or nothing can move, without colour where none is
    wanted."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        console=Console(stderr=True, color_system=None if plain() else "auto"),
        disable=not sys.stderr.isatty() or dumb(),
        transient=True,
    )


def complain(error: QuartermasterError) -> None:
    """The error in two lines: what was wrong and where; what to do."""
    typer.echo(f"error: {visible_lines(error.what)}", err=True)
    if error.hint:
        typer.echo(f"  try: {visible_lines(error.hint.removeprefix('try '))}", err=True)


def _plain_value(value: object) -> object:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no form in JSON")

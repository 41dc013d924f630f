"""An answer's rows as text: JSON with exact decimals, and CSV that a spreadsheet never computes."""

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import cast

from quartermaster.text import inert, visible_lines

FORMS = ("json", "csv", "arrow")


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The rows as CSV: what looks like a formula gets a quote before it."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow([_harmless(column) for column in columns])
    writer.writerows([_harmless(cell) for cell in row] for row in rows)
    return sink.getvalue()


def json_text(columns: Sequence[str], rows: Iterable[Sequence[object]], *, more: bool) -> str:
    """`{"columns": […], "rows": [{…}, …], "more": …}`; decimals are numbers with all digits."""
    names = [json.dumps(column) for column in columns]
    told = ",\n".join(
        "{" + ", ".join(f"{name}: {_json(cell)}" for name, cell in zip(names, row, strict=True)) + "}"
        for row in rows
    )
    return f'{{"columns": [{", ".join(names)}], "more": {json.dumps(more)}, "rows": [\n{told}\n]}}\n'


def cell_text(value: object) -> str:
    """A value as text; an instant with its milliseconds."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    return str(value)


def plain(value: object) -> object:
    """The value, or text for what has no form in JSON."""
    if value is None or isinstance(value, str | int | float | bool | Decimal | date | datetime):
        return value
    if isinstance(value, list):
        return [plain(entry) for entry in cast(list[object], value)]
    if isinstance(value, dict):
        return {str(name): plain(entry) for name, entry in cast(dict[object, object], value).items()}
    return str(value)


def _json(value: object) -> str:
    if isinstance(value, Decimal | float):
        exact = format(value, "f") if isinstance(value, Decimal) else json.dumps(value)
        return exact if math.isfinite(value) else "null"
    if value is None or isinstance(value, str | int):
        return json.dumps(value)
    if isinstance(value, list):
        return "[" + ", ".join(_json(entry) for entry in cast(list[object], value)) + "]"
    if isinstance(value, dict):
        pairs = cast(dict[object, object], value).items()
        return "{" + ", ".join(f"{json.dumps(str(name))}: {_json(entry)}" for name, entry in pairs) + "}"
    return json.dumps(cell_text(value))


def _harmless(cell: object) -> object:
    if cell is None:
        return ""
    if isinstance(cell, int | float | Decimal):
        return cell
    return visible_lines(inert(cell_text(cell)))

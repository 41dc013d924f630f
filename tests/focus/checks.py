"""The checks that FOCUS' rules are made of: what each asks of a value, a row or a table."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "rules"
Row = Mapping[str, Any]


@dataclass
class Table:
    """What is judged: rows of Python values, all with the same columns."""

    columns: list[str]
    rows: list[dict[str, Any]] = field(default_factory=list)

    def with_column(self, name: str, value: Any) -> "Table":
        """The same, with one value all down a column."""
        return Table(self.columns, [row | {name: value} for row in self.rows])

    def with_cell(self, name: str, value: Any) -> "Table":
        """The same, with one value in a column of the first row."""
        return Table(self.columns, [self.rows[0] | {name: value}, *self.rows[1:]])

    def without(self, name: str) -> "Table":
        """The same without a column."""
        rows = [{key: value for key, value in row.items() if key != name} for row in self.rows]
        return Table([column for column in self.columns if column != name], rows)


@cache
def currencies() -> frozenset[str]:
    """The national currencies."""
    return frozenset((FOLDER / "currencies.txt").read_text(encoding="utf-8").split())


def leaves(check: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """The checks that a requirement or condition is made of."""
    for item in check.get("Items", ()):
        yield from leaves(item)
    if check and "Items" not in check:
        yield check


def columns_of(check: dict[str, Any]) -> list[str]:
    """The columns that it is about."""
    names = ("ColumnName", "ColumnAName", "ColumnBName", "ResultColumnName", "CheckCondition")
    return [leaf[name] for leaf in leaves(check) for name in names if name in leaf]


def holds(check: dict[str, Any], row: Row, *, asked: bool = False) -> bool:
    """Whether a row meets it. As a requirement, null meets what is said of a value: who may be null is another rule."""
    name = check["CheckFunction"]
    if name == "AND":
        return all(holds(item, row, asked=asked) for item in check["Items"])
    if name == "OR":
        return any(holds(item, row, asked=asked) for item in check["Items"])
    if name == "ColumnByColumnEqualsColumnValue":
        return _product(check, row)
    if name in {"CheckSameValue", "CheckNotSameValue"}:
        return (row.get(check["ColumnAName"]) == row.get(check["ColumnBName"])) == (name == "CheckSameValue")
    value = row.get(check.get("ColumnName") or check.get("CheckCondition", ""))
    if name in {"CheckValue", "CheckNotValue"}:
        free = value is None and not asked and name == "CheckValue"
        return free or _same(value, check["Value"]) == (name == "CheckValue")
    return value is None or _OF_VALUE[name](value, check)


def _same(value: Any, wanted: Any) -> bool:
    if value is None or wanted is None:
        return value is wanted
    return value == wanted if isinstance(value, Decimal | int) else str(value) == str(wanted)


def _product(check: dict[str, Any], row: Row) -> bool:
    one, other, result = (row.get(check[name]) for name in ("ColumnAName", "ColumnBName", "ResultColumnName"))
    if one is None or other is None or result is None:
        return True
    if not all(isinstance(each, Decimal) for each in (one, other, result)):
        return False
    return abs(one * other - result) <= Decimal("1e-9") * max(abs(result), Decimal(1))


def _present(check: dict[str, Any], table: Table, rows: list[dict[str, Any]]) -> str:
    return "" if check["ColumnName"] in table.columns else f"there is no column {check['ColumnName']}"


def _distinct(check: dict[str, Any], table: Table, rows: list[dict[str, Any]]) -> str:
    seen = defaultdict[Any, set[Any]](set)
    for row in rows:
        if row.get(check["ColumnAName"]) is not None:
            seen[row.get(check["ColumnAName"])].add(row.get(check["ColumnBName"]))
    return next(
        (f"{key}: {values}" for key, values in seen.items() if len(values) != check["ExpectedCount"]), ""
    )


OF_TABLE: dict[str, Callable[[dict[str, Any], Table, list[dict[str, Any]]], str]] = {
    "ColumnPresent": _present,
    "CheckDistinctCount": _distinct,
}

_TIMES = ["Year", "Month", "Day", "Hour", "Minute", "Second"]
_WORD = r"[A-Za-z][A-Za-z0-9]*(?:\s+[A-Za-z][A-Za-z0-9]*)*"
_UNIT = re.compile(
    rf"(?:[0-9]+ )?{_WORD}|{_WORD}-(?:{'|'.join(f'{time}s' for time in _TIMES)})"
    rf"|{_WORD}/(?:{'|'.join(_TIMES)}|[0-9]+ (?:{'|'.join(f'{time}s' for time in _TIMES)}))"
)
_NUMBER = re.compile(r"[+-]?([0-9]*[.])?[0-9]+([eE][+-]?[0-9]+)?")


def _key_value(value: Any, _: dict[str, Any]) -> bool:
    try:
        told = json.loads(value)
    except (TypeError, ValueError):
        return False
    return isinstance(told, dict) and not any(isinstance(each, dict | list) for each in told.values())


_OF_VALUE: dict[str, Callable[[Any, dict[str, Any]], bool]] = {
    "TypeString": lambda value, _: isinstance(value, str),
    "TypeDecimal": lambda value, _: isinstance(value, Decimal),
    "TypeDateTime": lambda value, _: isinstance(value, datetime),
    "CheckDecimalValue": lambda value, _: isinstance(value, Decimal) and value.is_finite(),
    "FormatString": lambda value, _: str(value).isascii(),
    "FormatNumeric": lambda value, _: _NUMBER.fullmatch(str(value)) is not None,
    "FormatDateTime": lambda value, _: isinstance(value, datetime) and not value.utcoffset(),
    "FormatUnit": lambda value, _: _UNIT.fullmatch(str(value)) is not None,
    "FormatCurrency": lambda value, _: re.fullmatch("[A-Z]{3}", str(value)) is not None,
    "FormatKeyValue": _key_value,
    "CheckNationalCurrency": lambda value, _: value in currencies(),
    "CheckGreaterOrEqualThanValue": lambda value, check: (
        isinstance(value, Decimal) and value >= check["Value"]
    ),
}

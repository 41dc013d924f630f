"""The rules of FOCUS 1.2 as the public validator has them, and what each says of a table: passed, failed, not asked.

The rules are data (rules/). Each requirement is a tree of checks; a rule holds for the rows that its own condition and
those of the rules above it name.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Literal

FOLDER = Path(__file__).parent / "rules"
Row = Mapping[str, Any]
Outcome = Literal["passed", "failed", "skipped"]

# What our export is able to tell; rules that ask for more do not apply.
SUPPORTED = frozenset(
    (
        *(
            "ACCOUNT_NAMING_SUPPORTED",
            "COMMITMENT_DISCOUNT_SUPPORTED",
            "MULTIPLE_BILLING_ACCOUNT_TYPES_SUPPORTED",
        ),
        *("MULTIPLE_PRICING_CATEGORIES_SUPPORTED", "MULTIPLE_SUB_ACCOUNT_TYPES_SUPPORTED"),
        *("NEGOTIATED_PRICING_SUPPORTED", "PUBLIC_PRICE_LIST_SUPPORTED", "UNIT_PRICING_SUPPORTED"),
        *("USAGE_MEASUREMENT_SUPPORTED", "SUB_ACCOUNT_SUPPORTED", "TAGGING_SUPPORTED"),
        *("BILLING_BASED_ON_PROVISIONED_RESOURCES_SUPPORTED", "RESOURCE_TYPE_ASSIGNMENT_SUPPORTED"),
    )
)


def _is(column: str, value: Any) -> dict[str, Any]:
    return {"CheckFunction": "CheckValue", "ColumnName": column, "Value": value}


def _is_not(column: str, value: Any) -> dict[str, Any]:
    return {"CheckFunction": "CheckNotValue", "ColumnName": column, "Value": value}


def _all(*items: dict[str, Any]) -> dict[str, Any]:
    return {"CheckFunction": "AND", "Items": list(items)}


# Rules whose data contradict their own words, or the specification: asked as the words are.
MENDED: dict[str, dict[str, Any]] = {
    # "… when CommitmentDiscountId is not null and Charge Category is Usage": the data say "is null"
    "CommitmentDiscountStatus-C-004-C": {
        "if": _all(_is_not("CommitmentDiscountId", None), _is("ChargeCategory", "Usage"))
    },
    # the specification's allowed values; the data have those of another column
    "CommitmentDiscountStatus-C-005-M": {
        "requires": {
            "CheckFunction": "OR",
            "Items": [_is("CommitmentDiscountStatus", value) for value in ("Used", "Unused")],
        }
    },
    # "… when ChargeClass is not Correction": the data say "is"
    "ConsumedQuantity-C-006-C": {"if": _is_not("ChargeClass", "Correction")},
    # the condition has no function
    "CapacityReservationStatus-C-003-C": {"if": _is("CapacityReservationId", None)},
    "CapacityReservationStatus-C-004-C": {
        "if": _all(_is_not("CapacityReservationId", None), _is("ChargeCategory", "Usage"))
    },
    # "MUST be a valid decimal value", of what is not null: the data say "is not null"
    "PricingQuantity-C-008-M": {
        "requires": {"CheckFunction": "CheckDecimalValue", "ColumnName": "PricingQuantity"}
    },
    # the column stands under another key
    "ResourceId-C-006-C": {"if": _is_not("ResourceId", None)},
}


@dataclass(frozen=True)
class Rule:
    """A rule: what it requires of the rows that `condition` names, and where it applies."""

    id: str
    kind: str
    dynamic: bool
    keyword: str
    when: tuple[str, ...]
    says: str
    requires: dict[str, Any]
    condition: dict[str, Any]

    @property
    def column(self) -> str:
        """The column that it is about, by its name: `BilledCost-C-001-M`."""
        return self.id.partition("-")[0]

    @property
    def members(self) -> list[str]:
        """The rules that it is made of."""
        return [
            item["ModelRuleId"] for item in leaves(self.requires) if item["CheckFunction"] == "CheckModelRule"
        ]


@dataclass(frozen=True)
class Verdict:
    """What became of a rule; `why` it was skipped, or of the first row that breaks it."""

    rule: Rule
    outcome: Outcome
    why: str = ""


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
def rules() -> dict[str, Rule]:
    """All rules, by id."""
    found = {}
    for line in (FOLDER / "model-1.2.0.1.jsonl").read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        told |= MENDED.get(told["id"], {})
        found[told["id"]] = Rule(
            *(told[name] for name in ("id", "kind", "dynamic", "keyword")),
            when=tuple(told["when"]),
            says=told["says"],
            requires=told["requires"],
            condition=told["if"],
        )
    return found


@cache
def currencies() -> frozenset[str]:
    """The national currencies."""
    return frozenset((FOLDER / "currencies.txt").read_text(encoding="utf-8").split())


def judge(table: Table) -> list[Verdict]:
    """What each rule says of the table."""
    known: dict[str, Verdict] = {}
    return [_verdict(rule, table, known) for rule in rules().values()]


def broken_by(table: Table, column: str) -> set[str]:
    """The rules with a requirement or condition about the column, made of no others, that the table breaks."""
    known: dict[str, Verdict] = {}
    found = [_verdict(rules()[name], table, known) for name in about()[column]]
    return {verdict.rule.id for verdict in found if verdict.outcome == "failed"}


@cache
def about() -> Mapping[str, set[str]]:
    """The rules that are made of no others, by each column on which they depend."""
    found = defaultdict[str, set[str]](set)
    for rule in rules().values():
        if rule.kind != "Composite" and rule.requires:
            for check in (rule.requires, rule.condition, *_above(rule)):
                for column in _columns(check):
                    found[column].add(rule.id)
    return found


@cache
def parents() -> Mapping[str, list[Rule]]:
    """The rules that are made of a rule, by its id."""
    found = defaultdict[str, list[Rule]](list)
    for rule in rules().values():
        for member in rule.members:
            found[member].append(rule)
    return found


def _verdict(rule: Rule, table: Table, known: dict[str, Verdict]) -> Verdict:
    if rule.id not in known:
        known[rule.id] = _composite(rule, table, known) if rule.kind == "Composite" else _single(rule, table)
    return known[rule.id]


def _single(rule: Rule, table: Table) -> Verdict:
    reason = _skipped(rule)
    if reason:
        return Verdict(rule, "skipped", reason)
    absent = [name for name in _columns(rule.requires) if name not in table.columns]
    if absent and rule.kind != "Presence" and not _required(absent[0]):
        return Verdict(rule, "skipped", "its column is not for us")
    conditions = [rule.condition, *_above(rule)]
    rows = [row for row in table.rows if all(_holds(each, row, asked=True) for each in conditions if each)]
    whole = _OF_TABLE.get(rule.requires["CheckFunction"])
    if whole is not None:
        broken = whole(rule.requires, table, rows)
    else:
        broken = next((str(row) for row in rows if not _holds(rule.requires, row)), "")
    return Verdict(rule, "failed" if broken else "passed", broken)


def _skipped(rule: Rule) -> str:
    missing = [criterion for criterion in rule.when if criterion not in SUPPORTED]
    if missing:
        return f"not for us: {missing[0]}"
    if rule.dynamic:
        return "words only, nothing to compute"
    if rule.keyword == "MAY":
        return "allows, and requires nothing"
    if not rule.condition and any(parent.requires["CheckFunction"] == "OR" for parent in parents()[rule.id]):
        return "one way of several, asked in the rule above it"
    return ""


def _composite(rule: Rule, table: Table, known: dict[str, Verdict]) -> Verdict:
    reason = _skipped(rule)
    if reason:
        return Verdict(rule, "skipped", reason)
    members = [rules()[name] for name in rule.members]
    if rule.requires["CheckFunction"] == "OR" and not any(member.condition for member in members):
        if any(name not in table.columns for member in members for name in _columns(member.requires)):
            return Verdict(rule, "skipped", "its column is not for us")
        broken = next(
            (str(row) for row in table.rows if not any(_holds(each.requires, row) for each in members)), ""
        )
        return Verdict(rule, "failed" if broken else "passed", broken)
    verdicts = [_verdict(member, table, known) for member in members]
    if all(verdict.outcome == "skipped" for verdict in verdicts):
        return Verdict(rule, "skipped", "nothing in it is asked")
    failed = [verdict.rule.id for verdict in verdicts if verdict.outcome == "failed"]
    return Verdict(rule, "failed" if failed else "passed", ", ".join(failed))


@cache
def _required(column: str) -> bool:
    """Whether a table of ours must have the column."""
    return any(
        rule.kind == "Presence"
        and rule.requires.get("ColumnName") == column
        and rule.keyword == "MUST"
        and SUPPORTED.issuperset(rule.when)
        for rule in rules().values()
    )


def _above(rule: Rule) -> Iterable[dict[str, Any]]:
    for parent in parents()[rule.id]:
        yield parent.condition
        yield from _above(parent)


def leaves(check: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """The checks that a requirement or condition is made of."""
    for item in check.get("Items", ()):
        yield from leaves(item)
    if check and "Items" not in check:
        yield check


def _columns(check: dict[str, Any]) -> list[str]:
    names = ("ColumnName", "ColumnAName", "ColumnBName", "ResultColumnName", "CheckCondition")
    return [leaf[name] for leaf in leaves(check) for name in names if name in leaf]


def _holds(check: dict[str, Any], row: Row, *, asked: bool = False) -> bool:
    """Whether a row meets it. As a requirement, null meets what is said of a value: who may be null is another rule."""
    name = check["CheckFunction"]
    if name == "AND":
        return all(_holds(item, row, asked=asked) for item in check["Items"])
    if name == "OR":
        return any(_holds(item, row, asked=asked) for item in check["Items"])
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


_OF_TABLE: dict[str, Callable[[dict[str, Any], Table, list[dict[str, Any]]], str]] = {
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

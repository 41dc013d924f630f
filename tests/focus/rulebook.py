"""The rules of FOCUS 1.2 as the public validator has them, and what each says of a table: passed, failed, not asked.

The rules are data (rules/). Each requirement is a tree of checks; a rule holds for the rows that its own condition and
those of the rules above it name.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from tests.focus.checks import FOLDER, OF_TABLE, Table, columns_of, holds, leaves

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
                for column in columns_of(check):
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
    absent = [name for name in columns_of(rule.requires) if name not in table.columns]
    if absent and rule.kind != "Presence" and not _required(absent[0]):
        return Verdict(rule, "skipped", "its column is not for us")
    conditions = [rule.condition, *_above(rule)]
    rows = [row for row in table.rows if all(holds(each, row, asked=True) for each in conditions if each)]
    whole = OF_TABLE.get(rule.requires["CheckFunction"])
    if whole is not None:
        broken = whole(rule.requires, table, rows)
    else:
        broken = next((str(row) for row in rows if not holds(rule.requires, row)), "")
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
        if any(name not in table.columns for member in members for name in columns_of(member.requires)):
            return Verdict(rule, "skipped", "its column is not for us")
        broken = next(
            (str(row) for row in table.rows if not any(holds(each.requires, row) for each in members)), ""
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

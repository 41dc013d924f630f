"""Rules that the rule set has in words alone, as far as a table can show them: each a check written by hand."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import timedelta
from decimal import Decimal
from typing import Any

from tests.focus.checks import Table
from tests.focus.rulebook import rules

Check = Callable[[Table], Iterable[object]]  # what breaks the rule

PASCAL = re.compile(r"(x_)?([A-Z][a-z0-9]+)+")
GIVEN_KEYS = {"GpuCount"}  # of the keys that FOCUS defines for SkuPriceDetails, those that we use


def spoken() -> dict[str, Check]:
    """The checks, by the rule's id."""
    return CHECKS


def _rows(breaks: Callable[[dict[str, Any]], bool]) -> Check:
    return lambda table: [row for row in table.rows if breaks(row)]


def _columns(breaks: Callable[[str], bool]) -> Check:
    return lambda table: [name for name in table.columns if breaks(name)]


def _texts(breaks: Callable[[str], bool]) -> Check:
    return lambda table: [
        value for row in table.rows for value in row.values() if isinstance(value, str) and breaks(value)
    ]


def _numbers(breaks: Callable[[str], bool]) -> Check:
    return lambda table: [
        value
        for row in table.rows
        for value in row.values()
        if isinstance(value, Decimal) and breaks(f"{value:f}")
    ]


def _keys(column: str, breaks: Callable[[dict[str, Any]], bool]) -> Check:
    return lambda table: [
        row for row in table.rows if row[column] is not None and breaks(json.loads(row[column]))
    ]


def _one_to_one(one: str, other: str) -> Check:
    def check(table: Table) -> list[object]:
        seen = defaultdict[object, set[object]](set)
        for row in table.rows:
            if row[one] is not None:
                seen[row[one]].add(row[other])
        return [key for key, values in seen.items() if len(values) > 1]

    return check


def _custom_last(table: Table) -> list[object]:
    ours = [name.startswith("x_") for name in table.columns]
    return [] if ours == sorted(ours) else list(table.columns)


def _periods(table: Table) -> list[object]:
    return [
        row
        for row in table.rows
        if not row["BillingPeriodStart"]
        <= row["ChargePeriodStart"]
        < row["ChargePeriodEnd"]
        <= row["BillingPeriodEnd"]
    ]


def _purchases_take_effect(table: Table) -> list[object]:
    """What is bought in the period takes effect in it: commitments are told by the day."""
    sums = defaultdict[object, Decimal](Decimal)
    for row in table.rows:
        if row["CommitmentDiscountId"] is not None and row["ChargeCategory"] in {"Purchase", "Usage"}:
            sums[row["CommitmentDiscountId"]] += row["BilledCost"] - row["EffectiveCost"]
    return [key for key, left in sums.items() if left]


def _unused_is_told(table: Table) -> list[object]:
    """Of each day's commitment what is used and what is not are together what was bought."""
    sums = defaultdict[object, Decimal](Decimal)
    for row in table.rows:
        if row["CommitmentDiscountQuantity"] is not None:
            sign = 1 if row["ChargeCategory"] == "Purchase" else -1
            sums[row["CommitmentDiscountId"], row["x_BusinessDay"]] += (
                sign * row["CommitmentDiscountQuantity"]
            )
    return [key for key, left in sums.items() if left]


def _unlike(one: str, other: str) -> Callable[[dict[str, Any]], bool]:
    return lambda row: row[one] is not None and row[one] == row[other]


def _cost_alone(cost: str, price: str) -> Check:
    """Of a charge without a unit price the cost is what is billed."""
    return _rows(lambda row: row[price] is None and row[cost] != row["BilledCost"])


def _product(price: str, cost: str) -> Callable[[dict[str, Any]], bool]:
    def breaks(row: dict[str, Any]) -> bool:
        if row[price] is None or row["PricingQuantity"] is None or row["ChargeClass"] == "Correction":
            return False
        return abs(row[price] * row["PricingQuantity"] - row[cost]) > Decimal("1e-9") * max(abs(row[cost]), 1)

    return breaks


CHECKS: dict[str, Check] = {
    "BillingPeriodStart-C-004-M": _periods,
    "BillingPeriodEnd-C-004-M": _periods,
    "ChargePeriodStart-C-004-M": _periods,
    "ChargePeriodEnd-C-004-M": _rows(
        lambda row: row["ChargePeriodEnd"] - row["ChargePeriodStart"] > timedelta(hours=25)
    ),
    "ChargeClass-C-003-C": _rows(
        lambda row: row["ChargeClass"] is not None and row["x_Kind"] != "correction"
    ),
    "BillingAccountId-C-004-M": _one_to_one("BillingAccountId", "BillingAccountType"),
    "ColumnHandling-A-001-M": _columns(lambda name: PASCAL.fullmatch(name) is None),
    "ColumnHandling-A-003-M": _columns(lambda name: not name.removeprefix("x_").isalnum()),
    "ColumnHandling-A-005-O": _columns(lambda name: len(name) > 50),
    "ColumnHandling-A-012-O": _custom_last,
    "ColumnHandling-A-013-O": _custom_last,
    "ContractedCost-C-008-C": _cost_alone("ContractedCost", "ContractedUnitPrice"),
    "ContractedCost-C-009-C": _rows(_product("ContractedUnitPrice", "ContractedCost")),
    "ListCost-C-008-C": _cost_alone("ListCost", "ListUnitPrice"),
    "PricingQuantity-C-009-C": _rows(_product("ListUnitPrice", "ListCost")),
    "CommitmentDiscountQuantity-C-009-M": _rows(
        lambda row: (
            row["CommitmentDiscountQuantity"] is not None
            and not row["CommitmentDiscountQuantity"].is_finite()
        )
    ),
    "CommitmentDiscountUnit-C-008-M": lambda table: _one_to_one(
        "CommitmentDiscountId", "CommitmentDiscountUnit"
    )(Table(table.columns, [row for row in table.rows if row["CommitmentDiscountUnit"] is not None])),
    "ConsumedQuantity-C-008-C": _rows(
        lambda row: row["ConsumedQuantity"] is not None and not row["ConsumedQuantity"].is_finite()
    ),
    "DiscountHandling-A-006-C": _rows(
        lambda row: (
            row["x_Detail"] == "commitment"
            and row["x_Kind"] == "adjustment"
            and row["CommitmentDiscountId"] is None
        )
    ),
    "DiscountHandling-A-011-C": _purchases_take_effect,
    "DiscountHandling-A-017-C": _unused_is_told,
    "DiscountHandling-A-018-C": _rows(
        lambda row: row["CommitmentDiscountStatus"] is not None and row["ChargeCategory"] != "Usage"
    ),
    "DiscountHandling-A-019-C": _rows(
        lambda row: (
            row["CommitmentDiscountStatus"] == "Unused" and row["CommitmentDiscountId"] != row["ResourceId"]
        )
    ),
    "DiscountHandling-A-012-C": _rows(
        lambda row: row["ChargeCategory"] == "Purchase" and row["CommitmentDiscountId"] != row["ResourceId"]
    ),
    "DiscountHandling-A-020-C": _rows(
        lambda row: (
            row["x_Kind"] == "adjustment" and row["BilledCost"] < 0 and row["ChargeCategory"] != "Credit"
        )
    ),
    "EffectiveCost-C-013-C": _purchases_take_effect,
    "KeyValueFormat-A-001-M": _keys("SkuPriceDetails", lambda told: not told),
    "KeyValueFormat-A-004-M": _keys(
        "Tags", lambda told: any(isinstance(value, dict | list) for value in told.values())
    ),
    "NullHandling-A-002-M": _texts(lambda text: text in {"", "Not Applicable", "null", "N/A"}),
    "NumericFormat-A-004-M": _numbers(lambda text: "/" in text),
    "NumericFormat-A-010-M": _numbers(lambda text: text.startswith("+")),
    "PricingCategory-C-009-C": _rows(
        lambda row: row["PricingCategory"] == "Committed" and row["ChargeCategory"] == "Purchase"
    ),
    "ResourceName-C-006-C": _rows(_unlike("ResourceName", "ResourceId")),
    "SkuId-C-008-M": _one_to_one("SkuId", "SkuMeter"),
    "SkuMeter-C-006-O": _one_to_one("SkuId", "SkuMeter"),
    "SkuPriceDetails-C-007-M": _one_to_one("SkuPriceId", "SkuPriceDetails"),
    "SkuPriceDetails-C-017-C": _keys(
        "SkuPriceDetails",
        lambda told: any(not key.startswith("x_") and key not in GIVEN_KEYS for key in told),
    ),
    "SkuPriceId-C-009-M": lambda table: _one_to_one("SkuPriceId", "ContractedUnitPrice")(
        Table(table.columns, [row for row in table.rows if row["PricingUnit"] != "Charges"])
    ),
    "StringHandling-A-001-M": _texts(lambda text: any("\ud800" <= sign <= "\udfff" for sign in text)),
    "StringHandling-A-007-M": _texts(lambda text: not text.strip()),
    "SubAccountId-C-004-C": _rows(lambda row: row["x_Account"] != "team" and row["SubAccountId"] is not None),
    "SubAccountId-C-005-C": _rows(lambda row: row["x_Account"] == "team" and row["SubAccountId"] is None),
    "UnitFormat-A-003-M": _rows(
        lambda row: (
            row["ConsumedUnit"] is not None and re.search(r"hours?\b", row["ConsumedUnit"]) is not None
        )
    ),
}

assert all(rules()[name].dynamic for name in CHECKS), "only of rules that the rule set cannot compute"

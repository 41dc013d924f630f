"""Every rule of the public validator's rule set for FOCUS 1.2, asked of an export with lines of every kind."""

from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given, settings

from analytics.finance.focus import Version, focus_frames
from analytics.finance.span import Span
from quartermaster.config.accounts import AccountsPart
from sql.ledger import Ledger
from tests.focus.checks import Table, currencies, leaves
from tests.focus.lines import Lines, every_kind
from tests.focus.rulebook import about, broken_by, judge, parents, rules
from tests.focus.spoken import spoken
from tests.money.accountant import World
from tests.money.worlds import lines_of, worlds

PAGE = Path(__file__).parents[2] / "docs" / "focus.md"


@pytest.fixture(scope="session")
def table(finance_ledger: Ledger, november: Span) -> Table:
    return exported(every_kind().write(finance_ledger), november)


def exported(ledger: Ledger, span: Span, version: Version = "1.2") -> Table:
    frame = pl.concat(list(focus_frames(ledger, span, AccountsPart(), version)))
    return Table(frame.columns, frame.to_dicts())


@pytest.mark.patient
def test_no_rule_fails_and_the_counts_are_told(table: Table) -> None:
    verdicts = judge(table)
    counts = Counter(verdict.outcome for verdict in verdicts)
    reasons = Counter(verdict.why.partition(":")[0] for verdict in verdicts if verdict.outcome == "skipped")
    told = [f"{counts['passed'] + counts['failed']} rules of {len(verdicts)} apply"]
    told += [f"{counts['passed']} pass, {counts['failed']} fail, {counts['skipped']} are skipped:"]
    told += [f"{count} {reason}" for reason, count in reasons.most_common()]
    print("\n".join(told))  # noqa: T201 - the counts
    assert not [(verdict.rule.id, verdict.why) for verdict in verdicts if verdict.outcome == "failed"]
    assert len(verdicts) == 621
    page = PAGE.read_text(encoding="utf-8")
    assert f"| {counts['passed']} | pass |" in page
    for reason, count in reasons.items():
        assert f"| {count} | {reason} |" in page, f"{count} {reason}"


@pytest.mark.patient
def test_every_version_has_rows_that_pass(finance_ledger: Ledger, lines: Lines, november: Span) -> None:
    table = exported(lines.write(finance_ledger), november, "1.3")
    assert not [verdict for verdict in judge(table) if verdict.outcome == "failed"]


@settings(max_examples=5)
@given(worlds())
@pytest.mark.patient
def test_whatever_a_card_makes_of_a_days_usage_passes_and_adds_up(
    finance_ledger: Ledger, november: Span, world: World
) -> None:
    charged: list[dict[str, Any]] = [line | {"business_day": "2026-11-23"} for line in lines_of(world)]
    for line in charged:
        del line["segment"]
    assume(charged)
    table = exported(Lines(charged).write(finance_ledger), november)
    assert not [(verdict.rule.id, verdict.why) for verdict in judge(table) if verdict.outcome == "failed"]
    cost = sum(line["amount"] for line in charged)
    assert sum(row["BilledCost"] for row in table.rows) == cost
    assert sum(row["EffectiveCost"] for row in table.rows) == cost


@pytest.mark.patient
def test_an_empty_month_passes(finance_ledger: Ledger, november: Span) -> None:
    nothing = Lines()
    nothing.line("1", business_day="2026-10-01")
    table = exported(nothing.write(finance_ledger), november)
    assert not table.rows
    assert not [verdict for verdict in judge(table) if verdict.outcome == "failed"]


@pytest.mark.patient
def test_each_rule_that_is_asked_fails_when_one_column_is_spoilt(table: Table) -> None:
    asked = {
        verdict.rule.id
        for verdict in judge(table)
        if verdict.outcome == "passed" and verdict.rule.kind != "Composite"
    }
    caught = set[str]()
    for column in about():
        spoilt = [table.without(column), table.with_cell(column, "Another")]
        spoilt += [table.with_column(column, value) for value in spoils(column)]
        for each in spoilt:
            caught |= broken_by(each, column)
    assert asked - caught == set()


def spoils(column: str) -> list[Any]:
    """What a column may be spoilt with: nothing, other types, other signs, and each value that a rule names."""
    named = {
        leaf["Value"]
        for rule in rules().values()
        for check in (rule.requires, rule.condition)
        for leaf in leaves(check)
        if leaf.get("ColumnName") == column and "Value" in leaf
    }
    return [None, 7, "naïve – text", "x", Decimal(-5), Decimal("123.456"), *named]


@pytest.mark.parametrize(
    ("column", "value", "rule"),
    [
        ("BilledCost", None, "BilledCost-C-003-M"),
        ("BilledCost", 1.5, "BilledCost-C-001-M"),
        ("ProviderName", "another", "BilledCost-C-005-C"),
        ("BillingCurrency", "XQZ", "BillingCurrency-C-006-M"),
        ("BillingPeriodStart", "2026-11-01T00:00:00Z", "BillingPeriodStart-C-001-M"),
        ("ChargeCategory", "Refund", "ChargeCategory-C-003-M"),
        ("ChargeCategory", "Tax", "SkuId-C-004-C"),
        ("ChargeClass", "Corrected", "ChargeClass-C-005-C"),
        ("EffectiveCost", Decimal(1), "EffectiveCost-C-005-C"),
        ("PricingQuantity", Decimal("1.000001"), "ListUnitPrice-C-010-C"),
        ("PricingUnit", "GPU_Hours", "PricingUnit-C-003-O"),
        ("ServiceCategory", "Storage", "ServiceSubcategory-C-004-M"),
        ("SkuId", None, "SkuMeter-C-004-C"),
        ("SkuPriceId", "one for all", "SkuPriceId-C-008-M"),
        ("Tags", '{"a": {"b": 1}}', "Tags-C-001-M"),
        ("ConsumedUnit", None, "ConsumedUnit-C-006-C"),
        ("SubAccountName", None, "SubAccountName-C-005-C"),
    ],
)
def test_a_spoilt_column_is_noticed_by_the_rule_about_it(
    table: Table, column: str, value: Any, rule: str
) -> None:
    spoilt = table.with_column(column, value)
    assert rule in broken_by(spoilt, column)


def test_the_rules_are_those_of_the_validator() -> None:
    kinds = Counter(rule.kind for rule in rules().values())
    assert kinds == {
        "Validation": 172,
        "Composite": 143,
        "Nullability": 103,
        "Format": 84,
        "Presence": 63,
        "Type": 56,
    }
    assert len(currencies()) == 180


def test_whoever_has_two_rules_above_it_has_no_conditions_from_them() -> None:
    several = [above for above in parents().values() if len(above) > 1]
    assert len(several) == 2
    assert not [rule.condition for above in several for rule in above if rule.condition]


def test_what_rules_say_in_words_holds_where_a_table_can_show_it(table: Table) -> None:
    broken = {name: list(check(table)) for name, check in spoken().items()}
    assert {name: rows[:1] for name, rows in broken.items() if rows} == {}
    assert f"| {len(spoken())} | of these, checked by hand |" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("rule", "column", "value"),
    [
        ("BillingPeriodEnd-C-004-M", "BillingPeriodEnd", datetime(2026, 11, 20, tzinfo=UTC)),
        ("ChargePeriodStart-C-004-M", "ChargePeriodStart", datetime(2026, 10, 20, tzinfo=UTC)),
        ("ChargePeriodEnd-C-004-M", "ChargePeriodEnd", datetime(2026, 11, 30, tzinfo=UTC)),
        ("ChargeClass-C-003-C", "ChargeClass", "Correction"),
        ("BillingAccountId-C-004-M", "BillingAccountId", "one for all"),
        ("ColumnHandling-A-001-M", "cost", 1),
        ("ColumnHandling-A-003-M", "Billed-Cost", 1),
        ("ColumnHandling-A-005-O", "x_" + "C" * 60, 1),
        ("ColumnHandling-A-012-O", "Another", 1),
        ("ContractedCost-C-008-C", "ContractedCost", Decimal("0.01")),
        ("ContractedCost-C-009-C", "ContractedCost", Decimal("0.01")),
        ("ListCost-C-008-C", "ListCost", Decimal("0.01")),
        ("PricingQuantity-C-009-C", "PricingQuantity", Decimal("0.01")),
        ("CommitmentDiscountQuantity-C-009-M", "CommitmentDiscountQuantity", Decimal("NaN")),
        ("ConsumedQuantity-C-008-C", "ConsumedQuantity", Decimal("Infinity")),
        ("DiscountHandling-A-006-C", "CommitmentDiscountId", None),
        ("DiscountHandling-A-012-C", "ResourceId", "another"),
        ("DiscountHandling-A-020-C", "ChargeCategory", "Usage"),
        ("EffectiveCost-C-013-C", "EffectiveCost", Decimal(0)),
        ("KeyValueFormat-A-001-M", "SkuPriceDetails", "{}"),
        ("KeyValueFormat-A-004-M", "Tags", '{"a": [1]}'),
        ("NullHandling-A-002-M", "ResourceName", ""),
        ("PricingCategory-C-009-C", "PricingCategory", "Committed"),
        ("SkuId-C-008-M", "SkuId", "one for all"),
        ("SkuPriceDetails-C-017-C", "SkuPriceDetails", '{"Model": "H100"}'),
        ("SkuPriceId-C-009-M", "SkuPriceId", "one for all"),
        ("StringHandling-A-001-M", "ResourceName", "\ud800"),
        ("StringHandling-A-007-M", "ServiceName", "  "),
        ("SubAccountId-C-004-C", "SubAccountId", "vision"),
        ("SubAccountId-C-005-C", "SubAccountId", None),
        ("UnitFormat-A-003-M", "ConsumedUnit", "GPU-hours"),
    ],
)
def test_a_check_by_hand_notices_a_spoilt_column(table: Table, rule: str, column: str, value: object) -> None:
    columns = table.columns if column in table.columns else [*table.columns, column]
    spoilt = Table(columns, table.rows).with_column(column, value)
    assert list(spoken()[rule](spoilt))

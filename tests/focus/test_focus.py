"""The FOCUS export: given lines, expected rows; what is billed adds up, whatever the lines are."""

import csv
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.finance.focus import SINCE_1_3, focus_frames
from analytics.finance.span import Span, span_between, span_of
from analytics.finance.written import write_csv, write_parquet, writer_for
from analytics.money.calendar import Calendar
from analytics.money.charges import charge
from quartermaster.config.accounts import AccountsPart
from quartermaster.errors import InputError
from sql.ledger import Ledger
from tests.focus.lines import Lines, every_kind, gpu_hours
from tests.money.books import Books

ZONE = "Europe/Berlin"
PAGE = Path(__file__).parents[2] / "docs" / "focus.md"


def rows(ledger: Ledger, span: Span) -> list[dict[str, Any]]:
    return pl.concat(list(focus_frames(ledger, span, AccountsPart()))).to_dicts()


def one(ledger: Ledger, lines: Lines, span: Span) -> dict[str, Any]:
    (row,) = rows(lines.write(ledger), span)
    return row


@pytest.mark.patient
def test_a_held_line_is_usage_with_its_price_time_and_names(finance_ledger: Ledger, november: Span) -> None:
    lines = Lines()
    job = every_kind().rows[0]["workload_id"]
    lines.line("8.61", workload_id=job, quantity_pms=gpu_hours("2.1"))
    row = one(finance_ledger, lines, november)
    told = {
        "BilledCost": Decimal("8.61"),
        "EffectiveCost": Decimal("8.61"),
        "BillingAccountId": "CC-100",
        "BillingAccountType": "Cost Centre",
        "ChargeCategory": "Usage",
        "ChargeClass": None,
        "ChargeDescription": "Held capacity of NVIDIA H100 in pool training",
        "ConsumedQuantity": Decimal("2.1"),
        "ConsumedUnit": "GPU-Hours",
        "ContractedUnitPrice": Decimal("4.1"),
        "PricingQuantity": Decimal("2.1"),
        "ResourceId": f"demo/{job}",
        "ResourceName": "research/train",
        "ResourceType": "PyTorchJob",
        "SkuId": "gpu_hour/NVIDIA H100",
        "SkuPriceId": "gpu_hour/NVIDIA H100@7",
        "SubAccountId": "vision",
        "Tags": '{"project":"atlas"}',
        "x_Department": "research",
    }
    assert {name: row[name] for name in told} == told
    # a business day in Berlin, in UTC; the month began in winter time
    assert row["ChargePeriodStart"].isoformat() == "2026-11-22T23:00:00+00:00"
    assert row["ChargePeriodEnd"].isoformat() == "2026-11-23T23:00:00+00:00"
    assert row["BillingPeriodStart"].isoformat() == "2026-10-31T23:00:00+00:00"
    assert row["BillingPeriodEnd"].isoformat() == "2026-11-30T23:00:00+00:00"


CATEGORIES: list[tuple[str, dict[str, Any], str]] = [
    ("1", {}, "Usage"),
    ("1", {"kind": "shared", "detail": "unallocated"}, "Usage"),
    ("1", {"kind": "unobserved", "account": "own"}, "Usage"),
    ("-1", {"kind": "adjustment", "detail": "faulted"}, "Credit"),
    ("-1", {"kind": "adjustment", "detail": "lent"}, "Credit"),
    ("-1", {"kind": "adjustment", "detail": "lost"}, "Credit"),
    ("0", {"kind": "adjustment", "detail": "lost"}, "Credit"),
    ("1", {"kind": "adjustment", "detail": "idle"}, "Usage"),
    ("1", {"kind": "adjustment", "detail": "energy", "measure": "kwh", "quantity": "4"}, "Usage"),
    ("1", {"kind": "adjustment", "detail": "price", "unit_price": None}, "Adjustment"),
    ("1", {"kind": "adjustment", "detail": "trueup", "measure": "invoice"}, "Adjustment"),
    ("-1", {"kind": "clearing", "account": "clearing", "detail": "unallocated"}, "Credit"),
    ("1", {"kind": "clearing", "account": "clearing", "detail": "faulted"}, "Usage"),
    ("-1", {"kind": "correction", "detail": "credit"}, "Credit"),
    ("-1", {"kind": "correction", "detail": "base"}, "Usage"),
    ("1", {"kind": "correction", "detail": "trueup"}, "Adjustment"),
]


def test_each_kind_of_line_has_its_category(finance_ledger: Ledger, november: Span) -> None:
    lines = Lines()
    ids = {str(lines.line(amount, **given)): category for amount, given, category in CATEGORIES}
    told = {row["x_ChargeId"]: row["ChargeCategory"] for row in rows(lines.write(finance_ledger), november)}
    assert told == ids


def test_a_correction_of_a_credit_stays_a_credit(finance_ledger: Ledger, november: Span) -> None:
    lines = Lines()
    original = lines.line("-2", "adjustment", detail="lent", business_day="2026-10-20")
    lines.line("0.5", "correction", detail="adjustment", corrects=original)
    row = one(finance_ledger, lines, november)
    assert (row["ChargeCategory"], row["ChargeClass"]) == ("Credit", "Correction")
    assert row["x_CorrectsChargeId"] == str(original)


def test_what_is_decided_within_the_period_is_no_correction_to_focus(
    finance_ledger: Ledger, november: Span
) -> None:
    lines = Lines()
    original = lines.line("2", business_day="2026-11-03")
    lines.line("-1", "correction", detail="credit", corrects=original)
    _, row = rows(lines.write(finance_ledger), november)
    assert (row["ChargeCategory"], row["ChargeClass"]) == ("Credit", None)


@pytest.mark.parametrize(
    ("covered", "parts"),
    [
        ("168", [("Used", "210", "7"), ("Unused", "90", "3")]),  # 7 of 10 GPUs, 24 hours long
        ("239.9999999", [("Used", "300", "10")]),  # to the millionth
        ("240", [("Used", "300", "10")]),
        (None, [("Unused", "300", "10")]),
    ],
)
def test_a_purchase_is_billed_in_one_row_and_takes_effect_in_others(
    finance_ledger: Ledger, november: Span, covered: str | None, parts: list[tuple[str, str, str]]
) -> None:
    lines = Lines()
    of_it: dict[str, Any] = {"kind": "adjustment", "detail": "commitment", "unit_price": None, "model": None}
    lines.line("300", measure="commitment", quantity="10", **of_it)
    if covered is not None:
        lines.line("-250", **of_it | {"unit_price": "4.10"}, quantity_pms=-gpu_hours(covered))
    told = rows(lines.write(finance_ledger), november)
    (bought,) = (row for row in told if row["ChargeCategory"] == "Purchase")
    assert (bought["BilledCost"], bought["EffectiveCost"], bought["CommitmentDiscountQuantity"]) == (
        300,
        0,
        10,
    )
    effects = [row for row in told if row["ChargeCategory"] == "Usage"]
    names = ("CommitmentDiscountStatus", "EffectiveCost", "CommitmentDiscountQuantity")
    assert [tuple(row[name] for name in names) for row in effects] == [
        (status, Decimal(cost), Decimal(gpus)) for status, cost, gpus in parts
    ]
    assert {row["BilledCost"] for row in effects} == {0}
    assert {row["CommitmentDiscountId"] for row in told} == {"demo/training/vision"}
    resources = {"Used": "demo/training", "Unused": "demo/training/vision"}
    assert all(row["ResourceId"] == resources[row["CommitmentDiscountStatus"]] for row in effects)


def test_a_team_without_a_cost_centre_is_billed_by_department_and_else_by_name(
    finance_ledger: Ledger, november: Span
) -> None:
    lines = Lines()
    lines.line("1", team="nlp")
    lines.line("1", team="stranger")
    lines.line("1", "unallocated", "own")
    told = [
        (r["BillingAccountId"], r["BillingAccountType"]) for r in rows(lines.write(finance_ledger), november)
    ]
    assert told == [("research", "Department"), ("stranger", "Team"), ("fleet", "Fleet")]


def test_a_closed_periods_rows_have_the_numbers_of_their_statements(finance_ledger: Ledger) -> None:
    lines = Lines()
    lines.line("1", business_day="2026-09-30")
    lines.line("2", "unallocated", "own", business_day="2026-09-30")
    lines.line("4", business_day="2026-10-01")
    closed: dict[str, Any] = {"period": "2026-09", "revision": 0, "state": "closed", "number": 7}
    told = [
        ("7-001", None, 7),
        ("7-002", "vision", 7),
        ("6-001", "vision", 6),
    ]  # the last of one that was reopened
    columns = ["statement", "team", "number"]
    statements = pl.DataFrame(told, schema=columns, orient="row").with_columns(
        period=pl.lit("2026-09"), currency=pl.lit("EUR")
    )
    ledger = lines.write(finance_ledger)
    ledger.append("focus/closed", {"periods_versions": pl.DataFrame([closed]), "statements": statements})
    span = span_between("2026-09-30", "2026-10-01", Calendar(ZONE))
    found = {(row["x_Period"], row["SubAccountId"]): row["InvoiceId"] for row in rows(ledger, span)}
    assert found == {("2026-09", "vision"): "7-002", ("2026-09", None): "7-001", ("2026-10", "vision"): None}


@pytest.mark.patient
def test_the_rows_add_up_to_the_pools_cost_and_a_teams_to_what_it_owes(books: Books) -> None:
    books.card(unallocated="held", unavailable="none", unobserved="even")
    books.rate("4.10", pool="serving")
    books.rate("3.10")
    books.usage(team="vision", gpus=1 / 7, hours=5, faulted=0.3)
    books.usage(team="nlp", gpus=3, hours=7, pool="serving")
    books.usage(gpus=2, hours=3, unavailable=0.25, unobserved=0.25)
    ledger = books.fill()
    charge(ledger, 0, "UTC")
    told = rows(ledger, span_of(Calendar().named("2026-11")))
    ((cost,),) = ledger.query("select sum(amount) from charges").rows()
    assert sum(row["BilledCost"] for row in told) == cost
    owed = dict(
        ledger.query("select team, sum(amount) from charges where account = 'team' group by team").rows()
    )
    for team, amount in owed.items():
        mine = [row["BilledCost"] for row in told if row["SubAccountId"] == team]
        assert sum(mine) == amount


KINDS = st.sampled_from(
    ["base", "unallocated", "unavailable", "unobserved", "shared", "adjustment", "clearing", "correction"]
)


@st.composite
def any_lines(draw: st.DrawFn) -> Lines:
    lines = Lines()
    money = st.decimals("-1e9", "1e9", places=6)
    for _ in range(draw(st.integers(1, 40))):
        kind = draw(KINDS)
        account = {"clearing": "clearing", "base": "team", "shared": "team"}.get(
            kind, draw(st.sampled_from(["team", "own"]))
        )
        lines.line(
            str(draw(money)),
            kind,
            account,
            detail=draw(
                st.sampled_from(["", "commitment", "lent", "trueup", "credit", "base", "adjustment"])
            ),
            measure=draw(st.sampled_from(["gpu_hour", "cpu_hour", "kwh", "commitment", "invoice"])),
            unit_price=draw(st.none() | st.decimals(0, 10000, places=9)),
            quantity_pms=draw(st.integers(-(10**18), 10**18).map(Decimal)),
            quantity=draw(st.none() | st.decimals(0, 10**9, places=6)),
            business_day=draw(st.sampled_from(["2026-11-01", "2026-11-30"])),
            pool=draw(st.sampled_from([None, "", "training"])),
        )
    return lines


@settings(max_examples=5)
@given(lines=any_lines())
@pytest.mark.patient
def test_whatever_the_lines_are_costs_are_kept_and_price_times_quantity_is_the_cost(
    finance_ledger: Ledger, november: Span, lines: Lines
) -> None:
    told = rows(lines.write(finance_ledger), november)
    total = sum(line["amount"] for line in lines.rows)
    assert sum(row["BilledCost"] for row in told) == total
    assert sum(row["EffectiveCost"] for row in told) == total
    for row in told:
        if row["PricingQuantity"] is not None:
            product = row["PricingQuantity"] * row["ContractedUnitPrice"]
            assert abs(product - row["ContractedCost"]) <= Decimal("1e-8")


@pytest.mark.patient
def test_shares_of_one_line_have_ratios_that_add_up_to_one(finance_ledger: Ledger, november: Span) -> None:
    lines = Lines()
    for team, amount in (("a", "444.45"), ("b", "333.33"), ("c", "222.22")):
        lines.shared(amount, team)
    frame = pl.concat(list(focus_frames(lines.write(finance_ledger), november, AccountsPart(), "1.3")))
    shares = frame.filter(pl.col("x_Kind") == "shared")
    ratios = [Decimal(text.split(":")[2].split(",")[0]) for text in shares["AllocatedMethodDetails"]]
    assert sum(ratios) == 1
    assert shares["AllocatedResourceId"].to_list() == ["a", "b", "c"]
    assert frame.filter(pl.col("x_Kind") == "clearing")["AllocatedMethodId"].null_count() == 3
    assert [name for name in frame.columns if name in SINCE_1_3] == list(SINCE_1_3)


@pytest.mark.patient
def test_csv_and_parquet_say_the_same_and_csv_has_no_formulas(
    finance_ledger: Ledger, lines: Lines, november: Span, tmp_path: Path
) -> None:
    for team in ("=1+1", "@team", " -2", "\tx", 'a "quoted", one', "Ünïcode", "two\nlines"):
        lines.line("1", team=team)
    ledger = lines.write(finance_ledger)
    file, parquet = tmp_path / "focus.csv", tmp_path / "focus.parquet"
    counts = [
        write(focus_frames(ledger, november, AccountsPart()), target)
        for write, target in ((write_csv, file), (write_parquet, parquet))
    ]
    frame = pl.read_parquet(parquet)
    with file.open(encoding="utf-8", newline="") as stream:
        told = list(csv.DictReader(stream))
    assert counts == [len(told), len(frame)]
    assert file.read_bytes().count(b"\r\n") == len(told) + 1
    teams = {row["SubAccountId"] for row in told} - {""}
    assert {"'=1+1", "'@team", "' -2", "'\tx", 'a "quoted", one', "Ünïcode", "two\nlines"} <= teams
    assert {"=1+1", "@team"} <= set(frame["SubAccountId"])
    assert frame.schema["BilledCost"] == pl.Decimal(18, 6)
    for text, exact in zip(told, frame.to_dicts(), strict=True):
        assert Decimal(text["BilledCost"]) == exact["BilledCost"]
        assert text["ChargePeriodStart"] == f"{exact['ChargePeriodStart']:%Y-%m-%dT%H:%M:%SZ}"
        assert (text["ChargeClass"] or None) == exact["ChargeClass"]


def test_a_file_that_cannot_be_written_leaves_what_was_there(
    finance_ledger: Ledger, lines: Lines, november: Span, tmp_path: Path
) -> None:
    file = tmp_path / "focus.csv"
    file.write_text("before")

    def breaks() -> Any:
        yield next(focus_frames(lines.write(finance_ledger), november, AccountsPart()))
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match="No space left"):
        write_csv(breaks(), file)
    assert file.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["focus.csv"]
    with pytest.raises(InputError, match="cannot be written"):
        write_csv([], tmp_path / "nowhere" / "focus.csv")
    with pytest.raises(InputError, match=r"neither \.csv nor \.parquet"):
        writer_for(tmp_path / "focus.txt")


def test_a_span_of_days_is_billed_by_month_and_cut_into_pieces() -> None:
    span = span_between("2026-10-24", "2026-11-02", Calendar(ZONE))
    assert (span.name, span.first_day, span.end_day) == ("2026-10-24..2026-11-02", "2026-10-24", "2026-11-03")
    assert [period.period for period in span.periods] == ["2026-10", "2026-11"]
    assert span.days[1].end_ms - span.days[1].start_ms == 25 * 3_600_000
    assert list(span.steps(8)) == [("2026-10-24", "2026-11-01"), ("2026-11-01", "2026-11-03")]
    for first, last in (
        ("2026-11-03", "2026-11-01"),
        ("1999-01-01", "2026-11-01"),
        ("2010-01-01", "2026-01-01"),
    ):
        with pytest.raises(InputError):
            span_between(first, last, Calendar(ZONE))


def test_every_column_is_described(finance_ledger: Ledger, november: Span) -> None:
    page = PAGE.read_text(encoding="utf-8")
    frame = next(focus_frames(every_kind().write(finance_ledger), november, AccountsPart(), "1.3"))
    assert not [name for name in frame.columns if f"| `{name}` |" not in page]

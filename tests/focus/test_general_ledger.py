"""General-ledger entries: cents that balance, and tie to the statements."""

import csv
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from analytics.finance.general_ledger import Kind, Sum, entries, journal, read_sums
from analytics.finance.span import span_of
from analytics.finance.written import write_csv
from analytics.money.calendar import Calendar
from analytics.money.statement import CENT, to_cents
from quartermaster.config.accounts import AccountsPart
from sql.ledger import Ledger
from tests.focus.lines import Lines

NOVEMBER = span_of(Calendar().named("2026-11"))
ACCOUNTS = AccountsPart()


def told(sums: list[Sum]) -> list[tuple[str, str, str, str]]:
    return [
        (e.cost_centre, e.account, str(e.debit), str(e.credit)) for e in entries(sums, NOVEMBER, ACCOUNTS)
    ]


def a_sum(team: str | None, entry: Kind, amount: str, cost_centre: str = "", department: str = "") -> Sum:
    return Sum(team, department, cost_centre, entry, "EUR", Decimal(amount))


def test_cost_centres_are_debited_and_the_fleet_is_credited() -> None:
    sums = [
        a_sum("vision", "usage", "100.004", "CC-1"),
        a_sum("vision", "adjustments", "-20.001", "CC-1"),
        a_sum("nlp", "usage", "50.003", department="research"),
        a_sum("zoo", "shared", "1.002"),
        a_sum(None, "own", "10.002"),
    ]
    # 10.002 + 50.003 + 80.003 + 1.002 = 141.01: of four floors that make 141.00 the largest remainder gets the cent
    assert told(sums) == [
        ("fleet", "gpu-own", "10.00", "0.00"),
        ("research", "gpu-usage", "50.01", "0.00"),
        ("CC-1", "gpu-adjustments", "0.00", "20.00"),
        ("CC-1", "gpu-usage", "100.00", "0.00"),
        ("zoo", "gpu-shared", "1.00", "0.00"),
        ("fleet", "gpu-recovery", "0.00", "141.01"),
    ]


def test_a_month_of_credits_is_credited_and_the_fleet_debited() -> None:
    assert told([a_sum("vision", "corrections", "-3.5", "CC-1")]) == [
        ("CC-1", "gpu-corrections", "0.00", "3.50"),
        ("fleet", "gpu-recovery", "3.50", "0.00"),
    ]


def test_nothing_is_no_entry() -> None:
    assert told([]) == []
    assert told([a_sum("vision", "usage", "0.000001")]) == []
    assert journal([]).columns[:4] == ["period", "posting_date", "cost_centre", "department"]


KINDS = st.sampled_from(["usage", "shared", "adjustments", "corrections"])
SUMS = st.lists(
    st.builds(
        Sum,
        st.sampled_from(["a", "b", "c"]),
        st.just(""),
        st.just("cc"),
        KINDS,
        st.sampled_from(["EUR", "USD"]),
        st.integers(-(10**12), 10**12).map(lambda n: Decimal(n).scaleb(-6)),
    ),
    unique_by=lambda one: (one.team, one.entry, one.currency),
    max_size=24,
)


@given(SUMS, st.integers(0, 10**12))
def test_it_balances_and_ties_to_the_statements(sums: list[Sum], own: int) -> None:
    sums = [*sums, Sum(None, "", "", "own", "EUR", Decimal(own).scaleb(-6))]
    found = entries(sums, NOVEMBER, ACCOUNTS)
    for currency in ("EUR", "USD"):
        mine = [each for each in found if each.currency == currency]
        assert sum(each.debit for each in mine) == sum(each.credit for each in mine)
        owed = defaultdict[str, Decimal](Decimal)
        for one in sums:
            if one.currency == currency:
                owed[one.team or ""] += one.amount
        statements = to_cents(owed)
        booked = defaultdict[str, Decimal](Decimal)
        for each in mine:
            assert each.debit >= 0 <= each.credit
            if each.account != ACCOUNTS.recovery:
                booked[each.team] += each.debit - each.credit
        assert {team: booked[team] for team in statements} == statements
    exact = {(one.team or "", one.entry, one.currency): one.amount for one in sums}
    names = {ACCOUNTS.usage: "usage", ACCOUNTS.shared: "shared", ACCOUNTS.adjustments: "adjustments"}
    names |= {ACCOUNTS.corrections: "corrections", ACCOUNTS.own: "own"}
    for each in found:
        if each.account in names:
            amount = exact[each.team, names[each.account], each.currency]
            assert abs(each.debit - each.credit - amount) < 2 * CENT


def test_it_is_read_from_the_lines_and_written_without_formulas(
    finance_ledger: Ledger, lines: Lines, tmp_path: Path
) -> None:
    lines.line("7.77", team="=HYPERLINK(1)")
    ledger = lines.write(finance_ledger)
    file = tmp_path / "journal.csv"
    write_csv([journal(entries(read_sums(ledger, NOVEMBER), NOVEMBER, ACCOUNTS))], file)
    with file.open(encoding="utf-8", newline="") as stream:
        rows: list[dict[str, Any]] = list(csv.DictReader(stream))
    assert sum(Decimal(r["debit"]) for r in rows) == sum(Decimal(r["credit"]) for r in rows)
    assert {"CC-100", "research", "'=HYPERLINK(1)", "fleet"} == {row["cost_centre"] for row in rows}
    assert {row["posting_date"] for row in rows} == {"2026-11-30"}
    november = [line for line in lines.rows if line["business_day"] > "2026-11"]
    owed = sum(line["amount"] for line in november if line["account"] == "team")
    teams = [row for row in rows if row["team"]]
    assert abs(sum(Decimal(r["debit"]) - Decimal(r["credit"]) for r in teams) - owed) < CENT

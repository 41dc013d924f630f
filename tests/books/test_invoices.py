"""Invoices: understood from the supplier's file, and tied to by the books to the millionth."""

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analytics.money.calendar import Calendar
from analytics.money.charges import charge
from analytics.money.close import close
from analytics.money.invoicefile import Reading, read_file, understand
from analytics.money.invoices import (
    Imported,
    Invoice,
    InvoiceLine,
    import_invoice,
    list_invoices,
    spread,
    withdraw_invoice,
)
from quartermaster.clock import from_iso
from quartermaster.errors import InputError
from sql.checks import run as run_checks
from tests.books.test_close import TERMS
from tests.money.books import Books

H100, DAY = "NVIDIA H100", "2026-10-01"
NOW = from_iso("2026-11-03T00:00:00Z")
READING = Reading("Europe/Berlin", "EUR", "demo", {"p5": H100})


def line(amount: str, day: str | None = DAY, model: str = H100, currency: str = "EUR") -> InvoiceLine:
    return InvoiceLine("demo", model, day, Decimal(amount), currency)


def bring(books: Books, *lines: InvoiceLine, number: str = "R-1", shared: str = "held") -> Imported:
    invoice = Invoice(number, "cloud", "r.csv", lines, shared)
    return import_invoice(books.ledger, "2026-10", invoice, calendar=Calendar(), actor="anna", now_ms=NOW)


def told(books: Books) -> dict[tuple[str | None, str], Decimal]:
    return {
        (each["team"], each["account"]): each["amount"]
        for each in books.lines()
        if each["measure"] == "invoice"
    }


def sum_of(books: Books, day: str) -> Decimal:
    return sum((each["amount"] for each in books.lines() if each["business_day"] == day), Decimal(0))


@pytest.fixture
def charged(october: Books) -> Books:
    """October, charged: 16 EUR a day, of which vision has 8 and speech 4."""
    charge(october.ledger, 0, "UTC")
    return october


@pytest.mark.patient
def test_the_books_tie_to_the_invoice_and_the_difference_is_shared_by_held_time(charged: Books) -> None:
    found = bring(charged, line("19"))
    assert (found.total, found.trued_up) == (Decimal(19), Decimal(3))
    assert told(charged) == {("vision", "team"): Decimal(2), ("speech", "team"): Decimal(1)}
    assert sum_of(charged, DAY) == 19
    assert sum_of(charged, "2026-10-31") == 16  # of which the invoice says nothing
    assert run_checks(charged.ledger, ["adjustments"]) == []


@pytest.mark.patient
def test_an_invoice_for_less_is_a_credit(charged: Books) -> None:
    bring(charged, line("15.5"))
    assert told(charged) == {
        ("vision", "team"): Decimal("-0.333333"),
        ("speech", "team"): Decimal("-0.166667"),
    }


@pytest.mark.patient
def test_the_difference_may_be_nobodys(charged: Books) -> None:
    bring(charged, line("20"), shared="own")
    assert told(charged) == {(None, "own"): Decimal(4)}
    assert sum_of(charged, DAY) == 20


@pytest.mark.patient
def test_imported_again_it_replaces_what_it_was_and_withdrawn_it_is_gone(charged: Books) -> None:
    before = charged.lines()
    bring(charged, line("19"))
    bring(charged, line("17", "2026-10-31"))
    assert (sum_of(charged, DAY), sum_of(charged, "2026-10-31")) == (16, 17)
    bring(charged, line("1"), number="R-2")
    with charged.ledger.reading() as cursor:
        listed = list_invoices(cursor).select("invoice", "lines", "total").rows()
    assert listed == [("R-1", 1, Decimal(17)), ("R-2", 1, Decimal(1))]
    for number in ("R-1", "R-2"):
        withdraw_invoice(charged.ledger, "2026-10", number, calendar=Calendar(), actor="anna", now_ms=NOW)
    assert charged.lines() == before


@pytest.mark.patient
def test_true_up_stays_when_usage_is_charged_anew(charged: Books) -> None:
    bring(charged, line("19"))
    before = charged.lines()
    assert charge(charged.ledger, 0, "UTC", everything=True).changed_days == ()
    assert charged.lines() == before


@pytest.mark.patient
def test_a_closed_period_takes_no_invoice(charged: Books) -> None:
    close(charged.ledger, "2026-10", TERMS)
    with pytest.raises(InputError, match="the books of 2026-10 are closed"):
        bring(charged, line("19"))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((), "no line of GPUs"),
        ((line("1"), line("1", currency="USD")), "lines in EUR, USD"),
        ((line("1", currency="USD"),), "the invoice is in USD, the card of NVIDIA H100 in EUR"),
        ((line("1", "2026-11-01"),), "2026-11-01 is no day of 2026-10"),
        ((line("1", model="NVIDIA H100 typo"),), "no cost of NVIDIA H100 typo in cluster demo"),
        ((line("1e12"),), "is too much"),
    ],
)
@pytest.mark.patient
def test_what_does_not_fit_the_period_is_refused(
    charged: Books, lines: tuple[InvoiceLine, ...], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        bring(charged, *lines)
    assert charged.ledger.query("from invoices_versions").is_empty()


@given(
    st.lists(st.decimals("-1e6", "1e6", places=9), min_size=1, max_size=5),
    st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe"]),
)
def test_a_total_is_spread_over_the_period_to_the_millionth(amounts: list[Decimal], time_zone: str) -> None:
    period = Calendar(time_zone).named("2026-10")
    found = spread(Invoice("R", "", "", tuple(line(str(each), None) for each in amounts)), period)
    assert len(found) == 31
    assert sum(each.amount for each in found) == sum(amounts, Decimal(0)).quantize(
        Decimal("0.000001"), "ROUND_HALF_UP"
    )


@pytest.mark.patient
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(total=st.decimals("0.000001", "99999", places=6), held=st.booleans())
def test_the_law_the_period_adds_up_to_its_invoice(charged: Books, total: Decimal, held: bool) -> None:
    lines = [line(str(total), None)]
    bring(charged, *lines, shared="held" if held else "own")
    sums = sum((each["amount"] for each in charged.lines() if each["business_day"] < "2026-11"), Decimal(0))
    assert sums == total


def test_our_own_columns(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("model,day,amount\nNVIDIA H100,2026-10-01,12.5\nNVIDIA H100,,100\n", encoding="utf-8-sig")
    assert understand(read_file(file), READING).lines == (line("12.5"), line("100", None))


def test_focus(tmp_path: Path) -> None:
    file = tmp_path / "focus.csv"
    file.write_text(
        "BilledCost,BillingCurrency,ChargePeriodStart,SkuId,ChargeCategory\n"
        "12.500000001,EUR,2026-09-30T22:00:00Z,p5,Usage\n"  # October in Berlin
        "3,EUR,2026-10-01T22:00:00Z,p5,Usage\n"
        "7,EUR,2026-10-01T00:00:00Z,bucket,Usage\n"
        "1,EUR,2026-10-01T00:00:00Z,p5,Tax\n"
    )
    found = understand(read_file(file), READING)
    assert found.lines == (line("12.500000001"), line("3", "2026-10-02"))
    assert (found.left_out, found.left_out_amount) == (2, Decimal(8))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "columns a, b"),
        ("", "no row below its first"),
        ("model,amount\n", "no row below its first"),
        (
            "Model;Betrag\nX;12000,00\n",
            "row 2 has more than the 1 columns of its first row \\(Model;Betrag\\)",
        ),
        ("model,amount,model\nX,1,Y\n", "two columns 'model'"),
        ("model,amount\nX,1.2.3\n", "row 2: '1.2.3' is no amount"),
        ("model,amount\nX,NaN\n", "'NaN' is no amount"),
        ("model,amount\n,1\n", "row 2 has no model"),
        ("BilledCost,BillingCurrency,ChargePeriodStart,SkuId\n1,EUR,2026-10-01T00:00:00Z,q\n", "SkuId are q"),
        (
            "BilledCost,BillingCurrency,ChargePeriodStart,SkuId\n1,EUR,yesterday,p5\n",
            "'yesterday' is no instant",
        ),
    ],
)
def test_what_cannot_be_understood_is_refused_with_its_row(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "a.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        understand(read_file(file), READING)


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"no parquet")
    (tmp_path / "b.csv").write_bytes(b"\xff\xfe\x00")
    for name in ("a.parquet", "b.csv", "c.csv"):
        with pytest.raises(InputError):
            read_file(tmp_path / name)


def test_the_same_under_another_number_is_told(charged: Books) -> None:
    assert bring(charged, line("19")).like is None
    assert bring(charged, line("19")).like is None  # again: it replaces itself
    assert bring(charged, line("19"), number="R-2").like == "R-1"

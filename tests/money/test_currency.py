"""Charges in one currency, by recorded rates alone: they add up, and what is not recorded is an error."""

from decimal import Decimal

import pytest

from analytics.money.charges import charge
from analytics.money.currency import Exchange, lay_charges_in, record
from analytics.money.rates import money_sql
from quartermaster.errors import InputError
from sql.ledger import Ledger
from tests.money.books import Books

NOVEMBER = Exchange("USD", "EUR", Decimal("0.921500000"), "2026-11-01", "2026-12-01", "ECB", "finance")


@pytest.fixture
def ledger(books: Books) -> Ledger:
    """A day in dollars, and one in euros, with shared and credited lines."""
    books.card("2026", currency="USD", unallocated="held", end_at="2026-11-24T00:00:00Z")
    books.card("2027", start="2026-11-24T00:00:00Z")
    books.rate("0.333333333")
    books.rate("2", card="2027")
    for day in ("2026-11-23", "2026-11-24"):
        for team in ("a", "b", "c"):
            books.usage(f"{day}T00:00:00Z", team=team, gpus=1, faulted=0.3)
        books.usage(f"{day}T00:00:00Z", gpus=1)
    found = books.fill()
    found.write(f"fx/none/{id(books)}", lambda cursor: cursor.execute("delete from fx") and None)
    charge(found, 0, "UTC")
    return found


def test_lines_in_another_currency_add_up_to_the_sum_by_the_rate(ledger: Ledger) -> None:
    """4 GPU-hours × 0.333333333 = 1.333333 USD × 0.9215 = 1.228666 EUR; the next day 8.00 EUR as it was."""
    record(ledger, NOVEMBER, 0)
    with ledger.reading() as cursor:
        lay_charges_in(cursor, "EUR", "2026-11-23", "2026-11-24")
        sums = cursor.execute(
            "select business_day, sum(amount), sum(amount) filter (where kind in ('adjustment', 'shared', 'clearing')) "
            "from charges_in group by 1 order by 1"
        ).fetchall()
        assert sums == [
            ("2026-11-23", Decimal("1.228666"), Decimal(0)),
            ("2026-11-24", Decimal("8.000000"), Decimal(0)),
        ]
        exact = "select max(abs(i.amount - c.amount * 0.9215)) from charges_in as i inner join charges as c "
        worst = cursor.execute(
            exact + "on c.charge_id = i.charge_id where c.business_day = '2026-11-23'"
        ).fetchone()
        assert worst is not None
        assert worst[0] <= Decimal("0.000002")
        assert {team for team, *_ in cursor.execute(money_sql("owed_in")).fetchall()} == {"a", "b", "c"}


def test_without_a_recorded_rate_it_is_an_error(ledger: Ledger) -> None:
    """Nor by the other way round."""
    record(ledger, Exchange("EUR", "USD", Decimal("1.085"), "2026-11-01", "2026-12-01", "ECB", "finance"), 0)
    with ledger.reading() as cursor, pytest.raises(InputError, match="no rate of USD in EUR") as error:
        lay_charges_in(cursor, "EUR", "2026-11-23", "2026-11-24")
    assert "2026-11-23" in error.value.what


def test_a_rate_is_recorded_once_and_never_changed(ledger: Ledger) -> None:
    assert record(ledger, NOVEMBER, 0)
    assert not record(ledger, NOVEMBER, 1)
    other = Exchange("USD", "EUR", Decimal("0.93"), "2026-11-30", "2026-12-31", "ECB", "finance")
    with pytest.raises(InputError, match=r"fixed at 0\.921500000 from 2026-11-01 to 2026-12-01"):
        record(ledger, other, 0)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (Exchange("EUR", "EUR", Decimal(1), "2026-11-01", "2026-12-01", "", "me"), "no rate"),
        (Exchange("USD", "EUR", Decimal(0), "2026-11-01", "2026-12-01", "", "me"), "no rate"),
        (Exchange("USD", "EUR", Decimal(1), "2026-11-01", "2026-11-01", "", "me"), "not after"),
        (Exchange("USD", "EUR", Decimal(1), "2026-11-01", "2026-12-01", "", " "), "say"),
    ],
)
def test_what_cannot_be_a_rate_is_refused(books: Books, wrong: Exchange, told: str) -> None:
    with pytest.raises(InputError, match=told):
        record(books.ledger, wrong, 0)

"""Statements: cents that add up."""

from decimal import ROUND_HALF_UP, Decimal

from hypothesis import given
from hypothesis import strategies as st

from analytics.money.statement import CENT, to_cents

amounts = st.dictionaries(st.text(), st.integers(-(10**14), 10**14).map(lambda n: Decimal(n).scaleb(-6)))


def test_thirds_of_ten() -> None:
    third = Decimal("3.333333")
    assert to_cents({"a": third, "b": third, "c": Decimal("3.333334")}) == {
        "a": Decimal("3.33"),
        "b": Decimal("3.33"),
        "c": Decimal("3.34"),
    }


def test_nothing_is_nothing() -> None:
    assert to_cents({}) == {}


@given(amounts)
def test_cents_add_up_and_no_line_is_a_cent_off(given_amounts: dict[str, Decimal]) -> None:
    cents = to_cents(given_amounts)
    total = sum(given_amounts.values(), Decimal(0)).quantize(CENT, ROUND_HALF_UP)
    assert sum(cents.values(), Decimal(0)) == total
    for name, amount in given_amounts.items():
        assert abs(cents[name] - amount) < CENT
        assert cents[name] == cents[name].quantize(CENT)


@given(amounts)
def test_the_order_of_lines_does_not_count(given_amounts: dict[str, Decimal]) -> None:
    assert to_cents(dict(reversed(given_amounts.items()))) == to_cents(given_amounts)


@given(amounts)
def test_whole_cents_stay(given_amounts: dict[str, Decimal]) -> None:
    whole = {name: amount.quantize(CENT) for name, amount in given_amounts.items()}
    assert to_cents(whole) == whole

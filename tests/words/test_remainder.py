"""The largest remainder: what is shared adds up, whatever it is and however it is weighed."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from quartermaster.remainder import share

totals = st.integers(-(10**30), 10**30)
weights = st.dictionaries(st.text(), st.integers(0, 10**20))


def test_koku_shares_1000_by_8_6_4() -> None:
    cents = share(100_000, {"ml-train": 8, "inference": 6, "serving": 4})
    assert cents == {"ml-train": 44_445, "inference": 33_333, "serving": 22_222}


def test_ties_go_by_name() -> None:
    assert share(1, {"b": 1, "a": 1, "c": 1}) == {"b": 0, "a": 1, "c": 0}


def test_who_weighs_nothing_gets_nothing() -> None:
    assert share(7, {"a": 0, "b": 2}) == {"a": 0, "b": 7}


def test_nothing_to_share_needs_no_weight() -> None:
    assert share(0, {"a": 0}) == {"a": 0}
    assert share(0, {}) == {}


@pytest.mark.parametrize("names", [{}, {"a": 0}])
def test_something_to_share_needs_a_weight(names: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="no weight"):
        share(5, names)


def test_a_negative_weight_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        share(5, {"a": 2, "b": -1})


@given(totals, weights)
def test_shares_add_up_and_are_less_than_one_off(total: int, names: dict[str, int]) -> None:
    whole = sum(names.values())
    assume(whole)
    shares = share(total, names)
    assert sum(shares.values()) == total
    for name, weight in names.items():
        assert abs(shares[name] - Fraction(total * weight, whole)) < 1


@given(totals, weights)
def test_the_order_of_names_does_not_count(total: int, names: dict[str, int]) -> None:
    assume(sum(names.values()))
    assert share(total, dict(reversed(names.items()))) == share(total, names)


@given(totals, weights)
def test_less_than_nothing_is_the_mirror_image(total: int, names: dict[str, int]) -> None:
    assume(sum(names.values()))
    assert share(-total, names) == {name: -part for name, part in share(total, names).items()}


@given(st.integers(0, 10**9), st.dictionaries(st.text(), st.integers(1, 10**9), min_size=2))
def test_who_weighs_more_gets_no_less(total: int, names: dict[str, int]) -> None:
    shares = share(total, names)
    by_weight = sorted(names, key=names.__getitem__)
    for lighter, heavier in pairwise(by_weight):
        assert shares[lighter] <= shares[heavier] or names[lighter] == names[heavier]

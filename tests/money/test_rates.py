"""Rates: which price holds where and when."""

from decimal import Decimal
from typing import Any

import pytest

from analytics.money.rates import FOREVER_MS, Card, Prices, Rate
from quartermaster.errors import ConfigurationError


def card(name: str = "2026", start: int = 0, end: int = FOREVER_MS) -> Card:
    return Card(name, start, end, "EUR")


def rate(
    price: str, position: int = 0, model: str = "*", pool: str = "*", cluster: str = "*", **given: Any
) -> Rate:
    row: dict[str, Any] = {
        "rate_id": position,
        "card": "2026",
        "version": 1,
        "start_ms": 0,
        "end_ms": FOREVER_MS,
    }
    row |= {"end_ms": FOREVER_MS, "cluster_glob": cluster, "pool_glob": pool, "model_glob": model}
    return Rate(price=Decimal(price), position=position, **(row | given))


PRICES = Prices(
    (card(),),
    (
        rate("5", 0, model="*H100*", pool="serving"),
        rate("3", 1, model="*H100*"),
        rate("2", 2, model="*A100*", cluster="eu-*"),
        rate("1", 3, pool="spare"),
    ),
)


@pytest.mark.parametrize(
    ("cluster", "pool", "model", "price"),
    [
        ("eu-1", "serving", "NVIDIA H100 80GB HBM3", "5"),
        ("eu-1", "training", "NVIDIA H100 80GB HBM3", "3"),
        ("eu-1", "training", "NVIDIA A100-SXM4-40GB", "2"),
        ("eu-1", "spare", "NVIDIA A100-SXM4-40GB", "2"),
        ("us-1", "spare", "NVIDIA A100-SXM4-40GB", "1"),
        ("us-1", "spare", "", "1"),
    ],
)
def test_the_first_line_that_matches_wins(cluster: str, pool: str, model: str, price: str) -> None:
    assert PRICES.at(cluster, pool, model, 0)[1].price == Decimal(price)


@pytest.mark.parametrize(
    ("pool", "model", "told"),
    [
        ("training", "Tesla T4", "no price for Tesla T4 in pool training of cluster us-1"),
        ("", "", "no price for an unknown GPU in pool (none) of cluster us-1"),
    ],
)
def test_no_line_is_an_error_that_says_which_model_and_pool(pool: str, model: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        PRICES.at("us-1", pool, model, 0)
    assert told in error.value.what
    assert "1970-01-01T00:00:00.000Z" in error.value.what
    assert "card 2026" in error.value.what
    assert "gpu_hour" in error.value.hint


def test_no_card_in_force_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="no rate card is in force"):
        Prices((card(start=10, end=20),), (rate("1"),)).at("c", "p", "m", 20)


def test_the_card_that_started_last_holds_and_its_prices_alone() -> None:
    prices = Prices(
        (card("2026"), card("sale", start=10, end=20)),
        (rate("9", card="2026"), rate("1", card="sale", model="*H100*")),
    )
    assert prices.at("c", "p", "H100", 9)[1].price == 9
    assert prices.at("c", "p", "H100", 10)[1].price == 1
    assert prices.at("c", "p", "H100", 20)[1].price == 9
    with pytest.raises(ConfigurationError, match="card sale"):
        prices.at("c", "p", "A100", 10)


def test_the_highest_version_in_force_is_the_whole_price_list() -> None:
    prices = Prices(
        (card(),),
        (rate("1", 0, "*H100*"), rate("2", 1, "*A100*"), rate("7", 0, "*H100*", version=2, start_ms=5)),
    )
    assert prices.at("c", "p", "A100", 4)[1].price == 2
    assert prices.at("c", "p", "H100", 5)[1].price == 7
    with pytest.raises(ConfigurationError, match="A100"):
        prices.at("c", "p", "A100", 5)


def test_spans_have_no_holes_and_join_what_is_the_same() -> None:
    prices = Prices(
        (card(start=2),),
        (rate("1", end_ms=10), rate("1", 1, "other", start_ms=5), rate("3", 2, start_ms=10)),
    )
    spans = prices.spans("c", "p", "m", 0, 20)
    assert [(span.start_ms, span.end_ms, span.rate.price) for span in spans] == [(2, 10, 1), (10, 20, 3)]


def test_spans_before_the_first_card_or_without_one_are_none() -> None:
    assert Prices((card(start=9),), (rate("1"),)).spans("c", "p", "m", 0, 9) == []
    assert Prices((), ()).spans("c", "p", "m", 0, 9) == []
    assert Prices((), ()).start_ms is None


def test_cards_of_a_span() -> None:
    prices = Prices((card("a", end=10), card("b", start=10)), ())
    assert [one.card for one in prices.cards_between(0, 10)] == ["a"]
    assert [one.card for one in prices.cards_between(5, 15)] == ["a", "b"]

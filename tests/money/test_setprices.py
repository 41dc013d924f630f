"""Prices by command: in force from an instant, beside the configuration's; refused where they cannot be."""

from collections.abc import Generator
from pathlib import Path

import pytest

from analytics.money.rates import read_prices
from quartermaster.clock import HOUR_MS, from_iso
from quartermaster.config.cardfile import read_card
from quartermaster.config.load import parse_configuration
from quartermaster.config.model import Configuration
from quartermaster.config.prices import RateCardPart
from quartermaster.config.problem import BrokenConfigurationError
from quartermaster.config.secret import Surroundings
from quartermaster.errors import InputError
from sql.declare import declare
from sql.ledger import Ledger, memory_ledger
from sql.setprices import set_prices
from tests.money.books import Books

TEXT = """
clusters: [{name: demo, dcgm: {targets: ["http://127.0.0.1:9400/metrics"]}}]
pools: [{name: training, purchase: owned}, {name: cheap, purchase: spot}, {name: cheaper, purchase: spot}]
teams: [{name: vision}]
rate_cards:
  - card: "2026"
    prices: [{purchase: spot, gpu_hour: "0.90", cpu_hour: "0.01"}, {gpu_hour: "3.10"}]
"""
SALE = """card: sale
author: finance
prices:
  - {model: "*H100*", profile: "1g.*", gpu_hour: "4.20"}
  - {gpu_hour: "2"}
"""
AT = from_iso("2026-11-23T12:00:00Z")


@pytest.fixture(scope="module")
def configuration() -> Configuration:
    surroundings = Surroundings({}, Path("/nowhere"), lambda path: path.read_text(encoding="utf-8"))
    return parse_configuration(TEXT, "quartermaster.yaml", surroundings).need()


@pytest.fixture
def ledger(configuration: Configuration) -> Generator[Ledger]:
    with memory_ledger() as found:
        declare(found, configuration, 0)
        yield found


def card(configuration: Configuration, text: str = SALE) -> RateCardPart:
    return read_card(text, "card.yaml", configuration)


def price_at(ledger: Ledger, instant_ms: int, pool: str = "training", profile: str = "") -> str:
    with ledger.reading() as cursor:
        return f"{read_prices(cursor).at('demo', pool, 'NVIDIA H100', instant_ms, profile)[1].price.normalize():f}"


@pytest.mark.patient
def test_a_pool_is_priced_by_how_it_is_bought(ledger: Ledger) -> None:
    assert [price_at(ledger, AT, pool) for pool in ("training", "cheap", "cheaper")] == ["3.1", "0.9", "0.9"]
    with ledger.reading() as cursor:
        rate = read_prices(cursor).at("demo", "cheap", "NVIDIA H100", AT)[1]
    cores = rate.other("cpu_hour")
    assert cores is not None
    assert f"{cores.price.normalize():f}" == "0.01"


@pytest.mark.patient
def test_it_holds_from_its_instant_and_a_declaration_leaves_it(
    ledger: Ledger, configuration: Configuration
) -> None:
    done = set_prices(ledger, configuration, card(configuration), AT, AT)
    assert (done.version, done.lines) == (1, 2)
    assert declare(ledger, configuration, AT + 1) == []
    assert [price_at(ledger, AT - 1), price_at(ledger, AT)] == ["3.1", "2"]
    assert price_at(ledger, AT, profile="1g.10gb") == "4.2"
    cuts = ledger.query("select epoch_ms(cut_at) as at from cuts")["at"].to_list()
    assert AT in cuts


@pytest.mark.patient
def test_set_again_it_is_a_new_version_and_what_has_been_stays(
    ledger: Ledger, configuration: Configuration
) -> None:
    set_prices(ledger, configuration, card(configuration), AT, AT)
    dearer = card(configuration, SALE.replace('"2"', '"2.50"'))
    assert set_prices(ledger, configuration, dearer, AT + HOUR_MS, AT).version == 2
    assert [price_at(ledger, AT), price_at(ledger, AT + HOUR_MS)] == ["2", "2.5"]
    with pytest.raises(InputError, match=r"has prices from 2026-11-23T13:00:00\.000Z already"):
        set_prices(ledger, configuration, dearer, AT, AT)


@pytest.mark.patient
def test_the_configurations_card_and_an_unknown_author_are_refused(
    ledger: Ledger, configuration: Configuration
) -> None:
    with pytest.raises(InputError, match="the configuration has a card '2026'"):
        set_prices(ledger, configuration, card(configuration, SALE.replace("sale", '"2026"')), AT, AT)
    with pytest.raises(InputError, match="who sets prices"):
        set_prices(ledger, configuration, card(configuration, SALE.replace("finance", '""')), AT, AT)


def test_closed_books_and_hours_without_samples_name_the_next_instant(
    books: Books, configuration: Configuration
) -> None:
    books.usage("2026-11-23T12:00:00Z", team="vision")
    ledger = books.fill()
    with pytest.raises(InputError, match="samples of the hour") as error:
        set_prices(ledger, configuration, card(configuration), AT + 60_000, AT)
    assert "2026-11-23T13:00:00.000Z" in error.value.hint
    insert = (
        "insert into periods_versions by name select '2026-11' as period, 0 as revision, 'closed' as state, "
        "'2026-11-01' as start_day, '2026-12-01' as end_day, '2026-11-01 00:00:00+00'::timestamptz as start_at, "
        "'2026-12-01 00:00:00+00'::timestamptz as end_at, 1 as number, now() as recorded_at"
    )
    ledger.write("closed/1/1", lambda cursor: cursor.execute(insert) and None)
    try:
        with pytest.raises(InputError, match="closed books of 2026-11") as error:
            set_prices(ledger, configuration, card(configuration), AT, AT)
        assert "2026-12-01T00:00:00.000Z" in error.value.hint
    finally:
        ledger.write("closed/1/2", lambda cursor: cursor.execute("delete from periods_versions") and None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "card: is missing"),
        (
            "card: x\nprices: [{gpu_hour: -1}]",
            "card.yaml:2:21: error: prices[0].gpu_hour: a price is not below zero",
        ),
        ("card: x\nprices: []", "prices"),
        ("card: x\ncurrency: EURO\nprices: [{gpu_hour: 1}]", "card.yaml:2:11: error: currency"),
        ("card: x\nprices: [{gpu_hour: 1, lent: 0.5}]", "lent: it is more than reserved"),
        ("card: x\nprices: [{gpu_hour: 1}]\nbill_energy: true", "bill_energy: there is no tariff"),
        ("card: x\nprices: [{gpu_hour: 1}]\nweights: {visoin: 3}", "did you mean vision?"),
        ("card: x\nprices: [{gpu_hour: 1}]\nweights: {vision: -3}", "weights"),
        (
            "card: x\nprices: [{gpu_hour: 1}]\n"
            "commitments: [{team: vision, pool: nowhere, cluster: demo, gpus: 8, month: 100}]",
            "there is no pool 'nowhere'",
        ),
    ],
)
def test_a_broken_card_is_refused_with_its_line(configuration: Configuration, text: str, told: str) -> None:
    with pytest.raises(BrokenConfigurationError) as error:
        read_card(text, "card.yaml", configuration)
    assert told in error.value.what


def test_a_card_without_a_price_for_what_is_there_is_refused(
    ledger: Ledger, configuration: Configuration
) -> None:
    books = Books(ledger)
    books.usage(cluster="demo", pool="training", model="Tesla T4")
    books.fill()
    text = "card: sale\nauthor: finance\nprices: [{model: '*H100*', gpu_hour: '2'}]\n"
    with pytest.raises(InputError, match="no price for Tesla T4 in pool training of cluster demo"):
        set_prices(ledger, configuration, card(configuration, text), AT, AT)
    set_prices(ledger, configuration, card(configuration), AT, AT)
    week = 7 * 24 * HOUR_MS
    set_prices(ledger, configuration, card(configuration, text), AT + 2 * week, AT + 2 * week)  # it is gone

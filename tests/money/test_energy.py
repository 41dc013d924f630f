"""Electricity: what the counters told, × PUE, by tariff and hourly intensity; what is not known stays so."""

from decimal import Decimal

import polars as pl
import pytest

from analytics.business import business_day
from analytics.money.energy import Energy, energy, read_intensities
from analytics.money.rates import read_prices
from quartermaster.clock import HOUR_MS, from_iso
from quartermaster.errors import InputError
from quartermaster.parts import GPU_PARTS
from tests.money.books import Books

DAY = business_day("2026-11-23", "UTC")
GPU_HOUR = GPU_PARTS * HOUR_MS


def tariff(books: Books, price: str, glob: str = "*", grams: str | None = None, **given: object) -> None:
    row = {"tariff_id": hash(glob) % 2**31, "start_at": "2026-01-01T00:00:00Z", "end_at": None, "revision": 0}
    row |= {"cluster_glob": glob, "kwh_price": Decimal(price), "currency": "EUR", "pue_permille": 1300}
    books.add(
        "tariffs_versions", **(row | {"grams_per_kwh": None if grams is None else Decimal(grams)} | given)
    )


def drawn(books: Books) -> list[Energy]:
    with books.fill().reading() as cursor:
        return energy(cursor, read_prices(cursor), [DAY])


def test_cost_and_carbon_of_what_was_held(books: Books) -> None:
    """3.6 MJ = 1 kWh × PUE 1.3 = 1.3 kWh; × 0.20 = 0.26 EUR; × 400 g = 520 g. The longer pattern counts."""
    tariff(books, "9.99", "*", "1")
    tariff(books, "0.20", "dem*", "400")
    books.usage(team="vision", energy_j=3_600_000, energy_known_pms=GPU_HOUR)
    (row,) = drawn(books)
    assert (row.team, row.held_pms, row.known_pms) == ("vision", GPU_HOUR, GPU_HOUR)
    assert (row.drawn_micro_kwh, row.cost_micros, row.currency) == (1_300_000, 260_000, "EUR")
    assert row.emitted_mg == 520_000


def test_an_hours_own_intensity_comes_before_the_tariffs_and_the_last_told_counts(books: Books) -> None:
    """1.3 kWh × 100 g, and 1.3 kWh × 400 g."""
    tariff(books, "0.20", grams="400")
    hour = {
        "cluster": "demo",
        "start_at": "2026-11-23T00:00:00Z",
        "end_at": "2026-11-23T01:00:00Z",
        "source": "x",
    }
    books.add("carbon", **hour, grams_per_kwh=Decimal(900))
    books.fill()
    books.store.append(
        "carbon/again", {"carbon": pl.DataFrame([hour | {"grams_per_kwh": "100"}])}, recorded_at=1
    )
    for hour_of_day in range(2):
        books.usage(
            f"2026-11-23T0{hour_of_day}:00:00Z", team="vision", energy_j=3_600_000, energy_known_pms=GPU_HOUR
        )
    (row,) = drawn(books)
    assert row.emitted_mg == 130_000 + 520_000


def test_energy_that_no_counter_told_is_not_known(books: Books) -> None:
    tariff(books, "0.20", grams="400")
    books.usage(team="vision")
    (row,) = drawn(books)
    assert (row.known_pms, row.energy_j, row.drawn_micro_kwh, row.cost_micros, row.emitted_mg) == (
        0,
        *[None] * 4,
    )


def test_without_a_tariff_or_an_intensity_cost_and_carbon_are_not_known(books: Books) -> None:
    books.usage(team="vision", energy_j=3_600_000, energy_known_pms=GPU_HOUR)
    (row,) = drawn(books)
    assert (row.energy_j, row.drawn_micro_kwh, row.cost_micros, row.emitted_mg) == (3_600_000, *[None] * 3)


def test_hours_of_intensity_hold_until_the_next() -> None:
    told = read_intensities(
        "start,grams_per_kwh\n2026-11-23T00:00:00Z,380.5\n2026-11-23T01:00:00+00:00,12\n", "x.csv"
    )
    begin = from_iso("2026-11-23T00:00:00Z")
    assert [(one.start_ms, one.end_ms, one.grams_per_kwh) for one in told] == [
        (begin, begin + HOUR_MS, Decimal("380.5")),
        (begin + HOUR_MS, begin + 2 * HOUR_MS, Decimal(12)),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "line 1: the columns"),
        ("time,g\n", "line 1: the columns"),
        ("start,grams_per_kwh\n2026-11-23 00:00,1\n", "line 2"),
        ("start,grams_per_kwh\n2026-11-23T00:00:00Z,lots\n", "line 2"),
        ("start,grams_per_kwh\n2026-11-23T00:00:00Z,-1\n", "line 2"),
        ("start,grams_per_kwh\n2026-11-23T00:00:00Z,NaN\n", "line 2"),
        ("start,grams_per_kwh\n2026-11-23T01:00:00Z,1\n2026-11-23T00:00:00Z,1\n", "line 3: it is not after"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_intensities(text, "x.csv")

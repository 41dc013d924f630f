"""Prices: which rate holds for a cluster, pool and model at an instant. No price is an error, never zero."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from importlib.resources import files
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

from analytics.money.terms import DEFAULTS, Terms, read_terms
from quartermaster.clock import to_iso
from quartermaster.errors import ConfigurationError
from quartermaster.team import glob_matches
from sql.ledger import Cursor

FOREVER_MS = 253_402_300_800_000  # the year 10000: later than any effective date


@dataclass(frozen=True, slots=True)
class Card:
    """A rate card while it holds, [start_ms, end_ms): its currency, and how it treats what nobody held."""

    card: str
    start_ms: int
    end_ms: int
    currency: str
    share_unallocated: str = "own"  # own | none | even | held | guarantee | weighted
    share_unavailable: str = "own"
    share_unobserved: str = "own"
    bill_faulted: bool = False  # whether held time on a broken device or node is the team's cost
    terms: Terms = DEFAULTS


@dataclass(frozen=True, slots=True)
class Variant:
    """Another price of the same line: of borrowed time, of a CPU's hour, …"""

    measure: str
    rate_id: int
    price: Decimal


@dataclass(frozen=True, slots=True)
class Rate:
    """A price per GPU-hour while it holds, for what its globs match; the lowest position wins."""

    rate_id: int
    card: str
    version: int
    position: int
    cluster_glob: str
    pool_glob: str
    model_glob: str
    price: Decimal
    start_ms: int
    end_ms: int
    profile_glob: str = "*"
    others: tuple[Variant, ...] = ()  # the line's other prices, in order of measure

    def matches(self, cluster: str, pool: str, model: str, profile: str = "") -> bool:
        """Whether all four globs match; letters' case counts. A whole GPU's profile is empty."""
        return (
            glob_matches(self.cluster_glob, cluster)
            and glob_matches(self.pool_glob, pool)
            and glob_matches(self.model_glob, model)
            and glob_matches(self.profile_glob, profile)
        )

    def other(self, measure: str) -> Variant | None:
        """The line's price of another measure, as `borrowed`; None where it has none."""
        return next((each for each in self.others if each.measure == measure), None)


@dataclass(frozen=True, slots=True)
class Priced:
    """A span [start_ms, end_ms) in which one card and one rate of it hold."""

    start_ms: int
    end_ms: int
    card: Card
    rate: Rate


@dataclass(frozen=True, slots=True)
class Tariff:
    """What electricity costs while it holds, in the clusters that its glob matches; the longest glob counts."""

    cluster_glob: str
    start_ms: int
    end_ms: int
    kwh_price: Decimal
    currency: str
    pue_permille: int
    grams_per_kwh: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Prices:
    """All cards and rates that the ledger knows, of every version."""

    cards: tuple[Card, ...]
    rates: tuple[Rate, ...]
    tariffs: tuple[Tariff, ...] = ()

    @property
    def start_ms(self) -> int | None:
        """When charging begins: the start of the first card. None without any card."""
        return min((card.start_ms for card in self.cards), default=None)

    def card_at(self, instant_ms: int) -> Card | None:
        """The card in force: the one that started last; None before the first."""
        cards = [card for card in self.cards if card.start_ms <= instant_ms < card.end_ms]
        return max(cards, key=lambda one: (one.start_ms, one.card), default=None)

    def list_at(self, card: Card, instant_ms: int) -> list[Rate]:
        """The card's price list at an instant, in order: the lines of its highest version in force."""
        rates = [
            one for one in self.rates if one.card == card.card and one.start_ms <= instant_ms < one.end_ms
        ]
        version = max((one.version for one in rates), default=0)
        found = [one for one in rates if one.version == version]
        return sorted(found, key=lambda one: (one.position, one.rate_id))

    def cards_between(self, start_ms: int, end_ms: int) -> list[Card]:
        """The cards in force at some time of [start_ms, end_ms), in order."""
        instants = [start_ms, *(one for card in self.cards for one in (card.start_ms, card.end_ms))]
        found = [self.card_at(instant) for instant in sorted(instants) if start_ms <= instant < end_ms]
        return list(dict.fromkeys(card for card in found if card is not None))

    @property
    def profile_globs(self) -> set[str]:
        """The patterns for MIG profiles that have a price of their own."""
        return {rate.profile_glob for rate in self.rates} - {"*"}

    @property
    def measures(self) -> set[str]:
        """What there is any price for, beside the GPU-hour."""
        return {each.measure for rate in self.rates for each in rate.others}

    @property
    def lost_at_most_ms(self) -> int:
        """How long before an owner's return work may count as lost, by any card; 0: none credits it."""
        return max((card.terms.lost_at_most_ms for card in self.cards if card.terms.lost_permille), default=0)

    def tariff_spans(self, cluster: str, start_ms: int, end_ms: int) -> list[tuple[int, int, Tariff]]:
        """The tariffs of a cluster between two instants, each with its span there, in order."""
        known = [one for one in self.tariffs if glob_matches(one.cluster_glob, cluster)]
        changes = {edge for one in known for edge in (one.start_ms, one.end_ms) if start_ms < edge < end_ms}
        found: list[tuple[int, int, Tariff]] = []
        for start, end in pairwise([start_ms, *sorted(changes), end_ms]):
            here = [one for one in known if one.start_ms <= start < one.end_ms]
            if here:
                longest = max(here, key=lambda one: (len(one.cluster_glob), one.cluster_glob))
                found.append((start, end, longest))
        return found

    def at(
        self, cluster: str, pool: str, model: str, instant_ms: int, profile: str = ""
    ) -> tuple[Card, Rate]:
        """The card in force and its first matching rate (of its highest version).

        Raises ConfigurationError, with the model and the pool, when no card is in force or no rate matches.
        """
        named = " ".join(filter(None, (model or "an unknown GPU", profile)))
        what = f"no price for {named} in pool {pool or '(none)'} of cluster {cluster}"
        card = self.card_at(instant_ms)
        if card is None:
            raise ConfigurationError(
                f"{what} at {to_iso(instant_ms)}: no rate card is in force",
                "give rate_cards an entry whose from is not later than that",
            )
        matching = [
            one for one in self.list_at(card, instant_ms) if one.matches(cluster, pool, model, profile)
        ]
        if not matching:
            raise ConfigurationError(
                f"{what} at {to_iso(instant_ms)}: no line of rate card {card.card} matches",
                f'add {{model: "{model}", pool: "{pool}", gpu_hour: "…"}} to the card\'s prices',
            )
        return card, matching[0]

    def spans(
        self, cluster: str, pool: str, model: str, start_ms: int, end_ms: int, *, profile: str = ""
    ) -> list[Priced]:
        """What holds from `start_ms` (or when charging begins) to `end_ms`, in order, without holes.

        Raises ConfigurationError as `at` does.
        """
        begin = max(start_ms, self.start_ms if self.start_ms is not None else end_ms)
        changes = {
            instant
            for one in (*self.cards, *self.rates)
            for instant in (one.start_ms, one.end_ms)
            if begin < instant < end_ms
        }
        edges = [begin, *sorted(changes), end_ms]
        spans: list[Priced] = []
        for start, end in pairwise(edges):
            if start >= end:
                continue
            card, rate = self.at(cluster, pool, model, start, profile)
            if spans and (spans[-1].card, spans[-1].rate) == (card, rate):
                start = spans.pop().start_ms  # noqa: PLW2901
            spans.append(Priced(start, end, card, rate))
        return spans


def read_prices(cursor: Cursor) -> Prices:
    """Every card and every rate of the ledger in which the cursor stands."""
    forever = {"forever_ms": FOREVER_MS}
    cards = cursor.execute(money_sql("cards"), forever).pl()
    rates = cursor.execute(money_sql("rates"), forever).pl()
    return Prices(
        cards=tuple(_card(row) for row in cards.iter_rows(named=True)),
        rates=tuple(_lines(rates.to_dicts())),
        tariffs=tuple(
            Tariff(**row) for row in cursor.execute(money_sql("tariffs"), forever).pl().iter_rows(named=True)
        ),
    )


def _card(row: dict[str, Any]) -> Card:
    terms = read_terms(row.pop("terms"))
    return Card(**row, terms=terms)


def _lines(rows: list[dict[str, Any]]) -> Iterator[Rate]:
    """The price lines, from the rows of their measures. A line without a price of the GPU-hour is none."""
    for _, of_it in groupby(rows, key=itemgetter("card", "version", "position")):
        prices = list(of_it)
        base = next((row for row in prices if row["measure"] == "gpu_hour"), None)
        if base is None:
            continue
        others = tuple(
            Variant(row["measure"], row["rate_id"], row["price"]) for row in prices if row is not base
        )
        yield Rate(**{name: value for name, value in base.items() if name != "measure"}, others=others)


def money_sql(name: str) -> str:
    """The text of sql/queries/money/<name>.sql."""
    return (files("sql") / "queries" / "money" / f"{name}.sql").read_text(encoding="utf-8")

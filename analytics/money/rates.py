"""Prices: which rate holds for a cluster, pool and model at an instant. No price is an error, never zero."""

from dataclasses import dataclass
from decimal import Decimal
from importlib.resources import files
from itertools import pairwise

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
    share_unallocated: str = "own"  # own | none | even | held | guarantee
    share_unavailable: str = "own"
    share_unobserved: str = "own"
    bill_faulted: bool = False  # whether held time on a broken device or node is the team's cost


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

    def matches(self, cluster: str, pool: str, model: str) -> bool:
        """Whether all three globs match; letters' case counts."""
        return (
            glob_matches(self.cluster_glob, cluster)
            and glob_matches(self.pool_glob, pool)
            and glob_matches(self.model_glob, model)
        )


@dataclass(frozen=True, slots=True)
class Priced:
    """A span [start_ms, end_ms) in which one card and one rate of it hold."""

    start_ms: int
    end_ms: int
    card: Card
    rate: Rate


@dataclass(frozen=True, slots=True)
class Prices:
    """All cards and rates that the ledger knows, of every version."""

    cards: tuple[Card, ...]
    rates: tuple[Rate, ...]

    @property
    def start_ms(self) -> int | None:
        """When charging begins: the start of the first card. None without any card."""
        return min((card.start_ms for card in self.cards), default=None)

    def card_at(self, instant_ms: int) -> Card | None:
        """The card in force: the one that started last; None before the first."""
        cards = [card for card in self.cards if card.start_ms <= instant_ms < card.end_ms]
        return max(cards, key=lambda one: (one.start_ms, one.card), default=None)

    def cards_between(self, start_ms: int, end_ms: int) -> list[Card]:
        """The cards in force at some time of [start_ms, end_ms), in order."""
        instants = [start_ms, *(one for card in self.cards for one in (card.start_ms, card.end_ms))]
        found = [self.card_at(instant) for instant in sorted(instants) if start_ms <= instant < end_ms]
        return list(dict.fromkeys(card for card in found if card is not None))

    def at(self, cluster: str, pool: str, model: str, instant_ms: int) -> tuple[Card, Rate]:
        """The card in force and its first matching rate (of its highest version).

        Raises ConfigurationError, with the model and the pool, when no card is in force or no rate matches.
        """
        what = f"no price for {model or 'an unknown GPU'} in pool {pool or '(none)'} of cluster {cluster}"
        card = self.card_at(instant_ms)
        if card is None:
            raise ConfigurationError(
                f"{what} at {to_iso(instant_ms)}: no rate card is in force",
                "give rate_cards an entry whose from is not later than that",
            )
        rates = [
            one for one in self.rates if one.card == card.card and one.start_ms <= instant_ms < one.end_ms
        ]
        version = max((one.version for one in rates), default=0)
        matching = [one for one in rates if one.version == version and one.matches(cluster, pool, model)]
        if not matching:
            raise ConfigurationError(
                f"{what} at {to_iso(instant_ms)}: no line of rate card {card.card} matches",
                f'add {{model: "{model}", pool: "{pool}", gpu_hour: "…"}} to the card\'s prices',
            )
        return card, min(matching, key=lambda one: (one.position, one.rate_id))

    def spans(self, cluster: str, pool: str, model: str, start_ms: int, end_ms: int) -> list[Priced]:
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
            card, rate = self.at(cluster, pool, model, start)
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
        cards=tuple(Card(**row) for row in cards.iter_rows(named=True)),
        rates=tuple(Rate(**row) for row in rates.iter_rows(named=True)),
    )


def money_sql(name: str) -> str:
    """The text of sql/queries/money/<name>.sql."""
    return (files("sql") / "queries" / "money" / f"{name}.sql").read_text(encoding="utf-8")

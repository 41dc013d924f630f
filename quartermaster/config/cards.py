"""What of rate cards, tariffs and budgets cannot be right, or looks wrong."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator

from quartermaster.clock import to_iso
from quartermaster.config.dated import Dated, backwards, overlaps, starts
from quartermaster.config.model import Configuration
from quartermaster.config.prices import PricePart, RateCardPart
from quartermaster.config.problem import Complaint, Key, nearest
from quartermaster.team import UNASSIGNED, glob_matches


def cards(configuration: Configuration) -> Iterator[Complaint]:
    """Contradictions (errors), and what is never reached or charged (warnings)."""
    found: list[tuple[Key, RateCardPart]] = [
        (("rate_cards", index), card) for index, card in enumerate(configuration.rate_cards)
    ]
    for key, card in found:
        yield from backwards(key, card)
        yield from _prices(configuration, (*key, "prices"), card.prices)
        yield from _teams(configuration, key, card)
        yield from _commitments(configuration, key, card)
        yield from _energy(configuration, key, card)
    yield from _one_at_a_time(found)
    yield from _tariffs(configuration)


def budgets(configuration: Configuration) -> Iterator[Complaint]:
    """Unknown teams, a period of another calendar, and two budgets for the same."""
    known = [*(team.name for team in configuration.teams), UNASSIGNED]
    fiscal = configuration.business.calendar != "month"
    first: dict[tuple[str, str], Key] = {}
    for index, budget in enumerate(configuration.budgets):
        here: Key = ("budgets", index)
        if budget.team not in known:
            yield Complaint((*here, "team"), f"there is no team {budget.team!r}", nearest(budget.team, known))
        if budget.period and budget.period.startswith("FY") != fiscal:
            example = "FY2026-P11" if fiscal else "2026-11"
            yield Complaint((*here, "period"), f"business.calendar has no such period: write it as {example}")
        subject = (budget.team, budget.period)
        if subject in first:
            yield Complaint(here, "the team has a budget for it already", other=first[subject])
        first.setdefault(subject, here)


def _prices(configuration: Configuration, key: Key, prices: Iterable[PricePart]) -> Iterator[Complaint]:
    bought = {pool.purchase for pool in configuration.pools}
    all_taking: Key | None = None
    for index, price in enumerate(prices):
        here: Key = (*key, index)
        if all_taking is not None:
            yield _warning(here, "this price is never reached: one before it matches everything", all_taking)
        elif (price.model, price.pool, price.cluster, price.profile, price.purchase) == (*"****", None):
            all_taking = here
        if price.purchase is not None and price.purchase not in bought:
            yield _warning((*here, "purchase"), f"no pool is bought {price.purchase}: say so in pools")
    if all_taking is None:
        yield _warning(key, "a GPU that matches no price stops the charging; end with one for everything")


def _teams(configuration: Configuration, key: Key, card: RateCardPart) -> Iterator[Complaint]:
    known = [*(team.name for team in configuration.teams), UNASSIGNED]
    for name in card.weights:
        if name not in known:
            yield Complaint((*key, "weights"), f"there is no team {name!r}", nearest(name, known))
    for index, discount in enumerate(card.discounts):
        if not any(glob_matches(discount.team, name) for name in known):
            what = f"no team is called {discount.team!r}"
            yield _warning((*key, "discounts", index, "team"), what)


def _commitments(configuration: Configuration, key: Key, card: RateCardPart) -> Iterator[Complaint]:
    first: dict[tuple[str, str, str], Key] = {}
    for index, each in enumerate(card.commitments):
        here: Key = (*key, "commitments", index)
        for word, name, known in (
            ("team", each.team, [team.name for team in configuration.teams]),
            ("pool", each.pool, [pool.name for pool in configuration.pools]),
            ("cluster", each.cluster, [cluster.name for cluster in configuration.clusters]),
        ):
            if name not in known and (known or word != "pool"):
                yield Complaint((*here, word), f"there is no {word} {name!r}", nearest(name, known))
        if each.gpus == 0:
            yield Complaint((*here, "gpus"), "a commitment is to more than no GPU")
        subject = (each.team, each.pool, each.cluster)
        if subject in first:
            yield Complaint(here, "the team has a commitment in this pool already", other=first[subject])
        first.setdefault(subject, here)


def _energy(configuration: Configuration, key: Key, card: RateCardPart) -> Iterator[Complaint]:
    if not card.bill_energy:
        return
    if not configuration.tariffs:
        yield Complaint((*key, "bill_energy"), "there is no tariff to bill it by; give tariffs an entry")
    house = configuration.business.currency
    for index, tariff in enumerate(configuration.tariffs):
        if (tariff.currency or house) != (card.currency or house):
            what = "a tariff in another currency cannot be billed by this card"
            yield Complaint((*key, "bill_energy"), what, other=("tariffs", index))


def _one_at_a_time(found: list[tuple[Key, RateCardPart]]) -> Iterator[Complaint]:
    ordered = sorted(found, key=lambda item: starts(item[1]))
    for (earlier, before), (key, card) in itertools.pairwise(ordered):
        if starts(before) == starts(card) or (before.end_at is not None and before.end_at > starts(card)):
            yield Complaint(
                key, "another card is in force at that time already; one at a time", other=earlier
            )
        elif before.end_at is not None and before.end_at < starts(card):
            span = f"{to_iso(before.end_at)} to {to_iso(starts(card))}"
            yield _warning(key, f"no card is in force from {span}; what is held then costs nothing", earlier)


def _tariffs(configuration: Configuration) -> Iterator[Complaint]:
    alike: dict[str, list[tuple[Key, Dated]]] = defaultdict(list)
    for index, tariff in enumerate(configuration.tariffs):
        key: Key = ("tariffs", index)
        yield from backwards(key, tariff)
        alike[tariff.cluster].append((key, tariff))
    for items in alike.values():
        for later, earlier in overlaps(items):
            yield Complaint(
                later, "another tariff holds for these clusters at that time already", other=earlier
            )


def _warning(key: Key, what: str, other: Key | None = None) -> Complaint:
    return Complaint(key, what, severity="warning", other=other)

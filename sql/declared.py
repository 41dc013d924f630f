"""What a configuration wishes to stand in the ledger: rows of teams, rules, quotas, floors and cards, with
their spans."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from quartermaster.config.model import Configuration
from quartermaster.config.prices import PricePart, RateCardPart
from quartermaster.config.teams import GuaranteePart, TeamRulePart
from quartermaster.ids import content_id
from quartermaster.team import glob_matches, pattern_id
from quartermaster.threshold import HOUSE_FLOORS
from quartermaster.timeline import Wish
from sql.pricelists import PriceLine

Row = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """A kind of row that is declared: its view, its id columns, what people call it, and what a change of
    it does.

    `cuts`: usage rows end where a span of it begins or ends. `each_first`: a new id holds for all the
    past, not only the kind's first declaration. `exclusive`: the rows of all ids share one timeline.
    """

    view: str
    ids: tuple[str, ...]
    title: str
    cuts: bool = True
    each_first: bool = False
    exclusive: bool = False


TEAMS = Kind("teams", ("team_id",), "team", cuts=False, each_first=True)
RULES = Kind("team_rules", ("rule_id",), "rule")
QUOTAS = Kind("quotas", ("cluster", "quota_id"), "guarantee")
FLOORS = Kind("thresholds", ("threshold_id",), "threshold", cuts=False)
BUDGETS = Kind("budgets", ("budget_id",), "budget", cuts=False, each_first=True)
CARDS = Kind("cards", ("card_id",), "rate card", exclusive=True)
TARIFFS = Kind("tariffs", ("tariff_id",), "tariff")


def wishes(configuration: Configuration) -> Mapping[Kind, list[Wish[Row]]]:
    """Every row that the configuration declares, in its order. `prices` in a card's row are its price
    list."""
    return {
        TEAMS: list(_teams(configuration)),
        RULES: list(_rules(configuration)),
        QUOTAS: list(_quotas(configuration)),
        FLOORS: list(_floors(configuration)),
        BUDGETS: list(_budgets(configuration)),
        CARDS: list(_cards(configuration)),
        TARIFFS: list(_tariffs(configuration)),
    }


def _teams(configuration: Configuration) -> Iterator[Wish[Row]]:
    for team in configuration.teams:
        row: Row = {
            "team_id": content_id("team", team.name),
            "team": team.name,
            "department": team.department,
            "cost_centre": team.cost_centre,
        }
        yield Wish(None, None, row)


def _rules(configuration: Configuration) -> Iterator[Wish[Row]]:
    seen = dict[tuple[object, ...], int]()
    for rule in configuration.team_rules:
        content = _rule_content(rule)
        occurrence = seen[*content.values(),] = seen.get((*content.values(),), -1) + 1
        rule_id = content_id("rule", *content.values(), occurrence)
        yield Wish(rule.start_at, rule.end_at, {"rule_id": rule_id, **content})


def _rule_content(rule: TeamRulePart) -> Row:
    return {
        "team": rule.team,
        "cluster_glob": rule.cluster,
        "namespace_glob": rule.namespace,
        "label_key": rule.label.key if rule.label else None,
        "label_glob": rule.label.value if rule.label else None,
        "user_pattern_id": pattern_id("user", rule.user) if rule.user else None,
        "unix_user_pattern_id": pattern_id("unix_user", rule.unix_user) if rule.unix_user else None,
        "unix_group_pattern_id": pattern_id("unix_group", rule.unix_group) if rule.unix_group else None,
    }


def _quotas(configuration: Configuration) -> Iterator[Wish[Row]]:
    for promise in configuration.guarantees:
        for cluster in configuration.clusters:
            if glob_matches(promise.cluster, cluster.name):
                yield Wish(promise.start_at, promise.end_at, _quota_row(promise, cluster.name))


def _quota_row(promise: GuaranteePart, cluster: str) -> Row:
    return {
        "cluster": cluster,
        "quota_id": content_id("quota", cluster, promise.pool, promise.team, ""),
        "team": promise.team,
        "pool": promise.pool,
        "guaranteed_parts": promise.guaranteed_parts,
        "limit_parts": promise.limit_parts,
        "weight": promise.weight,
        "kind": "promise",
        "source": "configuration",
        "source_object": "",
    }


def _floors(configuration: Configuration) -> Iterator[Wish[Row]]:
    own = [(floor.signal, floor.kind, floor.model, floor.floor) for floor in configuration.thresholds]
    told = {entry[:3] for entry in own}
    for signal, kind, model, floor in (*own, *(floor for floor in HOUSE_FLOORS if floor[:3] not in told)):
        row: Row = {
            "threshold_id": content_id("threshold", signal, kind, model),
            "signal": signal,
            "workload_kind": kind,
            "model": model,
            "floor": floor,
            "measured_how": "configuration" if (signal, kind, model) in told else "default",
        }
        yield Wish(None, None, row)


def _budgets(configuration: Configuration) -> Iterator[Wish[Row]]:
    for budget in configuration.budgets:
        row: Row = {
            "budget_id": content_id("budget", budget.team, budget.period),
            "team": budget.team,
            "period": budget.period,
            "amount": budget.amount,
            "currency": configuration.business.currency,
            "alerts": json.dumps(sorted(budget.alerts)),
        }
        yield Wish(None, None, row)


def _cards(configuration: Configuration) -> Iterator[Wish[Row]]:
    cards = sorted(configuration.rate_cards, key=lambda card: -1 if card.start_at is None else card.start_at)
    nexts = [*(card.start_at for card in cards[1:]), None][: len(cards)]
    for card, next_start in zip(cards, nexts, strict=True):
        end = card.end_at if card.end_at is not None else next_start
        yield Wish(card.start_at, end, card_row(card, configuration, "configuration"))


def card_row(card: RateCardPart, configuration: Configuration, source: str) -> Row:
    """The content of a card's row; its `prices` are its price list, a line for each pool that is bought as a
    price asks."""
    return {
        "card_id": content_id("card", card.card),
        "card": card.card,
        "currency": card.currency or configuration.business.currency,
        "share_unallocated": card.unallocated,
        "share_unavailable": card.unavailable,
        "share_unobserved": card.unobserved,
        "bill_faulted": card.bill_faulted,
        "terms": _terms(card),
        "author": card.author,
        "source": source,
        "prices": tuple(line for price in card.prices for line in _price_lines(price, configuration)),
    }


def _price_lines(price: PricePart, configuration: Configuration) -> Iterator[PriceLine]:
    prices = tuple(sorted(price.prices.items()))
    if price.purchase is None:
        yield PriceLine(price.cluster, price.pool, price.model, price.profile, None, prices)
        return
    for pool in configuration.pools:
        if pool.purchase == price.purchase and glob_matches(price.pool, pool.name):
            yield PriceLine(price.cluster, pool.name, price.model, price.profile, price.purchase, prices)


def _terms(card: RateCardPart) -> str:
    """What the card says beyond its columns, as JSON; what is as by default is left out."""
    said: Row = {
        "weights": dict(card.weights),
        "system_namespaces": list(card.system_namespaces),
        "discounts": [[each.team, each.off] for each in card.discounts],
        "commitments": [
            {
                "team": each.team,
                "pool": each.pool,
                "cluster": each.cluster,
                "parts": each.gpus,
                "month": f"{each.month:f}",
            }
            for each in card.commitments
        ],
        "bill_energy": card.bill_energy,
    }
    if card.system_namespaces:
        said["system"] = card.system
    if card.lost != "bill":
        said |= {"lost": card.lost, "lost_at_most_ms": card.lost_at_most_ms}
    if any(price.idle is not None for price in card.prices):
        said["idle_coverage_permille"] = card.idle_coverage_permille
    return json.dumps({name: value for name, value in said.items() if value}, sort_keys=True)


def _tariffs(configuration: Configuration) -> Iterator[Wish[Row]]:
    for tariff in configuration.tariffs:
        row: Row = {
            "tariff_id": content_id("tariff", tariff.cluster),
            "cluster_glob": tariff.cluster,
            "kwh_price": tariff.kwh.normalize(),
            "currency": tariff.currency or configuration.business.currency,
            "pue_permille": tariff.pue_permille,
            "grams_per_kwh": None if tariff.grams_per_kwh is None else tariff.grams_per_kwh.normalize(),
            "author": tariff.author,
        }
        yield Wish(tariff.start_at, tariff.end_at, row)

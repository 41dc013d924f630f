"""Price lists: a card's prices as rows of `rates`, version upon version; the highest version in force is the
list."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from quartermaster.ids import content_id
from quartermaster.timeline import Span

RATES = (Path(__file__).parent / "queries" / "declare" / "rates.sql").read_text(encoding="utf-8")
_UNITS = {"cpu_hour": "vCPU-Hours", "memory_gib_hour": "GiB-Hours"}
_FOREVER = 2**63


@dataclass(frozen=True)
class PriceLine:
    """What is priced, by patterns, and its prices by measure, in order of name. A purchase names its pool."""

    cluster: str
    pool: str
    model: str
    profile: str
    purchase: str | None
    prices: tuple[tuple[str, Decimal], ...]


@dataclass(frozen=True)
class PriceList:
    """One version of a card's prices, in force over [start_at, end_at)."""

    version: int
    start_at: int
    end_at: int | None
    currency: str
    lines: tuple[PriceLine, ...]


def price_lists(rates: Iterable[dict[str, Any]]) -> dict[str, list[PriceList]]:
    """The versions of each card, from the rows of `rates` in order of card, version, position (instants in
    epoch ms)."""
    rows = defaultdict[tuple[str, int], list[dict[str, Any]]](list)
    for rate in rates:
        rows[rate["card"], rate["version"]].append(rate)
    lists = defaultdict[str, list[PriceList]](list)
    for (card, version), entries in rows.items():
        lines = tuple(_line(list(of_it)) for _, of_it in groupby(entries, key=itemgetter("position")))
        head = entries[0]
        lists[card].append(PriceList(version, head["start_at"], head["end_at"], head["currency"], lines))
    return dict(lists)


def _line(rates: list[dict[str, Any]]) -> PriceLine:
    head = rates[0]
    prices = tuple(sorted((row["measure"], Decimal(row["price"]).normalize()) for row in rates))
    return PriceLine(
        *(head["cluster_glob"], head["pool_glob"], head["model_glob"], head["profile_glob"] or "*"),
        head["purchase"],
        prices,
    )


def in_force(lists: Sequence[PriceList], instant_ms: int) -> PriceList | None:
    """The list of the highest version in force at the instant."""
    found = [entry for entry in lists if entry.start_at <= instant_ms < (entry.end_at or _FOREVER)]
    return max(found, key=lambda entry: entry.version, default=None)


def new_versions(span: Span[dict[str, Any]], lists: Sequence[PriceList]) -> list[PriceList]:
    """The versions that must be added so that throughout the card's span its prices are in force; none where
    they are."""
    lines = tuple(_normal(line) for line in span.content["prices"])
    currency = span.content["currency"]
    end = span.end_at or _FOREVER
    edges = {span.start_at, *(edge for entry in lists for edge in (entry.start_at, entry.end_at or _FOREVER))}
    added = list[PriceList]()
    version = max((entry.version for entry in lists), default=0)
    starts = sorted(edge for edge in edges if span.start_at <= edge < end)
    for start, stop in zip(starts, [*starts[1:], end], strict=True):
        held = in_force(lists, start)
        if held is not None and (held.lines, held.currency) == (lines, currency):
            continue
        stop_at = None if stop == _FOREVER else stop
        if added and added[-1].end_at == start:
            added[-1] = PriceList(added[-1].version, added[-1].start_at, stop_at, currency, lines)
        else:
            version += 1
            added.append(PriceList(version, start, stop_at, currency, lines))
    return added


def _normal(line: PriceLine) -> PriceLine:
    return replace(line, prices=tuple((measure, price.normalize()) for measure, price in line.prices))


def rate_rows(card: str, author: str, entry: PriceList) -> list[dict[str, Any]]:
    """The rows of `rates` of one version: one for each price of each line."""
    return [
        {
            "rate_id": content_id("rate", card, entry.version, position, *_measured(measure)),
            "card": card,
            "version": entry.version,
            "position": position,
            "cluster_glob": line.cluster,
            "pool_glob": line.pool,
            "model_glob": line.model,
            "profile_glob": line.profile,
            "purchase": line.purchase,
            "measure": measure,
            "unit": _UNITS.get(measure, "GPU-Hours"),
            "price": f"{price:f}",
            "currency": entry.currency,
            "start_at": entry.start_at,
            "end_at": entry.end_at,
            "author": author,
        }
        for position, line in enumerate(entry.lines)
        for measure, price in line.prices
    ]


def _measured(measure: str) -> tuple[str, ...]:
    return () if measure == "gpu_hour" else (measure,)

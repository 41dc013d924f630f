"""Prices by command: a rate card of its own, beside those of the configuration, in force from an instant."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import polars as pl

from quartermaster.clock import HOUR_MS, to_datetime, to_iso
from quartermaster.config.model import Configuration
from quartermaster.config.prices import RateCardPart
from quartermaster.errors import InputError
from quartermaster.team import glob_matches
from quartermaster.timeline import Span
from sql.closed import closed_books
from sql.declared import card_row
from sql.ledger import Cursor, Ledger
from sql.pricelists import RATES, PriceLine, new_versions, price_lists, rate_rows

COMMAND = "command"


@dataclass(frozen=True, slots=True)
class SetPrices:
    """What was set: the card, the version of its price list, from when on (epoch ms), and how many lines it has."""

    card: str
    version: int
    start_ms: int
    lines: int


def set_prices(
    ledger: Ledger, configuration: Configuration, card: RateCardPart, start_ms: int, now_ms: int
) -> SetPrices:
    """Put a card in force from the instant on, with its prices and terms; one of that name ends there.

    Usage rows end at the instant, so that no hour has two prices. Raises InputError for a card without an author, one
    that the configuration has or that has no price for a GPU model in use, an instant in closed books, one at which
    usage can no longer be cut, and one before what is set already.
    """
    if not card.author.strip():
        raise InputError("who sets prices says who they are", "give --author")
    if any(each.card == card.card for each in configuration.rate_cards):
        raise InputError(
            f"the configuration has a card {card.card!r}", "change it there, or take another name"
        )
    with ledger.exclusive("declare"), ledger.reading() as cursor:
        refuse_instant(cursor, start_ms)
        content = card_row(card, configuration, COMMAND)
        _require_prices(cursor, card.card, content["prices"], min(start_ms, now_ms))
        versions = _versions(cursor, content["card_id"])
        if later := [row for row in versions if row["start_at"] > start_ms]:
            starts = to_iso(max(row["start_at"] for row in later))
            raise InputError(
                f"card {card.card!r} has prices from {starts} already", f"set it from {starts} or later"
            )
        rows = [
            _ended(row, start_ms) for row in versions if row["start_at"] < start_ms and row["end_at"] is None
        ]
        revision = max((row["revision"] for row in versions if row["start_at"] == start_ms), default=-1) + 1
        new = {name: value for name, value in content.items() if name != "prices"}
        rows.append(new | {"start_at": start_ms, "end_at": card.end_at, "revision": revision})
        lists = price_lists(cursor.execute(RATES).pl().to_dicts()).get(card.card, [])
        added = new_versions(Span(start_ms, card.end_at, content), lists)
        frames = {
            "cards_versions": pl.DataFrame(rows, infer_schema_length=None),
            "cuts": pl.DataFrame(
                [{"cut_at": start_ms, "reason": f"rate card {card.card}: set by {card.author}"}]
            ),
        }
        rates = [row for entry in added for row in rate_rows(card.card, card.author, entry)]
        if rates:
            frames["rates"] = pl.DataFrame(rates, infer_schema_length=None)
        ledger.append(f"prices/{uuid4().hex}", frames, recorded_at=now_ms)
        version = max((entry.version for entry in (*lists, *added)), default=0)
        return SetPrices(card.card, version, start_ms, len(content["prices"]))


def refuse_instant(cursor: Cursor, instant_ms: int) -> None:
    """Raise InputError, with the next instant that works, where prices can no longer change at this one."""
    closed = closed_books(cursor)
    if (period := closed.at(instant_ms)) is not None:
        raise InputError(
            f"{to_iso(instant_ms)} lies in the closed books of {period.period}",
            f"the next instant that works is {to_iso(closed.next_open_ms(instant_ms))}",
        )
    if instant_ms % HOUR_MS == 0:
        return  # usage rows end at every full hour
    hour_ms = instant_ms // HOUR_MS * HOUR_MS
    hour = to_datetime(hour_ms)
    row = cursor.execute(
        "select exists(from usage_hourly where row_start_at >= ? and row_start_at < ? "
        "and computing_pms + idle_pms + energy_known_pms > 0), "
        "(select epoch_ms(min(sampled_at)) from samples)",
        [hour, to_datetime(hour_ms + HOUR_MS)],
    ).fetchone()
    measured, oldest_ms = row or (False, None)
    if measured and (oldest_ms is None or oldest_ms > hour_ms):
        raise InputError(
            f"the samples of the hour of {to_iso(instant_ms)} are gone: its usage cannot be cut within it",
            f"the next instant that works is {to_iso(hour_ms + HOUR_MS)}",
        )


def _require_prices(cursor: Cursor, card: str, lines: Iterable[PriceLine], instant_ms: int) -> None:
    """Raise InputError where no line matches a GPU model that was there in the week before the instant, or since."""
    used = cursor.execute(
        "select distinct cluster, coalesce(pool, ''), coalesce(model, '') from usage_daily "
        "where business_day >= strftime(?::timestamptz - interval 7 day, '%Y-%m-%d') order by all",
        [to_datetime(instant_ms)],
    ).fetchall()
    # what has a MIG profile is priced by the lines for all profiles where none names its own
    globs = [(line.cluster, line.pool, line.model) for line in lines if line.profile == "*"]
    for named in used:
        if not any(all(map(glob_matches, glob, named)) for glob in globs):
            cluster, pool, model = named
            raise InputError(
                f"card {card!r} has no price for {model or 'an unknown GPU'} in pool {pool or '(none)'} of cluster "
                f"{cluster}, which has usage",
                'add a line for it, or {gpu_hour: "…"} as the last one, for whatever else there is',
            )


def _versions(cursor: Cursor, card_id: int) -> list[dict[str, Any]]:
    found = cursor.execute(
        "select * exclude (recorded_at), epoch_ms(start_at) as s, epoch_ms(end_at) as e from cards where card_id = ?",
        [card_id],
    ).pl()
    return [
        {name: value for name, value in row.items() if name not in {"s", "e"}}
        | {"start_at": row["s"], "end_at": row["e"]}
        for row in found.to_dicts()
    ]


def _ended(row: dict[str, Any], end_ms: int) -> dict[str, Any]:
    return row | {"end_at": end_ms, "revision": row["revision"] + 1}

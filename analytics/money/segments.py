"""Segments: each business day of a pool and model while one price holds, and what else the lines of cost are made
from, as frames that SQL reads."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import polars as pl

from analytics.business import Day
from analytics.money.rates import FOREVER_MS, Card, Priced, Prices
from analytics.money.terms import Commitment
from quartermaster.clock import to_datetime
from quartermaster.parts import GPU_PARTS
from sql.ledger import Cursor

NANO = 1_000_000_000
MICRO = 1_000_000
VARIANTS = ("borrowed", "preemptible", "reserved", "lent", "idle", "cpu_hour", "memory_gib_hour")

Row = tuple[object, ...]

_INSTANT = pl.Datetime("ms", "UTC")
DAY = pl.Schema({"business_day": pl.String(), "start_at": _INSTANT, "end_at": _INSTANT})
SEGMENT = pl.Schema(
    {
        "segment": pl.Int64(),
        "cluster": pl.String(),
        "pool": pl.String(),
        "model": pl.String(),
        "profile": pl.String(),
        "business_day": pl.String(),
        "day_start_at": _INSTANT,
        "day_end_at": _INSTANT,
        "start_at": _INSTANT,
        "end_at": _INSTANT,
        "rate_id": pl.Int64(),
        "price_nano": pl.Int64(),
        **{f"{name}_nano": pl.Int64() for name in VARIANTS},
        **{f"{name}_rate_id": pl.Int64() for name in VARIANTS},
        "card": pl.Int64(),
        "currency": pl.String(),
        "share_unallocated": pl.String(),
        "share_unavailable": pl.String(),
        "share_unobserved": pl.String(),
        "share_system": pl.String(),
        "bill_faulted": pl.Boolean(),
        "bill_energy": pl.Boolean(),
        "lost_permille": pl.Int64(),
        "lost_at_most_ms": pl.Int64(),
        "idle_coverage_permille": pl.Int64(),
    }
)
COMMITMENT = pl.Schema(
    {
        "segment": pl.Int64(),
        "cluster": pl.String(),
        "pool": pl.String(),
        "business_day": pl.String(),
        "team": pl.String(),
        "most_pms": pl.Int64(),
        "gpus_micro": pl.Int64(),
        "micros": pl.Int64(),
    }
)
_WEIGHT = pl.Schema({"card": pl.Int64(), "team": pl.String(), "weight": pl.Int64()})
_DISCOUNT = pl.Schema(
    {"card": pl.Int64(), "position": pl.Int64(), "team_glob": pl.String(), "permille": pl.Int64()}
)


@dataclass(frozen=True, slots=True)
class Used:
    """The span in which a day, cluster, pool, model and MIG profile with a price of its own have usage."""

    business_day: str
    cluster: str
    pool: str | None
    model: str | None
    profile: str
    start_ms: int
    end_ms: int


def lay_segments(cursor: Cursor, prices: Prices, used: Sequence[Used], days: Mapping[str, Day]) -> None:
    """Put the frames `segments`, `commitments`, `team_weights`, `discount_globs` where the cursor finds them.

    Raises ConfigurationError where a card in force has no price for what was there.
    """
    rows = list(_of_usage(prices, used, days))
    committed = list(_of_commitments(prices, days, len(rows)))
    rows += [segment for segment, _ in committed if segment is not None]
    lay(cursor, "segments", SEGMENT, rows)
    lay(cursor, "commitments", COMMITMENT, [commitment for _, commitment in committed])
    terms = [(number, card.terms) for number, card in enumerate(prices.cards)]
    weights = [(number, team, weight) for number, each in terms for team, weight in each.weights]
    lay(cursor, "team_weights", _WEIGHT, list[Row](weights))
    discounts = [
        (number, position, glob, permille)
        for number, each in terms
        for position, (glob, permille) in enumerate(each.discounts)
    ]
    lay(cursor, "discount_globs", _DISCOUNT, list[Row](discounts))


def lay(cursor: Cursor, name: str, schema: pl.Schema, rows: Sequence[Row]) -> None:
    """Put a frame of these rows where the cursor finds it."""
    cursor.register(name, pl.DataFrame(rows, schema=schema, orient="row"))


def day_rows(days: Sequence[Day]) -> list[Row]:
    """Business days as rows of the frame `business_days`."""
    return [(day.day, to_datetime(day.start_ms), to_datetime(day.end_ms)) for day in days]


def _of_usage(prices: Prices, used: Sequence[Used], days: Mapping[str, Day]) -> Iterator[Row]:
    """What of each used day, pool, model and profile one rate and one card price."""
    begin = FOREVER_MS if prices.start_ms is None else prices.start_ms
    number = 0
    for one in used:
        day = days[one.business_day]
        spans = prices.spans(
            one.cluster,
            one.pool or "",
            one.model or "",
            max(one.start_ms, begin),
            min(one.end_ms, day.end_ms),
            profile=one.profile,
        )
        for span in spans:
            # the day's first and last segment reach to its ends, whatever part of it has usage yet
            start = max(day.start_ms, begin) if span is spans[0] else span.start_ms
            end = day.end_ms if span is spans[-1] else span.end_ms
            subject = (one.cluster, one.pool, one.model, one.profile, one.business_day)
            yield (number, *subject, *_instants(day.start_ms, day.end_ms, start, end), *_priced(prices, span))
            number += 1


def _priced(prices: Prices, span: Priced) -> Row:
    rate = span.rate
    variants = [rate.other(name) for name in VARIANTS]
    return (
        rate.rate_id,
        int(rate.price * NANO),
        *(None if each is None else int(each.price * NANO) for each in variants),
        *(None if each is None else each.rate_id for each in variants),
        *_of_card(prices, span.card),
    )


def _of_card(prices: Prices, card: Card) -> Row:
    terms = card.terms
    return (
        *(prices.cards.index(card), card.currency),
        *(card.share_unallocated, card.share_unavailable, card.share_unobserved, terms.share_system),
        *(card.bill_faulted, terms.bill_energy),
        *(terms.lost_permille, terms.lost_at_most_ms, terms.idle_coverage_permille),
    )


def _of_commitments(prices: Prices, days: Mapping[str, Day], number: int) -> Iterator[tuple[Row | None, Row]]:
    """The day's part of each commitment of the card in force at its beginning. Those of a pool have a segment of
    their own, given with the first of them: they are due whether anything was used or not."""
    for day in days.values():
        card = prices.card_at(day.start_ms)
        pools: dict[tuple[str, str], int] = {}
        for each in card.terms.commitments if card is not None else ():
            segment: Row | None = None
            if (each.cluster, each.pool) not in pools:
                pools[each.cluster, each.pool] = number
                segment = (
                    *(number, each.cluster, each.pool, None, "", day.day),
                    *_instants(day.start_ms, day.end_ms, day.start_ms, day.end_ms),
                    *([None] * (2 + 2 * len(VARIANTS))),
                    *(_of_card(prices, card) if card is not None else ()),
                )
                number += 1
            commitment = (
                *(pools[each.cluster, each.pool], each.cluster, each.pool, day.day, each.team),
                each.parts * (day.end_ms - day.start_ms),
                (each.parts * MICRO + GPU_PARTS // 2) // GPU_PARTS,
                part_of_month(each, day.day),
            )
            yield segment, commitment


def part_of_month(commitment: Commitment, day: str) -> int:
    """The day's part of the month's sum, in millionths: what is left over goes to the month's first days."""
    here = date.fromisoformat(day)
    following = (here.replace(day=1) + timedelta(days=31)).replace(day=1)
    days = (following - here.replace(day=1)).days
    return commitment.month_micros // days + (here.day <= commitment.month_micros % days)


def _instants(*instants_ms: int) -> "list[object]":
    return [to_datetime(instant) for instant in instants_ms]

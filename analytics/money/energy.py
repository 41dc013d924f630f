"""Energy: the electricity of what teams held, what it cost and what it emitted. What no counter told is not known."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import polars as pl

from analytics.business import Day
from analytics.money.rates import Prices, money_sql
from analytics.money.segments import MICRO, NANO, Row, lay
from quartermaster.clock import HOUR_MS, to_datetime
from quartermaster.config.units import instant_ms
from quartermaster.errors import InputError
from sql.ledger import Cursor

_INSTANT = pl.Datetime("ms", "UTC")
_TARIFF = pl.Schema(
    {
        "cluster": pl.String(),
        "start_at": _INSTANT,
        "end_at": _INSTANT,
        "kwh_nano": pl.Int64(),
        "pue_permille": pl.Int64(),
        "currency": pl.String(),
        "grams_micro": pl.Int64(),
    }
)
_HEADER = ["start", "grams_per_kwh"]


@dataclass(frozen=True, slots=True)
class Energy:
    """Of what a team's workload held in a pool on a day. None: not known."""

    day: str
    cluster: str
    pool: str | None
    team: str | None
    workload_id: int | None
    held_pms: int
    known_pms: int  # of it, for how much a counter told
    currency: str | None
    energy_j: int | None  # what the counters told
    drawn_micro_kwh: int | None  # × PUE
    cost_micros: int | None
    emitted_mg: int | None  # of CO2 (equivalent)


@dataclass(frozen=True, slots=True)
class Intensity:
    """What a kilowatt-hour emitted in [start_ms, end_ms), in grams."""

    start_ms: int
    end_ms: int
    grams_per_kwh: Decimal


def energy(cursor: Cursor, prices: Prices, days: Sequence[Day]) -> list[Energy]:
    """What was drawn on these days, by day, cluster, pool, team and workload."""
    clusters = [name for (name,) in cursor.execute("select distinct cluster from usage_daily").fetchall()]
    found: list[Energy] = []
    for day in days:
        spans = [
            (
                *(cluster, to_datetime(start), to_datetime(end), int(tariff.kwh_price * NANO)),
                *(tariff.pue_permille, tariff.currency),
                None if tariff.grams_per_kwh is None else int(tariff.grams_per_kwh * MICRO),
            )
            for cluster in clusters
            for start, end, tariff in prices.tariff_spans(cluster, day.start_ms, day.end_ms)
        ]
        lay(cursor, "tariff_spans", _TARIFF, list[Row](spans))
        span = {"start_at": to_datetime(day.start_ms), "end_at": to_datetime(day.end_ms)}
        answer = cursor.execute(money_sql("energy_used"), span)
        names = [column[0] for column in answer.description]
        found += [Energy(day.day, **dict(zip(names, row, strict=True))) for row in answer.fetchall()]
    return found


def read_intensities(text: str, file: str) -> list[Intensity]:
    """The hours of a CSV with the columns `start` (an instant with its offset) and `grams_per_kwh`; each holds until
    the next, the last for an hour.

    Raises InputError with the line that is wrong.
    """
    rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"))))
    if not rows or [cell.strip() for cell in rows[0]] != _HEADER:
        raise InputError(
            f"{file}, line 1: the columns are {','.join(_HEADER)}", "write them in the first line"
        )
    told: list[tuple[int, Decimal]] = []
    for number, row in enumerate(rows[1:], 2):
        if not row:
            continue
        try:
            start, grams = instant_ms(row[0].strip()), Decimal(row[1].strip())
        except (ValueError, InvalidOperation, IndexError) as error:
            raise InputError(
                f"{file}, line {number}: {','.join(row)!r} is no hour", "write 2026-11-01T00:00:00Z,381.5"
            ) from error
        if not grams.is_finite() or not 0 <= grams < 10**9 or grams != round(grams, 6):
            raise InputError(
                f"{file}, line {number}: {row[1]!r} is no intensity", "grams, of at most six places"
            )
        if told and start <= told[-1][0]:
            raise InputError(
                f"{file}, line {number}: it is not after the line before", "sort the file by start"
            )
        told.append((start, grams))
    ends = [*(start for start, _ in told[1:]), told[-1][0] + HOUR_MS] if told else []
    return [Intensity(start, end, grams) for (start, grams), end in zip(told, ends, strict=True)]

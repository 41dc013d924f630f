"""From the sums of sql/queries/report to a report's rows: days, teams, pools, what nobody held. Pure."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from analytics.money.rates import Card
from analytics.reports.figures import ZERO, DayCost, OwnLine, PoolRow, Split, TeamRow, millionths
from analytics.reports.queries import Row, amount_of, split_of

_TREATMENT = {
    "own": "a line of its own",
    "none": "nobody is asked to pay it",
    "even": "shared evenly among teams",
    "held": "shared by held time",
    "guarantee": "shared by guarantee",
    "weighted": "shared by the card's weights",
}
_KINDS = ("unallocated", "unavailable", "unobserved")
Before = Mapping[str | None, tuple[Decimal, Decimal]]


def day_costs(figures: Iterable[Row]) -> tuple[DayCost, ...]:
    """What each team owed, and what nobody held, by day."""
    days: list[DayCost] = []
    for row in figures:
        if row["level"] != "day":
            continue
        if row["team"] is not None:
            days.append(
                DayCost(row["business_day"], row["team"], True, row["held"], millionths(row["owed_micros"]))
            )
            continue
        amounts = ((kind, amount_of(row, kind)) for kind in _KINDS)
        days += [
            DayCost(row["business_day"], kind, False, one.pms, one.cost) for kind, one in amounts if one.pms
        ]
    return tuple(sorted(days, key=lambda day: (day.day, not day.is_team, day.name)))


def day_splits(figures: Iterable[Row]) -> tuple[tuple[str, Split], ...]:
    """All capacity (or what the teams held) by day, split by what is known of it."""
    splits: dict[str, Split] = {}
    for row in figures:
        if row["level"] == "day":
            day = row["business_day"]
            splits[day] = splits.get(day, Split()) + split_of(row)
    return tuple(sorted(splits.items()))


def team_rows(
    figures: Iterable[Row],
    quota: Mapping[str, Row],
    departments: Mapping[str, str],
    before: Before | None,
) -> tuple[TeamRow, ...]:
    """The teams, those that owe most first."""
    sums = {row["team"]: row for row in figures if row["level"] == "team" and row["team"] is not None}
    teams: list[TeamRow] = []
    for team in sorted({*sums, *quota}):
        row, promised = sums.get(team), quota.get(team, {})
        teams.append(
            TeamRow(
                team=team,
                department=departments.get(team, ""),
                split=split_of(row) if row else Split(),
                guaranteed_pms=promised.get("guaranteed", 0),
                within_pms=promised.get("within", 0),
                borrowed_pms=promised.get("borrowed", 0),
                lent_pms=promised.get("lent", 0),
                shared=millionths(row["shared_micros"]) if row else ZERO,
                adjustments=millionths(row["adjustment_micros"]) if row else ZERO,
                cost=millionths(row["owed_micros"]) if row else ZERO,
                cost_before=None if before is None else before.get(team, (ZERO, ZERO))[0],
            )
        )
    return tuple(sorted(teams, key=lambda one: (-one.cost, -one.split.held.pms, one.team)))


def pool_rows(
    figures: Iterable[Row], unit_prices: Mapping[tuple[str, str, str], tuple[Decimal, ...]]
) -> tuple[PoolRow, ...]:
    """The pools, the dearest first."""
    pools: list[PoolRow] = []
    for row in (row for row in figures if row["level"] == "pool"):
        key = (row["cluster"], row["pool"], row["model"])
        pools.append(PoolRow(*key, split_of(row), unit_prices.get(key, ())))
    return tuple(
        sorted(pools, key=lambda one: (-one.cost, -one.split.capacity.pms, one.cluster, one.pool, one.model))
    )


def own_lines(treatment: Iterable[Row], split: Split, cards: Iterable[Card]) -> tuple[OwnLine, ...]:
    """What nobody held, and what the cards in force say of who bears it."""
    treated = {row["kind"]: row for row in treatment}
    there = tuple(cards)
    amounts = {kind: amount for kind, amount in split.parts if kind in _KINDS}
    lines: list[OwnLine] = []
    for kind, amount in amounts.items():
        row = treated.get(kind, {"shared_micros": 0, "unbilled_micros": 0})
        ways = dict.fromkeys(getattr(card, f"share_{kind}") for card in there)
        lines.append(
            OwnLine(
                kind,
                amount,
                millionths(row["shared_micros"]),
                millionths(row["unbilled_micros"]),
                ", then ".join(_TREATMENT.get(way, f"shared by {way}") for way in ways),
            )
        )
    return tuple(lines)

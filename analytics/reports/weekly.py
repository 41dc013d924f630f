"""The weekly bill: a week of usage and charges as one value, for every form in which people read it."""

from collections.abc import Collection, Mapping
from decimal import Decimal
from difflib import get_close_matches

from analytics.business import business_day, iso_week, week_at
from analytics.money.rates import Prices, read_prices
from analytics.reports.figures import (
    ZERO,
    DayCost,
    OwnLine,
    PoolRow,
    Split,
    TeamRow,
    WeeklyReport,
    WonBack,
    millionths,
)
from analytics.reports.notes import notes
from analytics.reports.queries import Queries, Row, amount_of, report_sql, split_of
from analytics.reports.workloads import IDLEST, MOST, workloads
from analytics.wonback import by_team, won_back
from quartermaster.errors import InputError
from sql.ledger import Ledger

_TREATMENT = {
    "own": "a line of its own",
    "none": "nobody is asked to pay it",
    "even": "shared evenly among teams",
    "held": "shared by held time",
    "guarantee": "shared by guarantee",
}

_KINDS = ("unallocated", "unavailable", "unobserved")


def weekly(
    ledger: Ledger, week: str, team: str | None = None, *, time_zone: str = "UTC", now_ms: int
) -> WeeklyReport:
    """The bill of an ISO week (`2026-W48`) of business days, of all teams or of one.

    Raises InputError for text that is no week, a team that is unknown, a week without any usage, or one that
    was charged in two currencies.
    """
    span = iso_week(week, time_zone)
    with ledger.reading() as cursor:  # all of one state of the ledger
        return _report(Queries(cursor, span, team), read_prices(cursor), time_zone, now_ms)


def latest_week(ledger: Ledger, time_zone: str = "UTC") -> str:
    """The last week with usage that is rolled up to its end; where there is none, the last with usage.

    Raises InputError when the ledger has no usage at all.
    """
    last = ledger.query("select max(business_day) as day from usage_daily").item()
    if last is None:
        raise InputError("the ledger has no usage yet", "run quartermaster rollup")
    known: int | None = ledger.query(report_sql("known")).item()
    newest = week_at(business_day(last, time_zone).start_ms, time_zone)
    if known is not None and known >= newest.end_ms:
        return newest.week
    before = week_at(newest.start_ms - 1, time_zone)
    days = [day.day for day in before.days]
    used = ledger.query(
        "select count(*) as n from usage_daily where business_day between ? and ?", [days[0], days[-1]]
    )
    return before.week if used.item() else newest.week


def _report(queries: Queries, prices: Prices, time_zone: str, now_ms: int) -> WeeklyReport:
    week, team = queries.week, queries.team
    queries.lay("week_charges")
    figures = queries.rows("figures", most=MOST, idlest=IDLEST)
    total = {name: value or 0 for row in figures if row["level"] == "all" for name, value in row.items()}
    quota = {row["team"]: row for row in queries.rows("quota")}
    departments = {row["team"]: row["department"] for row in queries.rows("teams")}
    if not total["row_count"] and not quota and (team is None or team not in departments):
        raise _nothing(queries, departments)
    currency, unit_prices = _prices(queries)
    known_until_ms: int | None = queries.rows("known")[0]["known_until_ms"]
    provisional = known_until_ms is None or known_until_ms < week.end_ms
    owed_before = _owed_before(queries)
    costliest, idlest = workloads(queries, figures)
    split = split_of(total)
    gaps = [(row["covers"], row["reason"], row["nodes"], row["gaps"]) for row in queries.rows("gaps")]
    return WeeklyReport(
        week=week.week,
        days=tuple(day.day for day in week.days),
        start_ms=week.start_ms,
        end_ms=week.end_ms,
        time_zone=time_zone,
        currency=currency,
        generated_at_ms=now_ms,
        known_until_ms=known_until_ms,
        provisional=provisional,
        team=team,
        split=split,
        billed=millionths(total["owed_micros"]),
        pool_cost=split.capacity.cost,
        pool_cost_before=None
        if owed_before is None
        else sum((pool for _, pool in owed_before.values()), ZERO),
        adjustments=millionths(total["adjustment_micros"]),
        by_day=_days(figures),
        by_team=_teams(figures, quota, departments, owed_before),
        by_pool=_pools(figures, unit_prices),
        by_workload=costliest,
        workload_count=max((row["workload_count"] or 0 for row in figures), default=0),
        idlest=idlest,
        won_back=_won_back(queries, now_ms),
        own_lines=() if team else _own_lines(queries, split, prices),
        notes=notes(
            total,
            known_until_ms=known_until_ms,
            provisional=provisional,
            currency=currency,
            uncharged_days=sorted(
                {row["business_day"] for row in figures if row["level"] == "day" and row["uncharged"]}
            ),
            unbilled_faults=millionths(total["adjustment_micros"]),
            gaps=gaps,
        ),
    )


def _won_back(queries: Queries, now_ms: int) -> WonBack | None:
    week, team = queries.week, queries.team
    stops = won_back(queries.cursor, week.start_ms, min(week.end_ms, now_ms))
    if not stops:
        return None
    own = [each for each in stops if team in {None, each.team}]
    given = by_team(stops)
    return WonBack(
        stopped=len(own),
        started_again=sum(each.back_ms is not None for each in own),
        given_pms=sum(given.values()) if team is None else given.get(team, 0),
    )


def _nothing(queries: Queries, configured: Collection[str]) -> InputError:
    """The error of a report that would be empty: an unknown team, or a week without usage."""
    team, week = queries.team, queries.week.week
    if team is not None:
        known = sorted({*configured, *(row["team"] for row in queries.rows("known_teams"))})
        near = get_close_matches(team, known, n=1) or known[:5]
        return InputError(
            f"there is no team {team} in {week}", f"one of: {', '.join(near) or 'none is known'}"
        )
    span = queries.rows("span")[0]
    known_days = "there is none at all"
    if span["first_day"]:
        known_days = f"usage is known from {span['first_day']} to {span['last_day']}"
    return InputError(
        f"there is no usage in {week}: {known_days}", "name another --week, or run quartermaster rollup"
    )


def _prices(queries: Queries) -> tuple[str, dict[tuple[str, str, str], tuple[Decimal, ...]]]:
    rows = queries.rows("prices")
    currencies = sorted({row["currency"] for row in rows})
    if len(currencies) > 1:
        raise InputError(
            f"{queries.week.week} was charged in {' and '.join(currencies)}, which do not add up",
            "let a card in another currency begin with a week",
        )
    return "".join(currencies), {
        (row["cluster"], row["pool"], row["model"]): tuple(row["unit_prices"]) for row in rows
    }


def _owed_before(queries: Queries) -> dict[str | None, tuple[Decimal, Decimal]] | None:
    """What each team owed, and what its pools' part cost, the week before; None without any charge then."""
    rows = queries.rows("owed_before")
    return {
        row["team"]: (millionths(row["owed_micros"]), millionths(row["pool_micros"])) for row in rows
    } or None


def _days(figures: list[Row]) -> tuple[DayCost, ...]:
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


def _teams(
    figures: list[Row],
    quota: Mapping[str, Row],
    departments: Mapping[str, str],
    owed_before: Mapping[str | None, tuple[Decimal, Decimal]] | None,
) -> tuple[TeamRow, ...]:
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
                cost_before=None if owed_before is None else owed_before.get(team, (ZERO, ZERO))[0],
            )
        )
    return tuple(sorted(teams, key=lambda one: (-one.cost, -one.split.held.pms, one.team)))


def _pools(
    figures: list[Row], unit_prices: Mapping[tuple[str, str, str], tuple[Decimal, ...]]
) -> tuple[PoolRow, ...]:
    pools: list[PoolRow] = []
    for row in (row for row in figures if row["level"] == "pool"):
        key = (row["cluster"], row["pool"], row["model"])
        pools.append(PoolRow(*key, split_of(row), unit_prices.get(key, ())))
    return tuple(
        sorted(pools, key=lambda one: (-one.cost, -one.split.capacity.pms, one.cluster, one.pool, one.model))
    )


def _own_lines(queries: Queries, split: Split, prices: Prices) -> tuple[OwnLine, ...]:
    treated = {row["kind"]: row for row in queries.rows("treatment")}
    cards = prices.cards_between(queries.week.start_ms, queries.week.end_ms)
    amounts = {
        "unallocated": split.unallocated,
        "unavailable": split.unavailable,
        "unobserved": split.unobserved,
    }
    lines: list[OwnLine] = []
    for kind, amount in amounts.items():
        row = treated.get(kind, {"shared_micros": 0, "unbilled_micros": 0})
        ways = dict.fromkeys(_TREATMENT[getattr(card, f"share_{kind}")] for card in cards)
        lines.append(
            OwnLine(
                kind,
                amount,
                millionths(row["shared_micros"]),
                millionths(row["unbilled_micros"]),
                ", then ".join(ways),
            )
        )
    return tuple(lines)

"""Reports made: a span's usage, charges and deeds as one value for each audience, all of one state of the ledger."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches

from analytics.money.rates import Prices, read_prices
from analytics.reports import rows
from analytics.reports.audience import MANAGERS, Audience, Kind
from analytics.reports.books import books
from analytics.reports.change import change, spans_before
from analytics.reports.details import Closed, DeedRow, LentRow
from analytics.reports.figures import ZERO, Report, WonBack, millionths
from analytics.reports.notes import notes
from analytics.reports.queries import Queries, Row, split_of
from analytics.reports.span import Span
from analytics.reports.workloads import IDLEST, MOST, Named, look_up, workloads
from analytics.scope import ALL, Scope
from analytics.wonback import Stop, won_back
from quartermaster.errors import InputError
from sql.ledger import Ledger


def report(
    ledger: Ledger,
    span: Span,
    audience: Audience = MANAGERS,
    *,
    scope: Scope = ALL,
    idlest: int = IDLEST,
    time_zone: str = "UTC",
    now_ms: int,
) -> Report:
    """The report of a span for one audience, of the teams that the reader may see, with at most so many idle workloads.

    Raises InputError for a team or department that is unknown or none of theirs, a span without any usage, or one
    that was charged in two currencies.
    """
    return reports(ledger, span, [audience], scope=scope, idlest=idlest, time_zone=time_zone, now_ms=now_ms)[
        0
    ]


def reports(
    ledger: Ledger,
    span: Span,
    audiences: Iterable[Audience],
    *,
    scope: Scope = ALL,
    idlest: int = IDLEST,
    time_zone: str = "UTC",
    now_ms: int,
) -> list[Report]:
    """The same for many: what they share is read once. Raises as `report` does."""
    with ledger.reading() as cursor:  # all of one state of the ledger
        queries = Queries(cursor, span)
        queries.lay()
        common = _common(queries, read_prices(cursor), scope, time_zone, now_ms)
        drafts = [_draft(common, audience, idlest) for audience in audiences]
        named = look_up(queries, [each.figures for each in drafts], [each.moves for each in drafts])
        return [_report(common, draft, named) for draft in drafts]


def teams_of(ledger: Ledger, span: Span, scope: Scope = ALL) -> dict[str, str]:
    """The teams that have something in the span, or are in the configuration, each with its department."""
    with ledger.reading() as cursor:
        queries = Queries(cursor, span)
        configured = {row["team"]: row["department"] for row in queries.rows("teams")}
        used = {row["team"]: configured.get(row["team"], "") for row in queries.rows("known_teams")}
    return dict(sorted((team, where) for team, where in (configured | used).items() if scope.admits(team)))


_NAMELESS = "other teams"


@dataclass(frozen=True, slots=True)
class _Common:
    """What all reports of a span share."""

    queries: Queries
    prices: Prices
    scope: Scope
    time_zone: str
    now_ms: int
    departments: Mapping[str, str]
    quota: Mapping[str, Row]
    currency: str
    priced: Sequence[Row]
    known_until_ms: int | None
    before: rows.Before | None
    past_spans: int
    past: Sequence[Row]
    stops: Sequence[Stop]
    stops_ever: Sequence[Stop]
    lending: Sequence[LentRow]
    deeds: Sequence[Row]
    gaps: Sequence[tuple[str, str, int, int]]
    closing: Sequence[Row]


@dataclass(frozen=True, slots=True)
class _Draft:
    """One audience's sums, before anything in them has a name."""

    audience: Audience
    teams: tuple[str, ...] | None
    figures: list[Row]
    moves: list[Row]


def _common(queries: Queries, prices: Prices, scope: Scope, time_zone: str, now_ms: int) -> _Common:
    span, cursor = queries.span, queries.cursor
    priced = queries.rows("prices")
    before = {
        row["team"]: (millionths(row["owed_micros"]), millionths(row["pool_micros"]))
        for row in queries.rows("owed_before")
    }
    until_ms = min(span.end_ms, now_ms)
    known_until_ms: int | None = queries.rows("known")[0]["known_until_ms"]
    whole = known_until_ms is not None and known_until_ms >= span.end_ms
    past_spans = spans_before(queries) if whole else 0
    return _Common(
        queries=queries,
        prices=prices,
        scope=scope,
        time_zone=time_zone,
        now_ms=now_ms,
        departments={
            row["team"]: row["department"] for row in queries.rows("teams") if scope.admits(row["team"])
        },
        quota={row["team"]: row for row in queries.rows("quota")},
        currency=_currency(span, priced),
        priced=priced,
        known_until_ms=known_until_ms,
        before=before or None,
        past_spans=past_spans,
        past=queries.rows("past", spans=past_spans) if past_spans else (),
        stops=won_back(cursor, span.start_ms, until_ms),
        stops_ever=won_back(cursor, 0, until_ms),
        lending=_lending(queries.rows("lending"), scope),
        deeds=[*queries.rows("deeds"), *({**row, "result": "would"} for row in queries.rows("would"))],
        gaps=[(row["covers"], row["reason"], row["nodes"], row["gaps"]) for row in queries.rows("gaps")],
        closing=queries.rows("closing"),
    )


def _currency(span: Span, priced: Iterable[Row]) -> str:
    currencies = sorted({row["currency"] for row in priced})
    if len(currencies) > 1:
        raise InputError(
            f"{span.name} was charged in {' and '.join(currencies)}, which do not add up",
            f"let a card in another currency begin with a {span.unit}",
        )
    return "".join(currencies)


def _draft(common: _Common, audience: Audience, idlest: int) -> _Draft:
    teams = _teams(common, audience)
    queries = common.queries.of(teams)
    figures = queries.rows("figures", most=MOST, idlest=idlest)
    total = next(row for row in figures if row["level"] == "all")
    if not total["row_count"] and not _promised(common, teams):
        if audience.kind is not Kind.TEAM:
            raise _nothing(queries)
        if audience.name not in common.departments:
            raise _no_team(common, audience.name)
    moves = queries.rows("change", spans=common.past_spans) if common.past_spans else []
    return _Draft(audience, teams, figures, moves)


def _teams(common: _Common, audience: Audience) -> tuple[str, ...] | None:
    """The teams that it tells of, never one that is not the reader's; None: of all."""
    if audience.kind is Kind.TEAM:
        if not common.scope.admits(audience.name):
            raise _no_team(common, audience.name)
        return (audience.name,)
    if audience.kind is Kind.DEPARTMENT:
        teams = tuple(team for team, where in common.departments.items() if where == audience.name)
        if not teams:
            raise _unknown("department", audience.name, set(common.departments.values()) - {""})
        return teams
    return None if common.scope.bound is None else tuple(common.scope.bound)


def _no_team(common: _Common, name: str) -> InputError:
    known = {row["team"] for row in common.queries.rows("known_teams")} | set(common.departments)
    return _unknown("team", name, filter(common.scope.admits, known), common.queries.span)


def _lending(lent: Iterable[Row], scope: Scope) -> list[LentRow]:
    """Who lent to whom: a team that is not the reader's has no name."""
    sums: dict[tuple[str, str], int] = {}
    for row in lent:
        lender, borrower = (
            row[side] if scope.admits(row[side]) else _NAMELESS for side in ("lender", "borrower")
        )
        sums[lender, borrower] = sums.get((lender, borrower), 0) + row["lent"]
    return [LentRow(*pair, pms) for pair, pms in sums.items() if pair != (_NAMELESS, _NAMELESS)]


def _promised(common: _Common, teams: Sequence[str] | None) -> bool:
    return bool(common.quota) if teams is None else any(team in common.quota for team in teams)


def _unknown(what: str, name: str, known: Iterable[str], span: Span | None = None) -> InputError:
    names = sorted(known)
    near = get_close_matches(name, names, n=1) or names[:5]
    where = f" in {span.name}" if span else ""
    return InputError(f"there is no {what} {name}{where}", f"one of: {', '.join(near) or 'none is known'}")


def _nothing(queries: Queries) -> InputError:
    span = queries.rows("span")[0]
    known_days = "there is none at all"
    if span["first_day"]:
        known_days = f"usage is known from {span['first_day']} to {span['last_day']}"
    return InputError(
        f"there is no usage in {queries.span.name}: {known_days}",
        f"name another --{queries.span.unit}, or run quartermaster rollup",
    )


def _report(common: _Common, draft: _Draft, named: Named) -> Report:
    span, teams, figures = common.queries.span, draft.teams, draft.figures

    def ours(team: str | None) -> bool:
        return teams is None or team in teams

    sums = next(row for row in figures if row["level"] == "all")
    total = {name: value or 0 for name, value in sums.items()}
    split = split_of(total)
    before = None
    if common.before is not None:
        before = {team: sums for team, sums in common.before.items() if ours(team)}
    unit_prices: dict[tuple[str, str, str], tuple[Decimal, ...]] = {}
    for row in (row for row in common.priced if ours(row["team"])):
        key = (row["cluster"], row["pool"], row["model"])
        unit_prices[key] = tuple(sorted({*unit_prices.get(key, ()), *row["unit_prices"]}))
    costliest, idlest = workloads(figures, named)
    provisional = common.known_until_ms is None or common.known_until_ms < span.end_ms
    return Report(
        span=span.name,
        unit=span.unit,
        days=tuple(day.day for day in span.days),
        start_ms=span.start_ms,
        end_ms=span.end_ms,
        time_zone=common.time_zone,
        currency=common.currency,
        generated_at_ms=common.now_ms,
        known_until_ms=common.known_until_ms,
        provisional=provisional,
        audience=draft.audience,
        split=split,
        billed=millionths(total["owed_micros"]),
        pool_cost=split.capacity.cost,
        pool_cost_before=None if before is None else sum((pool for _, pool in before.values()), ZERO),
        adjustments=millionths(total["adjustment_micros"]),
        by_day=rows.day_costs(figures),
        by_team=rows.team_rows(
            figures,
            {team: row for team, row in common.quota.items() if ours(team)},
            common.departments,
            before,
        ),
        by_pool=rows.pool_rows(figures, unit_prices),
        by_workload=costliest,
        workload_count=max((row["workload_count"] or 0 for row in figures), default=0),
        idlest=idlest,
        own_lines=()
        if teams
        else rows.own_lines(
            common.queries.rows("treatment"), split, common.prices.cards_between(span.start_ms, span.end_ms)
        ),
        notes=notes(
            total,
            unit=span.unit,
            known_until_ms=common.known_until_ms,
            provisional=provisional,
            currency=common.currency,
            uncharged_days=sorted(
                {row["business_day"] for row in figures if row["level"] == "day" and row["uncharged"]}
            ),
            unbilled_faults=millionths(total["faulted_micros"]),
            gaps=common.gaps,
        ),
        won_back=_won_back(common.stops, teams),
        won_ever=_won_back(common.stops_ever, teams),
        days_split=rows.day_splits(figures),
        lending=tuple(row for row in common.lending if ours(row.lender) or ours(row.borrower)),
        deeds=_deeds(row for row in common.deeds if ours(row["team"])),
        change=change(
            draft.moves, [row for row in common.past if ours(row["team"])], common.past_spans, named.names
        ),
        books=books(common.queries) if draft.audience.kind is Kind.FINANCE else None,
        closed=_closed(common.closing, teams),
    )


def _closed(closing: Sequence[Row], teams: Sequence[str] | None) -> Closed | None:
    if not closing:
        return None
    own = [row["statement"] for row in closing if teams is not None and list(teams) == [row["team"]]]
    return Closed(closing[0]["number"], closing[0]["sha256"], "".join(own))


def _won_back(stops: Iterable[Stop], teams: Sequence[str] | None) -> WonBack | None:
    there = list(stops)
    if not there:
        return None
    own = [each for each in there if teams is None or each.team in teams]
    given = sum(each.pms for stop in there for each in stop.given if teams is None or each.team in teams)
    return WonBack(len(own), sum(each.back_ms is not None for each in own), given)


def _deeds(deeds: Iterable[Row]) -> tuple[DeedRow, ...]:
    sums: dict[tuple[str, str, str], tuple[int, int]] = {}
    for row in deeds:
        key = row["act"], row["cause"], row["result"]
        workloads_, parts = sums.get(key, (0, 0))
        sums[key] = workloads_ + row["workloads"], parts + (row["parts"] or 0)
    found = (DeedRow(*key, *counted) for key, counted in sums.items())
    return tuple(
        sorted(found, key=lambda row: (row.came == "would", -row.workloads, row.act, row.cause, row.came))
    )

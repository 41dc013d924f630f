"""Costs: a period of the books as a reader may see it: what is owed, at which prices, by which lines, the disputes."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from analytics.money.calendar import Calendar
from analytics.money.explained import explain, sentences
from analytics.money.periods import Standing, standing
from analytics.reports.audience import Audience, of_scope
from analytics.reports.audience import Kind as AudienceKind
from analytics.reports.figures import Report
from analytics.reports.made import report
from analytics.reports.span import of_period
from analytics.scope import Scope
from analytics.views.rows import rows
from quartermaster.clock import to_datetime
from quartermaster.errors import InputError
from sql.ledger import Ledger

MOST_LINES = 25


@dataclass(frozen=True, slots=True)
class Price:
    """A line of a rate card while it was in force (epoch ms; None: still): for what, and how much a unit."""

    card: str
    cluster_glob: str
    pool_glob: str
    model_glob: str
    profile_glob: str
    measure: str
    unit: str
    price: Decimal
    currency: str
    since_ms: int
    until_ms: int | None
    author: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of cost. `team` is "" for what no team bears, `workload` "" where it is not one's."""

    charge_id: int
    day: str
    team: str
    account: str
    kind: str
    detail: str
    workload: str
    held_pms: int
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Disputed:
    """A line that a team disputes, since when (epoch ms), and what was decided."""

    charge_id: int
    day: str
    team: str
    amount: Decimal
    credited: Decimal | None
    state: str
    words: str
    raised_ms: int


@dataclass(frozen=True, slots=True)
class Costs:
    """A period's books. The report is finance's for a reader of everything, else of their teams."""

    report: Report
    standing: Standing
    prices: tuple[Price, ...]
    lines: tuple[Line, ...]
    disputes: tuple[Disputed, ...]


def periods(ledger: Ledger, calendar: Calendar) -> tuple[str, ...]:
    """The periods that have usage or lines of cost, newest first; empty before there is any."""
    with ledger.reading() as cursor:
        (days,) = rows(cursor, "costs", "days")
    if days["first_day"] is None:
        return ()
    return tuple(each.period for each in calendar.between(days["first_day"], days["last_day"]))[::-1]


def costs(ledger: Ledger, scope: Scope, period: str, calendar: Calendar, *, now_ms: int) -> Costs:
    """The books of a period. Raises InputError for a period without any usage, or one that the calendar does not
    have; LedgerError."""
    span = of_period(period, calendar)
    audience = Audience(AudienceKind.FINANCE) if scope.whole else of_scope(scope)
    found = report(ledger, span, audience, scope=scope, time_zone=calendar.time_zone, now_ms=now_ms)
    given: dict[str, object] = {
        "teams": scope.bound,
        "first_day": span.first,
        "last_day": span.last,
        "start_at": to_datetime(span.start_ms),
        "end_at": to_datetime(span.end_ms),
        "most": MOST_LINES,
    }
    with ledger.reading() as cursor:
        return Costs(
            found,
            standing(cursor, calendar, period),
            tuple(_price(row) for row in rows(cursor, "costs", "prices", **given)),
            tuple(_line(row) for row in rows(cursor, "costs", "lines", **given)),
            tuple(_disputed(row) for row in rows(cursor, "costs", "disputes", **given)),
        )


def explained(ledger: Ledger, scope: Scope, line: str, time_zone: str) -> tuple[str, ...]:
    """A line of cost by its number, in sentences down to its roots.

    Raises InputError for a number that no line has, or one of a team that is not the reader's: in the same words.
    """
    text = line.strip()
    if not text.isascii() or not text.isdigit() or len(text) > 19:
        raise InputError(f"{line!r} is no number of a line", "choose one of the lines in the table")
    with ledger.reading() as cursor:
        return tuple(sentences(explain(cursor, int(text), time_zone, scope)))


def _price(row: dict[str, Any]) -> Price:
    return Price(
        row["card"],
        row["cluster_glob"] or "*",
        row["pool_glob"] or "*",
        row["model_glob"] or "*",
        row["profile_glob"],
        row["measure"],
        row["unit"],
        row["price"],
        row["currency"],
        row["since_ms"],
        row["until_ms"],
        row["author"],
    )


def _line(row: dict[str, Any]) -> Line:
    named = row["name"] is not None
    return Line(
        row["charge_id"],
        row["business_day"],
        row["team"] or "",
        row["account"],
        row["kind"],
        row["detail"],
        f"{row['workload_kind']} {row['namespace']}/{row['name']}" if named else "",
        int(row["quantity_pms"] or 0),
        row["amount"],
    )


def _disputed(row: dict[str, Any]) -> Disputed:
    return Disputed(
        row["charge_id"],
        row["business_day"],
        row["team"],
        row["amount"],
        row["credited"],
        row["state"],
        row["words"],
        row["raised_ms"],
    )

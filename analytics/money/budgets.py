"""Budgets: what a team means to spend in a period, what it has spent, where that will end, and alerts, once each."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from uuid import uuid4

import polars as pl

from analytics.money.calendar import Period
from analytics.money.forecast import MEAN_WEEKS, REPLAYS, Forecast, forecast
from analytics.money.queries import books_sql
from analytics.scope import ALL, Scope
from quartermaster.clock import to_datetime
from sql.ledger import Cursor, Ledger

MICROS = Decimal(1_000_000)
_HISTORY = timedelta(weeks=MEAN_WEEKS + REPLAYS)


@dataclass(frozen=True, slots=True)
class Burn:
    """A team's budget in a period, and how much of it is gone."""

    period: Period
    team: str
    budget: Decimal
    currency: str
    alerts: tuple[int, ...]  # thresholds, in permille of the budget
    spent: Decimal
    days_done: int  # business days of the period whose usage is all written
    days: int
    end: Decimal  # what it will have spent when the period ends
    low: Decimal | None
    high: Decimal | None
    replays: int
    daily: tuple[tuple[str, Decimal], ...]  # what was spent on each day of the period that is done

    @property
    def reached(self) -> tuple[int, ...]:
        """The thresholds that what is spent has reached."""
        return tuple(each for each in sorted(self.alerts) if self.spent * 1000 >= self.budget * each)


@dataclass(frozen=True, slots=True)
class Alert:
    """A threshold that a team's spending has reached, recorded once a period."""

    period: str
    team: str
    permille: int
    words: str


def burn_down(cursor: Cursor, period: Period, now_ms: int, scope: Scope = ALL) -> list[Burn]:
    """Every team of the reader's that has a budget in the period, by name, as of what is written until `now_ms`."""
    row = cursor.execute(books_sql("rolled_until")).fetchone()
    until_ms = min(now_ms, int(row[0]) if row and row[0] is not None else 0)
    done = [day.day for day in period.days if day.end_ms <= until_ms]
    end_day = _after(done[-1]) if done else period.start_day
    first_day = (date.fromisoformat(end_day) - _HISTORY).isoformat()
    owed = cursor.execute(
        books_sql("owed_daily"),
        {
            "first_day": min(first_day, period.start_day),
            "end_day": period.end_day,
            "teams": scope.bound,
        },
    ).fetchall()
    given = {"teams": scope.bound, "period": period.period, "now_at": to_datetime(now_ms)}
    found: list[Burn] = []
    for team, amount, currency, alerts in cursor.execute(books_sql("budgets_in_force"), given).fetchall():
        daily = {day: micros for name, day, money, micros in owed if (name, money) == (team, currency)}
        spent = sum(micros for day, micros in daily.items() if period.start_day <= day)
        so_far = sum(micros for day, micros in daily.items() if period.start_day <= day < end_day)
        ahead = forecast(_history(daily, first_day, end_day), len(period.days) - len(done))
        found.append(
            Burn(
                period,
                team,
                amount,
                currency,
                tuple(json.loads(alerts)),
                spent / MICROS,
                len(done),
                len(period.days),
                *_ends(ahead, so_far),
                ahead.replays,
                tuple((day, daily.get(day, 0) / MICROS) for day in done),
            )
        )
    return found


def record_alerts(ledger: Ledger, burns: Sequence[Burn], now_ms: int) -> list[Alert]:
    """Record in `notifications` each threshold that was reached and is not recorded yet; those that are new."""
    with ledger.exclusive("budgets"):
        with ledger.reading() as cursor:
            known = set(cursor.execute(books_sql("alerted")).fetchall())
        new = [
            Alert(burn.period.period, burn.team, permille, _words(burn, permille))
            for burn in burns
            for permille in burn.reached
            if (_subject(burn.period.period, burn.team), _stage(permille)) not in known
        ]
        if new:
            rows = pl.DataFrame(
                [
                    {
                        "cluster": "",
                        "object_uid": _subject(alert.period, alert.team),
                        "stage": _stage(alert.permille),
                        "sent_at": now_ms,
                        "channel": "recorded",
                        "addressee": alert.team,
                        "accepted": False,
                        "words": alert.words,
                    }
                    for alert in new
                ]
            )
            ledger.append(f"budgets/{uuid4().hex}", {"notifications": rows}, recorded_at=now_ms)
    return new


def _history(daily: Mapping[str, int], first_day: str, end_day: str) -> list[int]:
    """A cost for each day up to the last complete one, from the team's first day on."""
    days = sorted(day for day in daily if first_day <= day < end_day)
    if not days:
        return []
    found: list[int] = []
    day = days[0]
    while day < end_day:
        found.append(daily.get(day, 0))
        day = _after(day)
    return found


def _ends(ahead: Forecast, so_far: int) -> tuple[Decimal, Decimal | None, Decimal | None]:
    def whole(rest: int | None) -> Decimal | None:
        return None if rest is None else (so_far + rest) / MICROS

    return (so_far + ahead.micros) / MICROS, whole(ahead.low_micros), whole(ahead.high_micros)


def _after(day: str) -> str:
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()


def _subject(period: str, team: str) -> str:
    return f"budget/{period}/{team}"


def _stage(permille: int) -> str:
    return f"budget {Decimal(permille) / 10:f} %"


def _words(burn: Burn, permille: int) -> str:
    return (
        f"{burn.team} has spent {burn.spent:,.2f} of {burn.budget:,.2f} {burn.currency} in {burn.period.period}: "
        f"{Decimal(permille) / 10:f} % is reached"
    )

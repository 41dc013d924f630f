"""Lending: who lent to whom in a week, what each team gave and took over weeks, and what owners waited."""

from collections.abc import Iterable
from dataclasses import dataclass

from analytics.business import Week, iso_week, week_at
from analytics.scope import Scope
from analytics.views.rows import rows
from quartermaster.clock import DAY_MS
from sql.ledger import Ledger

WEEKS = 8


@dataclass(frozen=True, slots=True)
class Pair:
    """What a team lent to another, in part-milliseconds."""

    lender: str
    borrower: str
    pms: int


@dataclass(frozen=True, slots=True)
class Balance:
    """A team's week, in part-milliseconds. `owed_pms`: it waited for GPUs of its own guarantee; `away_pms`: the part
    of that while others held them."""

    week: str
    team: str
    guaranteed_pms: int
    held_pms: int
    borrowed_pms: int
    lent_pms: int
    waiting_pms: int
    owed_pms: int
    away_pms: int

    @property
    def given_pms(self) -> int:
        """What it lent above what it borrowed; below zero: it took more than it gave."""
        return self.lent_pms - self.borrowed_pms


@dataclass(frozen=True)
class Lending:
    """A week's pairs by pool, the most lent first, and the balances of the `weeks` until it, in order."""

    week: str
    start_ms: int
    end_ms: int
    weeks: tuple[str, ...]
    by_pool: tuple[tuple[str, Pair], ...]
    balances: tuple[Balance, ...]

    @property
    def pools(self) -> tuple[str, ...]:
        """The pools in which something was lent, by name."""
        return tuple(sorted({pool for pool, _ in self.by_pool}))

    def pairs(self, pool: str | None) -> tuple[Pair, ...]:
        """Who lent to whom in one pool, or over all; the most first."""
        sums: dict[tuple[str, str], int] = {}
        for where, pair in self.by_pool:
            if pool in {None, where}:
                key = (pair.lender, pair.borrower)
                sums[key] = sums.get(key, 0) + pair.pms
        return tuple(
            Pair(*key, pms) for key, pms in sorted(sums.items(), key=lambda each: (-each[1], each[0]))
        )

    @property
    def teams(self) -> tuple[str, ...]:
        """All teams: who lent most in the week first, then who is farthest out of balance over all weeks."""
        lent: dict[str, int] = {}
        for _, pair in self.by_pool:
            lent[pair.lender] = lent.get(pair.lender, 0) + pair.pms
        given: dict[str, int] = dict.fromkeys((pair.borrower for _, pair in self.by_pool), 0)
        for each in self.balances:
            given[each.team] = given.get(each.team, 0) + each.given_pms
        names = lent.keys() | given.keys()
        return tuple(sorted(names, key=lambda name: (-lent.get(name, 0), -abs(given.get(name, 0)), name)))

    @property
    def last(self) -> tuple[Balance, ...]:
        """The balances of the week itself."""
        return tuple(balance for balance in self.balances if balance.week == self.week)


def lending(ledger: Ledger, scope: Scope, week: str, time_zone: str) -> Lending:
    """An ISO week (`2026-W48`) of business days and the weeks before it, of the pairs that one of the reader's teams is
    part of. Raises InputError for text that is no week, LedgerError."""
    weeks = tuple(_until(iso_week(week, time_zone), time_zone))
    names = {each.start_ms: each.week for each in weeks}
    last = weeks[-1]
    spans = {"starts": list(names), "ends": [each.end_ms for each in weeks], "teams": scope.bound}
    with ledger.reading() as cursor:
        pairs = rows(
            cursor, "lending", "pairs", from_ms=last.start_ms, until_ms=last.end_ms, teams=scope.bound
        )
        balances = rows(cursor, "lending", "weeks", **spans)
    return Lending(
        week,
        last.start_ms,
        last.end_ms,
        tuple(names.values()),
        tuple((row["pool"], Pair(row["lender"], row["borrower"], row["lent_pms"])) for row in pairs),
        tuple(Balance(week=names[row.pop("start_ms")], **row) for row in balances),
    )


def _until(week: Week, time_zone: str) -> Iterable[Week]:
    """The weeks that end with this one, in order."""
    middle_ms = week.start_ms + 3 * DAY_MS
    return (week_at(middle_ms - 7 * DAY_MS * ago, time_zone) for ago in range(WEEKS - 1, -1, -1))

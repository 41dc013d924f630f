"""Data quality: how much of each day is known, which sources tell it, where nobody told, where they disagree."""

from dataclasses import dataclass
from datetime import date, timedelta

from analytics.business import business_day
from analytics.scope import Scope
from analytics.views.rows import rows
from sql.ledger import Ledger
from sql.status import Source, status

_DISAGREE = ("sources disagree", "clocks apart")


@dataclass(frozen=True, slots=True)
class Known:
    """How much of a cluster's day is known, in part-milliseconds. Unknown, estimated, overbooked and unassigned are
    within held; unobserved is within capacity."""

    cluster: str
    day: str
    capacity_pms: int
    held_pms: int
    unknown_pms: int
    unobserved_pms: int
    estimated_pms: int
    overbooked_pms: int
    unassigned_pms: int


@dataclass(frozen=True, slots=True)
class Gap:
    """What a source did not tell, for one reason: on how many nodes, how often, how long over all of them (ms)."""

    cluster: str
    source: str
    covers: str
    reason: str
    nodes: int
    gaps: int
    still_open: int
    silent_ms: int


@dataclass(frozen=True, slots=True)
class Disagreement:
    """What two sources do not agree about. The times are epoch ms; None: still so."""

    cluster: str
    kind: str
    subject: str
    team: str
    since_ms: int
    until_ms: int | None


@dataclass(frozen=True, slots=True)
class Unassigned:
    """What a namespace held that no team rule matches."""

    cluster: str
    namespace: str
    workloads: int
    held_pms: int


@dataclass(frozen=True)
class Quality:
    """What a reader may know of the data of some days: with teams of their own, the coverage of what these held, and
    neither sources nor gaps."""

    first_day: str
    last_day: str
    at_ms: int
    whole: bool
    days: tuple[Known, ...]
    sources: tuple[Source, ...]
    gaps: tuple[Gap, ...]
    disagreements: tuple[Disagreement, ...]
    unassigned: tuple[Unassigned, ...]

    def total(self, name: str) -> int:
        """A column of `days`, summed."""
        return sum(getattr(each, name) for each in self.days)


def quality(
    ledger: Ledger, scope: Scope, last_day: str, count: int, *, time_zone: str, now_ms: int
) -> Quality:
    """The data of `count` business days that end with one. Raises InputError for text that is no day, LedgerError."""
    last = business_day(last_day, time_zone)
    first = business_day((date.fromisoformat(last.day) - timedelta(days=count - 1)).isoformat(), time_zone)
    given = {
        "teams": scope.bound,
        "first_day": first.day,
        "last_day": last.day,
        "from_ms": first.start_ms,
        "until_ms": min(last.end_ms, now_ms),
        "kinds": list(_DISAGREE),
    }
    with ledger.reading() as cursor:
        days = rows(cursor, "quality", "days", **given)
        gaps = rows(cursor, "quality", "gaps", **given) if scope.whole else []
        disagreements = rows(cursor, "quality", "disagreements", **given)
        unassigned = rows(cursor, "quality", "unassigned", **given) if scope.whole else []
    return Quality(
        first.day,
        last.day,
        now_ms,
        scope.whole,
        tuple(Known(**row) for row in days),
        status(ledger, now_ms).sources if scope.whole else (),
        tuple(Gap(**row) for row in gaps),
        tuple(Disagreement(**row) for row in disagreements),
        tuple(Unassigned(**row) for row in unassigned),
    )

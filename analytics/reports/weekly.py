"""The weekly bill: a week of usage and charges as one value, for every form in which people read it."""

from analytics.reports.figures import (
    Amount,
    DayCost,
    IdleRow,
    OwnLine,
    PoolRow,
    Split,
    TeamRow,
    WeeklyReport,
    WorkloadRow,
)
from sql.ledger import Ledger

__all__ = [
    "Amount",
    "DayCost",
    "IdleRow",
    "OwnLine",
    "PoolRow",
    "Split",
    "TeamRow",
    "WeeklyReport",
    "WorkloadRow",
    "weekly",
]


def weekly(
    ledger: Ledger, week: str, team: str | None = None, *, time_zone: str = "UTC", now_ms: int
) -> WeeklyReport:
    """The bill of an ISO week (`2026-W48`) of business days, of all teams or of one.

    Raises InputError for text that is no week, a team that is unknown, or a week without any usage.
    """
    raise NotImplementedError

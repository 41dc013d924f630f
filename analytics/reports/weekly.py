"""The weekly bill: the report of an ISO week, and which week is the last that is complete."""

from analytics.business import business_day, iso_week
from analytics.reports.audience import of_scope
from analytics.reports.audience import team as of_team
from analytics.reports.figures import Report
from analytics.reports.made import report
from analytics.reports.queries import report_sql
from analytics.reports.span import Regular, Span, at, last_before, of_week
from analytics.reports.workloads import IDLEST
from analytics.scope import ALL, Scope
from quartermaster.errors import InputError
from sql.ledger import Ledger


def weekly(
    ledger: Ledger,
    week: str,
    team: str | None = None,
    *,
    scope: Scope = ALL,
    idlest: int = IDLEST,
    time_zone: str = "UTC",
    now_ms: int,
) -> Report:
    """The bill of an ISO week (`2026-W48`) of business days, of one team or of all that the reader may see.

    Raises InputError, for a team that is not theirs as for one that is unknown.
    """
    span = of_week(iso_week(week, time_zone))
    audience = of_scope(scope) if team is None else of_team(team)
    return report(ledger, span, audience, scope=scope, idlest=idlest, time_zone=time_zone, now_ms=now_ms)


def latest_week(ledger: Ledger, time_zone: str = "UTC") -> str:
    """The last week with usage that is rolled up to its end; where there is none, the last with usage.

    Raises InputError when the ledger has no usage at all.
    """
    return latest(ledger, "week", time_zone).name


def latest(ledger: Ledger, unit: Regular, time_zone: str = "UTC") -> Span:
    """The same of weeks or months."""
    last = ledger.query("select max(business_day) as day from usage_daily").item()
    if last is None:
        raise InputError("the ledger has no usage yet", "run quartermaster rollup")
    known: int | None = ledger.query(report_sql("known")).item()
    newest = at(business_day(last, time_zone).start_ms, unit, time_zone)
    if known is not None and known >= newest.end_ms:
        return newest
    before = last_before(newest.start_ms, unit, time_zone)
    used = ledger.query(
        "select count(*) as n from usage_daily where business_day between ? and ?",
        [before.first, before.last],
    )
    return before if used.item() else newest

"""Shadow mode: a plan is made of what the ledger knows, and recorded. Nothing is ever done."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from zoneinfo import ZoneInfo

from analytics.findings import Priced, look
from analytics.judged import Terms
from analytics.measure import Cursor
from analytics.money.rates import read_prices
from enforcer.act.way import ways_of
from enforcer.book import Book, Told, rows
from enforcer.freshness import Refusal, heard_ms, stale, thin
from enforcer.heard import hear
from enforcer.idleness import Findings
from enforcer.memory import Memory
from enforcer.past_use import past_use, with_past
from enforcer.plan import Plan
from enforcer.planner import plan
from enforcer.recorded import record
from enforcer.snapshot import Snapshot
from quartermaster.clock import DAY_MS
from quartermaster.config.findings import FindingsPart
from quartermaster.config.policy import PolicyPart
from sql.ledger import Ledger

_REMEMBERED_MS = 90 * DAY_MS


@dataclass(frozen=True)
class Ruling:
    """By what shadow plans are made: the configuration's two parts, and the business's time zone."""

    policy: PolicyPart
    findings: FindingsPart
    time_zone: str

    @property
    def zone(self) -> ZoneInfo:
        """The time zone as the planner wants it."""
        return ZoneInfo(self.time_zone)


@dataclass(frozen=True)
class Shadow:
    """A plan that nobody carries out, and the ledger's ids of the workloads it names, by UID."""

    plan: Plan
    ids: Mapping[str, int]


def cycle(ledger: Ledger, cluster: str, at_ms: int, ruling: Ruling) -> tuple[Shadow | Refusal, bool]:
    """Make the plan of this instant and record it, unless the last one recorded would do the same to the same.

    The plan, or why there is none; and whether it was recorded. Raises LedgerError.
    """
    with ledger.exclusive("shadow"):
        with ledger.reading() as cursor:
            made = make(cursor, cluster, at_ms, ruling)
        return made, isinstance(made, Shadow) and record(ledger, made.plan, made.ids)


def make(cursor: Cursor, cluster: str, at_ms: int, ruling: Ruling) -> Shadow | Refusal:
    """The plan of an instant that is now, as a cursor sees the ledger; or why there is none."""
    book = Book(cursor, cluster, at_ms, at_ms, ways_of(ruling.policy.acting.kinds))
    lags = book.lags(at_ms)
    reasons = list(stale(lags, ruling.policy))
    if reasons:
        return Refusal(cluster, at_ms, tuple(reasons), heard_ms(lags, at_ms))
    priced = Priced(read_prices(cursor), at_ms)
    found = look(cursor, cluster, Terms(at_ms, ruling.findings, ruling.policy, priced.of), ruling.time_zone)
    measured = rows(cursor, "coverage_now", {}).row(0, named=True)
    reasons = list(thin(measured["held_pms"], measured["known_pms"]))
    if reasons:
        return Refusal(cluster, at_ms, tuple(reasons), heard_ms(lags, at_ms))
    computing = rows(cursor, "computing_now", {})["pool"].to_list()
    memory = Memory()
    span = {"cluster": cluster, "since_ms": at_ms - _REMEMBERED_MS, "at_ms": at_ms}
    memory.recall(rows(cursor, "remembered", span).iter_rows(named=True))
    told = book.told(at_ms, memory.as_takings())
    past = past_use(cursor, cluster, at_ms, ruling.policy.past_use)
    told = replace(told, snapshot=with_past(told.snapshot, past))
    return shadow(told, hear(found, computing, {}, {}), memory, _computed(cursor, told, memory, span), ruling)


def shadow(
    told: Told, findings: Findings, memory: Memory, computed_ms: Mapping[str, int], ruling: Ruling
) -> Shadow:
    """The plan for an instant, with what was noticed then, what is remembered, and who computed last when."""
    heard = memory.hear(past_grace(findings, told.snapshot, ruling.policy.grace_ms), computed_ms)
    return Shadow(plan(told.snapshot, heard, ruling.policy, ruling.zone), told.ids)


def _computed(cursor: Cursor, told: Told, memory: Memory, span: Mapping[str, object]) -> dict[str, int]:
    """When those whom plans have taken computed last."""
    uids = {told.ids[uid]: uid for uid in memory.takings if uid in told.ids}
    if not uids:
        return {}
    seen = rows(cursor, "computed_now", {**span, "workloads": list(uids)})
    return {uids[number]: at_ms for number, at_ms in seen.iter_rows()}


def past_grace(findings: Findings, snapshot: Snapshot, grace_ms: int) -> Findings:
    """The findings with idleness counted from a grace after the last start: what never computed is idle from then."""
    started = {
        each.uid: max(pod.started_at_ms for pod in each.pods if pod.started_at_ms is not None)
        for each in snapshot.workloads
        if any(pod.started_at_ms is not None for pod in each.pods)
    }
    return Findings(
        tuple(
            replace(each, since_ms=max(each.since_ms, started.get(each.uid, 0) + grace_ms))
            for each in findings.idle
        ),
        findings.computing,
    )

"""Replay: shadow mode over the ledger's past, hour by hour, from what is rolled up; plans remember those before."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from analytics.measure import FOREVER_MS, Cursor
from analytics.regret import Victim
from enforcer.act.way import ways_of
from enforcer.book import Book, Told, rows
from enforcer.freshness import Refusal, heard_ms, stale, thin
from enforcer.idleness import Evidence, Findings, Idle
from enforcer.memory import Memory
from enforcer.past_use import Past as BorrowedPast
from enforcer.past_use import past_use, with_past
from enforcer.plan import Act
from enforcer.shadow import Ruling, Shadow, shadow
from enforcer.snapshot import Workload
from quartermaster.clock import DAY_MS, HOUR_MS
from quartermaster.config.policy import PastUsePart

# Idleness is counted back so far, and plans before an instant are made from so long before, for their warnings.
LOOKED_BACK_MS = 3 * DAY_MS
_SIGNALS = ("activity", "power")


@dataclass
class Replay:
    """What shadow mode would have given over [from, until]: a plan a step, or why there was none."""

    cluster: str
    from_ms: int
    until_ms: int
    step_ms: int
    plans: int = 0
    refusals: list[Refusal] = field(default_factory=list[Refusal])
    victims: list[Victim] = field(default_factory=list[Victim])
    warned: int = 0
    last: Shadow | Refusal | None = None


def rolled(cursor: Cursor, cluster: str) -> tuple[int, int] | None:
    """The span of a cluster that is rolled up; None where nothing is."""
    row = rows(cursor, "rolled", {"cluster": cluster}).row(0, named=True)
    known = row["from_ms"], row["until_ms"]
    return None if None in known else known


def replay(
    cursor: Cursor,
    cluster: str,
    span: tuple[int, int],
    ruling: Ruling,
    *,
    step_ms: int = HOUR_MS,
    tick: Callable[[int], object] = lambda _: None,
    keep: Callable[[Shadow], object] = lambda _: None,
) -> Replay:
    """Plan at every step of the span, ends of whole hours, with nothing known of what came later.

    `tick` is told each instant, `keep` is given each plan.
    """
    from_ms, until_ms = -(-span[0] // HOUR_MS) * HOUR_MS, span[1] // HOUR_MS * HOUR_MS
    book = Book(cursor, cluster, from_ms, until_ms, ways_of(ruling.policy.acting.kinds))
    past = _Past(cursor, cluster, from_ms, until_ms)
    memory, done = Memory(), Replay(cluster, from_ms, until_ms, step_ms)
    for at_ms in range(from_ms, until_ms + 1, step_ms):
        made = _made(book, past, at_ms, memory, ruling)
        done.last = made
        if isinstance(made, Refusal):
            done.refusals.append(made)
        else:
            done.plans += 1
            done.victims += _victims(made)
            done.warned += sum(each.act is Act.WARN for each in made.plan.actions)
            memory.note(made.plan)
            keep(made)
        tick(at_ms)
    return done


def _made(book: Book, past: "_Past", at_ms: int, memory: Memory, ruling: Ruling) -> Shadow | Refusal:
    lags = book.lags(at_ms)
    reasons = [*stale(lags, ruling.policy), *past.thin(at_ms)]
    if reasons:
        return Refusal(book.cluster, at_ms, tuple(reasons), heard_ms(lags, at_ms))
    told = book.told(at_ms, memory.as_takings())
    borrowed = past.borrowed(at_ms, ruling.policy.past_use)
    told = replace(told, snapshot=with_past(told.snapshot, borrowed))
    findings, computed_ms = past.findings(told)
    return shadow(told, findings, memory, computed_ms, ruling)


def _victims(made: Shadow) -> Iterable[Victim]:
    for each in made.plan.actions:
        number = made.ids.get(each.target.uid)
        if each.act is Act.STOP and number is not None:
            target = each.target
            yield Victim(
                made.plan.cluster,
                each.cause.value,
                target.kind,
                f"{target.namespace}/{target.name}",
                target.team,
                target.pool,
                number,
                made.plan.at_ms,
                each.frees_parts,
            )


class _Past:
    """What is rolled up of a cluster's hours: what stood idle at the end of each, and how much of it is known."""

    def __init__(self, cursor: Cursor, cluster: str, from_ms: int, until_ms: int) -> None:
        self._cursor, self._cluster = cursor, cluster
        given = {"cluster": cluster, "until_ms": until_ms, "forever": FOREVER_MS}
        quiet = rows(cursor, "quiet_hours", given | {"from_ms": from_ms - LOOKED_BACK_MS})
        self._quiet = {
            key[0]: group
            for key, group in quiet.filter(pl.col("at_ms") >= from_ms)
            .partition_by("at_ms", as_dict=True)
            .items()
        }
        self._hours: dict[int, list[Mapping[str, Any]]] = {}
        for row in rows(cursor, "hours", given | {"from_ms": from_ms - HOUR_MS}).iter_rows(named=True):
            self._hours.setdefault(row["at_ms"], []).append(row)

    def thin(self, at_ms: int) -> Iterable[str]:
        """Why too little is known of the hour before the instant."""
        hours = self._hours.get(at_ms)
        if hours is None:
            return ("the hour before it is not rolled up",)
        return thin(sum(row["held_pms"] for row in hours), sum(row["known_pms"] for row in hours))

    def borrowed(self, at_ms: int, terms: PastUsePart | None) -> BorrowedPast:
        """What each team was known to have borrowed until the instant, as far as it counts."""
        return past_use(self._cursor, self._cluster, at_ms, terms)

    def findings(self, told: Told) -> tuple[Findings, dict[str, int]]:
        """What stood idle, and when that computed last.

        Each hour by itself must show it, so it is idle later here than in a look at the instant.
        """
        at_ms = told.snapshot.at_ms
        workloads = {told.ids[each.uid]: each for each in told.snapshot.workloads}
        computing = frozenset(row["pool"] for row in self._hours.get(at_ms, ()) if row["computes"])
        quiet = self._quiet.get(at_ms)
        found = [] if quiet is None else quiet.sort("workload_id").to_dicts()
        there = [(workloads[row["workload_id"]], row) for row in found if row["workload_id"] in workloads]
        idle = tuple(_idle(row, workload) for workload, row in there)
        return Findings(idle, computing), {workload.uid: row["busy_ms"] or 0 for workload, row in there}


def _idle(row: Mapping[str, Any], workload: Workload) -> Idle:
    evidence = tuple(
        Evidence(place, row["known_permille"], _SIGNALS, (), row["at_ms"], HOUR_MS) for place in row["places"]
    )
    doubts: list[str] = []
    if row["disputed"]:
        doubts.append("sources disagree about which GPUs it holds")
    if workload.kind == "Deployment":
        doubts.append("whether a Service stands in front of a Deployment is not in the ledger")
    return Idle(workload.uid, row["since_ms"], evidence, tuple(doubts))

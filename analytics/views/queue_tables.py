"""The queue as figures and tables: who waits and why, how long waits took, what is held meanwhile."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from analytics.reports.summary import Card
from analytics.reports.tables import Column, Kind, Table, gpus, in_text
from analytics.views.entries import Entry, listed
from analytics.views.instants import lasting, minute
from analytics.views.queue import Queue, Wait
from quartermaster.parts import GPU_PARTS

_MOST = 200


def cards(queue: Queue) -> tuple[Card, ...]:
    """Three figures: GPUs that are waited for, the longest wait, the median of the week."""
    wanted = sum(wait.parts for wait in queue.now)
    count = len(queue.now)
    waiting = Card(
        "Waiting now",
        f"{gpus(wanted)} GPUs",
        f"by {count:,} workload{'' if count == 1 else 's'}",
        bool(count),
    )
    longest = max(queue.now, key=lambda wait: wait.lasting_ms(queue.at_ms), default=None)
    oldest = Card(
        "Longest wait now",
        "–" if longest is None else lasting(longest.lasting_ms(queue.at_ms)),
        "nobody waits" if longest is None else f"{longest.title}, team {longest.team}",
    )
    spans = [wait.lasting_ms(queue.at_ms) for wait in queue.ended]
    usual = Card(
        "A usual wait",
        lasting(int(median(spans))) if spans else "–",
        f"the median of {len(spans):,} waits that ended in seven days"
        if spans
        else "no wait ended in seven days",
    )
    return waiting, oldest, usual


def waiting(queue: Queue, time_zone: str, person: int | None) -> str:
    """Who waits, the longest first in each pool, and why, as HTML; what is the `person`'s own is marked."""
    return listed(
        "Who waits, and why",
        [
            Entry(
                wait.title,
                ("yours",) if person is not None and wait.person_id == person else (),
                (
                    f"team {wait.team}",
                    f"{wait.pool or 'no pool'} · {wait.cluster}",
                    f"{gpus(wait.parts)} GPU{'' if wait.parts == GPU_PARTS else 's'}",
                    f"{wait.pods} pods" if wait.pods > 1 else "",
                    f"since {minute(wait.since_ms, time_zone)}",
                ),
                (" ".join(wait.why),),
                lasting(wait.lasting_ms(queue.at_ms)),
                f"place {wait.place} of {wait.waiting}",
            )
            for wait in queue.now
        ],
        "Nobody waits for GPUs.",
    )


def past(queue: Queue) -> Table:
    """How long the waits of the week took, by pool."""
    by_pool: dict[tuple[str, str], list[Wait]] = defaultdict(list)
    for wait in queue.ended:
        by_pool[wait.cluster, wait.pool].append(wait)
    return Table(
        "past",
        "How long waits took",
        "",
        (
            *in_text("Pool"),
            Column("Waits that ended", Kind.COUNT),
            *in_text("Half took at most", "Nine of ten", "The longest"),
        ),
        tuple(
            (f"{pool or 'no pool'} · {cluster}", len(waits), *_spread(waits, queue.at_ms))
            for (cluster, pool), waits in sorted(by_pool.items())
        ),
        empty="No wait ended in the last seven days.",
    )


def _spread(waits: Sequence[Wait], at_ms: int) -> tuple[str, str, str]:
    spans = sorted(wait.lasting_ms(at_ms) for wait in waits)
    last = len(spans) - 1
    return (
        lasting(spans[last // 2]),
        lasting(spans[-(-last * 9 // 10)]),
        lasting(spans[-1]),
    )


def held(queue: Queue, time_zone: str) -> Table:
    """What the reader's teams hold now; what stands idle first."""
    return Table(
        "held",
        "What your teams hold",
        "",
        (
            *in_text("Workload", "Team"),
            Column("GPUs", Kind.GPUS),
            *in_text("Since", "Found idle for", "Kept until"),
        ),
        tuple(
            (
                each.title,
                each.team or "not known yet",
                each.parts,
                minute(each.since_ms, time_zone),
                "not found idle" if each.idle_since_ms is None else lasting(queue.at_ms - each.idle_since_ms),
                "given back" if each.given_back else minute(each.kept_until_ms, time_zone),
            )
            for each in queue.held[:_MOST]
        ),
        empty="None of your teams' workloads holds a GPU now.",
    )

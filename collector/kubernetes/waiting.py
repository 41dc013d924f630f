"""Who waits: pods that are not bound, and controllers that may not make theirs, by workload."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from collector.kubernetes.demand import Maker
from collector.kubernetes.owners import labels_without_people, user_of
from collector.kubernetes.settings import SOURCE, Settings
from collector.kubernetes.told import Versions
from quartermaster.ids import content_id
from quartermaster.records import Demand, Workload
from quartermaster.team import user_pattern_ids

# Of a scheduler's message so much is kept.
_REASON_LIMIT = 300


@dataclass(frozen=True, slots=True)
class Waiter:
    """One pod, or the missing pods of one controller."""

    uid: str
    namespace: str
    since_ms: int
    parts: int
    pods: int
    minimum: int
    reason: str
    labels: Mapping[str, str]
    selector: tuple[tuple[str, str], ...]


class Waiting:
    """The waiting of each workload as versions: what it waits for changes when pods come, are bound, or go."""

    def __init__(self, settings: Settings, candidates: Callable[..., Mapping[str, int]]) -> None:
        self._settings = settings
        self._candidates = candidates
        self._waiters: dict[int, dict[str, Waiter]] = {}
        self._workload_of: dict[str, int] = {}
        self.versions: Versions[Demand] = Versions()

    def put(self, workload: Workload, waiter: Waiter, at_ms: int) -> None:
        """Somebody waits, as this workload, since `waiter.since_ms`; known at `at_ms`."""
        before = self._workload_of.get(waiter.uid)
        if before is not None and before != workload.workload_id:
            self.remove(waiter.uid, at_ms)
        theirs = self._waiters.setdefault(workload.workload_id, {})
        known = theirs.get(waiter.uid)
        if known is not None and _same(known, waiter):
            return
        theirs[waiter.uid] = waiter
        self._workload_of[waiter.uid] = workload.workload_id
        self._tell(workload.workload_id, waiter.since_ms if known is None else at_ms)

    def remove(self, uid: str, at_ms: int) -> None:
        """Whoever it is waits no more."""
        workload_id = self._workload_of.pop(uid, None)
        if workload_id is not None:
            self._waiters[workload_id].pop(uid)
            self._tell(workload_id, at_ms)

    def _tell(self, workload_id: int, at_ms: int) -> None:
        theirs = sorted(self._waiters[workload_id].values(), key=lambda each: (each.since_ms, each.uid))
        demand_id = content_id("demand", self._settings.cluster, SOURCE, workload_id)
        if not theirs:
            del self._waiters[workload_id]
            self.versions.end(demand_id, at_ms)
            return
        first = theirs[0]
        pools = self._candidates(first.selector)
        who = user_of(first.labels, {}, self._settings)
        record = Demand(
            cluster=self._settings.cluster,
            demand_id=demand_id,
            start_at=at_ms,
            end_at=None,
            workload_id=workload_id,
            namespace=first.namespace,
            pool=min(pools, key=lambda pool: (-pools[pool], pool), default="unknown"),
            gpu_parts=sum(each.parts for each in theirs),
            pods=sum(each.pods for each in theirs),
            gang_minimum=max(each.minimum for each in theirs),
            reason=first.reason[:_REASON_LIMIT],
            source=SOURCE,
            labels=labels_without_people(first.labels, self._settings),
            user_patterns=str(user_pattern_ids(self._settings.rules, user=who or None)),
        )
        self.versions.put(demand_id, record)


def _same(known: Waiter, now: Waiter) -> bool:
    """Whether nothing changed but the scheduler's words: it counts nodes anew every few seconds.

    That there are words at all, where there were none, is a change.
    """
    first = (known.parts, known.pods, known.minimum, known.reason.partition(":")[0])
    more_words = now.reason != known.reason and now.reason.startswith(known.reason)
    return first == (now.parts, now.pods, now.minimum, now.reason.partition(":")[0]) and not more_words


def waiter_of_maker(maker: Maker, parts_each: int, why: str, since_ms: int) -> Waiter:
    """The missing pods of a controller."""
    return Waiter(
        uid=maker.uid,
        namespace=maker.namespace,
        since_ms=since_ms,
        parts=parts_each * maker.missing,
        pods=maker.missing,
        minimum=maker.minimum,
        reason=why,
        labels=maker.labels,
        selector=maker.node_selector,
    )

"""The enforcer's own metrics: what it decides, what is refused, what came of it, how fast owners are served."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from enforcer.audit.deed import Deed, Phase, Result
from enforcer.loop.turn import Turned
from enforcer.plan import Act
from quartermaster.parts import GPU_PARTS

_SECONDS = (0.1, 0.25, 0.5, 0.7, 1, 1.5, 2, 4, 8, 15, 30, 60, 120, 300)


@dataclass
class Metrics:
    """Counted since the process began; each with the cluster it is about."""

    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def __post_init__(self) -> None:
        self.turns = self._counter("turns", "Turns that made a plan, and those that made none.", "planned")
        self.decisions = self._counter("decisions", "Actions of plans that are new.", "act")
        self.refusals = self._counter("refusals", "Actions of new plans that the guard refused.", "reason")
        self.acts = self._counter("acts", "What came of what was begun.", "act", "result")
        self.freed = self._counter("freed_gpus", "GPUs of workloads that were seen to be stopped.")
        self.unbound = Gauge(
            "quartermaster_enforcer_unbound_owners",
            "Owners who still wait though GPUs were freed for them longer than policy.watch ago.",
            ["cluster"],
            registry=self.registry,
        )
        self.reclaim = Histogram(
            "quartermaster_enforcer_reclaim_seconds",
            "From an owner's pods waiting to the last of the pods that gave way being seen to go.",
            ["cluster"],
            buckets=_SECONDS,
            registry=self.registry,
        )

    def observe(self, cluster: str, turned: Turned) -> None:
        """Count a turn that made a plan."""
        self.turns.labels(cluster, "yes").inc()
        if turned.recorded:
            for action in turned.plan.actions:
                self.decisions.labels(cluster, action.act.value).inc()
            for group, refused in turned.judgement.refused:
                self.refusals.labels(cluster, refused.reason.value).inc(len(group))
        self.unbound.labels(cluster).set(sum(each.freed_at_ms is not None for each in turned.plan.answers))
        self._done(cluster, turned.deeds)
        for seconds in turned.reclaims_s:
            self.reclaim.labels(cluster).observe(seconds)

    def observe_none(self, cluster: str) -> None:
        """Count a turn that made no plan."""
        self.turns.labels(cluster, "no").inc()

    def _done(self, cluster: str, deeds: Iterable[Deed]) -> None:
        for deed in deeds:
            if deed.phase is Phase.OUTCOME:
                self.acts.labels(cluster, deed.act, deed.result).inc()
                if deed.act == Act.STOP.value and deed.result == Result.DONE.value:
                    self.freed.labels(cluster).inc(deed.frees_parts / GPU_PARTS)

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(f"quartermaster_enforcer_{name}", about, ["cluster", *labels], registry=self.registry)

"""The enforcer's own metrics."""

from enforcer.guard.judge import Judgement
from enforcer.loop.metrics import Metrics
from enforcer.loop.turn import Turned
from enforcer.snapshot import Taking
from quartermaster.clock import MINUTE_MS
from tests.enforcer.clusters import NOW
from tests.enforcer.scenes import ask, made, node, promise, scene


def test_owners_who_wait_still_though_gpus_were_freed_for_them_are_counted_as_they_are_now() -> None:
    metrics = Metrics()
    owner, freed = ask("q", "a", gpus=8, waits=9), Taking("x", "q", NOW - MINUTE_MS)
    for takings, expected in (((freed,), 1), ((), 0)):
        plan = made(scene((node("n1"),), promise("a", 8), owner, takings=takings))
        metrics.observe("c", Turned(plan, "shadow", recorded=False, judgement=Judgement((), ())))
        value = metrics.registry.get_sample_value("quartermaster_enforcer_unbound_owners", {"cluster": "c"})
        assert value == expected

"""Killed between every two steps, and started again: each object is changed once or not at all, and told of once."""

import itertools
from collections import Counter
from collections.abc import Mapping

from collector.kubernetes.values import Json
from enforcer.act.actor import Actor
from enforcer.act.clearing import Pace
from enforcer.act.doing import Doing
from enforcer.act.hands import Hands
from enforcer.act.mark import is_marked
from enforcer.audit.deed import Phase
from enforcer.plan import Act
from quartermaster.clock import now_ms
from tests.act.acting import UNDER, Paper, fine, wire
from tests.act.bare import Bare
from tests.act.mortal import Lives, MortalPaper, MortalWire, lives

SHORT = Pace(head_start_s=0.0, patience_s=0.1)


def lived(paper: MortalPaper, through: MortalWire) -> Doing:
    return Doing(Hands(through, pause=lambda seconds: None), paper, lambda epoch: "", now_ms, SHORT)


def without_version(seen: Json) -> tuple[object, bool]:
    return seen["spec"], is_marked(seen)


def test_killed_at_every_step_and_started_again(bare: Bare):
    """A rival is held back, a victim is stopped, its pod evicted, and the owner's own Job started."""
    inner = wire(bare.plane)
    for number in itertools.count(1):
        victim, rival, waits = f"v{number}", f"r{number}", f"w{number}"
        bare.owned(bare.owner("StatefulSet", victim, replicas=2), f"{victim}-0")
        bare.owner("Job", rival)
        bare.owner("Job", waits)
        whole = Doing(Hands(inner), Paper(), lambda epoch: "", now_ms, SHORT)
        Actor(whole).carry_out([bare.order(Act.HOLD, "Job", waits)], UNDER, fine)
        before = {name: without_version(bare.get(kind, name)) for kind, name in _all(number)}
        orders = [
            bare.order(Act.HOLD, "Job", rival),
            bare.order(Act.STOP, "StatefulSet", victim, f"{victim}-0", position=1),
            bare.order(Act.START, "Job", waits, position=2),
        ]
        done = lives(inner, lived, number, orders)
        _judge(bare, done, before, number)
        if not done.killed:
            assert number > 12
            assert [each[2] for each in done.paper.outcomes()] == ["done"] * 3
            return


def test_killed_while_it_puts_back(bare: Bare):
    """Nobody takes the pods of a PyTorchJob away here, so that it is put back; killed anywhere, it is at last."""
    inner = wire(bare.plane)
    for number in itertools.count(1):
        name = f"t{number}"
        bare.owned(bare.owner("PyTorchJob", name, runPolicy={"ttl": 1}), f"{name}-0")
        order = bare.order(Act.STOP, "PyTorchJob", name, f"{name}-0")
        done = lives(inner, lived, number, [order], after=(2, 10**6, 10**6))
        assert without_version(bare.get("PyTorchJob", name)) == ({"runPolicy": {"ttl": 1}}, False)
        assert done.sent["PATCH", bare.at("PyTorchJob", name)] in {0, 2}
        assert not bare.is_going(f"{name}-0")
        if not done.killed:
            assert done.paper.outcomes() == [("stop", name, "no effect"), ("restore", name, "done")]
            return


def _all(number: int) -> list[tuple[str, str]]:
    return [("StatefulSet", f"v{number}"), ("Job", f"r{number}"), ("Job", f"w{number}")]


def _judge(bare: Bare, done: Lives, before: Mapping[str, object], number: int) -> None:
    paper, sent = done.paper, done.sent
    told = Counter(each.intent for each in paper.rows if each.phase is Phase.OUTCOME)
    assert set(told.values()) <= {1}
    results = {each.name: each.result for each in paper.rows if each.phase is Phase.OUTCOME}
    for kind, name in _all(number):
        changes = sent["PATCH", bare.at(kind, name)]
        now = without_version(bare.get(kind, name))
        assert changes == (results.get(name) == "done"), (number, name, results)
        assert (now == before[name]) is (changes == 0)
    victim = f"v{number}"
    assert bare.is_going(f"{victim}-0") is (results.get(victim) == "done")
    assert sent["POST", f"{bare.pod_at(f'{victim}-0')}/eviction"] <= 1

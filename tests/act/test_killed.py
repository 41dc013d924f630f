"""Killed between every two steps, and started again: each object is changed once or not at all, and told of once."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence

from collector.kubernetes.values import Json
from enforcer.act.actor import Actor
from enforcer.act.clearing import Pace
from enforcer.act.doing import Doing
from enforcer.act.hands import Hands
from enforcer.act.mark import is_marked
from enforcer.act.resume import resume
from enforcer.act.wire import Reply, Wire
from enforcer.audit.deed import Deed, Phase
from enforcer.plan import Act
from quartermaster.clock import now_ms
from tests.act.acting import UNDER, Paper, fine, wire
from tests.act.bare import Bare

SHORT = Pace(head_start_s=0.0, patience_s=0.1)


class Killed(BaseException):
    """The process is no more."""


class Life:
    """A process that dies at the n-th thing that it does, when it is done and before it is known.

    What it knew is gone with it: that it died before the next thing would look the same.
    """

    def __init__(self, steps: int) -> None:
        self.left = steps

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed

    def after(self) -> None:
        if self.left <= 0:
            raise Killed


class MortalPaper:
    def __init__(self, paper: Paper, life: Life) -> None:
        self.paper, self.life = paper, life

    def write(self, deeds: Sequence[Deed]) -> tuple[str, ...]:
        self.life.step()
        hashes = self.paper.write(deeds)
        self.life.after()
        return hashes


class MortalWire(Wire):
    def __init__(self, inner: Wire, life: Life, sent: Counter[tuple[str, str]]) -> None:
        self.inner, self.life, self.sent = inner, life, sent

    def send(self, method: str, path: str, *more: object, **others: object) -> Reply:  # pyright: ignore[reportIncompatibleMethodOverride, reportImplicitOverride]
        self.life.step()
        reply = self.inner.send(method, path, *more, **others)  # pyright: ignore[reportArgumentType]
        if method != "GET" and reply.good:
            self.sent[method, path] += 1
        self.life.after()
        return reply


def lived(inner: Wire, paper: Paper, life: Life, sent: Counter[tuple[str, str]]) -> Doing:
    hands = Hands(MortalWire(inner, life, sent), pause=lambda seconds: None)
    return Doing(hands, MortalPaper(paper, life), lambda epoch: "", now_ms, SHORT)


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
        paper, sent = Paper(), Counter[tuple[str, str]]()
        whole = lived(inner, Paper(), Life(10**6), Counter())
        Actor(whole).carry_out([bare.order(Act.HOLD, "Job", waits)], UNDER, fine)
        before = {name: without_version(bare.get(kind, name)) for kind, name in _all(number)}
        orders = [
            bare.order(Act.HOLD, "Job", rival),
            bare.order(Act.STOP, "StatefulSet", victim, f"{victim}-0", position=1),
            bare.order(Act.START, "Job", waits, position=2),
        ]
        life = Life(number)
        try:
            Actor(lived(inner, paper, life, sent)).carry_out(orders, UNDER, fine)
            killed = False
        except Killed:
            killed = True
        # The next life is killed at its second step, and the one after it lives.
        for steps in (2, 10**6):
            try:
                resume(lived(inner, paper, Life(steps), sent), paper.open(), 4)
            except Killed:
                continue
        _judge(bare, paper, sent, before, number)
        if not killed:
            assert number > 12
            assert [each[2] for each in paper.outcomes()] == ["done"] * 3
            return


def test_killed_while_it_puts_back(bare: Bare):
    """Nobody takes the pods of a PyTorchJob away here, so that it is put back; killed anywhere, it is at last."""
    inner = wire(bare.plane)
    for number in itertools.count(1):
        name = f"t{number}"
        bare.owned(bare.owner("PyTorchJob", name, runPolicy={"ttl": 1}), f"{name}-0")
        order = bare.order(Act.STOP, "PyTorchJob", name, f"{name}-0")
        paper, sent = Paper(), Counter[tuple[str, str]]()
        killed = False
        try:
            Actor(lived(inner, paper, Life(number), sent)).carry_out([order], UNDER, fine)
        except Killed:
            killed = True
        for steps in (2, 10**6, 10**6):
            try:
                resume(lived(inner, paper, Life(steps), sent), paper.open(), 4)
            except Killed:
                continue
        assert not paper.open()
        assert without_version(bare.get("PyTorchJob", name)) == ({"runPolicy": {"ttl": 1}}, False)
        assert sent["PATCH", bare.at("PyTorchJob", name)] in {0, 2}
        assert not bare.is_going(f"{name}-0")
        if not killed:
            assert paper.outcomes() == [("stop", name, "no effect"), ("restore", name, "done")]
            return


def _all(number: int) -> list[tuple[str, str]]:
    return [("StatefulSet", f"v{number}"), ("Job", f"r{number}"), ("Job", f"w{number}")]


def _judge(
    bare: Bare, paper: Paper, sent: Counter[tuple[str, str]], before: Mapping[str, object], number: int
) -> None:
    assert not paper.open()
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

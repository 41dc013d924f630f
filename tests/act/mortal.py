"""Processes that die: killed at a chosen step of what they do, and those that come after them."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from enforcer.act.actor import Actor
from enforcer.act.doing import Doing
from enforcer.act.order import Order
from enforcer.act.resume import resume
from enforcer.act.wire import Reply, Wire
from enforcer.audit.deed import Deed
from tests.act.acting import UNDER, Paper, fine

Sent = Counter[tuple[str, str]]  # what the server did, by method and path


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


Makes = Callable[[MortalPaper, MortalWire], Doing]


@dataclass(frozen=True)
class Lives:
    """What a process that was killed, if it came so far, and those after it have done together."""

    paper: Paper
    sent: Sent
    killed: bool


def lives(
    inner: Wire, makes: Makes, number: int, orders: Sequence[Order], after: Sequence[int] = (2, 10**6)
) -> Lives:
    """A life that carries out the orders and is killed at its n-th step, then those that resume, each for so long:
    the next is killed at its second, and the one after it lives."""
    paper, sent, killed = Paper(), Sent(), False

    def lived(steps: int) -> Doing:
        life = Life(steps)
        return makes(MortalPaper(paper, life), MortalWire(inner, life, sent))

    try:
        Actor(lived(number)).carry_out(orders, UNDER, fine)
    except Killed:
        killed = True
    for steps in after:
        try:
            resume(lived(steps), paper.open(), 4)
        except Killed:
            continue
    assert not paper.open()
    return Lives(paper, sent, killed)


def stopped_at_every_step(
    inner: Wire, makes: Makes, begin: Callable[[str], Order], judge: Callable[[str, bool, Sent], None]
) -> None:
    """A workload stopped by a life that is killed at its first step, another at its second, and so on, until one lives.

    `begin` makes a workload of a name, and the order to stop it; `judge` is told whether it was stopped in the end.
    """
    for number in itertools.count(1):
        name = f"x{number}"
        done = lives(inner, makes, number, [begin(name)])
        results = [each[2] for each in done.paper.outcomes()]
        assert results in ([], ["done"], ["abandoned"]), (number, results)
        judge(name, results == ["done"], done.sent)
        if not done.killed:
            assert number > 8
            assert results == ["done"]
            return

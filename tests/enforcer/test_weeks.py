"""Weeks of plans, each carried out before the next is made: nothing goes round in circles."""

from itertools import count, pairwise

import pytest

from enforcer.idleness import Findings
from enforcer.plan import Verdict
from enforcer.snapshot import Taking
from quartermaster.clock import DAY_MS
from tests.depth import deep
from tests.enforcer.clusters import NOW, UTC
from tests.enforcer.laws import broken
from tests.enforcer.weeks import Weeks

SEEDS = deep(3, 1)


def _live(seed: int, days: int) -> Weeks:
    weeks = Weeks(seed)
    given: dict[tuple[str, int], list[int]] = {}
    findings = Findings(computing=frozenset({"whole"}))
    for number, (snapshot, made) in zip(count(), weeks.go(NOW + days * DAY_MS), strict=False):
        if number % 20 == 0:
            assert list(broken(snapshot, findings, weeks.policy, made, UTC)) == []
        for answer in made.answers:
            if answer.verdict is Verdict.TAKEN:
                given.setdefault((answer.uid, weeks.runs[answer.uid].since_ms), []).append(snapshot.at_ms)
    # GPUs that were taken for somebody and went to a newcomer are taken once more, then not for a back-off.
    for times in given.values():
        assert all(third - second >= weeks.policy.back_off_ms for second, third in pairwise(times[1:]))
    return weeks


def _circle(takings: list[Taking]) -> str:
    """Somebody who, directly or by others, had GPUs taken from itself for itself; "" if there is nobody."""
    takers: dict[str, set[str]] = {}
    for each in takings:
        takers.setdefault(each.uid, set()).add(each.for_uid)
    for uid in takers:
        seen, todo = set[str](), [uid]
        while todo:
            todo += takers.get(todo.pop(), set()) - seen
            seen |= set(todo)
        if uid in seen:
            return uid
    return ""


def test_a_circle_is_seen() -> None:
    assert _circle([Taking("b", "a", 1), Taking("c", "b", 2), Taking("a", "c", 3)])
    assert not _circle([Taking("b", "a", 1), Taking("c", "a", 2), Taking("c", "b", 3)])


@pytest.mark.patient
def test_over_weeks_nobody_takes_from_whom_took_for_it() -> None:
    weeks = [_live(seed, 7) for seed in range(SEEDS)]
    assert sum(len(each.takings) for each in weeks) > 10 * SEEDS
    assert not any(_circle(each.takings) for each in weeks)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(SEEDS, 40))
def test_over_many_weeks_nobody_takes_from_whom_took_for_it(seed: int) -> None:
    assert not _circle(_live(seed, 14).takings)

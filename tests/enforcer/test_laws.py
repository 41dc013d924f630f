"""Random clusters: no plan breaks a rule, and the order in which a snapshot names things changes nothing."""

from dataclasses import replace
from random import Random

import pytest

from enforcer.idleness import Findings
from enforcer.plan import Act, Plan, Verdict
from enforcer.planner import plan
from enforcer.snapshot import Snapshot
from tests.enforcer.clusters import UTC, draw
from tests.enforcer.laws import broken

CLUSTERS = 600


def _made(seed: int) -> Plan:
    snapshot, findings, policy = draw(seed)
    made = plan(snapshot, findings, policy, UTC)
    assert list(broken(snapshot, findings, policy, made, UTC)) == [], f"seed {seed}"
    return made


@pytest.mark.patient
def test_no_plan_breaks_a_rule() -> None:
    made = [_made(seed) for seed in range(CLUSTERS)]
    # The clusters are worth it: everything that a plan can say is said.
    assert {action.act for each in made for action in each.actions} == set(Act)
    assert {answer.verdict for each in made for answer in each.answers} == set(Verdict)


@pytest.mark.soak
@pytest.mark.parametrize("block", range(100))
def test_no_plan_of_a_hundred_thousand_breaks_a_rule(block: int) -> None:
    for seed in range(CLUSTERS + block * 1_000, CLUSTERS + (block + 1) * 1_000):
        _made(seed)


@pytest.mark.patient
def test_the_order_in_which_a_snapshot_names_things_changes_nothing() -> None:
    for seed in range(200):
        snapshot, findings, policy = draw(seed)
        turned = _turned(snapshot, Random(seed))
        mixed = Findings(tuple(reversed(findings.idle)), findings.computing)
        one, other = plan(snapshot, findings, policy, UTC), plan(turned, mixed, policy, UTC)
        assert one == other, f"seed {seed}"
        assert (one.hash, one.snapshot_hash) == (other.hash, other.snapshot_hash)


def _turned(snapshot: Snapshot, random: Random) -> Snapshot:
    return replace(
        snapshot,
        nodes=tuple(random.sample(snapshot.nodes, len(snapshot.nodes))),
        workloads=tuple(
            replace(each, pods=tuple(random.sample(each.pods, len(each.pods))))
            for each in random.sample(snapshot.workloads, len(snapshot.workloads))
        ),
        waiting=tuple(random.sample(snapshot.waiting, len(snapshot.waiting))),
        promises=tuple(random.sample(snapshot.promises, len(snapshot.promises))),
        budgets=tuple(reversed(snapshot.budgets)),
        takings=tuple(reversed(snapshot.takings)),
    )

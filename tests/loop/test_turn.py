"""A turn: what stops it from acting, whatever clocks say, and what follows when something is not done after all."""

from dataclasses import replace
from pathlib import Path

import pytest

from analytics.asking.request import Kind, Request, ask
from enforcer.audit.deed import Deed, Phase
from enforcer.audit.head import published
from enforcer.audit.requests import unanswered
from enforcer.freshness import Refusal
from enforcer.guard.refused import Reason
from enforcer.guard.switches import Freeze, Switch
from enforcer.loop.turn import Turned
from quartermaster.clock import HOUR_MS, MINUTE_MS, SECOND_MS
from quartermaster.errors import LedgerError
from quartermaster.parts import GPU_PARTS
from sql.ledger import Ledger
from tests.enforcer.clusters import NOW
from tests.enforcer.scenes import POOL, node, promise, scene
from tests.enforcer.scenes import ask as waits_for
from tests.guard.cases import rules
from tests.loop.sites import Stage


def turned(stage: Stage) -> Turned:
    """A turn that made a plan."""
    found = stage.turns.turn()
    assert isinstance(found, Turned), found
    return found


def reasons(found: Turned) -> set[Reason]:
    return {refused.reason for _, refused in found.judgement.refused}


def outcomes(deeds: tuple[Deed, ...]) -> list[tuple[str, str]]:
    return [(each.object_uid, each.result) for each in deeds if each.phase is Phase.OUTCOME]


def test_what_may_be_done_is_done_and_told(shared: Ledger, cluster: str) -> None:
    stage = Stage(shared, cluster)
    found = turned(stage)
    assert (sorted(stage.actor.stopped), found.recorded, found.unled) == (["x", "y"], True, "")
    assert [came for _, came in outcomes(found.deeds)] == ["done", "done"]
    assert len(found.reclaims_s) == 2


def test_a_cluster_that_is_not_seen_in_full_has_no_plan(shared: Ledger, cluster: str) -> None:
    stage = Stage(shared, cluster)
    stage.live.settled = False
    stage.live.troubles = {"pods": "403: no"} | dict.fromkeys(("jobs", "nodes", "a", "b", "c"), "away")
    found = stage.turns.turn()
    assert isinstance(found, Refusal)
    words = "the cluster is not seen in full yet (a, b, c and 2 more: away; pods: 403: no)"
    assert found.reasons == (words,)


def test_a_ledger_that_does_not_tell_has_no_plan(shared: Ledger, cluster: str) -> None:
    stage = Stage(shared, cluster)
    stage.listener.hearsay, stage.listener.trouble = None, "it is locked"
    found = stage.turns.turn()
    assert isinstance(found, Refusal)
    assert found.reasons == ("the ledger did not tell in time: it is locked",)


def test_the_live_cluster_is_told_the_pools_that_the_ledger_has(shared: Ledger, cluster: str) -> None:
    stage = Stage(shared, cluster)
    stage.listener.hearsay = replace(stage.hearsay, pools={"n1": "training"})
    stage.turns.turn()
    assert stage.live.pools == {"n1": "training"}


@pytest.mark.patient
def test_what_was_borrowed_before_counts_in_a_live_plan(shared: Ledger, cluster: str) -> None:
    wishes = [waits_for(f"{team}1", team, gpus=8, held_back=True) for team in "bc"]
    stage = Stage(shared, cluster, scene((node("n0"),), promise("b", 0), promise("c", 0), *wishes))
    assert [each.target.uid for each in turned(stage).plan.actions] == ["b1"]
    stage.listener.hearsay = replace(stage.hearsay, past={("b", POOL): GPU_PARTS})
    assert [each.target.uid for each in turned(stage).plan.actions] == ["c1"]


def test_a_switch_stops_all(shared: Ledger, cluster: str) -> None:
    stage = Stage(shared, cluster)
    stage.gate.freeze = Freeze(Switch.FILE, None, "", "is there")
    assert reasons(turned(stage)) == {Reason.FROZEN}
    assert stage.actor.stopped == []


@pytest.mark.parametrize(
    ("trouble", "words"),
    [("host-2 has it", "host-2 has it"), ("", "the lease was not renewed in time")],
)
def test_who_does_not_lead_does_nothing_and_says_so(
    shared: Ledger, cluster: str, trouble: str, words: str
) -> None:
    stage = Stage(shared, cluster)
    stage.leader.epoch, stage.leader.trouble = 0, trouble
    found = turned(stage)
    assert (found.unled, found.deeds, stage.actor.stopped) == (words, (), [])
    assert found.judgement.allowed


def test_silent_telemetry_and_coverage_that_nobody_knows(shared: Ledger, cluster: str) -> None:
    stage = Stage(shared, cluster)
    stage.listener.hearsay = replace(
        stage.hearsay, silent=("dcgm is silent",), coverage_permille=None, coverage_of_pools={}
    )
    assert reasons(turned(stage)) == {Reason.COVERAGE}


@pytest.mark.patient
def test_a_ledger_that_knows_of_nobody_while_the_cluster_does_covers_nothing(
    shared: Ledger, cluster: str
) -> None:
    stage = Stage(shared, cluster)
    stage.listener.hearsay = replace(stage.hearsay, coverage_permille=1000, coverage_of_pools={})
    found = turned(stage)
    assert reasons(found) == {Reason.COVERAGE}
    assert {why.words for _, why in found.judgement.refused} == {
        "how much of what is held in the cluster is known cannot be told"
    }


@pytest.mark.parametrize("by_ms", [HOUR_MS, -HOUR_MS, 0])
@pytest.mark.patient
def test_a_clock_that_is_set_makes_no_start_longer_ago(shared: Ledger, cluster: str, by_ms: int) -> None:
    stage = Stage(shared, cluster, ran_ms=MINUTE_MS)
    stage.clocks.set(by_ms)
    assert reasons(turned(stage)) == {Reason.JUST_STARTED}
    stage.clocks.go_on(14 * MINUTE_MS)
    turned(stage)
    assert sorted(stage.actor.stopped) == ["x", "y"]


def test_a_policy_that_is_new_to_a_machine_whose_clock_is_behind_is_new(shared: Ledger, cluster: str) -> None:
    stage = Stage(shared, cluster, is_new=True)
    stage.clocks.apart_ms = HOUR_MS
    assert reasons(turned(stage)) == {Reason.POLICY_CHANGED}


@pytest.mark.parametrize("by_ms", [2 * HOUR_MS, -2 * HOUR_MS, 0])
@pytest.mark.patient
def test_a_clock_that_is_set_gives_no_limit_back(shared: Ledger, cluster: str, by_ms: int) -> None:
    stage = Stage(shared, cluster, policy=rules(a_cycle=1, team_an_hour=1, an_hour=1))
    turned(stage)
    assert stage.actor.stopped in (["x"], ["y"])
    taken = stage.actor.stopped[0]
    left = tuple(each for each in stage.snapshot.workloads if each.uid != taken)
    stage.live.snapshot = replace(stage.snapshot, workloads=left)
    stage.clocks.set(by_ms)
    for _ in range(3):
        stage.clocks.go_on(10 * MINUTE_MS)
        found = turned(stage)
        assert (stage.actor.stopped, reasons(found) & {Reason.MODE}) == ([taken], set())


@pytest.mark.patient
def test_a_machine_whose_clock_is_far_behind_counts_what_it_did(shared: Ledger, cluster: str) -> None:
    stage = Stage(shared, cluster, policy=rules(a_cycle=1, an_hour=1))
    stage.clocks.apart_ms = 3 * HOUR_MS
    turned(stage)
    assert len(stage.actor.stopped) == 1
    stage.clocks.go_on(20 * MINUTE_MS)
    turned(stage)
    assert len(stage.actor.stopped) == 1


@pytest.mark.patient
def test_whose_turn_is_after_one_that_failed_waits(shared: Ledger, cluster: str) -> None:
    stage = Stage(shared, cluster)
    stage.actor.fails_at = {"x", "y"}
    found = turned(stage)
    assert len(found.judgement.allowed) == 2
    assert len(stage.actor.stopped) == 1


@pytest.mark.patient
def test_what_is_left_of_a_plan_that_has_grown_old_is_not_done(shared: Ledger, cluster: str) -> None:
    stage = Stage(shared, cluster)
    stage.actor.takes_ms = rules().behind_ms + SECOND_MS
    turned(stage)
    assert len(stage.actor.stopped) == 1


def approve(ledger: Ledger, cluster: str, plan_hash: str, at_ms: int) -> None:
    asked = Request(
        cluster,
        at_ms,
        "person-0000000000001",
        Kind.APPROVE,
        plan_hash,
        at_ms + 10 * MINUTE_MS,
    )
    assert ask(ledger, asked)


@pytest.mark.patient
def test_only_the_plan_that_was_approved_is_done_and_it_is_answered(shared: Ledger, cluster: str) -> None:
    stage = Stage(shared, cluster, asked="plan")
    found = turned(stage)
    assert (reasons(found), stage.actor.stopped) == ({Reason.NOT_APPROVED}, [])
    approve(shared, "another", found.plan.hash, NOW + HOUR_MS)
    assert reasons(turned(stage)) == {Reason.NOT_APPROVED}
    approve(shared, cluster, found.plan.hash, NOW + HOUR_MS)
    again = turned(stage)
    assert (again.plan.hash, sorted(stage.actor.stopped)) == (found.plan.hash, ["x", "y"])
    assert again.deeds[-1].phase is Phase.ANSWERED
    with shared.reading() as cursor:
        assert unanswered(cursor, cluster) == ()


@pytest.mark.patient
def test_an_approval_of_what_has_changed_since_is_void(shared: Ledger, cluster: str) -> None:
    stage = Stage(shared, cluster, asked="plan")
    approve(shared, cluster, turned(stage).plan.hash, NOW + HOUR_MS)
    moved = tuple(replace(each, version="8") for each in stage.snapshot.workloads)
    stage.live.snapshot = replace(stage.snapshot, workloads=moved)
    assert (reasons(turned(stage)), stage.actor.stopped) == ({Reason.VOID}, [])


def test_act_goes_no_further_than_the_policy(shared: Ledger, cluster: str) -> None:
    stage = Stage(shared, cluster, asked="act", policy=rules(mode="plan"))
    assert (reasons(turned(stage)), stage.actor.stopped) == ({Reason.MODE}, [])


@pytest.mark.patient
def test_nothing_more_is_done_while_the_audits_head_cannot_be_told(
    shared: Ledger, cluster: str, tmp_path: Path
) -> None:
    file = tmp_path / "away" / "heads"
    stage = Stage(shared, cluster, policy=rules(a_cycle=1), audit_file=file)
    for _ in range(3):
        with pytest.raises(LedgerError, match="cannot be written"):
            stage.turns.turn()
    assert len(stage.actor.stopped) == 1
    file.parent.mkdir()
    turned(stage)
    assert len(stage.actor.stopped) == 2
    heads = published(file, cluster)
    assert heads[stage.chain.head().number] == stage.chain.head().row_hash

"""What people ask of a running cluster: each request is answered once, by what came of it."""

from dataclasses import replace
from typing import Any

import pytest

from analytics.asking.request import Kind, Request, ask
from enforcer.act.restore import Restored
from enforcer.act.wire import Silence
from enforcer.audit.deed import Deed, Phase, Result
from enforcer.audit.requests import unanswered
from enforcer.guard.switches import Freeze, Switch
from enforcer.loop import answers
from enforcer.loop.turn import Turned
from enforcer.snapshot import Snapshot
from quartermaster.clock import HOUR_MS, MINUTE_MS
from sql.ledger import Ledger
from tests.audit.deeds import intent, outcome
from tests.enforcer.scenes import job, node, promise, scene
from tests.loop.sites import Stage

WHO = "person-0000000000001"


def quiet() -> Snapshot:
    """A team holds what it is promised, and nobody waits."""
    return scene((node("n0"),), job("x", "a", "n0", gpus=8), promise("a", 8))


def asked(stage: Stage, ledger: Ledger, kind: Kind, subject: str, ago_ms: int = MINUTE_MS) -> Request:
    request = Request(
        stage.site.cluster, stage.clocks.wall() - ago_ms, WHO, kind, subject, words="thesis is done"
    )
    assert ask(ledger, request)
    return request


def turned(stage: Stage) -> tuple[Deed, ...]:
    found = stage.turns.turn()
    assert isinstance(found, Turned)
    return found.deeds


def answered(deeds: tuple[Deed, ...]) -> list[tuple[str, str, int | None]]:
    return [(each.actor, each.words, each.request_id) for each in deeds if each.phase is Phase.ANSWERED]


def still_open(ledger: Ledger, cluster: str) -> int:
    with ledger.reading() as cursor:
        return len(unanswered(cursor, cluster))


def test_what_is_given_back_is_stopped_once_and_said_to_be_so(shared: Ledger, cluster: str) -> None:
    stage = Stage(shared, cluster, quiet(), asked="plan")  # a person asked: nobody else needs to approve it
    request = asked(stage, shared, Kind.GIVE_BACK, "x")
    deeds = turned(stage)
    assert stage.actor.stopped == ["x"]
    assert answered(deeds) == [(WHO, "done", request.request_id)]
    assert {each.plan_hash for each in deeds if each.phase is Phase.INTENT} == {
        f"request {request.request_id:016x}"
    }
    turned(stage)
    assert stage.actor.stopped == ["x"]
    assert still_open(shared, cluster) == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"uid": "another"}, "it holds nothing any more"),
        ({"way_down": ""}, "nothing is known that would start it again"),
        ({"namespace": "kube-system"}, "kube-"),
    ],
)
def test_what_is_not_stopped_whoever_asks(
    shared: Ledger, cluster: str, change: dict[str, Any], words: str
) -> None:
    snapshot = quiet()
    snapshot = replace(snapshot, workloads=tuple(replace(each, **change) for each in snapshot.workloads))
    stage = Stage(shared, cluster, snapshot)
    asked(stage, shared, Kind.GIVE_BACK, "x")
    ((_, told, _),) = answered(turned(stage))
    assert words in told
    assert stage.actor.stopped == []


def test_while_all_is_frozen_nothing_is_given_back_and_after_an_hour_it_is_too_late(
    shared: Ledger, cluster: str
) -> None:
    stage = Stage(shared, cluster, quiet())
    asked(stage, shared, Kind.GIVE_BACK, "x")
    stage.gate.freeze = Freeze(Switch.FILE, None, "", "is there")
    assert answered(turned(stage)) == []
    stage.clocks.go_on(HOUR_MS)
    ((_, told, _),) = answered(turned(stage))
    assert "more than an hour ago" in told
    assert stage.actor.stopped == []


def test_who_does_not_lead_answers_nothing(shared: Ledger, cluster: str) -> None:
    stage = Stage(shared, cluster, quiet())
    stage.leader.epoch = 0
    asked(stage, shared, Kind.GIVE_BACK, "x")
    assert turned(stage) == ()
    assert (stage.actor.stopped, still_open(shared, cluster)) == ([], 1)


def test_what_fails_is_said_with_its_result(shared: Ledger, cluster: str) -> None:
    stage = Stage(shared, cluster, quiet())
    stage.actor.fails_at = {"x"}
    asked(stage, shared, Kind.GIVE_BACK, "x")
    assert [words for _, words, _ in answered(turned(stage))] == ["failed"]


@pytest.mark.parametrize("subject", ["u9", "Job/vision/train-u9"])
def test_what_is_restored_is_done_also_while_all_is_frozen(
    shared: Ledger, cluster: str, subject: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(shared, cluster, quiet())
    stage.gate.freeze = Freeze(Switch.FILE, None, "", "is there")
    stopped = intent("u9", stage.clocks.wall(), cluster=cluster)
    (row_hash,) = stage.chain.write([stopped])
    stage.chain.write([outcome(stopped, row_hash)])
    request = asked(stage, shared, Kind.RESTORE, subject)
    seen: list[object] = []

    def restore(doing: object, carriers: object, who: Any, recorded: Any) -> Restored:
        seen.append((who.actor, who.request_id, recorded["u9"]))
        begun = intent("u9", stage.clocks.wall(), "restore", cluster=cluster, before="")
        return Restored((begun, outcome(begun, "h", Result.DONE)), {})

    silences = iter([Silence("503")])

    def named(doing: object, title: str, among: object) -> str:
        assert title == "Job/vision/train-u9"
        for silence in silences:
            raise silence
        return title

    monkeypatch.setattr(answers, "named", named)
    monkeypatch.setattr(answers, "restore", restore)
    assert answered(turned(stage)) == []  # the API server is silent
    assert answered(turned(stage)) == [(WHO, "done", request.request_id)]
    assert seen == [(WHO, request.request_id, '{"spec":{"suspend":false}}')]


def test_what_is_not_stopped_is_not_started(shared: Ledger, cluster: str) -> None:
    stage = Stage(shared, cluster, quiet())
    asked(stage, shared, Kind.RESTORE, "Job/vision/never")
    assert [words for _, words, _ in answered(turned(stage))] == ["it is not stopped any more"]

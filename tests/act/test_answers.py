"""What people ask from a page, on a real API server: a Job is given back, which suspends it, and is restored."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from analytics.asking.request import Kind, Request, ask
from enforcer.act.actor import Actor
from enforcer.act.order import Under
from enforcer.audit.chain import Chain
from enforcer.audit.deed import Phase
from enforcer.guard.standing import Standing
from enforcer.loop.answers import Answers
from enforcer.plan import Plan
from quartermaster.clock import now_ms
from sql.ledger import memory_ledger
from tests.act.acting import doing
from tests.act.bare import Bare
from tests.enforcer.scenes import job, node, scene
from tests.guard.cases import rules

WHO = "person-0000000000001"


def test_a_job_is_given_back_and_restored(bare: Bare):
    made = bare.owner("Job", "j")
    uid, version = made["metadata"]["uid"], made["metadata"]["resourceVersion"]
    seen = job(uid, "vision", "n0", gpus=8)
    seen = replace(seen, uid=uid, version=version, kind="Job", namespace=bare.namespace, name="j", pods=())
    snapshot = scene((node("n0"),), seen)
    with memory_ledger() as ledger:
        chain = Chain(ledger, "c")
        acts = doing(bare.plane, cast(Any, chain))
        site = SimpleNamespace(
            cluster="c",
            ledger=ledger,
            chain=chain,
            wall=now_ms,
            gate=SimpleNamespace(look=lambda: None),
            actor=Actor(acts),
            by_hand=acts,
            ruling=SimpleNamespace(policy=rules()),
        )
        answers, at_ms = Answers(cast(Any, site)), now_ms()
        standing = Standing(at_ms, "plan", at_ms, at_ms, None, 1000)
        under = Under("c", "p" * 64, 7, "host-1")

        def answered(kind: Kind, subject: str) -> list[str]:
            ask(ledger, Request("c", now_ms(), WHO, kind, subject))
            deeds = answers.answer(snapshot, Plan("c", at_ms, "policy", ()), standing, under)
            return [each.words for each in deeds if each.phase is Phase.ANSWERED]

        assert answered(Kind.GIVE_BACK, uid) == ["done"]
        assert bare.get("Job", "j")["spec"]["suspend"] is True
        assert answered(Kind.RESTORE, f"Job/{bare.namespace}/j") == ["done"]
        assert bare.get("Job", "j")["spec"].get("suspend", False) is False
        assert answered(Kind.RESTORE, uid) == ["it is not stopped any more"]
        told = ledger.query("select act, phase, actor from deeds order by number").rows()
        assert [(act, phase) for act, phase, _ in told] == [
            ("stop", "intent"),
            ("stop", "outcome"),
            ("give back", "answered"),
            ("restore", "intent"),
            ("restore", "outcome"),
            ("restore", "answered"),
            ("restore", "answered"),
        ]
        assert [actor for *_, actor in told][2:] == [WHO] * 5
        acts.close()

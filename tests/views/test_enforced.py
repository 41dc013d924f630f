"""The enforcer's work as its page tells it: plan, regret, deeds, requests, the audit's state; given rows, expected."""

import json
from collections.abc import Generator
from typing import Any

import polars as pl
import pytest

from analytics.asking.request import Kind, Request, ask
from analytics.scope import ALL, Scope
from analytics.views import enforced_tables as tables
from analytics.views.enforced import Audit, Enforced, clusters, enforced
from enforcer.audit.chain import Chain
from enforcer.audit.deed import Deed, Phase
from quartermaster.clock import HOUR_MS
from quartermaster.parts import GPU_PARTS
from quartermaster.person import person_id, pseudonym
from sql.ledger import Ledger
from tests.ledgers import new_ledger
from tests.views.markup import Tags
from tests.views.scene import HOSTILE, NOON, START, fill

ME = pseudonym(person_id(b"k" * 32, "me"))
OTHER = pseudonym(person_id(b"k" * 32, "other"))
HASH = "3f8a07c2" * 8
ACTIONS = (
    (
        "stop",
        "it stands idle",
        "Notebook lab/drafts",
        "vision",
        "",
        "1",
        "It holds 1 GPU and is idle for 9 h.",
    ),
    (
        "stop",
        "an owner returns",
        "Job nlp/train",
        "language",
        "uid-12",
        "4",
        "PyTorchJob speech/conformer waits.",
    ),
    ("warn", "it stands idle", f"Job x/{HOSTILE}", "speech", "", "0", "It is idle for 4 h."),
)


@pytest.fixture(scope="module")
def acted(tmp_path_factory: pytest.TempPathFactory) -> Generator[Ledger]:
    """The scene, with a plan that waits for approval, a shadow plan's victim, a stop that is done, a refusal."""
    with new_ledger(tmp_path_factory.mktemp("acted")) as ledger:
        fill(ledger)
        ledger.append("plans", {"plans": pl.DataFrame(_plans()), "actions": pl.DataFrame(_victims())})
        chain = Chain(ledger, "main")
        intent = _deed(Phase.INTENT)
        (row_hash,) = chain.write([intent])
        chain.write(
            [_deed(Phase.OUTCOME, result="done", intent=row_hash), _deed(Phase.REFUSED, result="frozen")]
        )
        asked = (
            Request("main", START, ME, Kind.KEEP, "uid-11", NOON),
            Request("main", NOON, OTHER, Kind.FREEZE),
        )
        for each in asked:
            ask(ledger, each)
        yield ledger


def _plans() -> list[dict[str, Any]]:
    body = {
        "actions": [
            {"act": act, "cause": cause, "workload": title, "team": team, "for": owner, "frees_gpus": gpus}
            | {"why": [why], "pool": "training", "stage": "", "harm": {"lost_gpu_hours": "2.0"}}
            for act, cause, title, team, owner, gpus, why in ACTIONS
        ],
        "doing_nothing": {"words": "5 GPUs go on standing idle."},
        "notes": ["A note."],
    }
    plan = {"cluster": "main", "plan_hash": HASH, "planned_at": NOON - 60_000, "mode": "plan", "actions": 3}
    return [plan | {"body": json.dumps(body)}]


def _victims() -> list[dict[str, object]]:
    common: dict[str, object] = {"cluster": "main", "plan_hash": "s", "mode": "shadow", "act": "stop"}
    common |= {"cause": "it stands idle", "pool": "training", "planned_at": START, "frees_parts": GPU_PARTS}
    whom = ((11, "Notebook", "lab", "drafts", "vision"), (12, "PyTorchJob", "speech", "conformer", "speech"))
    return [
        common | {"workload_id": number, "kind": kind, "namespace": namespace, "name": name, "team": team}
        for number, kind, namespace, name, team in whom
    ]


def _deed(phase: Phase, **changed: Any) -> Deed:
    return Deed(
        "main",
        NOON - HOUR_MS,
        phase,
        "stop",
        plan_hash=HASH,
        kind="Notebook",
        namespace="lab",
        name="drafts",
        object_uid="uid-11",
        team="vision",
        pool="training",
        frees_parts=GPU_PARTS,
        cause="it stands idle",
        **changed,
    )


def read(ledger: Ledger, scope: Scope = ALL, asker: str = ME) -> Enforced:
    return enforced(ledger, scope, "main", asker, NOON)


@pytest.fixture(scope="module")
def found(acted: Ledger) -> Enforced:
    """What somebody who may see all is told."""
    return read(acted)


def test_the_plan_and_its_whys(found: Enforced) -> None:
    assert found.planned is not None
    assert (found.planned.plan_hash, found.planned.mode, found.planned.hidden) == (HASH, "plan", 0)
    assert [each.why for each in found.planned.actions] == [(why,) for *_, why in ACTIONS]
    assert tables.cards(found)[0].value == "2 stops"
    assert tables.cards(found)[0].note == "and 1 warning"
    assert "PyTorchJob speech/conformer waits" in tables.plan(found)


def test_a_team_sees_what_would_be_done_to_it_and_no_other_names(acted: Ledger) -> None:
    found = read(acted, Scope(frozenset({"language"})))
    assert found.planned is not None
    assert [each.title for each in found.planned.actions] == ["Job nlp/train"]
    assert found.planned.hidden == 2
    assert found.planned.actions[0].why == ("An owner in its pool waits for GPUs of its guarantee.",)
    assert (found.done, found.won, found.watched, found.refused, found.stopped) == ((), (), (), (), ())
    assert found.audit is None
    assert "conformer" not in repr(found)
    assert "drafts" not in repr(found)


def test_regret_is_of_what_was_recorded(acted: Ledger, found: Enforced) -> None:
    rows = {row[1]: row[2:6] for row in tables.regret(found).rows}
    # both computed within the first two hours
    assert rows == {
        "Notebook": (1, (1, 1), (1, 1), (1, 1)),
        "PyTorchJob": (1, (1, 1), (1, 1), (1, 1)),
    }
    mine = tables.regret(read(acted, Scope(frozenset({"speech"}))))
    assert [row[1] for row in mine.rows] == ["PyTorchJob"]


def test_what_was_done_refused_and_can_be_restored(found: Enforced) -> None:
    assert tables.done(found, "UTC").rows == (
        ("25 Nov 2026, 11:00", "stop", "Notebook lab/drafts", "vision", GPU_PARTS, "it stands idle", "done"),
    )
    assert [row[:2] for row in tables.refused(found, "UTC").rows] == [("frozen", 1)]
    assert [each.title for each in found.stopped] == ["Notebook/lab/drafts"]
    assert [stop.name for stop in found.won] == ["drafts"]
    assert tables.cards(found)[2].value == "1"


def test_requests_and_who_may_see_them(acted: Ledger, found: Enforced) -> None:
    assert [each.kind for each in found.asked] == ["freeze", "keep"]
    assert [each.kind for each in read(acted, Scope(frozenset())).asked] == ["keep"], "what one asked oneself"
    assert read(acted, Scope(frozenset()), "somebody").asked == ()
    answers = [row[-1] for row in tables.asked(found, "UTC").rows]
    assert answers == ["heeded at once", "not answered yet"]
    assert found.frozen_ms == NOON
    assert tables.mode(found) == "Frozen: nothing is done"


def test_the_audits_links(found: Enforced) -> None:
    audit = found.audit
    assert audit is not None
    assert (audit.rows, audit.is_linked) == (3, True)
    assert "3 rows" in tables.audit(found, "UTC")[0]


@pytest.mark.parametrize(
    "audit",
    [
        Audit(2, 3, 0, 0, 3, "a", "a"),  # a number is missing
        Audit(3, 3, 1, 0, 3, "a", "a"),  # a row does not follow
        Audit(3, 3, 0, 0, 4, "b", "a"),  # the end was cut off
        Audit(3, 3, 0, 0, 3, "b", "a"),  # the last is another row
        Audit(0, 0, 0, None, 4, "b", ""),  # all is gone
    ],
)
def test_a_broken_chain(audit: Audit) -> None:
    assert not audit.is_linked


def test_a_cluster_of_which_nothing_is_known(scene: Ledger) -> None:
    assert clusters(scene) == ("main",)
    found = read(scene)
    assert tables.mode(found) == "No plan yet"
    assert tables.audit(found, "UTC") == ("Nothing is written in the audit yet.",)
    assert [card.value for card in tables.cards(found)] == ["none", "–", "0", "0 GPU-h"]
    for made in (tables.done, tables.won, tables.refused, tables.asked):
        assert made(found, "UTC").rows == ()
    assert "No plan is recorded" in tables.plan(found)


def test_hostile_names_are_only_text(found: Enforced) -> None:
    assert Tags(tables.plan(found)).found <= {"div", "ol", "li", "h3", "span", "p", "b"}

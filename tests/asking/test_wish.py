"""What people ask for from a page: who may, of whose workloads, and the row that comes of it."""

from dataclasses import replace

import pytest

from analytics.asking.request import Kind, Request
from analytics.asking.wish import Asker, Wish, wish
from quartermaster.clock import HOUR_MS, MINUTE_MS
from quartermaster.config.acting import ActingPart
from quartermaster.config.policy import PolicyPart
from quartermaster.errors import InputError
from quartermaster.role import Role
from sql.ledger import Ledger
from tests.asking.conftest import HASH, NOW, OLD_HASH, asker

POLICY = PolicyPart.model_construct(
    acting=ActingPart.model_construct(mode="plan", approval_lasts_ms=10 * MINUTE_MS)
)
ADMIN = asker("root", Role.ADMIN, teams=None)
OWNER = asker("olga", Role.OWNER, teams=("vision",))
KEEP = Wish("main", Kind.KEEP, "Notebook/lab/drafts", 4 * HOUR_MS, "still needed")


def ask(ledger: Ledger, who: Asker, wished: Wish, at_ms: int = NOW, policy: PolicyPart = POLICY) -> Request:
    return wish(ledger, who, wished, clusters=["main"], policy=policy, now_ms=at_ms)


def written(ledger: Ledger) -> list[dict[str, object]]:
    return ledger.query(
        "select asked_by, kind, subject, epoch_ms(until) as until_ms, words from requests order by asked_at"
    ).to_dicts()


def test_what_is_asked_is_a_row_under_a_pseudonym(ledger: Ledger) -> None:
    ask(ledger, OWNER, KEEP, NOW + 1)
    assert written(ledger) == [
        {
            "asked_by": OWNER.pseudonym,
            "kind": "keep",
            "subject": "uid-1",
            "until_ms": NOW + 1 + 4 * HOUR_MS,
            "words": "still needed",
        }
    ]


@pytest.mark.parametrize("kind", [Kind.KEEP, Kind.GIVE_BACK])
@pytest.mark.parametrize(
    ("who", "subject", "uid"),
    [
        (OWNER, "Notebook/lab/drafts", "uid-1"),
        (OWNER, "uid-1", "uid-1"),
        (asker("alice", Role.VIEWER), "uid-1", "uid-1"),  # her own, whatever teams are hers
        (asker("alice"), "uid-1", "uid-1"),
        (asker("carol", Role.VIEWER), "Job/lab/new", "uid-3"),  # hers, though no team is known yet
        (ADMIN, "Job/lab/new", "uid-3"),
        (OWNER, "Job/nlp/train", None),  # another team's
        (OWNER, "Job/nlp/none", None),  # nobody's
        (OWNER, "Job/lab/new", None),  # of no team yet
        (asker("eve", Role.VIEWER, teams=("vision",)), "uid-1", None),  # a viewer of the team, not its owner
        (asker("mary", Role.MANAGER, teams=("vision",)), "uid-1", None),
        (asker("fay", Role.FINANCE, teams=None), "uid-1", None),
        (asker("nobody"), "uid-1", None),
    ],
)
def test_whose_workloads_one_may_decide_on(
    ledger: Ledger, kind: Kind, who: Asker, subject: str, uid: str | None
) -> None:
    wished = replace(KEEP, kind=kind, subject=subject)
    if uid is None:
        with pytest.raises(InputError, match=f"there is no workload '{subject}' of yours"):
            ask(ledger, who, wished)
        assert not written(ledger)
    else:
        assert ask(ledger, who, wished).subject == uid


@pytest.mark.parametrize("kind", [Kind.APPROVE, Kind.FREEZE, Kind.THAW, Kind.RESTORE])
@pytest.mark.parametrize("role", [role for role in Role if role is not Role.ADMIN])
def test_acting_needs_an_administrator(ledger: Ledger, kind: Kind, role: Role) -> None:
    with pytest.raises(InputError, match=f"your role does not let you ask to {kind.value}"):
        ask(ledger, asker("x", role, teams=None), Wish("main", kind, HASH))
    assert not written(ledger)


@pytest.mark.parametrize("kind", [Kind.BOOK, Kind.OFFER, Kind.CANCEL])
def test_what_no_page_asks_for(ledger: Ledger, kind: Kind) -> None:
    with pytest.raises(InputError, match="your role"):
        ask(ledger, ADMIN, Wish("main", kind))


def test_a_freeze_comes_after_all_before_whatever_a_clock_says(ledger: Ledger) -> None:
    first = ask(ledger, ADMIN, Wish("main", Kind.FREEZE, words="the network"), NOW + HOUR_MS)
    second = ask(ledger, ADMIN, Wish("main", Kind.THAW), NOW)
    assert second.asked_at_ms == first.asked_at_ms + 1
    assert [row["kind"] for row in written(ledger)] == ["freeze", "thaw"]


def test_an_approval_is_of_the_whole_plan_as_it_was_shown(ledger: Ledger) -> None:
    assert ask(ledger, ADMIN, Wish("main", Kind.APPROVE, HASH)).until_ms == NOW + 10 * MINUTE_MS
    for subject, told in {
        HASH[:12]: "whole hash",
        OLD_HASH: "not the last",
        "f" * 64: "no recorded plan",
    }.items():
        with pytest.raises(InputError, match=told):
            ask(ledger, ADMIN, Wish("main", Kind.APPROVE, subject))
    with pytest.raises(InputError, match="longer ago"):
        ask(ledger, ADMIN, Wish("main", Kind.APPROVE, HASH), NOW + HOUR_MS)
    shadow = PolicyPart.model_construct(acting=ActingPart.model_construct(mode="shadow"))
    with pytest.raises(InputError, match="shadow"):
        ask(ledger, ADMIN, Wish("main", Kind.APPROVE, HASH), policy=shadow)
    assert len(written(ledger)) == 1


def test_what_is_stopped_may_be_restored_and_nothing_else(ledger: Ledger) -> None:
    ask(ledger, ADMIN, Wish("main", Kind.RESTORE, "Job/nlp/stopped"))
    for subject in ("Job/nlp/back", "Job/nlp/train", "uid-8", ""):
        with pytest.raises(InputError, match="not stopped"):
            ask(ledger, ADMIN, Wish("main", Kind.RESTORE, subject))
    assert [row["subject"] for row in written(ledger)] == ["Job/nlp/stopped"]


def test_a_cluster_that_there_is_not_and_no_span(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="no cluster 'other'"):
        ask(ledger, ADMIN, replace(KEEP, cluster="other"))
    for span_ms in (None, 0, -HOUR_MS):
        with pytest.raises(InputError, match="how long"):
            ask(ledger, OWNER, replace(KEEP, span_ms=span_ms))

"""What people ask: kept under a pseudonym, once, until a deed answers it; and what of it holds at an instant."""

from dataclasses import replace

import polars as pl
import pytest

from analytics.asking.request import Kind, Request, ask
from enforcer.audit.chain import Chain
from enforcer.audit.deed import Deed, Phase
from enforcer.audit.requests import approvals, commands, unanswered
from enforcer.audit.verify import verify
from enforcer.guard.standing import Approval
from enforcer.guard.switches import Command, commanded
from quartermaster.clock import DAY_MS, HOUR_MS
from quartermaster.errors import InputError
from quartermaster.person import person_id, pseudonym
from sql.checks import FOLDER
from sql.ledger import Ledger
from sql.people import Name, erase, export, find, remember
from tests.audit.deeds import T0, intent, outcome

ALICE = person_id(b"k" * 32, "alice")
WHO = pseudonym(ALICE)


def request(
    cluster: str, kind: Kind, at_ms: int = T0, subject: str = "", until_ms: int | None = None
) -> Request:
    return Request(cluster, at_ms, WHO, kind, subject, until_ms, "why\x00not")


def answer(of: Request) -> Deed:
    return Deed(
        of.cluster, of.asked_at_ms + 1, Phase.ANSWERED, of.kind, request_id=of.request_id, actor=of.asked_by
    )


def in_force(ledger: Ledger, cluster: str, at_ms: int) -> tuple[Command, ...]:
    with ledger.reading() as cursor:
        return commands(cursor, cluster, at_ms)


@pytest.mark.patient
def test_a_request_is_there_once_and_open_until_it_is_answered(shared: Ledger) -> None:
    keep = request("asked", Kind.KEEP, subject="Job vision/train", until_ms=T0 + HOUR_MS)
    others = [request("asked", Kind.RESTORE, T0 + 1), request("elsewhere", Kind.KEEP)]
    assert [ask(shared, each) for each in (keep, keep, *others)] == [True, False, True, True]
    with shared.reading() as cursor:
        found = unanswered(cursor, "asked")
        assert found == (
            replace(keep, words="why\N{REPLACEMENT CHARACTER}not"),
            replace(others[0], words=found[1].words),
        )
        assert unanswered(cursor, "asked", [Kind.RESTORE]) == found[1:]
    Chain(shared, "asked").write([answer(keep)])
    Chain(shared, "elsewhere").write([replace(answer(keep), cluster="elsewhere")])
    with shared.reading() as cursor:
        assert unanswered(cursor, "asked") == found[1:]
        assert len(unanswered(cursor, "elsewhere")) == 1  # the answer is another request's


@pytest.mark.parametrize("name", ["alice", "", "person-", "person-alice"])
def test_a_request_by_a_name_is_refused(shared: Ledger, name: str) -> None:
    with pytest.raises(InputError, match="kept under a pseudonym"):
        ask(shared, replace(request("named", Kind.FREEZE), asked_by=name))


F, T = Kind.FREEZE, Kind.THAW


@pytest.mark.parametrize(
    ("story", "frozen"),
    [
        ([], False),
        ([(F, 0, None)], True),
        ([(F, 0, None), (T, 1, None)], False),
        ([(F, 0, None), (T, 1, None), (F, 2, None)], True),
        ([(T, 5, None), (F, 5, None)], True),  # at the same instant
        ([(F, 0, 9)], False),  # it has run out
        ([(F, 0, 11)], True),
        ([(F, DAY_MS, None)], True),  # of a clock that is ahead
    ],
)
@pytest.mark.patient
def test_when_a_cluster_is_frozen(
    shared: Ledger, story: list[tuple[Kind, int, int | None]], frozen: bool
) -> None:
    cluster = f"frozen {story}"
    for kind, at_ms, until_ms in story:
        until = None if until_ms is None else T0 + until_ms
        ask(shared, request(cluster, kind, T0 + at_ms, until_ms=until))
    ask(shared, request("another cluster", Kind.FREEZE))
    assert (commanded(in_force(shared, cluster, T0 + 10)) is not None) is frozen


def test_approvals_that_hold_at_an_instant(shared: Ledger) -> None:
    plans = pl.DataFrame(
        {"cluster": ["approved"], "plan_hash": ["p1"], "planned_at": [T0], "snapshot_hash": ["s1"]}
    )
    shared.append("x/1/plans", {"plans": plans})
    yes = request("approved", Kind.APPROVE, T0 + 5, "p1", T0 + 10)
    for each in (
        yes,
        request("approved", Kind.APPROVE, T0 + 5, "unknown", T0 + 10),
        replace(yes, cluster="other"),
    ):
        ask(shared, each)
    expected = (Approval("p1", "s1", T0 + 5, T0 + 10, WHO, yes.request_id),)
    with shared.reading() as cursor:
        assert approvals(cursor, "other", T0 + 7) == ()
        late = T0 + 10 + HOUR_MS  # what ran out lately is there too: the guard says so of it
        found = [approvals(cursor, "approved", at_ms) for at_ms in (T0 + 4, T0 + 5, late - 1, late)]
    assert found == [(), expected, expected, ()]


@pytest.mark.patient
def test_erasing_a_person_leaves_the_chain_whole(shared: Ledger) -> None:
    chain = Chain(shared, "erased")
    restore = request("erased", Kind.RESTORE, subject="Job vision/train")
    ask(shared, restore)
    assert find(shared, WHO, lambda: pytest.fail("no key is needed")) == ALICE
    remember(shared, {ALICE: Name("Alice Liddell", "alice@example.org")}, T0)
    done = intent("u1", T0, "restore", cluster="erased", actor=WHO, request_id=restore.request_id)
    (row_hash,) = chain.write([done])
    chain.write([outcome(done, row_hash), answer(restore)])
    head = chain.head()
    told = export(shared, ALICE, "auditor", T0)
    assert [each["kind"] for each in told["requests"] if each["cluster"] == "erased"] == ["restore"]
    assert [(each["phase"], each["name"]) for each in told["deeds"] if each["cluster"] == "erased"] == [
        ("intent", "train-u1"),
        ("outcome", "train-u1"),
        ("answered", ""),
    ]
    assert erase(shared, ALICE, "auditor", T0).was_there
    assert verify(shared, "erased", {head.number: head.row_hash}).found == 0
    for name in ("deed_numbers", "deed_orphans"):
        check = (FOLDER / f"{name}.sql").read_text(encoding="utf-8")
        assert shared.query(f"select * from ({check}) as found where cluster = 'erased'").is_empty()
    for table in ("deeds", "requests"):
        everything = str(shared.query(f"from {table}").to_dicts())
        assert "Liddell" not in everything
        assert "alice" not in everything.replace(WHO, "")

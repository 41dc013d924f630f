"""Disputes: raised on a line, decided once, credited in the open period, with a counter-line."""

from decimal import Decimal

import pytest

from analytics.money.charges import charge
from analytics.money.corrections import correct
from analytics.money.disputes import Dispute, decide_dispute, disputes, raise_dispute
from quartermaster.clock import DAY_MS
from quartermaster.errors import InputError
from sql.checks import run as run_checks
from tests.books.late import shut
from tests.books.test_close import NOVEMBER_6
from tests.money.books import Books


@pytest.fixture
def closed(october: Books) -> Books:
    """October is closed: vision owes 8 EUR for its first day."""
    shut(october)
    return october


def line_of(books: Books, team: str | None = "vision") -> int:
    (found,) = [
        line for line in books.lines() if line["team"] == team and line["business_day"] == "2026-10-01"
    ]
    return found["charge_id"]


def dispute(books: Books, amount: str | None = None) -> Dispute:
    wanted = None if amount is None else Decimal(amount)
    return raise_dispute(books.ledger, line_of(books), wanted, "in repair", actor="vera", now_ms=NOVEMBER_6)


def decide(books: Books, found: Dispute, credit: str) -> Dispute:
    return decide_dispute(
        books.ledger,
        found.dispute_id,
        Decimal(credit),
        "so it was",
        actor="bert",
        time_zone="UTC",
        now_ms=NOVEMBER_6 + DAY_MS,
    )


@pytest.mark.patient
def test_a_dispute_that_is_granted_is_credited_in_the_open_period(closed: Books) -> None:
    before = closed.lines()
    decided = decide(closed, dispute(closed), "8")
    assert (decided.state, decided.credited, decided.words) == ("granted", Decimal(8), "in repair\nso it was")
    new = [line for line in closed.lines() if line not in before]
    told = {
        (line["account"], line["team"], line["business_day"], line["detail"], line["amount"]) for line in new
    }
    assert told == {
        ("team", "vision", "2026-11-07", "credit", Decimal(-8)),
        ("clearing", None, "2026-11-07", "credit", Decimal(8)),
    }
    assert {line["corrects"] for line in new} == {line_of(closed)}
    charge(closed.ledger, NOVEMBER_6, "UTC", everything=True)
    assert correct(closed.ledger, NOVEMBER_6, "UTC").lines == 0  # a credit is no difference of usage
    assert all(line in closed.lines() for line in new)
    assert run_checks(closed.ledger, ["adjustments", "charge_orphans"]) == []


@pytest.mark.patient
def test_a_dispute_that_is_refused_books_nothing(closed: Books) -> None:
    before = closed.lines()
    assert decide(closed, dispute(closed, "3.50"), "0").state == "refused"
    assert closed.lines() == before


@pytest.mark.patient
def test_it_is_decided_once(closed: Books) -> None:
    found = dispute(closed, "5")
    decide(closed, found, "1")
    with pytest.raises(InputError, match="is decided: granted"):
        decide(closed, found, "5")


@pytest.mark.patient
def test_a_line_is_not_disputed_for_more_than_it_is(closed: Books) -> None:
    dispute(closed, "5")
    with pytest.raises(InputError, match=r"3\.000000 EUR of it are left"):
        dispute(closed, "5")
    assert dispute(closed).amount == 3
    with pytest.raises(InputError, match="as a whole already"):
        dispute(closed)
    with closed.ledger.reading() as cursor:
        (first, _) = disputes(cursor)
    with pytest.raises(InputError, match="cannot be credited"):
        decide(closed, first, "5.01")


@pytest.mark.patient
def test_what_cannot_be_disputed_is_refused(closed: Books) -> None:
    for charge_id, words, said in (
        (1, "x", "no line of cost 1"),
        (line_of(closed, None), "x", "is no cost of a team"),
        (line_of(closed), "  ", "with a reason"),
    ):
        with pytest.raises(InputError, match=said):
            raise_dispute(closed.ledger, charge_id, None, words, actor="vera", now_ms=NOVEMBER_6)


@pytest.mark.patient
def test_they_are_listed_by_age(closed: Books) -> None:
    dispute(closed, "1")
    with closed.ledger.reading() as cursor:
        (found,) = disputes(cursor)
    assert found.age_days(NOVEMBER_6 + 3 * DAY_MS) == 3

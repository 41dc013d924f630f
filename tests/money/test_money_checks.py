"""The ledger's checks of money hold for what charging writes, and notice a line without its counter-line."""

from decimal import Decimal

import pytest

from analytics.money.charges import charge
from sql import checks
from tests.money.books import Books


def breached(books: Books) -> set[str]:
    return {breach.check for breach in checks.run(books.ledger, ("adjustments", "charge_orphans"))}


@pytest.mark.patient
def test_shared_taken_off_and_faulted_lines_are_in_balance(books: Books) -> None:
    books.card(unallocated="held", unavailable="none", unobserved="even")
    books.rate("0.333333333")
    books.name("vision-job", "Job", "train")
    books.usage(hours=5, gpus=1 / 7, team="vision", faulted=0.3)
    books.usage(hours=5, gpus=4, unavailable=0.3, unobserved=0.3)
    charge(books.fill(), 0, "UTC")
    assert {line["kind"] for line in books.lines()} >= {"shared", "adjustment", "clearing"}
    assert breached(books) == set()


def test_a_line_without_its_counter_line_is_noticed(books: Books) -> None:
    line = {"charge_id": 1, "cluster": "demo", "business_day": "2026-11-23", "pool": "p", "currency": "EUR"}
    books.add("charges", **line, kind="shared", account="team", amount=Decimal("1.5"))
    books.fill()
    assert breached(books) == {"adjustments"}

"""Closing: complete or not at all, numbered, immutable, the same bytes, and opened again by a person alone."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from analytics.money.calendar import Calendar
from analytics.money.charges import charge
from analytics.money.close import close, folder_of, reopen
from analytics.money.manifest import hash_of
from analytics.money.periods import State, standings
from analytics.money.ready import Terms
from quartermaster.clock import DAY_MS, from_iso
from quartermaster.errors import InputError, LedgerError
from tests.money.books import Books

NOVEMBER_6 = from_iso("2026-11-06T12:00:00Z")
TERMS = Terms(Calendar(), NOVEMBER_6, "bert", clusters=["demo"], grace_ms=5 * DAY_MS)


def files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.patient
def test_a_period_is_closed_with_a_number_a_hash_and_statements_that_add_up(october: Books) -> None:
    closed = close(october.ledger, "2026-10", TERMS)
    assert (closed.state, closed.number, closed.replaces, closed.actor) == (State.CLOSED, 1, None, "bert")
    assert closed.manifest is not None
    assert closed.sha256 == hash_of(closed.manifest)
    rows = october.ledger.query(
        "select * exclude (recorded_at) from statements order by statement"
    ).to_dicts()
    told = [
        (row["statement"], row["team"], row["department"], row["amount"], row["exact_amount"]) for row in rows
    ]
    assert told == [
        ("1-001", None, "", Decimal("8.00"), Decimal(8)),
        ("1-002", "speech", "", Decimal("8.00"), Decimal(8)),
        ("1-003", "vision", "research", Decimal("16.00"), Decimal(16)),
    ]
    assert json.loads(closed.manifest)["totals"] == {"EUR": {"amount": "32.00", "exact_amount": "32.000000"}}


@pytest.mark.patient
def test_cents_of_a_period_add_up_by_largest_remainder(books: Books) -> None:
    books.card(unallocated="held")
    books.rate("0.01")
    for team in ("a", "b", "c"):
        books.usage("2026-10-01T00:00:00Z", hours=1, gpus=1, team=team)
        books.name(f"{team}-job", "Job", team)
    books.usage("2026-10-01T00:00:00Z", hours=1, gpus=1)
    close(books.fill(), "2026-10", replace(TERMS, clusters=[]))
    rows = books.ledger.query(
        "select team, amount, exact_amount from statements order by team nulls first"
    ).rows()
    assert rows == [
        (None, Decimal("0.00"), Decimal(0)),
        ("a", Decimal("0.02"), Decimal("0.013334")),
        ("b", Decimal("0.01"), Decimal("0.013333")),
        ("c", Decimal("0.01"), Decimal("0.013333")),
    ]


@pytest.mark.patient
def test_closing_twice_gives_the_same_bytes_and_no_second_number(october: Books, tmp_path: Path) -> None:
    first = close(october.ledger, "2026-10", replace(TERMS, books=tmp_path / "a"))
    second = close(
        october.ledger,
        "2026-10",
        replace(TERMS, books=tmp_path / "b", actor="somebody", now_ms=NOVEMBER_6 + 5),
    )
    assert (first.number, first.sha256) == (second.number, second.sha256)
    assert files(folder_of(tmp_path / "a", "2026-10", 1)) == files(folder_of(tmp_path / "b", "2026-10", 1))
    assert october.ledger.query("select count(*) as n from periods_versions").item() == 1


@pytest.mark.patient
def test_it_begins_with_the_grace_and_is_closed_after_it(october: Books) -> None:
    early = replace(TERMS, now_ms=from_iso("2026-11-03T00:00:00Z"))
    begun = close(october.ledger, "2026-10", early)
    assert (begun.state, begun.closes_ms) == (State.CLOSING, from_iso("2026-11-06T00:00:00Z"))
    assert close(october.ledger, "2026-10", early).revision == begun.revision
    assert close(october.ledger, "2026-10", TERMS).state == State.CLOSED


@pytest.mark.patient
def test_it_need_not_wait_for_the_grace_when_told(october: Books) -> None:
    early = replace(TERMS, now_ms=from_iso("2026-11-03T00:00:00Z"), at_once=True)
    assert close(october.ledger, "2026-10", early).state == State.CLOSED


@pytest.mark.parametrize(
    ("name", "terms", "said"),
    [
        ("2026-12", TERMS, "has not ended"),
        ("2026-11", TERMS, "has not ended"),
        ("2026-99", TERMS, "is no period"),
        ("FY2026-P01", TERMS, "is no period"),
        ("2026-09", TERMS, "no usage and no line of cost"),
    ],
)
@pytest.mark.patient
def test_what_cannot_be_closed_is_refused(october: Books, name: str, terms: Terms, said: str) -> None:
    with pytest.raises(InputError, match=said):
        close(october.ledger, name, terms)
    assert october.ledger.query("from periods").is_empty()


@pytest.mark.patient
def test_periods_are_closed_in_order(october: Books) -> None:
    december = replace(TERMS, now_ms=from_iso("2026-12-20T00:00:00Z"))
    charge(october.ledger, 0, "UTC")
    with pytest.raises(InputError, match="2026-11 follows 2026-10-31, whose books are open"):
        close(october.ledger, "2026-11", december)


@pytest.mark.patient
def test_it_waits_for_all_usage_of_the_configured_clusters(october: Books) -> None:
    october.add("rollup_marks", cluster="other", snapshot_id=1, rolled_until_at="2026-10-31T23:00:00Z")
    october.add("nodes_versions", cluster="other", node="n", start_at="2026-10-01T00:00:00Z", revision=0)
    ledger = october.fill()
    with pytest.raises(LedgerError, match=r"other \(until 2026-10-31T23:00:00.000Z\)"):
        close(ledger, "2026-10", replace(TERMS, clusters=["demo", "other"]))
    assert close(ledger, "2026-10", TERMS).state == State.CLOSED  # the other is not configured any more


@pytest.mark.patient
def test_usage_without_a_price_is_not_closed(books: Books) -> None:
    books.card(start="2026-10-15T00:00:00Z")
    books.rate("1", start_at="2026-10-15T00:00:00Z")
    books.usage("2026-10-01T00:00:00Z", team="vision")
    books.usage("2026-10-20T00:00:00Z", team="vision")
    books.name("vision-job", "Job", "v")
    with pytest.raises(LedgerError, match="usage without a price"):
        close(books.fill(), "2026-10", replace(TERMS, clusters=[]))


@pytest.mark.patient
def test_lines_of_a_closed_period_stay_whatever_prices_say(october: Books) -> None:
    close(october.ledger, "2026-10", TERMS)
    before = october.lines()
    october.rate("100", version=2)
    charge(october.fill(), 0, "UTC", everything=True)
    after = october.lines()
    assert [line for line in after if line["business_day"] < "2026-11"] == [
        line for line in before if line["business_day"] < "2026-11"
    ]
    assert {line["unit_price"] for line in after if line["business_day"] >= "2026-11"} == {Decimal(100)}


@pytest.mark.patient
def test_an_author_of_prices_does_not_close_alone_where_two_are_asked_for(october: Books) -> None:
    two = replace(TERMS, two_persons=True, actor="anna")
    with pytest.raises(InputError, match="may not close it alone"):
        close(october.ledger, "2026-10", two)
    with pytest.raises(InputError, match="may not close it alone"):
        close(october.ledger, "2026-10", replace(two, second="anna"))
    closed = close(october.ledger, "2026-10", replace(two, second="bert"))
    assert (closed.actor, closed.second) == ("anna", "bert")


@pytest.mark.patient
def test_who_set_no_price_closes_alone(october: Books) -> None:
    assert close(october.ledger, "2026-10", replace(TERMS, two_persons=True)).state == State.CLOSED


@pytest.mark.patient
def test_opened_again_for_a_reason_it_has_a_new_number_that_names_the_old(october: Books) -> None:
    first = close(october.ledger, "2026-10", TERMS)
    with pytest.raises(InputError, match="for a reason"):
        reopen(october.ledger, "2026-10", TERMS)
    opened = reopen(october.ledger, "2026-10", replace(TERMS, reason="a card was wrong"))
    assert (opened.state, opened.number, opened.replaces, opened.reason) == (
        State.OPEN,
        None,
        1,
        "a card was wrong",
    )
    with pytest.raises(InputError, match="is not closed"):
        reopen(october.ledger, "2026-10", replace(TERMS, reason="again"))
    second = close(october.ledger, "2026-10", TERMS)
    assert (second.number, second.replaces) == (2, 1)
    assert json.loads(second.manifest or "")["previous"] == {"number": 1, "sha256": first.sha256}
    history = october.ledger.query(
        "select state, number, replaces, reason from periods_versions order by revision"
    )
    assert history.rows() == [
        ("closed", 1, None, ""),
        ("open", None, 1, "a card was wrong"),
        ("closed", 2, 1, ""),
    ]


@pytest.mark.patient
def test_periods_are_listed_with_their_states(october: Books) -> None:
    close(october.ledger, "2026-10", TERMS)
    charge(october.ledger, 0, "UTC")
    with october.ledger.reading() as cursor:
        found = standings(cursor, Calendar(), from_iso("2026-12-03T00:00:00Z"))
    assert [(each.period.period, each.state.value) for each in found] == [
        ("2026-10", "closed"),
        ("2026-11", "open"),
        ("2026-12", "open"),
    ]

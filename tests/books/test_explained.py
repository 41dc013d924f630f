"""Explaining a line: the arithmetic, the price, the claims and the rule behind a cent."""

from decimal import Decimal

import pytest

from analytics.money.corrections import correct
from analytics.money.explained import explain, sentences, to_document
from quartermaster.errors import InputError
from quartermaster.ids import content_id
from tests.books.late import shut, tell
from tests.books.test_close import NOVEMBER_6
from tests.money.books import Books

DAY = "2026-10-01"


@pytest.fixture
def closed(october: Books) -> Books:
    """October is closed; vision's pod is known by name and rule."""
    pod = content_id("pod", "vision-job")
    october.add(
        "team_rules_versions",
        rule_id=7,
        start_at=0,
        position=1,
        team="vision",
        namespace_glob="vis*",
        revision=0,
    )
    workload = content_id("workload", "vision-job")
    told: dict[str, object] = {
        "cluster": "demo",
        "allocation_id": pod,
        "start_at": f"{DAY}T00:00:00Z",
        "workload_id": workload,
    }
    october.add(
        "allocations_versions",
        **told,
        node="n1",
        namespace="vision",
        pod="train-0",
        labels="{}",
        user_patterns="[]",
        revision=0,
    )
    october.fill()
    shut(october)
    return october


def line_of(books: Books, **wanted: object) -> int:
    (found,) = [line for line in books.lines() if all(line[name] == value for name, value in wanted.items())]
    return found["charge_id"]


@pytest.mark.patient
def test_a_cent_is_followed_back_to_the_claim_the_price_and_the_rule(closed: Books) -> None:
    charge_id = line_of(closed, team="vision", business_day=DAY)
    with closed.ledger.reading() as cursor:
        found = explain(cursor, charge_id, "UTC")
    said = " ".join(sentences(found))
    assert "8.000000 EUR on 2026-10-01, for vision: time that was held" in said
    assert "4.000 GPU-hours × 2 = 8.000000 EUR" in said
    assert "of 16.000000 EUR for 8.000 GPU-hours of capacity" in said
    assert "rate card 2026, list 1, line 1" in said
    assert "set by anna" in said
    assert "Pod vision/train-0 on n1" in said
    assert "the rule for vision (namespace vis*)" in said
    assert "no sample of it lives" in said
    assert (found.pool_cost, found.capacity_pms // (168_000 * 3_600_000)) == (Decimal(16), 8)
    assert to_document(found)["claims"][0]["pod"] == "vision/train-0"


@pytest.mark.patient
def test_a_correction_is_followed_to_the_line_that_it_corrects(closed: Books) -> None:
    tell(closed, f"{DAY}T00:00:00Z", 1, "vision", 1)
    correct(closed.ledger, NOVEMBER_6, "UTC")
    charge_id = line_of(closed, kind="correction")
    with closed.ledger.reading() as cursor:
        said = sentences(explain(cursor, charge_id, "UTC"))
    assert "a correction of a closed day (base)" in said[0]
    assert f"It is of {DAY}, whose period was closed." in said
    assert any("Corrected since: 2.000000 EUR." in sentence for sentence in said)


@pytest.mark.patient
def test_what_is_no_line_is_refused(closed: Books) -> None:
    with closed.ledger.reading() as cursor, pytest.raises(InputError, match="no line of cost 12"):
        explain(cursor, 12, "UTC")

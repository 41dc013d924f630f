"""What was sent stands in the ledger, once, without a name or an address; only what was accepted counts."""

from typing import Any
from uuid import uuid4

import polars as pl
import pytest

from enforcer.idleness import Notice
from enforcer.ladder.courier import Delivery
from enforcer.ladder.letter import OWNER, TEAM, Letter, Owner, Sent
from enforcer.ladder.message import Message
from enforcer.ladder.rung import AGAIN, WARN
from enforcer.ladder.told import notified, owners, record, sent
from quartermaster.clock import DAY_MS
from quartermaster.config.notify import NotifyPart
from sql.ledger import Ledger
from sql.people import Name, erase, remember
from tests.enforcer.clusters import NOW
from tests.ladder.idlers import MIN, H

TEXT = Message("title", "body", "brief")


def delivery(uid: str = "w", *, accepted: bool = True, ago: int = 0, **more: Any) -> Delivery:
    given: dict[str, Any] = {"cluster": "main", "stage": WARN, "channel": "slack", "addressee": TEAM} | more
    words = "accepted" if accepted else "its server answered 500"
    return Delivery(Letter(uid=uid, message=TEXT, workload_id=7, **given), accepted, words, NOW - ago)


def workload(ledger: Ledger, uid: str, **more: Any) -> None:
    row = {
        "cluster": "main",
        "workload_id": 7,
        "uid": uid,
        "kind": "Job",
        "start_at": NOW - DAY_MS,
        "revision": 0,
    } | more
    ledger.append(f"test/{uuid4().hex}", {"workloads_versions": pl.DataFrame([row])})


def test_only_what_was_accepted_counts_each_of_its_cluster(ledger: Ledger) -> None:
    told = (
        delivery(),
        delivery("v", accepted=False),
        delivery("v", stage=AGAIN, ago=5),
        delivery("v", stage=AGAIN, ago=5, channel="mail"),
        delivery("x", cluster="other"),
        delivery("old", ago=91 * DAY_MS),
    )
    record(ledger, told, NOW)
    with ledger.reading() as cursor:
        assert notified(cursor, "main", NOW) == {"w": [Notice(WARN, NOW)], "v": [Notice(AGAIN, NOW - 5)]}


def test_the_same_deliveries_are_written_once_and_none_is_no_commit(ledger: Ledger) -> None:
    for _ in range(3):
        record(ledger, (delivery(),), NOW)
        record(ledger, (), NOW)
    record(ledger, (delivery(accepted=False),), NOW)
    rows = ledger.query("select * exclude (recorded_at) from notifications order by accepted").to_dicts()
    assert [row["accepted"] for row in rows] == [False, True]
    assert {
        key: rows[1][key] for key in ("object_uid", "workload_id", "stage", "channel", "addressee", "words")
    } == {
        "object_uid": "w",
        "workload_id": 7,
        "stage": "warn",
        "channel": "slack",
        "addressee": "team",
        "words": "accepted",
    }


def test_that_a_contact_was_read_is_recorded_and_no_address_is(ledger: Ledger) -> None:
    to_owner = delivery(addressee=OWNER, person_id=8, to="alice@example.org", channel="mail")
    record(ledger, (to_owner, delivery()), NOW)
    assert ledger.query("select person_id, reader, what from people_reads").rows() == [
        (8, "quartermaster enforce", "warning")
    ]
    for table in ("notifications", "people_reads"):
        assert "alice" not in str(ledger.query(f"select * from {table}").to_dicts())


def test_what_channels_carried_is_of_all_clusters_and_the_last_hour(ledger: Ledger) -> None:
    told = (
        delivery(ago=H - 1),
        delivery("v", accepted=False, ago=5, cluster="other"),
        delivery("old", ago=H),
        delivery("older", ago=2 * H - 1),
    )
    record(ledger, told, NOW)
    first = Sent(("other", "v", WARN, "slack", TEAM), NOW - 5, False)
    second = Sent(("main", "w", WARN, "slack", TEAM), NOW - H + 1, True)
    patient = NotifyPart.model_validate({"retry": "2h"})
    with ledger.reading() as cursor:
        assert sent(cursor, NotifyPart(), NOW) == (second, first)
        assert [each.key[1] for each in sent(cursor, patient, NOW)] == ["older", "old", "w", "v"]


@pytest.mark.parametrize("contact", ["", "alice@example.org"])
@pytest.mark.patient
def test_whose_a_workload_is(ledger: Ledger, contact: str) -> None:
    workload(ledger, "w", person_id=8)
    workload(ledger, "v", person_id=9, workload_id=3)
    workload(ledger, "bare", workload_id=4)
    workload(ledger, "w", cluster="other", workload_id=5)
    remember(ledger, {8: Name("alice", contact)}, NOW)
    with ledger.reading() as cursor:
        assert owners(cursor, "main", ["w", "v", "bare", "gone"]) == {
            "w": Owner(7, 8, contact),
            "v": Owner(3, 9, ""),
            "bare": Owner(4, None, ""),
        }
        assert owners(cursor, "main", []) == {}


def test_who_is_erased_is_reached_no_more(ledger: Ledger) -> None:
    workload(ledger, "w", person_id=8)
    remember(ledger, {8: Name("alice", "alice@example.org")}, NOW)
    erase(ledger, 8, "boss", NOW + MIN)
    with ledger.reading() as cursor:
        assert owners(cursor, "main", ["w"]) == {"w": Owner(7, 8, "")}

"""What the collector tells of quotas that were moved, what our annotation may say, and what is promised by whom."""

import json
from typing import Any

import pytest

from collector.kubernetes.lent import QUOTA, Lent, lent_of
from collector.kubernetes.quotas import read_cluster_queue, read_resource_quota
from enforcer.quotas.booked import follow
from enforcer.quotas.change import QuotaChange
from quartermaster.clock import HOUR_MS
from tests.quotas.moving import promised
from tests.quotas.saying import KEY, NOW, SETTINGS, G, Raw, applied, cap, flavor, queue, quota
from tests.quotas.test_booked import OWNERS, booking


def raised() -> Raw:
    raw = quota("a", 8)
    return applied(raw, QuotaChange(cap(raw), "a", "p", {KEY: "8"}, {KEY: "16"}, ""))


def amounts(raw: Raw) -> list[tuple[int, int | None]]:
    read = read_resource_quota if "hard" in raw["spec"] else read_cluster_queue
    return [
        (each.guaranteed_parts // G, None if each.limit_parts is None else each.limit_parts // G)
        for each in read(raw, SETTINGS)
    ]


def test_a_raised_quota_promises_what_its_people_wrote_and_lets_in_what_is_there():
    assert amounts(quota("a", 8)) == [(8, 8)]
    assert amounts(raised()) == [(8, 16)]


def test_what_a_person_wrote_since_is_promised():
    raw = raised()
    raw["spec"]["hard"][KEY] = "12"
    assert amounts(raw) == [(12, 12)]


def test_a_queue_with_a_booking_promises_what_its_people_wrote():
    raw = queue("a", flavor("8", borrowingLimit="4"))
    (change,) = follow([cap(raw)], [booking("a", 4)], OWNERS, {}, NOW).changes
    assert amounts(applied(raw, change)) == amounts(raw) == [(8, 12)]


UNREADABLE: dict[str, Any] = {
    "nothing": "",
    "no JSON": "{",
    "a ring of brackets": "[" * 9000,
    "no fields": {"before": {}, "after": {}},
    "other fields": {"before": {KEY: "8"}, "after": {"requests.amd.com/gpu": "16"}},
    "below nothing": {"before": {KEY: "-8"}, "after": {KEY: "16"}},
    "no amount": {"before": {KEY: "many"}, "after": {KEY: "16"}},
    "a number": {"before": {KEY: 8}, "after": {KEY: "16"}},
    "another object's": {"uid": "uid-b", "before": {KEY: "8"}, "after": {KEY: "16"}},
    "no instant": {"at": "soon", "before": {KEY: "8"}, "after": {KEY: "16"}},
    "a novel": {"before": {KEY: "8"}, "after": {KEY: "16"}, "cluster": "x" * 20_000},
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_an_annotation_that_cannot_be_ours_says_nothing(case: str):
    told = UNREADABLE[case]
    if isinstance(told, dict):
        told = json.dumps({"at": "2026-11-30T12:00:00Z", "cluster": "c", "uid": "uid-a"} | told)
    raw = quota("a", 16)
    raw["metadata"]["annotations"] = {QUOTA: told}
    assert lent_of(raw) is None
    assert amounts(raw) == [(16, 16)]
    # It is taken off as one that is not ours, and nothing else.
    assert (cap(raw).marked, cap(raw).moved, cap(raw).written) == (True, False, {KEY: "16"})


def test_it_is_read_as_it_was_written():
    first = {"x/y/nominalQuota": "8", "x/y/lendingLimit": None}
    lent = Lent(NOW, "c", "uid-a", first, first | {"x/y/nominalQuota": "9"})
    raw = {"metadata": {"uid": "uid-a", "annotations": {QUOTA: lent.written()}}}
    assert lent_of(raw) == lent


def test_promises_know_their_objects_and_a_quota_is_no_limit_where_it_is_lent():
    told = promised(
        {"team": "a", "pool": "p", "gpus": 8, "weight": 3, "limit_parts": 20 * G},
        {"team": "a", "pool": "p", "gpus": 0, "limit_parts": 8 * G, "source_object": "ResourceQuota/a/gpus"},
        {"team": "a", "pool": "p", "gpus": 4, "kind": "booking", "end_ms": NOW},
    )
    (now,) = told.at(NOW - 1, caps=False)
    assert (now.guaranteed_parts, now.limit_parts, now.weight) == (12 * G, 24 * G, 3)
    (capped,) = told.at(NOW)
    assert (capped.guaranteed_parts, capped.limit_parts, capped.weight) == (8 * G, 8 * G, 3)
    assert told.owners_at(NOW) == {"ResourceQuota/a/gpus": ("a", "p")}
    assert [each.parts // G for each in told.bookings_at(NOW - HOUR_MS)] == [4]
    assert told.bookings_at(NOW) == []

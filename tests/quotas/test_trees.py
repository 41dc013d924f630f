"""Queues of KAI and Volcano: trees whose quotas follow bookings and offers, whole, and never past the queue above."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.kubernetes.lent import QUOTA
from collector.kubernetes.quotas import read_kai_queue, read_volcano_queue
from collector.kubernetes.values import quantity
from enforcer.booking import Booking
from enforcer.quotas.backends import kinds_moved
from enforcer.quotas.booked import Followed, follow
from enforcer.quotas.change import patch_of
from enforcer.quotas.kai import KAI_QUEUE
from enforcer.quotas.last import Last
from enforcer.quotas.volcano import VOLCANO_QUEUE
from quartermaster.clock import HOUR_MS
from quartermaster.parts import GPU_PARTS
from tests.quotas.saying import (
    GPU,
    NOW,
    SETTINGS,
    G,
    Raw,
    applied,
    cap,
    kai_queue,
    last,
    marked,
    quota,
    volcano_queue,
)
from tests.quotas.test_booked import booking

OWNERS = {f"Queue/{team}{of}": (team, "p") for team in ("a", "b", "d") for of in ("", f"/{GPU}")}
OPEN = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def followed(
    raws: Sequence[Raw], *bookings: Booking, lasts: dict[str, Last] | None = None, at_ms: int = NOW
) -> Followed:
    caps = [cap(raw) for raw in raws]
    return follow(caps, bookings, OWNERS, lasts or {}, at_ms)


def turned(raws: Sequence[Raw], *bookings: Booking, at_ms: int = NOW) -> list[Raw]:
    """The queues after one turn."""
    changes = {change.cap.uid: change for change in followed(raws, *bookings, at_ms=at_ms).changes}
    return [
        applied(raw, changes[raw["metadata"]["uid"]]) if raw["metadata"]["uid"] in changes else raw
        for raw in raws
    ]


def gpu(raw: Raw) -> Any:
    return raw["spec"]["resources"]["gpu"]


def of_volcano(raw: Raw) -> tuple[Any, ...]:
    spec = raw["spec"]
    kept = spec.get("guarantee", {}).get("resource", {})
    assert all(each.get("cpu", "64") == "64" for each in (spec["deserved"], spec.get("capability", {}), kept))
    return spec["deserved"].get(GPU), spec.get("capability", {}).get(GPU), kept.get(GPU)


def test_a_booking_raises_a_kai_quota_and_goes_when_it_ends():
    raw = kai_queue("a", quota=8, limit=16, overQuotaWeight=2)
    (now,) = turned([raw], booking("a", 4))
    assert gpu(now) == {"quota": 12, "limit": 20, "overQuotaWeight": 2}
    assert now["spec"]["resources"]["cpu"] == raw["spec"]["resources"]["cpu"]
    assert followed([now], booking("a", 4)).changes == ()
    (again,) = turned([now], at_ms=NOW + HOUR_MS)
    assert (again["spec"], marked(again)) == (raw["spec"], False)


def test_all_of_a_kai_queues_gpus_are_written_and_what_was_not_set_is_not_set_again():
    raw = kai_queue("a", quota=8, limit=-1)
    (now,) = turned([raw], booking("a", 4))
    # What is not set is 0 to KAI, and an unlimited queue stays so.
    assert gpu(now) == {"quota": 12, "limit": -1, "overQuotaWeight": 0}
    (change,) = followed([raw], booking("a", 4)).changes
    patch = patch_of(change, "/path", raw, SETTINGS, NOW)
    assert patch is not None
    told = [(each["op"], each["path"]) for each in patch.body()]
    assert told[:2] == [("test", "/metadata/uid"), ("test", "/metadata/resourceVersion")]
    assert told[-2:] == [("test", "/spec/resources/gpu"), ("add", "/spec/resources/gpu")]
    assert patch.body()[-2]["value"] == gpu(raw)
    (back,) = turned([now])
    assert (back["spec"], marked(back)) == (raw["spec"], False)


def test_a_field_of_kai_that_is_not_known_stays():
    raw = kai_queue("a", quota=8, limit=-1, overQuotaWeight=1)
    gpu(raw)["burst"] = 3
    (now,) = turned([raw], booking("a", 4))
    assert gpu(now) == {"quota": 12, "limit": -1, "overQuotaWeight": 1, "burst": 3}


def test_an_offer_is_taken_off_a_kai_quota_as_far_as_others_have_booked_it():
    raws = [kai_queue(name, quota=8, limit=8, overQuotaWeight=1) for name in ("a", "b")]
    assert followed(raws, booking("b", 4, offer=True)).changes == ()
    a, b = turned(raws, booking("b", 4, offer=True), booking("a", 3))
    assert (gpu(a)["quota"], gpu(a)["limit"]) == (11, 11)
    assert (gpu(b)["quota"], gpu(b)["limit"]) == (5, 8), "it may hold as much as before"


def test_a_kai_quota_is_not_lowered_under_what_its_non_preemptible_work_holds():
    """KAI takes none of that back, and nothing converges afterwards."""
    b = kai_queue("b", fixed=7, quota=8, limit=8, overQuotaWeight=1)
    less, more = followed(
        [kai_queue("a", **OPEN | {"quota": 8}), b], booking("b", 4, offer=True), booking("a", 3)
    ).changes
    assert (less.after["gpu/quota"], more.after["gpu/quota"]) == ("7", "11")
    # A booking that has ended, too, waits for them.
    (now,) = turned([kai_queue("a", quota=8, limit=8, overQuotaWeight=1)], booking("a", 4))
    now["status"] = {"allocatedNonPreemptible": {GPU: "10500m"}}
    (held,) = turned([now])
    assert (gpu(held)["quota"], gpu(held)["limit"], marked(held)) == (11, 11, True)
    held["status"] = {}
    (back,) = turned([held])
    assert (gpu(back), marked(back)) == ({"quota": 8, "limit": 8, "overQuotaWeight": 1}, False)


def test_a_volcano_queue_follows_a_booking_and_an_offer():
    a = volcano_queue("a", deserved="8", capability="16", guarantee="2")
    b = volcano_queue("b", deserved="8", guarantee="6")
    now_a, now_b = turned([a, b], booking("b", 4, offer=True), booking("a", 4))
    # What is kept free for a queue even from its borrowers is never raised, and is no more than what it deserves.
    assert (of_volcano(now_a), of_volcano(now_b)) == (("12", "20", "2"), ("4", None, "4"))
    back = turned([now_a, now_b])
    assert [(each["spec"], marked(each)) for each in back] == [(a["spec"], False), (b["spec"], False)]


def test_a_volcano_patch_tests_what_was_seen():
    raw = volcano_queue("a", deserved="8", guarantee="2")
    (change,) = followed([raw], booking("a", 4)).changes
    patch = patch_of(change, "/path", raw, SETTINGS, NOW)
    assert patch is not None
    assert [(each["op"], each["path"]) for each in patch.body()][-3:] == [
        ("test", "/spec/deserved/nvidia.com~1gpu"),
        ("test", "/spec/guarantee/resource/nvidia.com~1gpu"),
        ("add", "/spec/deserved/nvidia.com~1gpu"),
    ]


def test_no_capability_is_raised_above_that_of_a_queue_above():
    raws = [
        volcano_queue("house", deserved="32", capability="24"),
        volcano_queue("research", "house", deserved="32"),
        volcano_queue("a", "research", deserved="8", capability="22"),
    ]
    assert of_volcano(turned(raws, booking("a", 4))[2]) == ("12", "24", None)


ROOM: dict[str, tuple[Callable[..., Raw], list[Raw], int | None]] = {
    "a KAI parent without a bound": (kai_queue, [kai_queue("p", **OPEN)], 12),
    "a KAI parent with room": (kai_queue, [kai_queue("p", **OPEN | {"quota": 20})], 12),
    "a KAI parent with too little": (kai_queue, [kai_queue("p", **OPEN | {"quota": 19})], None),
    "a KAI parent whose quota is not set": (kai_queue, [kai_queue("p", limit=-1)], None),
    "a KAI parent that is not there": (kai_queue, [], None),
    "a KAI sibling without a bound": (
        kai_queue,
        [kai_queue("p", **OPEN | {"quota": 99}), kai_queue("x", "p", **OPEN)],
        None,
    ),
    "a Volcano parent with room": (volcano_queue, [volcano_queue("p", deserved="20")], 12),
    "a Volcano parent with too little": (volcano_queue, [volcano_queue("p", deserved="19")], None),
    "a Volcano parent that deserves nothing": (volcano_queue, [volcano_queue("p", capability="99")], None),
}


@pytest.mark.parametrize("case", ROOM)
def test_a_queue_is_promised_no_more_than_the_one_above_has_left(case: str):
    make, others, gpus = ROOM[case]
    fields: dict[str, Any] = (
        {"deserved": "8"} if make is volcano_queue else {"quota": 8, "limit": -1, "overQuotaWeight": 1}
    )
    raws = [make("a", "p", **fields), make("b", "p", **fields), *others]
    told = followed(raws, booking("a", 4))
    if gpus is not None:
        (change,) = told.changes
        assert (change.cap.name, set(change.after.values()) & {str(gpus)}) == ("a", {str(gpus)})
        assert told.unmet == ()
    else:
        assert told.changes == ()
        (unmet,) = told.unmet
        assert (unmet.cap.name, unmet.team, unmet.pool) == ("a", "a", "p")
        assert unmet.words.startswith("4 GPUs are booked, and the queue p above it has no room")


def test_what_cannot_be_booked_is_taken_off_nobody():
    raws = [
        kai_queue("p", **OPEN | {"quota": 8}),
        kai_queue("a", "p", **OPEN | {"quota": 8}),
        kai_queue("b", **OPEN | {"quota": 8}),
    ]
    told = followed(raws, booking("a", 4), booking("b", 4, offer=True))
    assert (told.changes, [each.team for each in told.unmet]) == ((), ["a"])


def test_who_cannot_be_given_more_still_gives():
    raws = [
        kai_queue("p", **OPEN | {"quota": 8}),
        kai_queue("a", "p", **OPEN | {"quota": 8}),
        kai_queue("b", **OPEN | {"quota": 8}),
    ]
    told = followed(raws, booking("a", 4), booking("a", 2, offer=True), booking("b", 2))
    assert [(each.cap.name, each.after["gpu/quota"]) for each in told.changes] == [("a", "6"), ("b", "10")]
    assert [each.team for each in told.unmet] == ["a"]


def test_what_one_cannot_give_the_other_gives():
    raws = [
        kai_queue("a", quota=8, limit=-1),
        kai_queue("b", fixed=7, quota=8, limit=-1),
        kai_queue("d", quota=8, limit=-1),
    ]
    offers = booking("b", 4, offer=True), booking("d", 4, offer=True)
    told = followed(raws, booking("a", 4), *offers)
    assert {each.cap.name: each.after["gpu/quota"] for each in told.changes} == {
        "a": "12",
        "b": "7",
        "d": "5",
    }


def test_of_two_bookings_that_do_not_fit_together_one_is_followed():
    raws = [kai_queue("p", **OPEN | {"quota": 20})]
    raws += [kai_queue(name, "p", **OPEN | {"quota": 8}) for name in ("a", "b")]
    told = followed(raws, booking("a", 3), booking("b", 3))
    assert ([each.cap.name for each in told.changes], [each.team for each in told.unmet]) == (["a"], ["b"])


def test_within_a_parent_one_is_raised_by_what_another_gives_and_not_before():
    raws = [
        kai_queue("p", **OPEN | {"quota": 16}),
        *(kai_queue(name, "p", **OPEN | {"quota": 8}) for name in ("a", "b")),
    ]
    asked = booking("a", 4), booking("b", 4, offer=True)
    assert [(each.cap.name, each.raises) for each in followed(raws, *asked).changes] == [
        ("b", False),
        ("a", True),
    ]
    # A person has just put b's back: it rests, and so a is not raised.
    lowered = followed(raws, *asked).changes[0]
    rests = {"uid-b": last(replace(lowered, after=lowered.before), NOW - 120_000, act="restore")}
    assert followed(raws, *asked, lasts=rests) == Followed((), ())


LEFT: dict[str, Raw] = {
    "an unlimited KAI quota": kai_queue("a", **OPEN),
    "a KAI quota that is not stated": kai_queue("a", limit=-1, overQuotaWeight=1),
    "parts of GPUs": kai_queue("a", quota=7.5, limit=-1),
    "a queue that its limit stops": kai_queue("a", quota=8),
    "a limit under the quota": kai_queue("a", quota=8, limit=4),
    "no GPUs": kai_queue("a"),
    "nothing deserved is stated": volcano_queue("a", capability="8"),
    "parts deserved": volcano_queue("a", deserved="7500m"),
    "another's": kai_queue("z", quota=8, limit=-1),
}


@pytest.mark.parametrize("case", LEFT)
def test_it_is_left_as_it_is(case: str):
    raw = LEFT[case]
    if raw["spec"].get("resources", {}).get("gpu") == {}:
        with pytest.raises(AssertionError):
            cap(raw)
    else:
        assert followed([raw], booking("a", 4)) == Followed((), ())


def test_a_queue_above_others_is_never_moved():
    raws = [kai_queue("a", quota=8, limit=-1), kai_queue("x", "a", quota=2, limit=-1)]
    assert followed(raws, booking("a", 4)) == Followed((), ())
    ring = [kai_queue("a", "b", quota=8, limit=8), kai_queue("b", "a", quota=8, limit=8)]
    assert followed(ring, booking("a", 4)) == Followed((), ())


def test_what_a_person_has_changed_since_is_theirs():
    (now,) = turned([kai_queue("a", quota=8, limit=8, overQuotaWeight=1)], booking("a", 4))
    gpu(now)["quota"] = 10
    assert followed([now], booking("a", 4)) == Followed((), ())
    assert read_kai_queue(now, SETTINGS)[0].guaranteed_parts == 10 * G
    (other,) = turned([kai_queue("a", quota=8, limit=8, overQuotaWeight=1)], booking("a", 4))
    gpu(other)["overQuotaWeight"] = 5
    (back,) = turned([other])
    assert gpu(back) == {"quota": 8, "limit": 8, "overQuotaWeight": 5}, (
        "what we never changed is theirs alone"
    )


def test_a_moved_queue_promises_what_its_people_wrote():
    kai = kai_queue("a", quota=8, limit=-1)
    volcano = volcano_queue("a", deserved="8", capability="16")
    for raw, read in ((kai, read_kai_queue), (volcano, read_volcano_queue)):
        (now,) = turned([raw], booking("a", 4))
        assert read(now, SETTINGS) == read(raw, SETTINGS)


def test_an_unlimited_kai_queue_is_never_told_of_in_our_annotation():
    (now,) = turned([kai_queue("a", quota=8, limit=-1, overQuotaWeight=1)], booking("a", 4))
    note = now["metadata"]["annotations"]
    assert json.loads(note[QUOTA])["before"] == {"gpu/quota": "8"}
    # So who writes it there has put it there, and it is not believed.
    note[QUOTA] = note[QUOTA].replace('"gpu/quota":"8"', '"gpu/quota":"-1"')
    assert (cap(now).marked, cap(now).moved) == (True, False)


def test_the_experimental_ones_are_moved_only_where_the_policy_names_them():
    assert kinds_moved(()) == ("ResourceQuota", "ClusterQueue")
    assert kinds_moved(("kai",)) == ("ResourceQuota", "ClusterQueue", KAI_QUEUE)
    assert kinds_moved(("volcano", "kai"))[2:] == (KAI_QUEUE, VOLCANO_QUEUE)
    assert cap(quota("a", 8)).kind == "ResourceQuota"


TEAMS = ("a", "b", "d")
SPANS = st.tuples(
    st.sampled_from(TEAMS), st.integers(0, 12), st.booleans(), st.integers(-3, 3), st.integers(1, 4)
)


@st.composite
def forests(draw: st.DrawFn) -> list[Raw]:
    """Three leaves, some under queues that have or have not room for what they promise."""
    make = draw(st.sampled_from(["kai", "volcano"]))
    above = [draw(st.integers(0, 30)) for _ in range(2)]
    raws: list[Raw] = []
    for name, gpus in zip(("x", "y"), above, strict=True):
        raws.append(
            kai_queue(name, quota=gpus, limit=-1)
            if make == "kai"
            else volcano_queue(name, deserved=str(gpus))
        )
    for team in TEAMS:
        under = draw(st.sampled_from(["x", "y", "root"]))
        gpus, most = draw(st.integers(0, 10)), draw(st.integers(0, 10))
        if make == "kai":
            limit = draw(st.sampled_from([-1, gpus + most]))
            fixed = draw(st.integers(0, gpus))
            raws.append(
                kai_queue(team, "" if under == "root" else under, quota=gpus, limit=limit, fixed=fixed)
            )
        else:
            more = {"capability": str(gpus + most)} if draw(st.booleans()) else {}
            more |= {"guarantee": str(draw(st.integers(0, gpus)))} if draw(st.booleans()) else {}
            raws.append(volcano_queue(team, under, deserved=str(gpus), **more))
    return raws


@given(raws=forests(), spans=st.lists(SPANS, max_size=6), hours=st.lists(st.integers(-4, 8), max_size=5))
@pytest.mark.patient
def test_whatever_is_booked(raws: list[Raw], spans: list[tuple[Any, ...]], hours: list[int]):
    bookings = [
        Booking(
            team, "p", gpus * GPU_PARTS, NOW + start * HOUR_MS, NOW + (start + length) * HOUR_MS, offer=offer
        )
        for team, gpus, offer, start, length in spans
    ]
    now = raws
    for hour in hours:
        told = followed(now, *bookings, at_ms=NOW + hour * HOUR_MS)
        now = turned(now, *bookings, at_ms=NOW + hour * HOUR_MS)
        _holds(raws, now, {each.team for each in told.unmet})
        # All is done in one turn, and the next has nothing to add.
        assert followed(now, *bookings, at_ms=NOW + hour * HOUR_MS).changes == ()
    last_ = turned(now, at_ms=NOW + 100 * HOUR_MS)
    assert [each["spec"] for each in last_] == [each["spec"] for each in raws]
    assert not any(marked(each) for each in last_)


def _holds(first: list[Raw], now: list[Raw], unmet: set[str]) -> None:
    for before, after in zip(first, now, strict=True):
        name = after["metadata"]["name"]
        was, told = amounts(before), amounts(after)
        if name in unmet or name in {"x", "y"}:
            assert told["quota"] <= was["quota"]
        assert told["quota"] >= min(was["quota"], told["fixed"])
        assert told["limit"] < 0 or told["quota"] <= told["limit"]
        assert told["guarantee"] <= told["quota"]
        assert (told["limit"] < 0) is (was["limit"] < 0)
        assert told["limit"] >= was["limit"]
    for above in ("x", "y"):
        most = next(amounts(each)["quota"] for each in now if each["metadata"]["name"] == above)
        under = [
            (amounts(before)["quota"], amounts(after)["quota"])
            for before, after in zip(first, now, strict=True)
            if after["spec"].get("parent", after["spec"].get("parentQueue")) == above
        ]
        if any(after > before for before, after in under):
            assert sum(after for _, after in under) <= most


def amounts(raw: Raw) -> Mapping[str, Fraction]:
    spec = raw["spec"]
    if "resources" in spec:
        fixed = raw["status"].get("allocatedNonPreemptible", {}).get(GPU)
        told = {**gpu(raw), "fixed": fixed, "guarantee": None}
    else:
        kept = spec.get("guarantee", {}).get("resource", {}).get(GPU)
        most = spec.get("capability", {}).get(GPU, "-1")
        told = {"quota": spec["deserved"].get(GPU), "limit": most, "guarantee": kept, "fixed": None}
    return {name: quantity(told.get(name)) or Fraction() for name in ("quota", "limit", "guarantee", "fixed")}

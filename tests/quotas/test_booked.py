"""ClusterQueues that follow bookings and offers, and go back."""

import pytest

from enforcer.booking import Booking
from enforcer.quotas.booked import follow
from enforcer.quotas.change import QuotaChange
from enforcer.quotas.kueue import NOMINAL
from enforcer.quotas.last import Last
from quartermaster.clock import HOUR_MS
from tests.quotas.saying import GPU, NOW, G, Raw, applied, cap, flavor, last, marked, queue

OWNERS = {"ClusterQueue/a/h100": ("a", "p"), "ClusterQueue/b/h100": ("b", "p")}


def booking(team: str, gpus: int, *, offer: bool = False, start: int = NOW - HOUR_MS) -> Booking:
    return Booking(team, "p", gpus * G, start, start + 2 * HOUR_MS, offer)


def followed(
    raws: list[Raw],
    *bookings: Booking,
    lasts: dict[str, Last] | None = None,
    at_ms: int = NOW,
    owners: dict[str, tuple[str, str]] = OWNERS,
) -> tuple[QuotaChange, ...]:
    told = follow([cap(raw) for raw in raws], bookings, owners, lasts or {}, at_ms)
    assert not told.unmet
    return told.changes


def gpus_of(raw: Raw, at: int = 0) -> dict[str, str]:
    resources = raw["spec"]["resourceGroups"][at]["flavors"][0]["resources"]
    assert resources[0] == {"name": "cpu", "nominalQuota": "64"}
    return {key: value for key, value in resources[1].items() if key != "name"}


def test_a_booking_is_added_and_goes_when_it_ends():
    raw = queue("a", flavor("8", borrowingLimit="4", lendingLimit="2"))
    (change,) = followed([raw], booking("a", 4))
    assert (change.team, change.pool) == ("a", "p")
    now = applied(raw, change)
    # It may borrow as much beside it, and lends no more than before.
    assert gpus_of(now) == {"nominalQuota": "12", "borrowingLimit": "4", "lendingLimit": "2"}
    assert change.before == {f"h100/{GPU}/nominalQuota": "8"}
    assert followed([now], booking("a", 4)) == ()
    (back,) = followed([now], booking("a", 4), at_ms=NOW + HOUR_MS)
    assert back.goes_back
    again = applied(now, back)
    assert (again["spec"], marked(again)) == (raw["spec"], False)


def test_an_offer_is_taken_off_as_far_as_others_have_booked_it():
    a, b = queue("a", flavor("8")), queue("b", flavor("8", borrowingLimit="0", lendingLimit="6"))
    assert followed([a, b], booking("b", 4, offer=True)) == ()
    less, more = followed([a, b], booking("b", 4, offer=True), booking("a", 3))
    assert (less.cap.name, more.cap.name) == ("b", "a")
    # It may hold 8 as before, and lends no more than what it has.
    assert gpus_of(applied(b, less)) == {"nominalQuota": "5", "borrowingLimit": "3", "lendingLimit": "5"}
    assert gpus_of(applied(a, more)) == {"nominalQuota": "11"}


def test_what_is_booked_of_several_offers_is_taken_from_each_in_proportion():
    raws = [queue(name, flavor("8")) for name in ("a", "b", "d")]
    offers = booking("b", 6, offer=True), booking("d", 3, offer=True)
    found = followed(raws, *offers, booking("a", 3), owners=OWNERS | {"ClusterQueue/d/h100": ("d", "p")})
    told = {each.cap.name: each.after[f"h100/{GPU}/{NOMINAL}"] for each in found}
    assert told == {"a": "11", "b": "6", "d": "7"}


def test_of_two_flavors_of_a_team_in_a_pool_the_larger_one_has_the_booking():
    raw = queue("a", flavor("2", "small"), flavor("6", "large"))
    owners = {"ClusterQueue/a/small": ("a", "p"), "ClusterQueue/a/large": ("a", "p")}
    (change,) = followed([raw], booking("a", 4), owners=owners)
    now = applied(raw, change)
    assert (gpus_of(now, 0), gpus_of(now, 1)) == ({"nominalQuota": "2"}, {"nominalQuota": "10"})


def test_a_booking_that_changes_moves_on_from_what_its_people_wrote():
    raw = queue("a", flavor("8"))
    (first,) = followed([raw], booking("a", 4))
    now = applied(raw, first)
    (second,) = followed([now], booking("a", 6))
    assert second.before == {f"h100/{GPU}/nominalQuota": "8"}
    assert gpus_of(applied(now, second)) == {"nominalQuota": "14"}


LEFT: dict[str, tuple[Raw, tuple[Booking, ...]]] = {
    "no booking": (queue("a", flavor("8")), ()),
    "one of another team": (queue("a", flavor("8")), (booking("z", 4),)),
    "one that has not begun": (queue("a", flavor("8")), (booking("a", 4, start=NOW + 1),)),
    "less than a GPU": (queue("a", flavor("8")), (Booking("a", "p", G // 2, NOW - 1, NOW + 1),)),
    "a nominal quota that is not whole": (queue("a", flavor("7500m")), (booking("a", 4),)),
    "a flavor that is nobody's": (queue("a", flavor("8", "other")), (booking("a", 4),)),
    "an offer of nothing": (queue("a", flavor("0")), (booking("a", 4, offer=True), booking("b", 4))),
}


@pytest.mark.parametrize("case", LEFT)
def test_it_is_left_as_it_is(case: str):
    raw, bookings = LEFT[case]
    assert followed([raw], *bookings) == ()


def test_what_a_person_has_changed_since_is_theirs():
    raw = queue("a", flavor("8"))
    (change,) = followed([raw], booking("a", 4))
    now = applied(raw, change)
    now["spec"]["resourceGroups"][0]["flavors"][0]["resources"][1]["nominalQuota"] = "10"
    assert followed([now], booking("a", 4)) == ()
    assert followed([now]) == ()


def test_what_had_no_effect_is_left_for_an_hour():
    raw = queue("a", flavor("8"))
    (change,) = followed([raw], booking("a", 4))
    vain = {"uid-a": last(change, NOW - 1_000_000, "no effect")}
    assert followed([raw], booking("a", 4), lasts=vain) == ()

"""ResourceQuotas raised by fair shares and brought back: tables, and laws over changing demand."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enforcer.quotas.cap import whole_gpus
from enforcer.quotas.change import QuotaChange
from enforcer.quotas.last import EVERY_MS, REST_MS, Last
from enforcer.quotas.lending import UNUSED_MS, Told, lend, unused
from enforcer.snapshot import Promise, Snapshot, Waiting, Workload
from enforcer.standing import standings
from quartermaster.config.policy import PolicyPart
from tests.quotas.saying import KEY, NOW, G, Raw, applied, cap, holds, last, node, picture, quota, waits

POLICY = PolicyPart()
PROMISES = (Promise("a", "p", 8 * G), Promise("b", "p", 8 * G))
OWNERS = {"ResourceQuota/a/gpus": ("a", "p"), "ResourceQuota/b/gpus": ("b", "p")}


def told(**more: Any) -> Told:
    return replace(Told(OWNERS), **more)


def changed(
    snapshot: Snapshot, *raws: Raw, policy: PolicyPart = POLICY, **more: Any
) -> list[tuple[str, str | None]]:
    """What each quota that is changed is to be."""
    return [
        (each.cap.namespace, each.after[KEY])
        for each in lend(snapshot, [cap(raw) for raw in raws], policy, told(**more))
    ]


def raised(namespace: str = "a", gpus: int = 16, first: int = 8) -> tuple[Raw, QuotaChange]:
    """A quota that we have raised, and by which change."""
    raw = quota(namespace, first)
    change = QuotaChange(cap(raw), namespace, "p", {KEY: str(first)}, {KEY: str(gpus)}, "")
    return applied(raw, change), change


A_ASKS = picture([holds("a", 8)], [waits("a", 8)], PROMISES)


def test_a_quota_is_raised_by_what_others_leave():
    assert changed(A_ASKS, quota("a", 8), quota("b", 8)) == [("a", "16")]


def test_it_says_why_in_figures():
    (change,) = lend(A_ASKS, [cap(quota("a", 8))], POLICY, told())
    assert change.words == (
        "from 8 GPUs to 16 GPUs; its people wrote 8 GPUs. Team a is entitled to 16 GPUs in pool p now; in the "
        "namespace 8 GPUs are held and 8 GPUs more are asked for."
    )


CASES: dict[str, tuple[Snapshot, Raw, dict[str, Any]]] = {
    "nobody asks for more": (picture([holds("a", 8)], [], PROMISES), quota("a", 8), {}),
    "it has room as it is": (picture([holds("a", 2)], [waits("a", 4)], PROMISES), quota("a", 8), {}),
    "the others need all of theirs": (
        picture([holds("a", 8), holds("b", 8)], [waits("a", 8)], PROMISES),
        quota("a", 8),
        {},
    ),
    "what cannot be taken back is not lent": (
        picture([holds("a", 8)], [waits("a", 8, preemptible=False)], PROMISES),
        quota("a", 8),
        {},
    ),
    "nor beside it": (
        picture([holds("a", 8)], [waits("a", 8), waits("a", 9, preemptible=False)], PROMISES),
        quota("a", 8),
        {},
    ),
    "a quota that is nobody's": (A_ASKS, quota("a", 8), {"owners": {}}),
    "not in whole GPUs": (A_ASKS, quota("a", "7500m"), {}),
    "of some pods only": (A_ASKS, quota("a", 8, scopes=["BestEffort"]), {}),
    "of two kinds of GPUs": (A_ASKS, quota("a", 8, hard={KEY: "8", "requests.amd.com/gpu": "8"}), {}),
    "of a device class": (
        A_ASKS,
        quota("a", 8, hard={"gpu.nvidia.com.deviceclass.resource.k8s.io/devices": "8"}),
        {},
    ),
    "one of two in its namespace": (
        A_ASKS,
        quota("a", 8),
        {"owners": OWNERS | {"ResourceQuota/a/more": ("a", "p")}},
    ),
    "a namespace of two teams": (
        picture([holds("a", 8), holds("b", 1, namespace="a")], [waits("a", 7)], PROMISES),
        quota("a", 8),
        {},
    ),
    "a namespace in two pools": (
        picture(
            [holds("a", 8), holds("a", 1, pool="q")],
            [waits("a", 7)],
            PROMISES,
            [node(), node("n2", pool="q")],
        ),
        quota("a", 8),
        {},
    ),
    "units that are parts of GPUs": (
        picture([holds("a", 8)], [waits("a", 8)], PROMISES, [node(parts=G // 4)]),
        quota("a", 8),
        {},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_left_as_it_is(case: str):
    snapshot, raw, more = CASES[case]
    assert changed(snapshot, raw, **more) == []


def test_only_as_much_as_is_asked_for_and_as_the_share_allows():
    three = (*PROMISES, Promise("d", "p", 0))
    snapshot = picture([holds("a", 8)], [waits("a", 12), waits("d", 2)], three)
    assert changed(snapshot, quota("a", 8)) == [("a", "14")]
    assert changed(replace(snapshot, waiting=(waits("a", 3),)), quota("a", 8)) == [("a", "11")]


def test_a_limit_of_the_configuration_is_kept():
    limited = (Promise("a", "p", 8 * G, 12 * G), PROMISES[1])
    assert changed(replace(A_ASKS, promises=limited), quota("a", 8)) == [("a", "12")]


def test_a_booking_opens_the_quota_when_it_is_asked_for():
    booked = (Promise("a", "p", 12 * G), Promise("b", "p", 4 * G))
    snapshot = picture([holds("a", 8), holds("b", 4)], [waits("a", 8), waits("b", 8)], booked)
    assert changed(snapshot, quota("a", 8)) == [("a", "12")]


def test_an_owner_who_asks_lowers_it_at_once_and_not_under_what_its_people_wrote():
    raw, change = raised()
    snapshot = picture([holds("a", 16)], [waits("b", 4)], PROMISES)
    just_now = {"uid-a": last(change, NOW - 1)}
    assert changed(snapshot, raw, lasts=just_now) == [("a", "12")]
    all_of_it = replace(snapshot, waiting=(waits("b", 16),))
    (back,) = lend(all_of_it, [cap(raw)], POLICY, told(lasts=just_now))
    assert back.goes_back
    assert applied(raw, back)["spec"] == quota("a", 8)["spec"]
    assert applied(raw, back)["metadata"].get("annotations") == {}


def test_what_nobody_needs_stays_until_it_was_of_no_use_for_ten_minutes():
    raw, change = raised()
    snapshot = picture([holds("a", 3)], [], PROMISES)
    done = {"uid-a": last(change)}
    assert unused(snapshot, [cap(raw)], done) == {"uid-a"}
    assert changed(snapshot, raw, lasts=done, unused_since_ms={"uid-a": NOW - UNUSED_MS + 1}) == []
    assert changed(snapshot, raw, lasts=done, unused_since_ms={"uid-a": NOW - UNUSED_MS}) == [("a", "8")]
    assert unused(picture([holds("a", 9)], [], PROMISES), [cap(raw)], done) == frozenset()


def test_what_stays_open_is_not_lent_to_another_at_the_same_time():
    raw, change = raised()
    snapshot = picture([holds("a", 3)], [waits("d", 6)], (*PROMISES, Promise("d", "p", 0)))
    found = changed(
        snapshot,
        raw,
        quota("d", 0),
        lasts={"uid-a": last(change)},
        owners=OWNERS | {"ResourceQuota/d/gpus": ("d", "p")},
    )
    assert found == [("a", "8"), ("d", "6")]


PACE: dict[str, tuple[int, str, str, bool]] = {
    "changed a moment ago": (EVERY_MS - 1, "done", "quota", False),
    "changed a minute ago": (EVERY_MS, "done", "quota", True),
    "failed a moment ago": (EVERY_MS - 1, "failed", "quota", False),
    "failed a minute ago": (EVERY_MS, "failed", "quota", True),
    "had no effect within the hour": (REST_MS - 1, "no effect", "quota", False),
    "had no effect before": (REST_MS, "no effect", "quota", True),
    "was put back by somebody else": (REST_MS - 1, "undone", "quota", False),
    "was restored by a person": (REST_MS - 1, "done", "restore", False),
    "nobody knows yet what came of it": (REST_MS, "", "quota", False),
}


@pytest.mark.parametrize("case", PACE)
def test_it_is_not_raised_again_too_soon(case: str):
    ago_ms, result, act, again = PACE[case]
    change = QuotaChange(cap(quota("a", 8)), "a", "p", {KEY: "8"}, {KEY: "8"}, "")
    lasts = {"uid-a": last(change, NOW - ago_ms, result, act)}
    assert changed(A_ASKS, quota("a", 8), lasts=lasts) == ([("a", "16")] if again else [])


def test_what_a_person_has_changed_since_is_theirs():
    raw, change = raised()
    raw["spec"]["hard"][KEY] = "12"
    asks = picture([holds("a", 8)], [waits("b", 16)], PROMISES)
    assert changed(asks, raw, lasts={"uid-a": last(change)}) == []


def test_without_our_annotation_the_audit_says_what_was_there():
    raw, change = raised()
    del raw["metadata"]["annotations"]
    asks = picture([holds("a", 16)], [waits("b", 16)], PROMISES)
    assert changed(asks, raw, lasts={"uid-a": last(change)}) == [("a", "8")]


def test_several_namespaces_of_a_team_share_what_it_is_entitled_to():
    owners = OWNERS | {"ResourceQuota/a2/gpus": ("a", "p")}
    snapshot = picture(
        [holds("a", 4)],
        [waits("a", 8), waits("a", 20, namespace="a2")],
        (Promise("a", "p", 8 * G), PROMISES[1]),
    )
    found = changed(snapshot, quota("a", 4), quota("a2", 4), owners=owners)
    # 16 in all: 4 and 4 as they are, 8 more for the first, and nothing is left for the second.
    assert found == [("a", "12")]


SIZES = st.integers(0, 12)
DEMANDS = st.lists(
    st.tuples(st.integers(1, 90), st.lists(st.tuples(SIZES, SIZES), min_size=3, max_size=3)),
    min_size=2,
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(gpus=st.integers(8, 24), written=st.lists(st.integers(0, 8), min_size=3, max_size=3), demands=DEMANDS)
@pytest.mark.patient
def test_over_any_demand_quotas_keep_within_what_there_is_and_do_not_flap(
    gpus: int, written: list[int], demands: list[tuple[int, list[tuple[int, int]]]]
):
    """Demand changes every few seconds. What teams hold is what is let in, within what the pool has."""
    teams = ("a", "b", "d")
    promises = [Promise(team, "p", first * G) for team, first in zip(teams, written, strict=True)]
    raws = {team: quota(team, first) for team, first in zip(teams, written, strict=True)}
    owners = {f"ResourceQuota/{team}/gpus": (team, "p") for team in teams}
    lasts: dict[str, Last] = {}
    raises: dict[str, list[int]] = {team: [] for team in teams}
    since: dict[str, int] = {}
    at_ms = NOW
    for seconds, wanted in demands:
        at_ms += seconds * 1000
        held, asked = _within(gpus, teams, wanted)
        snapshot = picture(held, asked, promises, [node(gpus=gpus)], at_ms)
        caps = [cap(raw) for raw in raws.values()]
        useless = unused(snapshot, [each for each in caps if each.moved], lasts)
        since = {uid: since.get(uid, at_ms) for uid in useless}
        for change in lend(snapshot, caps, POLICY, Told(owners, lasts, since)):
            team = change.cap.namespace
            assert whole_gpus(change.after[KEY]) is not None
            assert change.before == {KEY: str(written[teams.index(team)])}
            if change.raises:
                raises[team].append(at_ms)
            raws[team] = applied(raws[team], change, at_ms)
            lasts[change.cap.uid] = last(change, at_ms)
        now = {team: int(raw["spec"]["hard"][KEY]) for team, raw in raws.items()}
        assert all(now[team] >= first for team, first in zip(teams, written, strict=True))
        lifted = [team for team, first in zip(teams, written, strict=True) if now[team] > first]
        available = standings(snapshot, POLICY)["p"].division.available_parts
        assert sum(now[team] for team in lifted) * G <= available
    for times in raises.values():
        assert all(later - earlier >= EVERY_MS for earlier, later in pairwise(times))


def _within(
    gpus: int, teams: Sequence[str], wanted: Sequence[tuple[int, int]]
) -> tuple[list[Workload], list[Waiting]]:
    left, held = gpus, list[Workload]()
    for team, (has, _) in zip(teams, wanted, strict=True):
        if 0 < has <= left:
            held.append(holds(team, has))
            left -= has
    return held, [waits(team, more) for team, (_, more) in zip(teams, wanted, strict=True) if more]

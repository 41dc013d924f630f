"""Fair shares: what never breaks whatever is asked, the three known flaws, and an exact solver beside it."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quartermaster.fairshare.deal import Claim, deal
from quartermaster.fairshare.division import Division, divide
from quartermaster.fairshare.entitlement import Entitlement
from quartermaster.parts import GPU_PARTS
from tests.fairshare.drawn import departments, team, teams
from tests.fairshare.solver import solve

SEVENTH = GPU_PARTS // 7
UNITS = st.sampled_from((GPU_PARTS, SEVENTH, 1))


def _drawn(data: st.DataObject) -> tuple[int, int, list[Entitlement]]:
    unit = data.draw(UNITS)
    entitled = data.draw(teams(unit, 12, 8) | departments(unit, 6))
    return unit, data.draw(st.integers(0, 40)) * unit + data.draw(st.sampled_from((0, unit // 2))), entitled


def _parts(division: Division) -> dict[tuple[str, ...], int]:
    return {path: share.parts for path, share in division.shares.items()}


def _gpus(division: Division) -> dict[str, float]:
    return {name: parts / GPU_PARTS for name, parts in division.teams.items()}


# What never breaks


@given(st.data())
@pytest.mark.patient
def test_never_above_request_limit_or_what_is_available(data: st.DataObject) -> None:
    unit, available, entitled = _drawn(data)
    division = divide(available, entitled, unit)
    for share in division.shares.values():
        told = share.entitlement
        assert share.parts >= 0
        assert share.parts % unit == 0
        assert told.members or share.parts <= told.request_parts
        assert told.limit_parts is None or share.parts <= told.limit_parts
        if told.members:
            assert share.parts == sum(
                each.parts for path, each in division.shares.items() if path[:-1] == share.path
            )
    assert sum(division.teams.values()) <= available


@given(st.data())
def test_who_asks_gets_its_guarantee_while_guarantees_fit(data: st.DataObject) -> None:
    unit, available, entitled = _drawn(data)
    division = divide(available, entitled, unit)
    for share in division.shares.values():
        above = [division.rounds[share.path[:depth]] for depth in range(len(share.path))]
        if not any(each.scaled for each in above):
            wish = min(share.wants_parts, share.entitlement.guarantee_parts)
            assert share.parts >= wish
            assert share.assured_parts == share.claim_parts


@given(st.data())
def test_nothing_is_left_while_somebody_wants_it_and_may_have_it(data: st.DataObject) -> None:
    unit, available, entitled = _drawn(data)
    division = divide(available, entitled, unit)
    for path, each in division.rounds.items():
        members = [share for share in division.shares.values() if share.path[:-1] == path]
        left = each.given_parts - sum(share.parts for share in members)
        assert left == 0 or all(share.parts == share.wants_parts for share in members)


@given(st.data())
def test_a_higher_weight_never_gets_less(data: st.DataObject) -> None:
    unit, available, entitled = _drawn(data)
    chosen = data.draw(st.sampled_from(entitled))
    more = chosen.weight + data.draw(st.integers(1, 6))
    before = divide(available, entitled, unit).shares[chosen.name,].parts
    after = divide(available, [_changed(each, chosen.name, weight=more) for each in entitled], unit)
    assert after.shares[chosen.name,].parts >= before


@given(st.data())
def test_the_order_in_which_they_are_named_changes_nothing(data: st.DataObject) -> None:
    unit, available, entitled = _drawn(data)
    turned = [
        _changed(each, each.name, members=tuple(data.draw(st.permutations(each.members))))
        for each in data.draw(st.permutations(entitled))
    ]
    assert _parts(divide(available, turned, unit)) == _parts(divide(available, entitled, unit))


@given(st.data())
def test_a_further_gpu_takes_nothing_from_anybody(data: st.DataObject) -> None:
    unit, available, entitled = _drawn(data)
    before = _parts(divide(available, entitled, unit))
    after = _parts(divide(available + unit, entitled, unit))
    assert all(after[path] >= parts for path, parts in before.items())


@given(st.data())
def test_a_lower_priority_waits_for_the_higher(data: st.DataObject) -> None:
    unit, available, entitled = _drawn(data)
    division = divide(available, entitled, unit)
    shares = list(division.shares.values())
    for share in shares:
        for other in shares:
            higher = other.entitlement.priority > share.entitlement.priority
            if share.path[:-1] == other.path[:-1] and higher and share.spare_parts:
                assert other.parts == other.wants_parts


@given(st.data())
def test_no_unit_helps_a_poorer_one_more_than_it_costs_its_owner(data: st.DataObject) -> None:
    unit, available, entitled = _drawn(data)
    shares = divide(available, entitled, unit).shares.values()
    for poor in shares:
        for rich in shares:
            siblings = poor.path[:-1] == rich.path[:-1]
            equal = poor.entitlement.priority == rich.entitlement.priority
            if siblings and equal and poor.parts < poor.wants_parts and rich.spare_parts:
                stands = Fraction(
                    poor.entitlement.remembered_parts + poor.spare_parts, poor.entitlement.weight
                )
                without = Fraction(
                    rich.entitlement.remembered_parts + rich.spare_parts - unit, rich.entitlement.weight
                )
                assert stands >= without


@given(st.data())
def test_equal_to_the_slow_exact_solver(data: st.DataObject) -> None:
    unit = data.draw(UNITS)
    entitled = data.draw(teams(unit, 4, 4) | departments(unit, 2))
    available = data.draw(st.integers(0, 14)) * unit + data.draw(st.sampled_from((0, unit // 3)))
    assert _parts(divide(available, entitled, unit)) == solve(available, entitled, unit)


@given(
    st.integers(0, 10**7),
    st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(1, 10**6), st.integers(0, 10**9)), min_size=1, max_size=6
    ),
    st.sampled_from((1, 3, GPU_PARTS)),
)
def test_dealing_large_numbers_leaves_nobody_poorer_than_it_must(
    units: int, drawn: list[tuple[int, int, int]], unit: int
) -> None:
    claims = [Claim(str(n), *each) for n, each in enumerate(drawn)]
    dealt = deal(units, claims, unit)
    assert sum(dealt.values()) == min(units, sum(claim.room_units for claim in claims))

    def standing(claim: Claim, taken: int) -> tuple[Fraction, int, str]:
        return Fraction(claim.start_parts + taken * unit, claim.weight), -claim.weight, claim.name

    lost = [standing(each, dealt[each.name]) for each in claims if dealt[each.name] < each.room_units]
    won = [standing(each, dealt[each.name] - 1) for each in claims if dealt[each.name]]
    assert not lost or not won or max(won) < min(lost)


# The three flaws of the usual way (and what stands in their place)


def test_flaw_1_no_unit_slips_to_a_lower_priority() -> None:
    division = divide(
        GPU_PARTS,
        [team("high-1", ask=1, priority=5), team("high-2", ask=1, priority=5), team("low", ask=1)],
    )
    assert _gpus(division) == {"high-1": 1, "high-2": 0, "low": 0}


def test_flaw_2_a_share_never_exceeds_the_request() -> None:
    entitled = [team("small", ask=1, weight=100), team("half", ask=2.5, promised=4), team("large", ask=9)]
    assert _gpus(divide(10 * GPU_PARTS, entitled)) == {"small": 1, "half": 2, "large": 7}


def test_flaw_3_guarantees_above_what_is_there_are_cut_and_told() -> None:
    division = divide(8 * GPU_PARTS, [team("a", ask=9, promised=8), team("b", ask=9, promised=8)])
    assert _gpus(division) == {"a": 4, "b": 4}
    (told,) = division.overpromised
    assert (told.promised_parts, told.most_parts, told.scaled) == (16 * GPU_PARTS, 8 * GPU_PARTS, True)


def test_guarantees_above_what_is_there_are_told_before_anybody_asks_for_them() -> None:
    division = divide(8 * GPU_PARTS, [team("a", ask=1, promised=8), team("b", ask=9, promised=8)])
    assert _gpus(division) == {"a": 1, "b": 7}
    (told,) = divide(8 * GPU_PARTS, [team("a", ask=1, promised=8), team("b", promised=8)]).overpromised
    assert (told.overpromised, told.scaled) == (True, False)


def test_standings_that_lie_close_are_told_apart() -> None:
    # After twelve units c stands at 5/7, b at 3/4 and a at 4/5: the thirteenth is c's, the fourteenth b's.
    claims = [Claim("a", 99, 5), Claim("b", 99, 4), Claim("c", 99, 7)]
    assert deal(13, claims) == {"a": 4, "b": 3, "c": 6}
    assert deal(14, claims) == {"a": 4, "b": 4, "c": 6}


# A table of cases: available, who asks what, who gets what


@pytest.mark.parametrize(
    ("available", "entitled", "shares"),
    [
        pytest.param(8, [team("a", ask=3)], {"a": 3}, id="what is asked, where there is room"),
        pytest.param(
            4, [team("a", ask=9, limit=3), team("b", ask=0.5)], {"a": 3, "b": 0}, id="no halves of GPUs"
        ),
        pytest.param(
            10, [team("a", ask=9, promised=6), team("b", ask=9)], {"a": 8, "b": 2}, id="spare is above both"
        ),
        pytest.param(
            9, [team("a", ask=9, weight=2), team("b", ask=9)], {"a": 6, "b": 3}, id="in proportion to weight"
        ),
        pytest.param(
            1, [team("a", ask=9), team("b", ask=9, weight=2)], {"a": 0, "b": 1}, id="one GPU: the heavier"
        ),
        pytest.param(1, [team("b", ask=9), team("a", ask=9)], {"a": 1, "b": 0}, id="one GPU: by name"),
        pytest.param(
            6, [team("a", ask=9, past=4), team("b", ask=9)], {"a": 1, "b": 5}, id="who borrowed before"
        ),
        pytest.param(
            5,
            [team("a", ask=9, promised=2.5), team("b", ask=9, promised=2.5)],
            {"a": 3, "b": 2},
            id="guarantees that fit, but not in whole GPUs",
        ),
        pytest.param(
            4,
            [team("a", ask=1, promised=6), team("b", ask=9, promised=6), team("c", ask=9, promised=3)],
            {"a": 1, "b": 2, "c": 1},
            id="cut guarantees: who asks for little has it",
        ),
        pytest.param(
            8,
            [team("a", ask=8, priority=9), team("b", ask=8, promised=3)],
            {"a": 5, "b": 3},
            id="a guarantee stands before any priority",
        ),
        pytest.param(0, [team("a", ask=8, promised=8)], {"a": 0}, id="nothing is available"),
        pytest.param(
            8, [team("a", promised=8), team("b", ask=8)], {"a": 0, "b": 8}, id="not asked, not held"
        ),
    ],
)
def test_cases(available: int, entitled: list[Entitlement], shares: dict[str, float]) -> None:
    assert _gpus(divide(available * GPU_PARTS, entitled)) == shares


def test_a_departments_own_guarantee_stays_among_its_teams() -> None:
    stated = Entitlement(
        "x", guarantee_parts=6 * GPU_PARTS, members=(team("a", ask=9, promised=1), team("b", promised=5))
    )
    unstated = Entitlement("x", members=stated.members)
    other = Entitlement("y", members=(team("c", ask=9),))
    assert _gpus(divide(10 * GPU_PARTS, [stated, other])) == {"a": 8, "b": 0, "c": 2}
    assert _gpus(divide(10 * GPU_PARTS, [unstated, other])) == {"a": 6, "b": 0, "c": 4}


def test_a_departments_limit_cuts_its_teams_guarantees_and_is_told() -> None:
    x = Entitlement("x", limit_parts=4 * GPU_PARTS, members=(team("a", 9, 4), team("b", 9, 4)))
    division = divide(20 * GPU_PARTS, [x, Entitlement("y", members=(team("c", 30),))])
    assert _gpus(division) == {"a": 2, "b": 2, "c": 16}
    assert [each.path for each in division.overpromised] == [("x",)]


def test_parts_of_gpus_where_the_pool_allows_them() -> None:
    division = divide(GPU_PARTS, [team("a", ask=1), team("b", ask=1)], SEVENTH)
    assert division.teams == {"a": 4 * SEVENTH, "b": 3 * SEVENTH}
    assert divide(GPU_PARTS, [team("a", ask=1), team("b", ask=1)], 1).teams == {
        "a": GPU_PARTS // 2,
        "b": GPU_PARTS // 2,
    }


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: team("a", weight=0), "'a': a weight is at least 1, not 0"),
        (lambda: Entitlement("a", request_parts=-1), "'a': an amount is below zero"),
        (lambda: divide(1, [team("a"), team("a")]), "'a' is there twice"),
        (
            lambda: divide(
                1, [Entitlement("x", members=(team("a"),)), Entitlement("y", members=(team("a"),))]
            ),
            "'y/a' is there twice",
        ),
        (lambda: divide(-1, []), "-1 parts in units of 168000 cannot be divided"),
    ],
)
def test_what_cannot_be_divided_is_refused_by_name(wrong: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        wrong()


def _changed(each: Entitlement, name: str, **changes: Any) -> Entitlement:
    fields = {key: getattr(each, key) for key in Entitlement.__slots__}
    return Entitlement(**fields | changes) if each.name == name else each
